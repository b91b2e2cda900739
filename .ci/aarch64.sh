#!/usr/bin/env bash
# The core's tests and the C tests on AArch64, emulated: golden images made there are equal to the byte. With
# Debian's Rust, which has a library for AArch64. No -L for qemu: two C libraries in one process hang threads.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
.ci/need rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
export PATH=/usr/bin:$PATH REQUIRE_ISA=neon CARGO_PROFILE_DEV_OPT_LEVEL=2
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static
target=(--locked --target aarch64-unknown-linux-gnu --target-dir build/aarch64)

cargo test "${target[@]}" -p sketchline --lib --tests
cargo build "${target[@]}" --release -p sketchline-ffi
build_tests build/c/aarch64 aarch64-linux-gnu-gcc -static \
    build/aarch64/aarch64-unknown-linux-gnu/release/libsketchline.a
run_tests build/c/aarch64 qemu-aarch64-static
