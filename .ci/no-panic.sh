#!/usr/bin/env bash
# The release library cannot panic: it links although the panic handler calls a function that does not exist.
# Then a panic is planted in a scratch copy, and the same link must fail.
set -euo pipefail
cd "$(dirname "$0")/.."

prove() { # FOLDER
    CARGO_TARGET_DIR=$PWD/build/no-panic RUSTFLAGS='--cfg prove_no_panic -C link-arg=-Wl,-z,defs' \
        cargo build --locked --release --manifest-path "$1/Cargo.toml" -p sketchline-ffi
}

prove .

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r Cargo.toml Cargo.lock core ffi benches "$copy"
sed -i 's/^pub extern "C" fn skl_hash_mix(weak: u64) -> u64 {/&\n    assert!(weak != 7);/' "$copy/ffi/src/hash.rs"
if prove "$copy" >"$copy/log" 2>&1; then
    echo "a planted panic went unnoticed" >&2
    exit 1
fi
grep -q 'a_panic_can_be_reached' "$copy/log"
echo "no-panic: no path of the release library reaches the panic handler, and a planted one is found"
