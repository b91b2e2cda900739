#!/usr/bin/env bash
# distinct.sh [LIBRARY]: c-examples/distinct.c, after `make lib`. Estimates against exact counts over real words, SQL's
# own COUNT(DISTINCT), unions of partial results to the byte, damaged files, CSV.
set -euo pipefail
cd "$(dirname "$0")/.."

library=${1:-target/release/libsketchline.a}
[ -e "$library" ] || { echo "distinct.sh: there is no $library: run make lib" >&2; exit 1; }
library=$(realpath "$library")
.ci/need gcc clang libc6-dev libsqlite3-dev pkg-config wamerican-huge wbritish-huge sqlite3 valgrind python3
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. .ci/programs.sh
program=distinct

# same FILE FILE: byte for byte.
same() {
    cmp "$1" "$2" || fail "$1 and $2 differ"
    passed
}

echo "building with gcc and clang, and with sanitizers"
strict="-std=c11 -O2 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -Iinclude"
libraries="$library $(pkg-config --cflags --libs sqlite3) -lm"
for cc in gcc clang; do
    # shellcheck disable=SC2086
    $cc $strict c-examples/distinct.c $libraries -o "$work/distinct.$cc"
    passed
done
# Files are mapped as blocks of the heap that are exactly as long, so that one byte beyond is noticed.
cat >"$work/exact_map.c" <<'END_C'
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
void *__wrap_mmap(void *address, size_t len, int protection, int flags, int file, off_t at);
int __wrap_munmap(void *bytes, size_t len);
void *__wrap_mmap(void *address, size_t len, int protection, int flags, int file, off_t at)
{
    char *bytes = malloc(len);
    (void)address, (void)protection, (void)flags;
    if (pread(file, bytes, len, at) != (ssize_t)len) abort();
    return bytes;
}
int __wrap_munmap(void *bytes, size_t len)
{
    (void)len;
    free(bytes);
    return 0;
}
END_C
wrap="$work/exact_map.c -Wl,--wrap=mmap,--wrap=munmap"
sanitize="-g -fsanitize=address,undefined -fno-sanitize-recover=all"
# shellcheck disable=SC2086
gcc $strict $sanitize c-examples/distinct.c $wrap $libraries -o "$work/distinct.asan"
# shellcheck disable=SC2086
gcc $strict -g c-examples/distinct.c $wrap $libraries -o "$work/distinct.valgrind"
distinct=$work/distinct.asan
export ASAN_OPTIONS=detect_leaks=0 # messages leave with exit(); valgrind looks for leaks below
cd "$work"

echo "real words: both lists, in groups of their first bytes"
LC_ALL=C awk 'BEGIN { print "letter,word,list" } { print tolower(substr($0, 1, 1)) "," $0 "," (NR == FNR) }' \
    /usr/share/dict/american-english-huge /usr/share/dict/british-english-huge >words.csv
cat >accuracy.py <<'END_PY'
"""accuracy.py JSON P: exact numbers are right, and estimates within 4.5 sigma of them."""
import collections, json, math, sys
groups = collections.defaultdict(set)
with open("words.csv", "rb") as file:
    next(file)
    rows = 0
    for line in file:
        letter, word, _ = line.split(b",")
        groups[letter.decode(errors="replace")].add(word)
        rows += 1
