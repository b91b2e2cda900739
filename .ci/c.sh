#!/usr/bin/env bash
# The header in every C and C++, and the C tests: two compilers, static and shared, valgrind, sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/common.sh
# The only compiler of Debian 12 that knows C23, where the header has a branch of its own.
clang='clang-19'
.ci/need gcc g++ "$clang" libclang-rt-19-dev valgrind libc6-dbg
cargo build --locked --release -p sketchline-ffi

echo "header"
header() { # LANGUAGE COMPILER FLAG...
    echo '#include "sketchline.h"' | "$2" -x "$1" "${@:3}" -Wall -Wextra -Wpedantic -Wundef -Werror -Iinclude \
        -fsyntax-only -
}
for enums in -fno-short-enums -fshort-enums; do
    for compiler in gcc "$clang"; do
        for standard in c99 c11 c17 c2x; do
            header c "$compiler" "-std=$standard" "$enums" -Wstrict-prototypes
        done
        for standard in c++11 c++14 c++17 c++20 c++23; do
            header c++ "$compiler" "-std=$standard" "$enums"
        done
    done
done

# The hostile tests are about every function.
gcc -E -P include/sketchline.h | grep -oE '\bskl_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u | while read -r function; do
    if ! grep -q "\b$function(" c-examples/tests/hostile*.c; then
        echo "no c-examples/tests/hostile*.c calls $function" >&2
        exit 1
    fi
done

isa=$(.ci/isa.sh)
export REQUIRE_ISA=$isa
for compiler in gcc "$clang"; do
    echo "$compiler, static"
    build_tests "build/c/$compiler-static" "$compiler" target/release/libsketchline.a
    run_tests "build/c/$compiler-static"
    echo "$compiler, shared"
    build_tests "build/c/$compiler-shared" "$compiler" -Ltarget/release -lsketchline
    LD_LIBRARY_PATH=target/release run_tests "build/c/$compiler-shared"
done
echo "gcc -fshort-enums"
build_tests build/c/short-enums gcc -fshort-enums target/release/libsketchline.a
run_tests build/c/short-enums

# valgrind has no AVX-512, and shows the program a CPU without.
echo "valgrind"
case $isa in avx512*) under_valgrind=avx2 ;; *) under_valgrind=$isa ;; esac
REQUIRE_ISA=$under_valgrind run_tests build/c/gcc-static \
    valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all

# made_on_purpose LOG COMMAND...: it must fail, and speak of a race.
made_on_purpose() {
    if timeout 300 "${@:2}" >"$1" 2>&1 || ! grep -q 'data race' "$1"; then
        echo "a race made on purpose went unnoticed: ${*:2}" >&2
        exit 1
    fi
}
# The library as it is released, while ThreadSanitizer below has one of its own.
echo "helgrind"
helgrind=(valgrind --quiet --tool=helgrind --error-exitcode=1 build/c/gcc-static/threads)
REQUIRE_ISA=$under_valgrind timeout 300 "${helgrind[@]}" steady
REQUIRE_ISA=$under_valgrind made_on_purpose build/c/helgrind.log "${helgrind[@]}" steady-race

sanitized() { # SANITIZER RUSTFLAGS: the library built with it too, so that accesses in Rust are seen
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=$2 cargo build --locked --release -p sketchline-ffi \
        --target x86_64-unknown-linux-gnu --target-dir "build/$1"
}
echo "AddressSanitizer, UndefinedBehaviorSanitizer"
sanitized address -Zsanitizer=address
build_tests build/c/address "$clang" -fsanitize=address,undefined -fno-sanitize-recover=all \
    build/address/x86_64-unknown-linux-gnu/release/libsketchline.a
run_tests build/c/address

# The precompiled `core` is not instrumented; what of it matters here is generic or inlined, and so is.
echo "ThreadSanitizer"
sanitized thread '-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer'
build_tests build/c/thread "$clang" -fsanitize=thread build/thread/x86_64-unknown-linux-gnu/release/libsketchline.a
timeout 300 build/c/thread/threads
made_on_purpose build/c/race.log build/c/thread/threads race
