#!/bin/sh
# callgrind.sh [--bless]: instructions per key of each operation, counted by valgrind, for the levels that valgrind
# 3.19 knows (it has no AVX-512, so that detection ends at AVX2 under it). The numbers repeat exactly on one
# compiler. More than 2 % above callgrind.baseline is a failure; --bless writes the baseline anew.
set -eu
cd "$(dirname "$0")/.."
baseline=benches/callgrind.baseline
case "${1-}" in
    '' | --bless) ;;
    *) sed -n '2,4s/^# //p' benches/callgrind.sh; exit 0 ;;
esac
command -v valgrind >/dev/null || { echo "callgrind.sh: install valgrind" >&2; exit 1; }

cargo build -q --release -p sketchline-benches --bin count
target=${CARGO_TARGET_DIR:-target}
counted=$(mktemp)
trap 'rm -f "$counted" "$counted.log"' EXIT

# count LEVEL OP MODE KIB: a filter or sketch of 256 KiB is in L2, one of 4,096 KiB makes the kernels prefetch.
# A level that this machine does not have is left out.
count() {
    keys=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='count::measured*' \
        --log-file="$counted.log" "$target/release/count" "$@") || {
        [ $? = 3 ] && return
        cat "$counted.log" >&2
        exit 1
    }
    awk -v what="$1 $2 $3 $4" -v keys="$keys" \
        '/Collected/ { printf "%-38s %8.2f\n", what, $NF / keys }' "$counted.log" | tee -a "$counted"
}

rustc -V | sed 's/^/# /' >"$counted"
echo "level op mode KiB                      instructions per key"
for level in portable avx2; do
    for op in absent present insert; do
        count $level $op single 256
        count $level $op batch 256
        count $level $op batch 4096
    done
done
count avx2 absent u64-batch 256
for shape in rows conservative two-line; do
    count avx2 cms-$shape-add single 256 # single calls are there at one level: the code is the same
    for level in portable avx2; do
        count $level cms-$shape-add batch 256
        count $level cms-$shape-add batch 4096
    done
done
count avx2 cms-rows-estimate single 256
count portable cms-rows-estimate batch 256
count avx2 cms-rows-estimate batch 256
count avx2 cms-rows-add u64-batch 256

if [ "${1-}" = --bless ]; then
    cp "$counted" "$baseline"
    exit 0
fi
[ -f "$baseline" ] || { echo "callgrind.sh: no $baseline yet; --bless makes it" >&2; exit 1; }
if [ "$(head -1 "$baseline")" != "$(head -1 "$counted")" ]; then
    echo "The baseline is of another compiler: $(head -1 "$baseline")"
fi
awk '/^#/ { next }
    { what = $1 " " $2 " " $3 " " $4 }
    NR == FNR { before[what] = $5; next }
    !(what in before) { print "new: " what; next }
    $5 > before[what] * 1.02 { print "MORE: " what ": " before[what] " -> " $5; failed = 1 }
    $5 < before[what] * 0.98 { print "fewer: " what ": " before[what] " -> " $5 " (--bless keeps it)" }
    END { if (!failed) print "within 2 % of the baseline"; exit failed }' "$baseline" "$counted"