r, p = json.load(open(sys.argv[1])), int(sys.argv[2])
assert (r["p"], r["sigmas"], r["rows"], r["nulls"], r["num_groups"]) == (p, 2, rows, 0, len(groups)), r
assert sum(map(len, groups.values())) < 0.6 * rows, "few duplicates"
shown = r["groups"]
assert {g["group"]: g["exact"] for g in shown} == {name: len(words) for name, words in groups.items()}
assert [g["estimate"] for g in shown] == sorted((g["estimate"] for g in shown), reverse=True)
assert r["memory"] == sum(g["memory"] for g in shown) and r["exact_memory"] == sum(g["exact_memory"] for g in shown)
large, worst, within = 0, 0, 0
for g in shown:
    error = g["estimate"] / g["exact"] - 1
    sigma = 1.04 / math.sqrt(2**p) if g["form"] == "dense" else 2**-13.5
    assert math.isclose(g["error_percent"], 100 * error, rel_tol=1e-4, abs_tol=1e-9), g
    assert math.isclose(g["error_sigmas"], error / sigma, rel_tol=1e-3, abs_tol=1e-4), g
    assert g["lower"] <= g["estimate"] <= g["upper"] and g["bytes"] % 64 == 0 and g["memory"] >= g["bytes"]
    dense_bytes = 64 + (2**p * 6 // 8 + 63) // 64 * 64
    assert g["bytes"] == dense_bytes if g["form"] == "dense" else g["bytes"] < dense_bytes
    assert g["exact_memory"] * 3 / 4 >= 8 * g["exact"] or g["exact"] < 12
    if g["exact"] >= 1000:
        large, worst = large + 1, max(worst, abs(g["error_sigmas"]))
        within += g["lower"] <= g["exact"] <= g["upper"]
assert large >= 20 and worst <= 4.5, (large, worst)
print(f"precision {p}: {large} groups of 1,000 words or more, the worst estimate {worst:.2f} sigma off, "
      f"{within} within bounds; {r['memory']:,} bytes of sketches, {r['exact_memory']:,} of sets")
END_PY
for p in 14 10; do
    works ./distinct.gcc --p $p --group letter --value word --exact --json <words.csv
    mv out words.$p.json
    python3 accuracy.py words.$p.json $p
    passed
done
works ./distinct.gcc --group letter --value word --exact --top 5 <words.csv
cat out
[ "$(wc -l <out)" = 12 ] && grep -qE '^5 of 27 groups, ' out || fail "--top"

echo "CSV, TSV and SQLite are one"
tr , '\t' <words.csv >words.tsv
sqlite3 words.db 'CREATE TABLE words (letter TEXT, word TEXT, list INTEGER)' '.mode csv' \
    '.import --skip 1 words.csv words'
by=(--group letter --value word)
works ./distinct.gcc "${by[@]}" --save csv.groups <words.csv
mv out csv.txt
works ./distinct.gcc "${by[@]}" --save tsv.groups --tsv <words.tsv
same out csv.txt
works ./distinct.gcc "${by[@]}" --save db.groups --db words.db --table words
same out csv.txt
same csv.groups tsv.groups
same csv.groups db.groups
works ./distinct.gcc --db words.db --table words "${by[@]}" --exact --json
python3 - <<'END_PY'
import json, sqlite3
db = sqlite3.connect("words.db")
db.text_factory = lambda text: text.decode(errors="replace")
sql = dict(db.execute("SELECT letter, count(DISTINCT word) FROM words GROUP BY letter"))
assert {g["group"]: g["exact"] for g in json.load(open("out"))["groups"]} == sql, sql
END_PY
passed

echo "what SQL calls equal"
cat >equal.py <<'END_PY'
"""equal.py DISTINCT: groups and values of every storage class, in columns of every affinity, as SQLite counts them."""
import itertools, json, sqlite3, subprocess, sys
values = [None, 0, 1, -1, 42, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 42.0, 42.5, 0.1, 1 / 3, 1e15,
          float(2**53), float(2**63), -float(2**63), 1e19, 1e300, 5e-324, float("inf"), -float("inf"),
          "", " ", "42", "42.0", " 42", "4.2e1", "abc", "ABC", "abc ", "é", "e\u0301", "\U0001f600", "\r\n\t\x7f",
          "a\"\\b", "a\0b", "a\0", "\0", b"", b"\0", b"42", b"abc", b"\xff", bytes(300)]

def name(group):
    if "group" not in group:
        return "all"
    value = group["group"]
    return bytes.fromhex(value["blob"]) if isinstance(value, dict) else value

def run(*arguments):
    done = subprocess.run([sys.argv[1], "--db", "equal.db", "--table", "t", "--value", "v", "--exact", "--json",
                           *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)

for group_type, value_type in itertools.product(["", "TEXT", "NUMERIC", "REAL", "INTEGER", "BLOB"], repeat=2):
    open("equal.db", "w").close()
    db = sqlite3.connect("equal.db")
    db.execute(f"CREATE TABLE t (g {group_type}, v {value_type})")
    db.executemany("INSERT INTO t VALUES (?, ?)", ((values[i], values[(i * j + j) % len(values)])
                                                   for i in range(len(values)) for j in range(12)))
    db.commit()
    result = run("--group", "g")
    sql = db.execute("SELECT g, count(DISTINCT v) FROM t GROUP BY g").fetchall()
    ours = [(name(group), group["exact"]) for group in result["groups"]]
    by_type = lambda pair: (str(isinstance(pair[0], (int, float)) or type(pair[0])), repr(pair[0]))
    number = lambda pair: (float(pair[0]) if isinstance(pair[0], int) and abs(pair[0]) < 2**53 else pair[0], pair[1])
    assert sorted(map(number, ours), key=by_type) == sorted(map(number, sql), key=by_type), (group_type, value_type)
    nulls, = db.execute("SELECT count(*) FROM t WHERE v IS NULL").fetchone()
    assert result["rows"] == 12 * len(values) and result["nulls"] == nulls
    total, = db.execute("SELECT count(DISTINCT v) FROM t").fetchone()
    assert [(name(group), group["exact"]) for group in run()["groups"]] == [("all", total)]
    db.close()
END_PY
python3 equal.py "$distinct"
passed
sqlite3 refused.db "
    CREATE TABLE t (k TEXT, nocase TEXT COLLATE NOCASE, rtrim INTEGER COLLATE RTRIM);
    CREATE VIEW view AS SELECT * FROM t; CREATE VIRTUAL TABLE virtual USING rtree (k, a, b);
    CREATE TABLE \"we\"\"ird; --'t\" (\"sel\"\"ect 'x'\", k); INSERT INTO \"we\"\"ird; --'t\" VALUES (1, 2), (1, 3)"
sqlite3 utf16.db "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (k)"
refused() { "$distinct" --db refused.db "$@"; }
refuses 1 'collation NOCASE' refused --table t --value nocase
refuses 1 'collation RTRIM' refused --table t --value k --group rtrim
for table in view virtual; do refuses 1 'is a view or a virtual table' refused --table $table --value k; done
refuses 1 'there is no table "none"' refused --table none --value k
refuses 1 'has no column "none"' refused --table t --value none
refuses 1 'has no column "none"' refused --table t --value k --group none
refuses 1 'is in UTF-16' "$distinct" --db utf16.db --table t --value k
refuses 1 'No such file' "$distinct" --db none.db --table t --value k
refuses 1 'not a database' "$distinct" --db words.csv --table t --value k
[ ! -e none.db ] || fail "a database was made"
works refused --table "we\"ird; --'t" --group "sel\"ect 'x'" --value k --json
grep -q '"group": 1, "estimate": 2.0' out || fail "strange names"
works refused --table t --value k --exact --json
grep -q '{"estimate": 0, "lower": 0, "upper": 0, "form": "sparse", .*"exact": 0, "error_percent": null, ' out ||
    fail "a table without rows"
works refused --table t --value k --exact
works refused --table t --value k --group k
grep -q '^0 of 0 groups, 0 rows' out || fail "no groups"

echo "parts and wholes"
{ head -n 1 words.csv; sed -n '2,400000p' words.csv; } >part1.csv
{ head -n 1 words.csv; sed -n '300000,500000p' words.csv; } >part2.csv # overlaps both others
{ head -n 1 words.csv; sed -n '400001,$p' words.csv; } >part3.csv
fast=./distinct.gcc
for p in 4 10 14 18; do
    works $fast --p $p "${by[@]}" --save whole.$p --json <words.csv
    for part in 1 2 3; do works $fast --p $p "${by[@]}" --save part$part <part$part.csv; done
    works $fast --merge part1 part2 part3 --save merged
    same merged whole.$p
    works $fast --save merged --merge part3 part2 --load part1 --merge=part1 merged
    same merged whole.$p
    works $fast --load part1 --merge part2 --save added "${by[@]}" <part3.csv
    same added whole.$p
    works $fast --load part3 "${by[@]}" --db words.db --table words --save added
    same added whole.$p
done
for p in 4 10 14 18; do
    works $fast --p $p --load whole.18 --save folded
    same folded whole.$p
done
works $fast --p 10 --save folded --merge whole.14 whole.10 whole.18
same folded whole.10
refuses 1 'whole.18: a sketch of precision 18 among those of 14: --p 14' $fast --merge whole.14 whole.18
refuses 1 'whole.14: a sketch of precision 14 among those of 18: --p 14' $fast --merge whole.18 whole.14
refuses 1 'whole.14: a sketch of precision 14 among those of 15: --p 14' $fast --p 15 --load whole.14
refuses 1 'whole.10: a sketch of precision 10 among those of 14: --p 10' $fast --merge whole.14 whole.10 --save folded
same folded whole.10
for sigmas in 1 2 3; do
    works $fast --load whole.14 --json --sigmas $sigmas
    mv out merged.$sigmas.json
done
python3 - <<'END_PY'
import json
runs = [json.load(open(f"merged.{sigmas}.json")) for sigmas in (1, 2, 3)]
exact = {g["group"]: g for g in json.load(open("words.14.json"))["groups"]}
for one, two, three in zip(*(run["groups"] for run in runs)):
    assert one["group"] == two["group"] == three["group"]
    assert three["lower"] <= two["lower"] <= one["lower"] <= one["estimate"]
    assert one["estimate"] <= one["upper"] <= two["upper"] <= three["upper"]
    assert two["estimate"] == exact[two["group"]]["estimate"] and two["bytes"] == exact[two["group"]]["bytes"]
    if one["form"] == "dense":
        assert abs(1 - one["estimate"] / one["upper"] - 0.008125) < 1e-6
END_PY
passed
levels=portable
case $("$root/.ci/isa.sh") in
neon) levels="portable neon" ;;
avx2) levels="portable avx2" ;;
avx512) levels="portable avx2 avx512" ;;
avx512vbmi) levels="portable avx2 avx512 avx512vbmi" ;;
esac
for level in $levels; do
    works $fast --simd "$level" --p 14 "${by[@]}" --save level <words.csv
    same level whole.14
    works $fast --simd "$level" --merge part1 part2 part3 --save level
    grep -q ", SIMD level $level\$" out || fail "not $level"
    same level whole.18
