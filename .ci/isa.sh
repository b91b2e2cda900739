#!/usr/bin/env bash
# Names the fastest SIMD level that this machine should have, from what the kernel says of its CPU and not from
# the library: what the tests require to have run.
set -euo pipefail
if [ "$(uname -m)" = aarch64 ]; then
    echo neon
    exit
fi
flags=" $(grep -m1 '^flags' /proc/cpuinfo || true) "
has() {
    for flag; do
        [[ $flags == *" $flag "* ]] || return 1
    done
}
level=portable
if has avx2 bmi2 popcnt; then
    level=avx2
    if has avx512f avx512bw avx512dq avx512vl; then
        level=avx512
        if has avx512vbmi avx512_bitalg avx512_vpopcntdq; then
            level=avx512vbmi
        fi
    fi
fi
echo "$level"
