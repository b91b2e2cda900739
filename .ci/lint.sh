#!/usr/bin/env bash
# Formatting, lints, documentation; shell scripts; and that no file names a folder of somebody's machine.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need shellcheck git rustc-web cargo-web rust-web-clippy libstd-rust-web-dev:arm64

files() { # of the repository, those that are not added yet included
    git ls-files --cached --others --exclude-standard | sort -u | while read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done
}

echo "scripts" # SC2015: `a && b || c` is meant where it is written
mapfile -t scripts < <(files | while read -r file; do
    if head -n 1 "$file" | grep -qaE '^#!.*\b(ba)?sh\b'; then printf '%s\n' "$file"; fi
done)
shellcheck --external-sources --exclude=SC2015 "${scripts[@]}"

echo "absolute paths"
if files | xargs -d '\n' grep -InE '(^|[^A-Za-z0-9_.$})-])/(home|root|work|Users)(/|\b)'; then
    echo "lint: these name folders of one machine" >&2
    exit 1
fi

echo "README" # its C example is the program that .ci/demo.sh compiles and runs
awk '/^```$/ { code = 0 } code { print } /^```c$/ { code = 1 }' README.md | diff - c-examples/readme.c

echo "rustfmt"
cargo fmt --all --check

echo "clippy"
clippy() {
    cargo clippy --quiet --locked "$@" -- -D warnings
}
clippy -p sketchline --all-targets
clippy -p sketchline --no-default-features --lib
clippy -p sketchline --no-default-features --lib --profile test
clippy -p sketchline-ffi --all-targets
if [ -f benches/Cargo.toml ]; then
    clippy -p sketchline-benches --all-targets
    clippy -p sketchline-benches --all-targets --features peers
fi

# Code behind `cfg(target_arch = "aarch64")` is invisible to all of the above. This toolchain has no library for
# AArch64, Debian's has. It moves by itself, so its taste is not asked: only warnings of the compiler, what the
# project denies, and clippy's groups of likely mistakes.
echo "clippy for AArch64"
PATH=/usr/bin:$PATH cargo clippy --quiet --locked --target aarch64-unknown-linux-gnu --target-dir build/aarch64 \
    -p sketchline --all-targets -- -D warnings -A clippy::style -A clippy::complexity -A clippy::perf

echo "documentation"
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --no-deps -p sketchline
RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --no-deps -p sketchline --document-private-items