done

echo "files of groups that are damaged"
printf 'g,v\nx,1\nx,2\ny,1\n' >small.csv
small=(--group g --value v)
works "$distinct" "${small[@]}" --save small <small.csv
[ "$(stat -c %a small)" = 644 ] || fail "the mode of a file"
cat >hash.c <<'END_C'
#include <stdio.h>
#include "sketchline.h"
int main(void) /* appends the checksum of what it copies */
{
    static unsigned char bytes[1 << 20];
    size_t len = fread(bytes, 1, sizeof bytes - 8, stdin);
    uint64_t hash;
    if (skl_hash_bytes(bytes, len, 0, &hash) != SKL_OK) return 1;
    for (int i = 0; i < 8; i++) bytes[len++] = (unsigned char)(hash >> 8 * i);
    return fwrite(bytes, 1, len, stdout) != len;
}
END_C
# shellcheck disable=SC2086
gcc -O1 -I"$root/include" hash.c $libraries -o hash
cat >damage.py <<'END_PY'
"""damage.py DISTINCT: every prefix of a small file, every byte changed, and wrong files with the right checksum."""
import os, struct, subprocess, sys
whole = open("small", "rb").read()
runs = 0

def run(data, *before):
    with open("damaged", "wb") as file:
        file.write(data)
    return subprocess.run([sys.argv[1], "--merge", *before, "damaged", "--save", "new"], capture_output=True, text=True)

