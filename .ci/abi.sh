#!/usr/bin/env bash
# abi.sh [bless]: the header and the library mean the same to the bit, and what programs were built against is still
# there. The library's side is its debug information; the header's is what compilers make of a library of stubs, which
# is also what the baseline in ffi/dist/abi keeps: small, with `const` and enumerations, and of no compiler's making.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
clang='clang-19'
.ci/need abigail-tools binutils gcc g++ "$clang" python3
baseline=ffi/dist/abi
mkdir -p build/abi "$baseline"
if [ "$(uname -m)" != x86_64 ]; then
    echo "abi: the baseline is that of x86-64, and so is what checks it" >&2
    exit 1
fi

gcc -E -P include/sketchline.h | .ci/abi.py stubs >build/abi/stubs.c
abi() { # LIBRARY FLAG...
    abidw --no-show-locs --no-corpus-path --no-comp-dir-path --type-id-style hash "${@:2}" "$1"
}

same() { # BITS LIBRARY GCC COMPILER...: the last for C of later years and C++
    local name=build/abi/$1 compiler enums
    $3 -std=c99 -g -shared -fPIC -nostdlib -Iinclude build/abi/stubs.c -o "$name.so"
    abi "$name.so" >"$name.c.abi"
    abi "$2" --load-all-types >"$name.rust.abi"
    .ci/abi.py describe "$name.c.abi" >"$name.c"
    .ci/abi.py describe "$name.rust.abi" ffi/src/*.rs >"$name.rust"
    if ! diff "$name.c" "$name.rust"; then
        echo "abi: at $1 bits < is what the header says, > what the library does" >&2
        return 1
    fi
    { cat build/abi/stubs.c && readelf --debug-dump=info "$2" 2>/dev/null |
        .ci/abi.py asserts "$name.rust.abi" ffi/src/*.rs; } >"$name.asserts.c"
    for compiler in "${@:3}"; do
        for enums in -fno-short-enums -fshort-enums; do
            $compiler "$enums" -Iinclude -fsyntax-only "$name.asserts.c"
        done
    done
    echo "$1 bits: $(wc -l <"$name.c") facts, $(grep -c '^_Static_assert' "$name.asserts.c") of them asserted in C and C++"
}

export CARGO_PROFILE_DEV_DEBUG=2
cargo build --quiet --locked --target-dir build/abi/64 -p sketchline-ffi
same 64 build/abi/64/debug/libsketchline.so gcc "$clang -std=c2x" 'g++ -x c++ -std=c++11' "$clang -x c++ -std=c++20"
cargo_i686 core build --quiet -p sketchline-ffi
for_32=--target=i686-linux-gnu
same 32 build/i686/i686-unknown-linux-gnu/debug/libsketchline.so i686-linux-gnu-gcc "$clang $for_32 -std=c2x" \
    "$clang $for_32 -x c++ -std=c++11" "$clang $for_32 -x c++ -std=c++20"

nm -D --defined-only build/abi/64/debug/libsketchline.so | awk '{ print $3 }' | LC_ALL=C sort >build/abi/symbols.txt
if [ "${1-}" = bless ]; then
    cp build/abi/symbols.txt "$baseline/symbols.txt"
    cp build/abi/64.c.abi "$baseline/x86_64.abi"
    echo "abi: wrote $baseline"
    exit
fi

failed=0
symbols=$(diff "$baseline/symbols.txt" build/abi/symbols.txt) || { failed=1 && echo "$symbols"; }
compare() { # FLAG...
    abidiff --no-show-locs "$@" "$baseline/x86_64.abi" build/abi/64.so
}
compare --harmless >build/abi/diff.txt || { failed=1 && cat build/abi/diff.txt; }
[ "$failed" = 1 ] || { echo "the ABI is that of $baseline: $(wc -l <build/abi/symbols.txt) symbols" && exit; }
if compare --no-added-syms >/dev/null && ! grep -q '^<' <<<"$symbols"; then
    echo "abi: something was added, and programs that were built before still run. Raise the minor version, then:" \
        "make abi-bless" >&2
else
    echo "abi: this breaks programs that were built before. Undo it; or it needs a new SONAME, so raise the major" \
        "version, then: make abi-bless" >&2
fi
exit 1
