#!/usr/bin/env bash
# The C library: the header is current, exactly its functions are exported, nothing but libc is needed, no path
# panics, and instructions that a CPU may lack are only where detection guards them.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need gcc binutils
cargo test --locked -p sketchline-ffi
cargo build --locked --release -p sketchline-ffi
library=target/release/libsketchline.so

echo "exports"
mkdir -p build
gcc -E -P include/sketchline.h | grep -oE '\bskl_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u >build/declared
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >build/exported
if ! diff build/declared build/exported; then
    echo "ffi: < is only in the header, > only in the library" >&2
    exit 1
fi
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if [ "$needed" != libc.so.6 ]; then
    echo "ffi: the library needs $needed" >&2
    exit 1
fi
echo "$(wc -l <build/exported) functions, as in the header; needs $needed"

if [ "$(uname -m)" = x86_64 ]; then
    echo "instructions"
    .ci/instructions.sh "$library"
fi

.ci/no-panic.sh