def refused(data, text, *before):
    global runs
    runs += 1
    done = run(data, *before)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, (data, done)
    assert done.stderr.startswith("distinct: damaged: ") and text in done.stderr, (data, done.stderr)
    assert not os.path.exists("new"), data

for length in range(len(whole)):
    refused(whole[:length], "", *["small"] * (length % 2))
for at in range(len(whole)):
    changed = bytearray(whole)
    changed[at] ^= 1 << at % 8
    refused(bytes(changed), "" if at < 8 else "checksum")
for after in (b"\0", b"\n", whole[:8], whole):
    refused(whole + after, "checksum")

def file_of(*groups, after=b""):
    data = whole[:8]
    for name, image in groups:
        data += struct.pack("<I", len(name)) + name + struct.pack("<I", len(image)) + image
    return subprocess.run(["./hash"], input=data + after, capture_output=True, check=True).stdout

name_len = 2
image = whole[8 + 4 + name_len + 4:][:128]
assert file_of((b"tx", image), (b"ty", whole[-8 - 128:-8])) == whole
for names in ([b""], [b"n"], [b"t"], [b"b"], [b"i" + bytes(8)], [b"r" + struct.pack("<d", float("inf"))],
              [b"", b"i" + bytes(8), b"n", b"t", b"ta", b"tab", b"tb"], []):
    done = run(file_of(*((name, image) for name in names)))
    assert done.returncode == 0 and done.stderr == "", (names, done)
    assert open("new", "rb").read() == open("damaged", "rb").read()
    os.remove("new")
