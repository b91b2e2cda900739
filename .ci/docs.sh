#!/usr/bin/env bash
# The documents: every ```c block is a whole program that compiles and whose assertions hold, every skl_ or SKL_ name is
# one of the headers, and every relative link leads somewhere. `docs.sh FILE...`: the programs of these alone.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/need gcc
mapfile -t documents < <(find . \( -name target -o -name build -o -name .git \) -prune -o -name '*.md' -print |
    sed 's|^\./||' | LC_ALL=C sort)
[ "$#" -gt 0 ] || set -- "${documents[@]}"
cargo build --quiet --locked --release -p sketchline-ffi
library=${CARGO_TARGET_DIR:-target}/release/libsketchline.a
folder=build/docs
rm -rf "$folder"
mkdir -p "$folder"
failed=0

# complain FILE:LINE MESSAGE
complain() {
    echo "$1: $2" >&2
    failed=1
}

# Each block starts with a line that makes the compiler, and assert, speak of the document.
for document; do
    awk -v file="$document" -v folder="$folder" '
        /^```$/ { if (out) close(out); out = "" }
        out { print >out }
        /^```c$/ {
            name = file
            gsub(/[^A-Za-z0-9]/, "_", name)
            out = sprintf("%s/%s_%04d.c", folder, name, NR)
            printf "#line %d \"%s\"\n", NR + 1, file >out
        }' "$document"
done
programs=0
for source in "$folder"/*.c; do
    [ -f "$source" ] || continue
    program=${source%.c}
    if ! gcc -std=c99 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -O1 -g -UNDEBUG -Iinclude "$source" \
        "$library" -o "$program"; then
        complain "$source" "does not compile"
    elif ! timeout 60 "$program" >"$program.out"; then
        complain "$source" "fails"
    else
        programs=$((programs + 1))
    fi
done
echo "$programs programs compiled and run"

# A * stands for any letters, and so does the end of a name that ends in an underscore.
grep -hvE '^ *(/?\*|//)' include/* | grep -oE '\b(skl|SKL)_[A-Za-z0-9_]+' | sort -u >"$folder/declared"
names=0
while IFS=: read -r document line name; do
    names=$((names + 1))
    pattern=${name//\*/[A-Za-z0-9_]*}
    case $name in *_) pattern+='[A-Za-z0-9_]*' ;; esac
    grep -qxE "$pattern" "$folder/declared" || complain "$document:$line" "include/ has no $name"
done < <(grep -noE '\b(skl_[a-z0-9_*]*|SKL_[A-Z][A-Z0-9_*]*)' "${documents[@]}" /dev/null)
echo "$names names looked up"

links=0
while IFS=: read -r document line link; do
    link=${link#](}
    link=${link%)}
    case $link in *://* | mailto:* | '#'*) continue ;; esac
    links=$((links + 1))
    [ -e "$(dirname "$document")/${link%%#*}" ] || complain "$document:$line" "there is no $link"
done < <(grep -noE '\]\([^) ]+\)' "${documents[@]}" /dev/null)
echo "$links relative links followed"
exit "$failed"
