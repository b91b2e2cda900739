#!/usr/bin/env bash
# CPUs that this machine is not: the core's tests and the C tests on emulated ones. The C tests fail unless the
# fastest level is exactly the one that the CPU should have.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
.ci/need gcc qemu-user-static
export CARGO_PROFILE_DEV_OPT_LEVEL=2
cargo build --locked --release -p sketchline-ffi
build_tests build/c/gcc-static gcc target/release/libsketchline.a

on() { # LEVEL CPU: C tests
    echo "$2: $1"
    REQUIRE_ISA=$1 run_tests build/c/gcc-static qemu-x86_64-static -cpu "$2" 2> >(grep -v "TCG doesn't support" >&2)
}
core_on() { # LEVEL CPU: both
    on "$1" "$2"
    REQUIRE_ISA=$1 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="qemu-x86_64-static -cpu $2" \
        most_core_tests cargo test --locked 2> >(grep -v "TCG doesn't support" >&2)
}
core_on portable Nehalem
core_on avx2 Haswell
# AVX2 in the CPU, but an operating system that does not save its registers; and AVX2 without BMI2.
on portable Haswell,-xsave
on portable Haswell,-bmi2
