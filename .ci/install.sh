#!/usr/bin/env bash
# The library as others get it: what it shows and needs, make install and uninstall; the programs of c-examples/embed,
# built outside of this tree in each of the ways that a host may: static, with musl, as Debian packages, crossed; and
# beside other Rust.
set -euo pipefail
cd "$(dirname "$0")/.."
clang='clang-19'
.ci/need gcc binutils make "$clang" lld-19 libclang-rt-19-dev cmake pkg-config musl-tools dpkg-dev lintian man-db \
    rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static

work=$(mktemp -d -t 'sketchline install.XXXXXX') # a space, so that one in a path is tried everywhere
packages=()
finish() {
    rm -rf "$work"
    [ ${#packages[@]} = 0 ] || dpkg --purge "${packages[@]}" >/dev/null
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
    echo "install: $*" >&2
    exit 1
}
# same WHAT WANTED GOT: two lists, one entry a line.
same() {
    diff -u --label wanted --label "$1" <(printf '%s\n' "$2") <(printf '%s\n' "$3") >&2 || die "$1: not as it should be"
}
functions_in() { # HEADER: by the preprocessor; ffi/dist/functions goes by the text
    gcc -E -P "$1" | grep -oE '\bskl_[a-z0-9_]+ ?\(' | tr -d ' (' | LC_ALL=C sort -u
}
exports() { # nm's output on stdin; the node of the versions is an absolute symbol
    awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u
}
needed() { # LIBRARY OR PROGRAM
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

make slim
built=build/dist
version=$(ffi/dist/version include/sketchline.h)
major=${version%%.*} rest=${version#*.}
minor=${rest%%.*}
archive=$built/libsketchline.a shared=$built/libsketchline.so.$version

echo "what it shows and needs"
declared=$(functions_in include/sketchline.h)
same "ffi/dist/functions" "$declared" "$(ffi/dist/functions include/sketchline.h)"
# Before anything is taken away: what has no prototype, or not the prefix, is dropped from what is installed.
cargos=${CARGO_TARGET_DIR:-target}/release
same "exported by ffi" "$declared" "$(nm -D --defined-only "$cargos/libsketchline.so" | exports)"
same "exported by libsketchline.so" "$declared" "$(nm -D --defined-only "$shared" | exports)"
same "global in libsketchline.a" "$declared" "$(nm -g --defined-only "$archive" | exports)"
same "members of libsketchline.a" sketchline.o "$(ar t "$archive")"
unversioned=$(nm -D --defined-only "$shared" | awk -v node="@@SKL_$major" 'NF == 3 && $2 != "A" && index($3, node) == 0')
[ -z "$unversioned" ] || die "without the version SKL_$major: $unversioned"
same "needed by libsketchline.so" libc.so.6 "$(needed "$shared")"
readelf -d "$shared" | grep -q "SONAME.*\[libsketchline.so.$major\]" || die "the SONAME is not libsketchline.so.$major"
# Of the C library nothing but memory: an engine's own, musl's and a unikernel's have these.
takes=$(nm -u "$archive" | awk 'NF == 2 { print $2 }' | LC_ALL=C sort -u)
for symbol in $takes; do
    case $symbol in
    memcpy | memmove | memset | memcmp | bcmp | strlen | posix_memalign | free | madvise) ;;
    *) die "libsketchline.a needs $symbol" ;;
    esac
done
# In KB, to be raised with reason. Code is under 60 %, for five levels of SIMD; a static program takes less of it (below).
most_archive=470 most_shared=290
size_of() { # FILE LIMIT
    local kilobytes=$((($(stat -c %s "$1") + 999) / 1000))
    echo "  ${1##*/}: $kilobytes KB"
    [ "$kilobytes" -le "$2" ] || die "$1 has $kilobytes KB, more than $2"
}
size_of "$archive" $most_archive
size_of "$shared" $most_shared
glibc=$(objdump -T "$shared" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
echo "  needs $glibc or newer, and of it ${takes//$'\n'/ }"
for crate in $(cargo tree --locked -p sketchline-ffi -e normal --target all --prefix none | cut -d ' ' -f 1 | sort -u); do
    case $crate in sketchline*) continue ;; esac
    grep -qE "^Files:.* $crate( |$)" ffi/dist/copyright || die "ffi/dist/copyright says nothing of $crate"
done

echo "make install, moved, make uninstall"
root="$work/root" prefix="/opt/its own"
installing=(make --no-print-directory CARGO=false "DESTDIR=$root") # it is built: cargo must not run
(umask 077 && "${installing[@]}" "PREFIX=$prefix" install)
wrong=$(find "$root" \( -type f -not -perm 644 \) -o \( -type d -not -perm 755 \))
[ -z "$wrong" ] || die "wrong modes in spite of umask: $wrong"
diff -r include "$root$prefix/include"
same "manual pages" "$(printf '%s\nsketchline\n' "$declared" | sed 's/$/.3/' | LC_ALL=C sort)" \
    "$(find "$root$prefix/share/man/man3" -type f -printf '%f\n' | LC_ALL=C sort)"
cp -a "$root$prefix" "$work/moved tree"
"${installing[@]}" "PREFIX=$prefix" uninstall
left=$(cd "$root" && find . -not -type d -o -path '*sketchline*')
[ -z "$left" ] || die "left by make uninstall: $left"
# Elsewhere, on demand; and nothing of others is touched.
mkdir -p "$root/usr/include"
touch "$root/usr/include/other.h"
split=(PREFIX=/usr LIBDIR=/usr/lib64 INCLUDEDIR=/usr/include/skl MANDIR=/man DOCDIR=/doc)
"${installing[@]}" "${split[@]}" install
for file in usr/lib64/libsketchline.a usr/include/skl/sketchline.h man/man3/sketchline.3 doc/copyright; do
    [ -f "$root/$file" ] || die "there is no /$file"
done
grep -q '^prefix=/usr$' "$root/usr/lib64/pkgconfig/sketchline.pc"
"${installing[@]}" "${split[@]}" uninstall
same "left by make uninstall" "$root/usr/include/other.h" "$(find "$root" -not -type d)"
rm -rf "$root"
if make --no-print-directory PREFIX=relative install 2>"$work/log"; then die "a relative PREFIX was taken"; fi
grep -q 'not an absolute path' "$work/log"
if OBJCOPY=no-such-objcopy ffi/dist/link "$cargos/libsketchline.a" include/sketchline.h "$work/none" 2>"$work/log"; then
    die "linked without objcopy"
fi
grep -q 'no-such-objcopy is missing' "$work/log"

# From here on only what was installed, and copies outside of this tree.
installed="$work/moved tree"
export PKG_CONFIG_PATH="$installed/lib/pkgconfig"
cp -r c-examples/embed "$work/embed"
programs=()
for source in "$work"/embed/*.c; do
    programs+=("$(basename "$source" .c)")
done
strict=(-std=c99 -Wall -Wextra -Wpedantic -Werror -O2)
# check PROGRAM COMMAND...: it prints what stands beside its source.
check() {
    local wanted="$work/embed/$1.txt"
    shift
    timeout 60 "$@" | diff -u "$wanted" - >&2 || die "failed, or printed something else: $*"
}
# embed WHAT COMPILER [FLAG...]: all of the programs; the flags may be anything that ends in the library.
embed() {
    local program
    for program in "${programs[@]}"; do
        "$2" "${strict[@]}" "$work/embed/$program.c" "${@:3}" -o "$work/program" || die "$1: $program does not build"
        check "$program" ${runner:+"$runner"} "$work/program"
    done
    echo "  $1"
}

echo "embedded by the book: ${programs[*]}"
static=() dynamic=()
eval "static=($(pkg-config --static --cflags --libs sketchline))" # it escapes spaces for a shell
eval "dynamic=($(pkg-config --cflags --libs sketchline))"
[ "$(pkg-config --modversion sketchline)" = "$version" ]
export LD_LIBRARY_PATH=$installed/lib
embed "pkg-config, shared" gcc "${dynamic[@]}"
needed "$work/program" | grep -qx "libsketchline.so.$major" || die "not linked with libsketchline.so.$major"
embed "plain cc, shared" cc "-I$installed/include" "-L$installed/lib" -lsketchline
unset LD_LIBRARY_PATH
embed "pkg-config --static, static with glibc" gcc -static "${static[@]}"
plain=("-I$installed/include" "$installed/lib/libsketchline.a")
embed "plain cc, static" cc "${plain[@]}"
code() { # PROGRAM
    size "$1" | awk 'NR == 2 { print $1 + $2 }'
}
# What it costs a host: the program with the library, less the same program without.
for program in "${programs[@]}"; do
    cc "${strict[@]}" "$work/embed/$program.c" "${plain[@]}" -Wl,--gc-sections -o "$work/program"
    check "$program" "$work/program"
    cc "${strict[@]}" "$work/embed/$program.c" "${dynamic[@]}" -o "$work/without"
    takes=$((($(code "$work/program") - $(code "$work/without")) / 1000))
    echo "  plain cc, static, --gc-sections: $program takes $takes KB of the library"
done
for how in shared static; do
    # shellcheck disable=SC2016
    printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(trial C)' 'set(CMAKE_C_STANDARD 99)' \
        "find_package(sketchline $major.$minor REQUIRED)" 'foreach(program ${PROGRAMS})' \
        '  add_executable(${program} ${EMBED}/${program}.c)' \
        "  target_link_libraries(\${program} PRIVATE sketchline::$how)" 'endforeach()' >"$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/cmake $how" "-DCMAKE_PREFIX_PATH=$installed" "-DEMBED=$work/embed" \
        -DCMAKE_BUILD_TYPE=Release "-DPROGRAMS=$(IFS=';' && echo "${programs[*]}")" >"$work/log" && cmake --build "$work/cmake $how" >>"$work/log" ||
        { cat "$work/log" >&2; die "CMake failed"; }
    for program in "${programs[@]}"; do
        check "$program" "$work/cmake $how/$program"
        if needed "$work/cmake $how/$program" | grep -q libsketchline; then is=shared; else is=static; fi
        [ "$is" = "$how" ] || die "sketchline::$how is $is"
    done
    echo "  CMake, sketchline::$how"
done

echo "find_package"
mkdir "$work/versions"
cat >"$work/versions/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.19)
project(versions C)
foreach(wanted IN LISTS WANTED)
  string(REPLACE " " ";" arguments "${wanted}")
  unset(sketchline_DIR CACHE)
  find_package(sketchline ${arguments} QUIET)
  message(STATUS "asked for '${wanted}': ${sketchline_FOUND}")
endforeach()
CMAKE
next_minor=$major.$((minor + 1)) next_major=$((major + 1))
good=("$major" "$major.$minor" "$version" "$version EXACT" "$major.$minor...<$next_major")
bad=("$version.1" "$next_minor" "$next_major" "$next_minor...$next_major" "0.0.1...<$version")
cmake -S "$work/versions" -B "$work/versions/build" "-DCMAKE_PREFIX_PATH=$installed" \
    "-DWANTED=$(IFS=';' && echo "${good[*]};${bad[*]}")" >"$work/log" || { cat "$work/log" >&2; die "CMake failed"; }
same "find_package" "$(printf "asked for '%s': 1\n" "${good[@]}")
$(printf "asked for '%s': 0\n" "${bad[@]}")" "$(sed -n 's/^-- \(asked\)/\1/p' "$work/log")"
mv "$installed/lib/libsketchline.a" "$work/taken.a"
if cmake -S "$work" -B "$work/cmake broken" "-DCMAKE_PREFIX_PATH=$installed" >"$work/log" 2>&1; then
    die "CMake took a tree without libsketchline.a"
fi
tr -s ' \n' '  ' <"$work/log" | grep -q 'libsketchline.a is missing' || { cat "$work/log" >&2; die "another error was expected"; }
mv "$work/taken.a" "$installed/lib/libsketchline.a"

echo "beside another Rust library, which uses std"
mkdir -p "$work/beside/src"
cat >"$work/beside/Cargo.toml" <<'TOML'
[package]
name = "beside"
version = "0.0.0"
edition = "2021"
[lib]
crate-type = ["staticlib"]
[workspace]
TOML
cat >"$work/beside/src/lib.rs" <<'RUST'
/// Distinct digits of a number, by way of an allocation, a hash map, a thread and a panic that is caught.
#[no_mangle]
pub extern "C" fn beside_digits(number: u64) -> i32 {
    let count = std::thread::spawn(move || {
        let digits: std::collections::HashMap<char, ()> = number.to_string().chars().map(|digit| (digit, ())).collect();
        digits.len() as i32
    });
    std::panic::set_hook(Box::new(|_| ()));
    let caught = std::panic::catch_unwind(|| std::hint::black_box(None::<i32>).unwrap()).is_err();
    if caught { count.join().unwrap() } else { -1 }
}
RUST
cat >"$work/beside.c" <<'C'
#include <sketchline.h>
#include <stdio.h>
int beside_digits(uint64_t number);
int main(void)
{
    skl_bloom_params params;
    skl_bloom filter = {{0}};
    if (skl_bloom_params_for_fpr(1000, 0.01, &params) || skl_bloom_new(&filter, &params, NULL)) return 1;
    if (skl_bloom_insert_u64(&filter, 112358)) return 1;
    printf("%d %d ", skl_bloom_contains_u64(&filter, 112358), skl_bloom_contains_u64(&filter, 7));
    printf("%d\n", beside_digits(112358));
    skl_bloom_free(&filter);
    return 0;
}
C
system=(-pthread -ldl -lm -lgcc_s) # what Rust's std asks for
for lto in off fat; do
    CARGO_TARGET_DIR="$work/beside/$lto" CARGO_PROFILE_RELEASE_LTO=$lto \
        cargo build --quiet --release --manifest-path "$work/beside/Cargo.toml"
    beside="$work/beside/$lto/release/libbeside.a"
    for compiler in gcc "$clang"; do
        for flags in -O2 '-O2 -flto'; do
            [ "$compiler $flags" != "$clang -O2 -flto" ] || flags="$flags -fuse-ld=lld-19"
            for libraries in ours-first theirs-first shared static; do
                case $libraries in
                ours-first) linked=("${plain[@]}" "$beside" "${system[@]}") ;;
                theirs-first) linked=("$beside" "${plain[@]}" "${system[@]}") ;;
                shared) linked=("${dynamic[@]}" "-Wl,-rpath,$installed/lib" "$beside" "${system[@]}") ;;
                static) linked=(-static "${plain[@]}" "$beside" -pthread -ldl -lm -lgcc_eh) ;;
                esac
                # shellcheck disable=SC2086
                "$compiler" $flags "$work/beside.c" "${linked[@]}" -o "$work/program" 2>"$work/log" ||
                    { cat "$work/log" >&2; die "does not link beside Rust (lto=$lto): $compiler $flags, $libraries"; }
                same "beside Rust (lto=$lto): $compiler $flags, $libraries" "1 0 5" "$("$work/program")"
            done
        done
    done
    echo "  lto=$lto: gcc and $clang, with and without -flto; either order, shared, static"
done

echo "with other C libraries and compilers"
embed "gcc -flto" gcc -flto "${plain[@]}"
embed "$clang -flto, lld" "$clang" -flto -fuse-ld=lld-19 "${plain[@]}"
embed "musl, static" musl-gcc -static "${plain[@]}"
embed "gcc -fsanitize=address" gcc -g -fsanitize=address,undefined -fno-sanitize-recover=all "${plain[@]}"
embed "$clang -fsanitize=address" "$clang" -g -fsanitize=address,undefined -fno-sanitize-recover=all "${plain[@]}"

echo "make deb"
arch=$(dpkg --print-architecture)
make --no-print-directory CARGO=false deb >"$work/debs"
mapfile -t debs <"$work/debs"
same "packages" "$built/libsketchline${major}_$version-1_$arch.deb
$built/libsketchline-dev_$version-1_$arch.deb" "$(cat "$work/debs")"
cp "${debs[@]}" "$work"
make --no-print-directory CARGO=false deb >/dev/null
for deb in "${debs[@]}"; do
    cmp "$deb" "$work/${deb##*/}" || die "the same sources gave another package"
done
# Who builds packages for others names himself with DEBEMAIL, and Debian's bug is about Debian.
lintian --allow-root --fail-on error,warning --suppress-tags \
    bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs "${debs[@]}"
unset PKG_CONFIG_PATH
if [ "$(id -u)" = 0 ]; then
    names=("libsketchline$major" libsketchline-dev)
    for name in "${names[@]}"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
        [ "$status" != installed ] || die "$name is installed here already"
    done
    packages=("${names[@]}")
    dpkg -i "${debs[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "dpkg -i failed"; }
    for name in sketchline skl_version_number; do
        man -w "$name" >/dev/null || die "there is no manual page of $name"
    done
    embed "installed: cc -lsketchline" cc -lsketchline
    mkdir "$work/debian" # a package of a program depends on ours by itself
    printf 'Source: trial\n\nPackage: trial\nArchitecture: any\n' >"$work/debian/control"
    depends=$(cd "$work" && dpkg-shlibdeps -O program 2>/dev/null)
    [[ $depends == *"libsketchline$major (>= $version)"* ]] || die "dpkg-shlibdeps found: $depends"
    eval "static=($(pkg-config --static --cflags --libs sketchline))"
    embed "installed: pkg-config, static" gcc -static "${static[@]}"
    cmake -S "$work" -B "$work/cmake deb" "-DEMBED=$work/embed" "-DPROGRAMS=${programs[0]}" >"$work/log" &&
        cmake --build "$work/cmake deb" >>"$work/log" || { cat "$work/log" >&2; die "CMake failed"; }
    check "${programs[0]}" "$work/cmake deb/${programs[0]}"
    echo "  installed: CMake"
    for deb in "${debs[@]}"; do
        dpkg-deb -c "$deb" | grep -v '^d' | awk '{ print substr($6, 2) }'
    done >"$work/files"
    dpkg --purge "${names[@]}" >/dev/null
    packages=()
    while read -r file; do
        [ ! -e "$file" ] && [ ! -h "$file" ] || die "left by dpkg --purge: $file"
    done <"$work/files"
    [ -s "$work/files" ] || die "the packages are empty"
else
    for deb in "${debs[@]}"; do
        dpkg-deb -x "$deb" "$work/deb"
    done
    multiarch=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
    embed "extracted: cc" cc "-I$work/deb/usr/include" "-L$work/deb/usr/lib/$multiarch" -lsketchline \
        "-Wl,-rpath,$work/deb/usr/lib/$multiarch"
    echo "  not root: the packages were extracted, not installed and removed"
fi

echo "for another machine"
PATH=/usr/bin:$PATH CARGO_TARGET_DIR=build/aarch64 make --no-print-directory "DESTDIR=$work/aarch64" PREFIX=/usr \
    TARGET=aarch64-unknown-linux-gnu CROSS=aarch64-linux-gnu- install
same "global in libsketchline.a for AArch64" "$declared" \
    "$(aarch64-linux-gnu-nm -g --defined-only "$work/aarch64/usr/lib/libsketchline.a" | exports)"
readelf -h "$work/aarch64/usr/lib/libsketchline.so.$version" | grep -q 'Machine:.*AArch64' || die "not for AArch64"
runner=qemu-aarch64-static
embed "AArch64, static, emulated" aarch64-linux-gnu-gcc -static "-I$work/aarch64/usr/include" \
    "$work/aarch64/usr/lib/libsketchline.a"
