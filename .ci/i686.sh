#!/usr/bin/env bash
# i686.sh [c]: the core's tests and the C tests, or only those, on 32-bit x86, where a size_t is shorter than the sizes
# of the format: golden images made there are equal to the byte, and what exceeds the address space is an error.
# Nothing is emulated.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
export REQUIRE_ISA=portable CARGO_PROFILE_DEV_OPT_LEVEL=2

[ "${1-}" = c ] || most_core_tests cargo_i686 std test
cargo_i686 core build --release -p sketchline-ffi
library=build/i686/i686-unknown-linux-gnu/release/libsketchline
build_tests build/c/i686 i686-linux-gnu-gcc -static "$library.a"
run_tests build/c/i686
i686-linux-gnu-gcc -static -std=c99 -Wall -Wextra -Wpedantic -Werror -Iinclude c-examples/readme.c "$library.a" -lm \
    -o build/c/i686/readme
build/c/i686/readme >build/c/i686/readme.txt
.ci/need gcc
cargo build --quiet --locked --release -p sketchline-ffi
gcc -std=c99 -Iinclude c-examples/readme.c target/release/libsketchline.a -lm -o build/c/readme
build/c/readme | diff - build/c/i686/readme.txt
echo "readme.c says the same at 64 and 32 bits"

CARGO_TARGET_DIR=build/no-panic RUSTFLAGS='--cfg prove_no_panic -C link-arg=-Wl,-z,defs' \
    cargo_i686 core build --quiet --release -p sketchline-ffi
echo "no path of the 32-bit library reaches the panic handler"
