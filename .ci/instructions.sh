#!/usr/bin/env bash
# instructions.sh LIBRARY: VEX instructions (AVX, AVX2, BMI) are only in functions of the modules simd::x86::avx2
# and avx512*, EVEX instructions and mask registers (AVX-512) only in avx512*, and those of VBMI, BITALG and
# VPOPCNTDQ only in avx512vbmi. Goes by the symbols that a release build keeps.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need binutils
objdump -d -w -C "$1" | awk -F '\t' '
    /^[0-9a-f]+ <.*>:$/ {
        function_name = $0
        sub(/^[0-9a-f]+ </, "", function_name)
        sub(/>:$/, "", function_name)
        module = "baseline"
        if (function_name ~ /simd::x86::avx2::/) module = "avx2"
        if (function_name ~ /simd::x86::avx512::/) module = "avx512"
        if (function_name ~ /simd::x86::avx512vbmi::/) module = "avx512vbmi"
        functions[module]++
    }
    NF >= 3 {
        bytes = $2
        # Segment and address-size prefixes may stand before; then 62 can only be EVEX, c4 and c5 only VEX.
        while (bytes ~ /^(26|2e|36|3e|64|65|67) /) bytes = substr(bytes, 4)
        needs = "baseline"
        if (bytes ~ /^c[45] / || $3 ~ /%ymm|^popcnt/) needs = "avx2"
        if (bytes ~ /^62 / || $3 ~ /%zmm|%k[0-7]/) needs = "avx512"
        if ($3 ~ /^(vpopcnt[bwdq]|vpshufbitqmb|vpermb|vpermi2b|vpermt2b|vpmultishiftqb|vpcompress[bw]|vpexpand[bw]) /) needs = "avx512vbmi"
        used[module, needs]++
        if (order[needs] > order[module]) {
            wrong++
            if (wrong <= 10) print "in " function_name ": " $3
        }
    }
    BEGIN { order["baseline"] = 0; order["avx2"] = 1; order["avx512"] = 2; order["avx512vbmi"] = 3 }
    END {
        # Each module has functions, and they do use what it is for: else this looked at nothing.
        for (module in order) {
            printf "%s: %d functions, %d instructions of its own\n", module, functions[module], used[module, module]
            if (used[module, module] == 0) missing = 1
        }
        if (missing) print "no symbols, or a module without its instructions"
        if (wrong) print wrong " instructions where detection does not guard them"
        exit wrong || missing
    }'