for name in (b"x", b"nn", b"i", b"i" + bytes(7), b"r" + bytes(9), b"\0", b"r" + struct.pack("<d", float("nan")),
             b"r" + b"\xff" * 8):
    refused(file_of((name, image)), "a name that no value has")
for names in ([b"ty", b"tx"], [b"tx", b"tx"], [b"tx", b"t"], [b"", b""], [b"t\x80", b"t\x7f"]):
    refused(file_of(*((name, image) for name in names)), "the names are not in order")
for after in (b"\0", bytes(3), b"\2\0\0\0t", struct.pack("<I", 2**32 - 1), struct.pack("<I", 9) + b"tz345678",
              struct.pack("<I", 2) + b"tz", struct.pack("<I", 2) + b"tz" + struct.pack("<I", 129) + image,
              struct.pack("<I", 2) + b"tz" + struct.pack("<I", 2**32 - 1) + image, struct.pack("<I", 2) + b"tz\1\0\0"):
    refused(file_of((b"tx", image), after=after), "a part is longer than the file")
for length in (0, 1, 63, 64, 127):
    refused(file_of((b"tx", image), (b"ty", image[:length])), "damaged: group 2: ")
refused(file_of((b"tx", image + bytes(64))), "damaged: group 1: ")
for at in range(len(image)):
    changed = bytearray(image)
    changed[at] ^= 1 << at % 8
    refused(file_of((b"tx", bytes(changed))), "damaged: group 1: ")
