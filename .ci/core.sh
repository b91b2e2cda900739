#!/usr/bin/env bash
# The core's tests, on every instruction set of this machine. Optimised, since they look at much; the checks of
# a debug build stay on.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_PROFILE_DEV_OPT_LEVEL=2
REQUIRE_ISA=$(.ci/isa.sh)
export REQUIRE_ISA
echo "required: $REQUIRE_ISA"
cargo test --locked -p sketchline
# A billion inserts: the errors of HyperLogLog at every number of keys.
cargo test --locked --release -p sketchline --test hll_accuracy
# Without `alloc` there is no filter to own, which the other tests do; the C tests use the core without it.
cargo test --locked -p sketchline --no-default-features --lib
