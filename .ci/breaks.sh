#!/usr/bin/env bash
# breaks.sh [WORD]: plants mistakes in a copy of the tree, one at a time, and asks that the check meant for each fails, and
# says so in the words expected. With WORD only mistakes whose name has it. Not for every run: some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need git
only=${1-}

# The copy keeps what it has built, in folders of its own. Its files are newer than that, which may be of a mistake.
copy=build/breaks
mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name target ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ ! -f "$file" ] || printf '%s\0' "$file"
done | tar --null --files-from=- -c | tar -x --touch -C "$copy"
root=$PWD
cd "$copy"
mkdir -p build
log=$PWD/build/log

# restore FILE...: as it was, and newer than what was built from it.
restore() {
    local file
    for file; do cp "$root/$file" "$file"; done
}

header() { # as `make header`
    SKETCHLINE_BLESS=1 cargo test --quiet --locked -p sketchline-ffi header_is_current
}

planted=0
# plant NAME FILE SED MESSAGE CHECK...: with SED done to FILE, CHECK must fail and say MESSAGE.
plant() {
    local name=$1 file=$2 sed=$3 message=$4
    shift 4
    [[ $name == *$only* ]] || return 0
    sed -i -E "$sed" "$file"
    if cmp -s "$file" "$root/$file"; then
        echo "breaks: $name: nothing in $file to change any more" >&2
        exit 1
    fi
    if "$@" >"$log" 2>&1; then
        echo "breaks: $name: went unnoticed by: $*" >&2
        exit 1
    fi
    if ! grep -qF -- "$message" "$log"; then
        tail -n 30 "$log" >&2
        echo "breaks: $name: failed, but said nothing of '$message': $*" >&2
        exit 1
    fi
    echo "$name: $* fails: $(grep -m 1 -F -- "$message" "$log" | sed 's/^ *//' | cut -c 1-100)"
    planted=$((planted + 1))
    restore "$file" include/sketchline.h
}
# with_header CHECK...: the header is made anew before.
with_header() {
    header && "$@"
}

mix='pub extern "C" fn skl_hash_mix\(weak: u64\) -> u64 \{'

plant 'a panic can be reached' ffi/src/hash.rs "s/^$mix/&\n    let weak = [weak, 1][weak as usize];/" \
    'a_panic_can_be_reached' .ci/no-panic.sh
plant 'a stale header' ffi/src/hash.rs 's/fn skl_hash_mix\(/fn skl_hash_mixed(/' \
    'include/sketchline.h is stale' cargo test --quiet --locked -p sketchline-ffi

# What the other side knows nothing of.
plant 'fields change places in the library' ffi/src/hll.rs 's/pub p: u32/pub X: u32/; s/pub form: u32/pub p: u32/; s/pub X/pub form/' \
    '> what the library does' .ci/abi.sh
plant 'a structure grows in the header' include/sketchline.h 's/^  uint64_t opaque\[8\];/  uint64_t opaque[9];/' \
    '> what the library does' .ci/abi.sh
plant 'a number changes in the library' ffi/src/status.rs 's/SKL_ERR_LENGTH = -10,/SKL_ERR_LENGTH = -30,/' \
    '> what the library does' .ci/abi.sh
plant 'a structure is aligned in the library' ffi/src/handle.rs '0,/^#\[repr\(C\)\]/s//#[repr(C, align(64))]/' \
    '_Static_assert(_Alignof(skl_bloom) == 64' .ci/abi.sh

# What both sides agree on, and programs that were built before do not.
plant 'a handle grows' ffi/src/handle.rs 's/\[u64; 8\]/[u64; 9]/; s/opaque: \[0; 8\]/opaque: [0; 9]/' \
    'this breaks programs that were built before' with_header .ci/abi.sh
plant 'a function is renamed' ffi/src/hash.rs 's/fn skl_hash_mix\(/fn skl_hash_mixed(/' \
    'this breaks programs that were built before' with_header .ci/abi.sh
plant 'a function comes' ffi/src/hash.rs "s/^$mix/pub extern \"C\" fn skl_hash_new() {}\n\n\/\/\/ Mixes.\n#[unsafe(no_mangle)]\n&/" \
    'something was added' with_header .ci/abi.sh

plant 'a prototype is missing' ffi/cbindgen.toml 's/^include = \["skl_status"/exclude = ["skl_hash_mix"]\n&/' \
    '> skl_hash_mix' with_header .ci/ffi.sh
plant 'a symbol without prefix' ffi/src/hash.rs "s/^$mix/pub extern \"C\" fn mix() {}\n\n\/\/\/ Mixes.\n#[unsafe(no_mangle)]\n&/" \
    '> mix' with_header .ci/ffi.sh
plant 'AVX2 everywhere' .ci/ffi.sh 's/^cargo build /RUSTFLAGS="-C target-cpu=haswell" &/' \
    'instructions where detection does not guard them' .ci/ffi.sh

plant 'a length of the machine' core/src/bloom/mod.rs \
    's/memory\.len\(\) as u64 != params\.image_bytes\(\)/memory.len() != params.image_bytes() as usize/' \
    'failed at portable: skl_bloom_init' .ci/i686.sh c
plant 'an order of the machine' core/src/image.rs 's/payload_bytes\.to_le_bytes/payload_bytes.to_ne_bytes/' \
    'failed at portable: ' .ci/s390x.sh c

if [ "$planted" = 0 ]; then
    echo "breaks: no mistake is called '$only'" >&2
    exit 1
fi
echo "$planted mistakes planted, $planted found"
