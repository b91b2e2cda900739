#!/usr/bin/env bash
# The C interface under any bytes and any sequence of calls (c-examples/fuzz): fixed streams, every byte of the golden
# images changed. `fuzz.sh hunt` (make fuzz) is libFuzzer alone, for FUZZ_SECONDS (60) a target from where it stopped
# before; with FUZZ_TARGETS for some of them.
set -euo pipefail
cd "$(dirname "$0")/.."
clang='clang-19'
.ci/need gcc "$clang" libclang-rt-19-dev
folder=build/fuzz
mkdir -p "$folder"
warnings=(-std=c99 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -g -Iinclude)
images=(core/tests/data/*.skln core/tests/data/*/*.skln)
# Every byte of them is changed: all but the largest, which is as others are and takes longer than they together.
mapfile -t small < <(find "${images[@]}" -size -8k)

# The library with AddressSanitizer, the checks of a debug build, and the counters that guide libFuzzer. Without
# link-time optimisation, which does not keep the counters apart; the reference to the unwinder, which `core` brings
# along then, is never followed.
instrumented=(-Zsanitizer=address -Cpasses=sancov-module)
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    instrumented+=("-Cllvm-args=-sanitizer-coverage-$flag")
done
RUSTC_BOOTSTRAP=1 RUSTFLAGS=${instrumented[*]} CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true \
    CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true cargo rustc --quiet --locked --release -p sketchline-ffi \
    --crate-type staticlib --target x86_64-unknown-linux-gnu --target-dir build/coverage
library=(build/coverage/x86_64-unknown-linux-gnu/release/libsketchline.a '-Wl,--defsym=rust_eh_personality=0')

sanitized() { # SANITIZERS PROGRAM SOURCE...
    "$clang" "${warnings[@]}" -O1 "-fsanitize=$1" -fno-sanitize-recover=all "${@:3}" "${library[@]}" -o "$folder/$2"
}

# What libFuzzer starts from: two bytes of options and a golden image; what stream makes up.
seeds() {
    local image options
    rm -rf "$folder/seeds"
    mkdir -p "$folder/seeds/decode" "$folder/seeds/calls" "$folder/corpus/decode" "$folder/corpus/calls"
    for image in "${images[@]}"; do
        for options in '\000\000' '\010\021' '\062\043'; do
            # shellcheck disable=SC2059
            { printf "$options" && cat "$image"; } >"$folder/seeds/decode/$(basename "$image")${options//\\/-}"
        done
    done
    "$folder/stream-sanitized" 10000 2 "$folder/seeds/calls" >/dev/null
}

fuzz() { # TARGET: prints the last line of libFuzzer: inputs, coverage, inputs per second
    local target=$1 log=$folder/$1.log
    sanitized fuzzer,address,undefined "$target" "c-examples/fuzz/$target.c"
    if ! "$folder/$target" -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096 -len_control=0 -timeout=20 \
        -artifact_prefix="$folder/found-$target-" "$folder/corpus/$target" "$folder/seeds/$target" >"$log" 2>&1; then
        grep -av '^#' "$log" | tail -n 60 >&2
        echo "fuzz: $target failed; again: $folder/$target $folder/found-$target-..., and FUZZ_TRACE=1 for its calls" >&2
        return 1
    fi
    printf '%-7s %s\n' "$target" "$(grep -a '^#.*DONE' "$log" | sed 's/DONE *//; s/  */ /g')"
}

sanitized address,undefined stream-sanitized c-examples/fuzz/{stream,calls}.c
if [ "${1:-}" = hunt ]; then
    seeds
    for target in ${FUZZ_TARGETS:-decode calls}; do
        fuzz "$target"
    done
    exit
fi

cargo build --quiet --locked --release -p sketchline-ffi
for program in 'stream calls' 'mutate decode'; do
    read -r driver target <<<"$program"
    gcc "${warnings[@]}" -O2 "c-examples/fuzz/$driver.c" "c-examples/fuzz/$target.c" \
        "${CARGO_TARGET_DIR:-target}/release/libsketchline.a" -o "$folder/$driver"
done
sanitized address,undefined mutate-sanitized c-examples/fuzz/{mutate,decode}.c

echo "any sequence of calls"
timeout 300 "$folder/stream" 1000000 1
echo "the same, sanitized"
timeout 300 "$folder/stream-sanitized" 100000 1 | head -n 1
echo "golden images, changed"
timeout 300 "$folder/mutate" 4 "${small[@]}"
timeout 300 "$folder/mutate-sanitized" 1 "${small[@]}"