bloom = open("bloom", "rb").read()
refused(file_of((b"tx", bloom)), "another kind of sketch")
refused(file_of((b"tx", open("other", "rb").read())), "values in another form")
refused(image, "not a file of groups")
print(f"{runs} damaged files, each refused")
END_PY
cat >images.c <<'END_C'
#include <stdio.h>
#include "sketchline.h"
static int write_image(const char *path, const void *image, size_t len)
{
    FILE *file = fopen(path, "wb");
    return file == NULL || fwrite(image, 1, len, file) != len || fclose(file) != 0;
}
int main(void) /* a Bloom filter, and a sketch of another seed */
{
    skl_bloom_params bloom_params;
    skl_hll_params hll_params;
    skl_bloom bloom;
    skl_hll hll;
    const void *image;
    size_t len;
    if (skl_bloom_params_explicit(1, 8, &bloom_params) || skl_bloom_new(&bloom, &bloom_params, NULL) ||
        skl_bloom_seal(&bloom) || skl_bloom_image(&bloom, &image, &len) || write_image("bloom", image, len) ||
        skl_hll_params_for(14, &hll_params) || skl_hll_new(&hll, &hll_params, NULL) || skl_hll_seal(&hll) ||
        skl_hll_image(&hll, &image, &len) || write_image("other", image, len))
        return 1;
    skl_bloom_free(&bloom);
    skl_hll_free(&hll);
    return 0;
}
END_C
# shellcheck disable=SC2086
gcc -O1 -I"$root/include" images.c $libraries -o images
./images
python3 damage.py "$distinct"
passed
refuses 1 'No such file' "$distinct" --load none
refuses 1 'not a regular file' "$distinct" --merge small .
refuses 1 'small.csv: not a file of groups' "$distinct" --merge small small.csv
for path in small.csv . /dev/null words.db bloom; do
    refuses 1 'exists and is not a file of groups' "$distinct" "${small[@]}" --save $path <small.csv
done
refuses 1 'No such file' "$distinct" "${small[@]}" --save none/groups <small.csv
mkdir kept
cp small kept/small
limited() { (ulimit -f 100 && "$@"); }
refuses 1 'cannot save to kept/small: File too large' limited $fast --load whole.18 --save kept/small
refuses 1 'header has 2' "$distinct" "${small[@]}" --save kept/small < <(cat small.csv; echo z)
same kept/small small
[ "$(ls kept)" = small ] || fail "half files: $(ls kept)"
# shellcheck disable=SC2016
refuses 1 'cannot write the result' sh -c '"$0" --load small >/dev/full' "$distinct"

