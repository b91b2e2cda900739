#!/usr/bin/env bash
# What the claims need and the ordinary suite has no time for.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --locked --release -p sketchline -- --ignored --nocapture
.ci/breaks.sh
