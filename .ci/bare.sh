#!/usr/bin/env bash
# The core on machines without an operating system, where nothing but `core` exists, and `alloc` where asked
# for. Release builds: for x86_64-unknown-none, which has no SSE, only those ever failed. Debian's Rust comes with
# the sources of the library, as this needs.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need rustc-web cargo-web rust-web-src
export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1
bare() { # TARGET CRATES FLAG...
    echo "$1: $2"
    cargo build --quiet --locked --release --target "$1" --target-dir build/bare "-Zbuild-std=$2" -p sketchline "${@:3}"
}
bare x86_64-unknown-none core --no-default-features
bare thumbv7em-none-eabi core --no-default-features
bare thumbv7em-none-eabi core,alloc
