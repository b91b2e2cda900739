#!/usr/bin/env bash
# s390x.sh [c]: the core's tests and the C tests, or only those, on a big-endian machine, s390x, emulated: golden images
# made there are equal to the byte. No Rust comes with a library for it that we can have, so that it is built from
# Debian's sources.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
.ci/need rustc-web cargo-web rust-web-src gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static
export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 REQUIRE_ISA=portable
export CARGO_PROFILE_DEV_OPT_LEVEL=2 CARGO_PROFILE_DEV_PANIC=unwind
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER="qemu-s390x-static -L /usr/s390x-linux-gnu"
target=(--locked --target s390x-unknown-linux-gnu --target-dir build/s390x)

[ "${1-}" = c ] || most_core_tests cargo test "${target[@]}" -Zbuild-std
cargo build "${target[@]}" -Zbuild-std=core --release -p sketchline-ffi
build_tests build/c/s390x s390x-linux-gnu-gcc -static build/s390x/s390x-unknown-linux-gnu/release/libsketchline.a
run_tests build/c/s390x qemu-s390x-static
