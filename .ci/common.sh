# shellcheck shell=bash
# Sourced: the tests that run in several places.

# build_tests FOLDER COMPILER FLAG...: each of c-examples/tests to FOLDER; the flags name the library.
build_tests() {
    local folder=$1 compiler=$2 source
    shift 2
    mkdir -p "$folder"
    for source in c-examples/tests/*.c; do
        "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -O1 -g -Iinclude "$source" "$@" \
            -pthread -o "$folder/$(basename "$source" .c)"
    done
}

# run_tests FOLDER [RUNNER...]: all of them. REQUIRE_ISA names the fastest level that there must be.
run_tests() {
    local folder=$1 source test
    shift
    for source in c-examples/tests/*.c; do
        test=$folder/$(basename "$source" .c)
        timeout 300 "$@" "$test" || {
            echo "failed with status $?: $* $test" >&2 # 139: an access outside; in batch, right beside an array
            return 1
        }
    done
}

# most_core_tests COMMAND...: the core's tests but for accuracy, which looks at millions of keys. What that
# counts follows from the bits, and the others compare every bit with the definition.
most_core_tests() {
    local source tests=(--lib)
    for source in core/tests/*.rs; do
        case $source in *accuracy.rs) ;; *) tests+=(--test "$(basename "$source" .rs)") ;; esac
    done
    "$@" -p sketchline "${tests[@]}"
}

# cargo_i686 CRATES COMMAND FLAG...: cargo for 32-bit x86, under build/i686 or CARGO_TARGET_DIR. Takes rustup's library for
# it or, where that cannot be had, the CRATES of it built from Debian's sources. Not gcc -m32: what that needs and the
# other cross compilers exclude each other.
cargo_i686() {
    local flags=(--locked --target i686-unknown-linux-gnu --target-dir "${CARGO_TARGET_DIR:-build/i686}")
    .ci/need gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386 lib32gcc-s1
    export CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER=i686-linux-gnu-gcc
    if command -v rustup >/dev/null && rustup target add i686-unknown-linux-gnu &>/dev/null; then
        cargo "$2" "${flags[@]}" "${@:3}"
    else
        .ci/need rustc-web cargo-web rust-web-src
        PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_PROFILE_DEV_PANIC=unwind \
            cargo "$2" "${flags[@]}" "-Zbuild-std=$1" "${@:3}"
    fi
}