echo "CSV"
cat >fields.py <<'END_PY'
"""fields.py DISTINCT: fields of all troublesome bytes, quoted where they must be or everywhere, across all buffers."""
import collections, json, random, subprocess, sys
random.seed(20)
alphabet = ["a", "b", ",", "\t", '"', "\n", "\r", "\r\n", " ", "é", "\0", "x" * 300]
for number in range(48):
    separator, end, quote_all = ",\t"[number % 2], ["\n", "\r\n"][number // 2 % 2], number // 4 % 2
    field = lambda most: "".join(random.choices(alphabet, k=random.randint(0, most)))
    def quoted(text):
        plain = not quote_all and not any(c in text for c in separator + "\r\n") and not text.startswith('"')
        return text if plain else '"' + text.replace('"', '""') + '"'
    header = ["g" + field(2).replace("\0", ""), "other", "v" + field(2).replace("\0", "")] # no argument has a NUL
    rows = [[field(1), field(4), field(3)] for _ in range(random.choice([0, 1, 5, 3000]))]
    data = "".join(separator.join(map(quoted, row)) + end for row in [header] + rows)
    data = "\ufeff" * (number // 8 % 2) + data
    if number // 16 % 2:
        data = data[:-len(end)]
    groups = collections.defaultdict(set)
    for row in rows:
        groups[row[0]].add(row[2])
    done = subprocess.run([sys.argv[1], "--csv" if separator == "," else "--tsv", "--exact", "--json", "--group",
                           header[0], "--value", header[2]], input=data.encode(), capture_output=True)
    assert done.returncode == 0, (number, done.stderr)
    result = json.loads(done.stdout)
    assert result["rows"] == len(rows), (number, result["rows"])
    ours = {group["group"]: group["exact"] for group in result["groups"]}
    assert ours == {name: len(values) for name, values in groups.items()}, (number, ours)
END_PY
python3 fields.py "$distinct"
passed
# counts WANT CSV OPTION...: groups and numbers of distinct values, from CSV with escapes of printf.
counts() {
    local want=$1 csv=$2
    shift 2
    # shellcheck disable=SC2059
    works "$distinct" --json "$@" < <(printf "$csv")
    local got
    got=$(python3 -c "
import json
groups = json.load(open('out'))['groups']
print(*sorted(f\"{g.get('group', 'all')!r}={g['estimate']:.0f}\" for g in groups))")
    [ "$got" = "$want" ] || fail "$got, not $want: $csv"
}
counts "'all'=3" 'v\na\nb\n\na\n' --value v
counts "'all'=2" 'v\na\nA' --value v
counts "'all'=0" 'v\n' --value v
counts "'all'=0" 'v' --value v
counts "" 'v' --value v --group v
counts "'all'=1" 'v,g\n,x\n,y\n' --value v
counts "''=1 'x'=2" 'v,g\n,\n1,x\n"",x\n' --value v --group g
counts "'all'=2" 'v\n"a"\na\n"a""b"\n' --value v
counts "'all'=3" 'v\r\na\r\n"a\r\nb"\r\n"a\nb"' --value v
counts "'all'=2" 'v\na"b"c\n"a""b""c"\na\rb\r\n' --value v
counts "'all'=1" '\xef\xbb\xbf"v"\nx\n' --value v
counts "'all'=3" 'v\n\xff\n\xfe\n\\xff\n' --value v
counts "'all'=3" 'v\n\0\na\n\0\0\n' --value v
counts "'a,b'=1" 'g\tv\na,b\tx\n' --tsv --group g --value v
counts "'=x'=1" '=g,=v\n=x,=y\n' --group==g --value '=v'
counts "'a'=1 'b'=1" ',v\na,1\nb,1\n' --group '' --value v
# complains TEXT CSV OPTION...
complains() {
    local text=$1 csv=$2
    shift 2
    # shellcheck disable=SC2059
    refuses 1 "$text" "$distinct" "$@" < <(printf "$csv")
}
complains 'line 1: there is no header' '' --value v
complains 'line 1: there is no header' '\xef\xbb\xbf' --value v
complains 'line 1: there is no column "v" among the 2 of the header' 'a,b\n1,2\n' --value v
complains 'line 1: there is no column "V" among' 'v\n1\n' --value V
complains 'line 1: there is no column "g" among' 'v\n1\n' --value v --group g
complains 'line 1: there are two columns "v"' 'v,a,v\n1,2,3\n' --value v
complains 'line 3: 1 column, but the header has 2' 'a,v\n1,2\n3\n4,5\n' --value v
complains 'line 3: 3 columns, but the header has 2' 'a,v\n1,2\n3,4,5\n' --value v
complains 'line 3: 1 column, but the header has 2' 'a,v\n1,2\n\n' --value v
complains 'line 7: 1 column, but the header has 2' 'a,v\n"1\n\n",2\n3,"\n"\nx' --value v
complains 'line 7: 1 column, but the header has 2' 'a,v\r\n"1\r\n\r\n",2\r\n3,"\r\n"\r\n"x\r\n"' --value v
complains 'line 3: the quote that opens here is never closed' 'a,v\n1,2\n3,"4\n5,6\n' --value v
complains 'line 2: something follows a closing quote' 'a,v\n1,"2"3\n' --value v
complains 'line 3: something follows a closing quote' 'a,v\n1,"2\n" \n' --value v
complains 'line 2: something follows a closing quote' 'v\n"1"\r2\n' --value v
# shellcheck disable=SC2016
refuses 1 'cannot read standard input: Is a directory' sh -c '"$0" --value v <.' "$distinct"
# shellcheck disable=SC2016
refuses 1 'cannot read standard input: Bad file' sh -c '"$0" --value v <&-' "$distinct"
works "$distinct" --value v --group g < <(printf 'g,v\n"a\n\x1b[31m\xff",1\né,1\n,1\n')
grep -qF 'a\x0a\x1b[31m\xff' out && grep -q "^é  * 1 " out && grep -q "^''  * 1 " out || fail "names in the table"

echo "options"
refuses 2 'unknown option "--valu"' "$distinct" --valu v
refuses 2 'unknown option "x"' "$distinct" x
refuses 2 'unknown option "x"' "$distinct" --merge small --json x
refuses 2 '--value wants an argument' "$distinct" --value
refuses 2 '--merge wants an argument' "$distinct" --merge
refuses 2 '--json takes no argument' "$distinct" --json=1
for number in '' 3 19 -1 1.5 1x; do refuses 2 '--p wants a whole number from 4 to 18' "$distinct" --p "$number"; done
for number in 0 4; do refuses 2 '--sigmas wants a whole number from 1 to 3' "$distinct" --sigmas $number; done
refuses 2 '--top wants a whole number from 1' "$distinct" --top 0
refuses 2 'no SIMD level "sse9"' "$distinct" --value v --simd sse9
refuses 2 '--value names what to count' "$distinct"
refuses 2 '--db and --table belong together' "$distinct" --value v --db words.db
refuses 2 '--db and --table belong together' "$distinct" --value v --table words
refuses 2 'one of --csv, --tsv and --db' "$distinct" --value v --csv --tsv
refuses 2 'one of --csv, --tsv and --db' "$distinct" --value v --tsv --db words.db --table words
refuses 2 'want --value' "$distinct" --load small --group g
refuses 2 'want --value' "$distinct" --load small --tsv
refuses 2 '--exact wants all values' "$distinct" --load small --exact
refuses 2 '--exact wants all values' "$distinct" --merge small --value v --exact
case $(uname -m) in x86_64) foreign=neon ;; *) foreign=avx2 ;; esac
refuses 1 'does not have the SIMD level' "$distinct" --value v --simd $foreign
works "$distinct" --help
for option in value group csv tsv db table p sigmas top exact json save load merge simd help; do
    grep -q -- "^  --$option " out || fail "--help lacks --$option"
done

echo "progress is for terminals"
script -qec "$fast --group letter --value word <words.csv" /dev/null >out
grep -q 'reading .* [0-9]* %' out || fail "no progress line for CSV"
script -qec "$fast --group letter --value word --db words.db --table words" /dev/null >out
grep -q 'reading .* [0-9]* %' out || fail "no progress line for SQLite"
passed

echo "valgrind"
valgrind_levels=portable
if grep -qw avx2 /proc/cpuinfo; then valgrind_levels="portable avx2"; fi
careful() {
    valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
        ./distinct.valgrind "$@"
}
{ head -n 1 words.csv; sed -n '100000,103000p' words.csv; } >few.csv
{ head -n 1 words.csv; sed -n '102000,104500p' words.csv; } >more.csv
for level in $valgrind_levels; do
    works $fast --simd "$level" --p 10 "${by[@]}" --save few <few.csv
    works careful --simd "$level" --p 10 "${by[@]}" --exact --save few.careful <few.csv
    same few few.careful
    works careful --simd "$level" --load few --save both.careful "${by[@]}" --tsv < <(tr , '\t' <more.csv)
    works $fast --p 10 "${by[@]}" --save both < <(cat few.csv; tail -n +2 more.csv)
    same both both.careful
    works careful --simd "$level" --p 4 --merge few both --save merged.careful --json
    works $fast --p 4 --load both --save merged
    same merged merged.careful
    works careful --simd "$level" --db refused.db --table "we\"ird; --'t" --value k
done
# What is allocated when a message ends the program is not freed; the rest of what valgrind sees counts.
for length in 0 7 15 16 20 100 200 $(($(stat -c %s both) - 1)); do
    head -c "$length" both >"cut"
    refuses 1 'distinct: cut: ' valgrind -q --error-exitcode=9 ./distinct.valgrind --merge cut --save new
done
[ ! -e new ] || fail "a damaged file was saved"

echo "distinct.sh: $checks checks of distinct.c: words within 4.5 sigma at precisions 14 and 10, CSV = TSV = SQLite =" \
    "COUNT(DISTINCT), parts = whole to the byte, damaged files, bad input (SIMD: $levels), valgrind ($valgrind_levels)"
