#!/usr/bin/env bash
# neoverse.sh [CPU...]: cycles per key of the batch look-up on Arm cores that are not at hand, by llvm-mca: the NEON
# kernels and the portable ones, for fewer than 8 probes, 8, and more than 8. The loops are cut out of the library as it
# is built for AArch64 (in cache, without prefetch). A model of the pipeline, not a measurement: no misses, no branches.
set -euo pipefail
case ${1-} in -h | --help) sed -n '2,4s/^# //p' "$0"; exit ;; esac
cd "$(dirname "$0")/.."
.ci/need rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu binutils-aarch64-linux-gnu llvm-19 python3 >&2
PATH=/usr/bin:$PATH CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    cargo build --quiet --locked --release --target aarch64-unknown-linux-gnu --target-dir build/aarch64 -p sketchline-ffi
[ $# -gt 0 ] || set -- neoverse-n1 neoverse-n2 neoverse-v1 neoverse-v2
aarch64-linux-gnu-objdump -d -C --no-show-raw-insn build/aarch64/aarch64-unknown-linux-gnu/release/libsketchline.so |
    python3 benches/neoverse.py "$@"
