#!/usr/bin/env bash
# sketchline.hpp in every C++, with and without exceptions: alone, in the examples, and in its test, which runs.
set -euo pipefail
cd "$(dirname "$0")/.."
clang='clang-19' # as in c.sh
.ci/need g++ "$clang" libclang-rt-19-dev
cargo build --locked --release -p sketchline-ffi
library=${CARGO_TARGET_DIR:-target}/release/libsketchline.a
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude)
work=build/cpp
mkdir -p "$work"

# Argued exceptions: numbers in, a number or a text out, and no status. C++ has nothing to add.
echo "functions"
functions=$(gcc -E -P include/sketchline.h | grep -oE '\bskl_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u)
for function in $functions; do
    case $function in
    skl_version_number | skl_version_string) continue ;;
    skl_hash_u64 | skl_hash_f64 | skl_hash_mix) continue ;;
    skl_simd_level | skl_simd_detected | skl_simd_name) continue ;;
    skl_simd_set_level) continue ;; # Status(skl_simd_set_level(level)) is all that there would be
    esac
    if ! grep -q "\b$function\b" include/sketchline.hpp; then
        echo "sketchline.hpp does not reach $function" >&2
        exit 1
    fi
done

# The header twice in one program: whatever is not inline would be there twice.
echo '#include "sketchline.hpp"' >"$work/alone.cpp"
every_standard() { # COMPILER
    local standard flags
    for standard in 11 14 17 20 23; do
        for flags in '' '-fno-exceptions -fno-rtti'; do
            echo "$1 -std=c++$standard $flags"
            # shellcheck disable=SC2086
            set -- "$1" "-std=c++$standard" $flags "${strict[@]}"
            "$@" -fsyntax-only c-examples/readme.cpp c-examples/join.cpp
            "$@" -O1 "$work/alone.cpp" c-examples/tests/cpp.cpp "$library" -o "$work/test-$1"
            "$work/test-$1"
        done
    done
}
every_standard g++
every_standard "clang++${clang#clang}"

# What Rust does inside is the matter of c.sh; here it is who frees what, and the header's own code.
echo "AddressSanitizer, UndefinedBehaviorSanitizer"
for standard in 11 20; do
    "clang++${clang#clang}" "-std=c++$standard" -g -fsanitize=address,undefined -fno-sanitize-recover=all "${strict[@]}" \
        c-examples/tests/cpp.cpp "$library" -o "$work/sanitized"
    "$work/sanitized"
done

echo "examples"
for example in readme join; do
    g++ -std=c++11 -O2 "${strict[@]}" "c-examples/$example.cpp" "$library" -o "$work/$example"
done
"$work/readme" | diff - <(printf '%s\n' '1243328 bytes, at most 1.00 % false positives' 'alice: maybe' 'bob:   no')

joins() { # PATTERN OPTION...
    "$work/join" "${@:2}" >"$work/out" 2>&1 && grep -Eq "$1" "$work/out" || { cat "$work/out" >&2; return 1; }
}
refuses() { # MESSAGE OPTION...
    ! "$work/join" "${@:2}" >"$work/out" 2>&1 && diff "$work/out" - <<<"join: $1" || {
        echo "join ${*:2} should answer: join: $1" >&2
        return 1
    }
}
joins '^without filter: +300000 rows probed, +300000 joined' --build 1000 --probe 300000 --hits 100
joins '^with filter: +[0-9]{1,4} rows probed, +0 joined' --build 20000 --probe 300000 --hits 0
joins '^with filter: +1 rows probed, +1 joined' --build 1 --probe 1 --hits 100 --bits 64
joins '^usage: join' --help
refuses '--hits: needs a whole number from 0 to 100' --hits 101
refuses '--build: needs a whole number from 1 to 100000000' --build -1
refuses '--bits: needs a whole number from 1 to 64' --bits 8x
refuses '--probe: a number is missing after it' --probe
refuses '--what: no such option; join --help lists them' --what
