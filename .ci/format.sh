#!/usr/bin/env bash
# The golden images, read by a program that knows docs/FORMAT.md and nothing of the library.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need python3
python3 .ci/format.py core/tests/data
