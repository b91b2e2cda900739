#!/usr/bin/env bash
# The C programs of c-examples: readme.c, and prefilter.c as `make demo` runs it. Checks the figures that the demo is
# there to show, that no row is lost whatever SQL calls equal, and every kind of bad input.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

.ci/need gcc clang libc6-dev libsqlite3-dev pkg-config valgrind python3 wamerican-huge wbritish-huge
make -s lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
. .ci/programs.sh

# is_left_clean: the programs took their temporary files with them.
is_left_clean() { [ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"; }

# finds N COMMAND...: of the look-ups, N find a row, and no row is lost.
finds() {
    local want=$1
    shift
    works "$@"
    grep -qE '^false negatives +0$' "$work/out" || fail "rows lost: $*"
    local got
    got=$(sed -n 's/^look-ups *\([0-9,]*\), of which \([0-9,]*\) .*/\1 \2/p' "$work/out" | tr -d , |
        awk '{ print $1 - $2 }')
    [ "$got" = "$want" ] || { cat "$work/out" >&2; fail "$got found, not $want: $*"; }
}

echo "building with gcc and clang, and with sanitizers"
strict="-std=c11 -O2 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -Iinclude"
libraries="target/release/libsketchline.a $(pkg-config --libs sqlite3) -lm"
for cc in gcc clang; do
    for program in readme prefilter; do
        # shellcheck disable=SC2086
        $cc $strict "c-examples/$program.c" $libraries -o "$work/$program.$cc"
        passed
    done
    "$work/readme.$cc" >"$work/out"
    diff - "$work/out" <<'END' || fail "readme.c prints something else"
1243328 bytes, at most 1.00 % false positives
alice: maybe
bob:   no
END
    passed
done
prefilter=$work/prefilter.asan
# shellcheck disable=SC2086
gcc $strict -g -fsanitize=address,undefined -fno-sanitize-recover=all c-examples/prefilter.c $libraries -o "$prefilter"
export ASAN_OPTIONS=detect_leaks=0 # messages leave with exit(); valgrind looks for leaks below

echo "the demo at full size"
make -s --no-print-directory demo DEMO_ARGS=--json >"$work/demo.json"
is_left_clean
cat "$work/demo.json"
python3 - "$work/demo.json" <<'END'
import json, sys
text = open(sys.argv[1]).read()
r = json.loads(text)
keys = ("rows lookups page_reads_plain page_reads_filtered lookups_per_s_plain lookups_per_s_filtered filter_bytes "
        "bits_per_key fpr_promised fpr_predicted fpr_measured false_negatives simd_level").split()
assert list(r) == keys, list(r)
removed = 1 - r["page_reads_filtered"] / r["page_reads_plain"]
speed_up = r["lookups_per_s_filtered"] / r["lookups_per_s_plain"]
off = r["fpr_measured"] / r["fpr_predicted"] - 1
print(f"{removed:.1%} of the page reads removed, {speed_up:.2f} times the look-ups, FPR {off:+.1%} off")
assert r["rows"] == 2_000_000 and r["false_negatives"] == 0 and r["fpr_promised"] is None
assert 10 <= r["bits_per_key"] < 10.01 and r["filter_bytes"] * 8 / r["rows"] == r["bits_per_key"]
assert removed >= 0.88 and speed_up >= 4 and abs(off) <= 0.05
END
passed
works make -s --no-print-directory demo # without options, the stream follows
grep -qE '^false negatives +0$' "$work/out" && grep -qE '^false duplicates .* missed 0$' "$work/out" || fail "half a demo"
works make -s --no-print-directory demo DEMO_ARGS='--rows 3000 --fpr 0.001 --lookups=2000 --miss-rate .5 --runs 1'
grep -qE '^FPR promised +0\.1 %$' "$work/out" || fail "DEMO_ARGS do not arrive"

echo "real words: British ones in a table of American ones"
words=/usr/share/dict
for size in "--bits-per-key 10" "--fpr 0.01" "--bits-per-key 5"; do
    # shellcheck disable=SC2086
    works "$work/prefilter.gcc" --keys $words/american-english-huge --probe $words/british-english-huge $size
    grep -E '^(FPR measured|false negatives)' "$work/out"
    python3 - "$work/out" <<'END'
import re, sys
text = open(sys.argv[1]).read()
sigmas = float(re.search(r"keys, ([+-][0-9.]+) sigma from", text)[1])
assert abs(sigmas) <= 3, text
assert re.search(r"^false negatives +0$", text, re.M), text
END
done

echo "what SQL calls equal"
cat >"$work/equal.py" <<'END'
"""equal.py PREFILTER DIRECTORY: tables of every affinity with every kind of value, looked up in every spelling.
Prints how many rows were lost, which must be none."""
import json, os, sqlite3, subprocess, sys

prefilter, directory = sys.argv[1:]
numbers = [0, 1, -1, 42, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, 1 - 2**63, -(2**63),
           0.0, -0.0, 42.0, 42.5, 0.1, 1 / 3, 1e15, 1e16, float(2**53), float(2**62), float(2**63), -float(2**63),
           1e19, 1e300, 5e-324, 1e-320, float("inf"), -float("inf")]
texts = ["", " ", "42", "42.0", "042", " 42", "42 ", "+42", "42.", "4.2e1", "420e-1", "0x2a", "42a", "a42", "abc",
         "ABC", "abc ", "-0", "-0.0", "0.", ".5", "5e-1", "1e999", "-1e999", "inf", "nan", "e", "9007199254740993",
         "9007199254740993.0", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
         "-9223372036854775809", "1e19",
         "00000000000000000000042", "é", "e\u0301", "\U0001f600", "\r", "a\0b", "a\0", "\0"]
blobs = [b"", b"\0", b"42", b"abc", b"\xff", bytes(300)]
values = numbers + texts + blobs + [None] + list(range(1000, 1300)) + [i + 0.5 for i in range(100)]

spellings = set(texts)
for number in numbers + list(range(1000, 1010)):
    spellings |= {repr(number), str(number) + " ", "+" + str(number)}
    if abs(number) < 1e19:
        spellings |= {str(int(number)), f"{int(number)}.0", f"{number:.17g}", f"{number:.20e}", f"{int(number):030d}"}
spellings = sorted(spellings)
probe = os.path.join(directory, "spellings")
with open(probe, "wb") as file:
    file.write("\n".join(spellings).encode() + b"\n")

def run(db, column, *arguments):
    command = [prefilter, "--db", db, "--table", "t", "--column", column, "--json", "--runs", "1", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    result = json.loads(done.stdout)
    assert (done.returncode == 1) == (result["false_negatives"] > 0)
    return result

lost = 0
types = ["INTEGER", "INT", "REAL", "DOUBLE", "TEXT", "VARCHAR(9)", "BLOB", "", "NUMERIC", "DATETIME", "STRING",
         "FLOATING POINT"]
tables = [f"CREATE TABLE t (k {type}, v); CREATE INDEX i ON t (k)" for type in types]
tables += [f"CREATE TABLE t (k {type} PRIMARY KEY, v) WITHOUT ROWID" for type in types]
tables += ["CREATE TABLE t (k INTEGER PRIMARY KEY, v)",
           "CREATE TABLE t (j, k REAL, v); CREATE INDEX i ON t (k DESC, j)",
           "CREATE TABLE t (v, k AS (v || '') STORED); CREATE INDEX i ON t (k)"]
if sqlite3.sqlite_version_info >= (3, 37):
    tables += [f"CREATE TABLE t (k {type}, v); CREATE INDEX i ON t (k)".replace("v)", "v ANY) STRICT", 1)
               for type in ["INTEGER", "REAL", "TEXT", "BLOB", "ANY"]]
for number, schema in enumerate(tables):
    path = os.path.join(directory, f"equal-{number}.db")
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript(schema)
    column = "v" if "AS (" in schema else "k"
    for value in values:
        try:
            db.execute(f"INSERT OR IGNORE INTO t ({column}) VALUES (?)", (value,))
        except sqlite3.IntegrityError:
            pass  # STRICT and INTEGER PRIMARY KEY take some types only
    db.commit()
    found = sum(db.execute("SELECT 1 FROM t WHERE k = ?", (text,)).fetchone() is not None for text in spellings)
    rows, keys = db.execute("SELECT count(*), count(DISTINCT k) FROM t").fetchone()
    result = run(path, "k", "--probe", probe, "--bits-per-key", "20")
    assert result["rows"] == rows and result["lookups"] == len(spellings), (schema, result)
    assert abs(result["bits_per_key"] * keys - result["filter_bytes"] * 8) < 1, (schema, result)
    assert found > 0 or "BLOB, v ANY" in schema, schema
    own = run(path, "k", "--lookups", "3000", "--miss-rate", "0.5", "--bits-per-key", "20")
    lost += result["false_negatives"] + own["false_negatives"]
    db.close()
print(lost)
END
lost=$(python3 "$work/equal.py" "$prefilter" "$work")
[ "$lost" = 0 ] || fail "$lost rows lost to equal keys of different bytes"
is_left_clean
passed

echo "broken on purpose, it tells"
# lossy PROGRAM: some rows are lost, and the exit status says so.
lossy() {
    lost=$(python3 "$work/equal.py" "$1" "$work")
    [ "$lost" -gt 0 ] || fail "$1 is broken, and no check noticed"
    passed
}
# mutant NAME FILE SED: builds prefilter from sources that are wrong in one line.
mutant() {
    rm -rf "$work/mutant"
    cp -r c-examples "$work/mutant"
    sed -i "$3" "$work/mutant/$2"
    ! cmp -s "c-examples/$2" "$work/mutant/$2" || fail "$1 changed nothing"
    # shellcheck disable=SC2086
    gcc -std=c11 -O1 -w -Iinclude "$work/mutant/prefilter.c" $libraries -o "$work/prefilter.$1"
}
mutant reals-apart sql_key.h 's/if (real >= -two_to_63 .*/if (real == 0.25) {/'
lossy "$work/prefilter.reals-apart"
mutant no-affinity sql_key.h 's/bool is_converted = .*/bool is_converted = false;/'
lossy "$work/prefilter.no-affinity"
mutant forgetful prefilter.c 's/maybe = skl_bloom_contains(.*/& if (i % 100 == 0) maybe = 0;/'
status=0
"$work/prefilter.forgetful" --rows 1000 --lookups 1000 --miss-rate 0 >"$work/out" 2>"$work/err" || status=$?
grep -qE '^false negatives +10$' "$work/out" && grep -q 'ruled out 10 keys' "$work/err" && [ $status = 1 ] ||
    fail "ten lost rows were not told"
passed

echo "columns that no filter can stand in front of"
db=$work/refused.db
python3 - "$db" "$work" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.create_collation("reversed", lambda a, b: (a < b) - (a > b))
db.executescript("""
    CREATE TABLE nocase (k TEXT COLLATE NOCASE PRIMARY KEY);
    CREATE TABLE rtrim (k INTEGER COLLATE RTRIM); CREATE INDEX i1 ON rtrim (k);
    CREATE TABLE custom (k TEXT COLLATE reversed UNIQUE);
    CREATE TABLE pk (k TEXT, PRIMARY KEY (k COLLATE NOCASE));
    CREATE TABLE bare (k TEXT, l TEXT); CREATE INDEX i2 ON bare (l, k); CREATE INDEX i3 ON bare (k COLLATE NOCASE);
    CREATE TABLE partial (k TEXT); CREATE INDEX i4 ON partial (k) WHERE k > 'm';
    CREATE TABLE empty (k INTEGER PRIMARY KEY);
    CREATE TABLE nulls (k TEXT UNIQUE); INSERT INTO nulls VALUES (NULL), (NULL);
    CREATE TABLE one (k REAL PRIMARY KEY); INSERT INTO one VALUES (-0.0);
    CREATE VIEW view AS SELECT * FROM one;
    CREATE VIRTUAL TABLE virtual USING rtree (k, a, b);
    CREATE TABLE "we""ird; --'t" ("sel""ect 'x'" TEXT UNIQUE, "key" INTEGER UNIQUE);
    INSERT INTO "we""ird; --'t" VALUES ('a', 1), ('b', 2), (NULL, 3), ('k', 4);
""")
db.commit()
db = sqlite3.connect(sys.argv[2] + "/utf16.db")
db.executescript("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (k TEXT PRIMARY KEY)")
END
before=$(sha256sum "$db")
on() { # TABLE COLUMN OPTION...
    local table=$1 column=$2
    shift 2
    "$prefilter" --db "$db" --table "$table" --column "$column" --lookups 100 --runs 1 "$@"
}
refuses 1 'collation NOCASE' on nocase k
refuses 1 'collation RTRIM' on rtrim k
refuses 1 'collation reversed' on custom k
for table in pk bare partial; do refuses 1 'no index on "k"' on $table k; done
refuses 1 'CREATE INDEX "bare_k" ON "bare" ("k")' on bare k
for table in view virtual; do refuses 1 'is a view or a virtual table' on $table k; done
refuses 1 'there is no table "none"' on none k
refuses 1 'there is no table "' on "none'; DROP TABLE one; --" k
refuses 1 'has no column "none"' on one none
refuses 1 'is in UTF-16' "$prefilter" --db "$work/utf16.db" --table t --column k
refuses 1 'No such file' "$prefilter" --db "$work/none.db" --table t --column k
refuses 1 'not a database' "$prefilter" --db $words/british-english-huge --table t --column k
refuses 1 'cannot open' "$prefilter" --db "$work" --table t --column k
finds 3 on "we\"ird; --'t" "sel\"ect 'x'" --probe <(printf 'a\nb\nA\nk\n')
finds 4 on "we\"ird; --'t" KEY --probe <(printf 'a\n1\n2.0\n3\n4')
finds 3 on "we\"ird; --'t" rowid --probe <(printf '1\n2\n 3 \n9\n')
finds 4 on one k --probe <(printf '0\n0.0\n-0\n0e9\n1')
finds 0 on nulls k --probe <(printf '\nNULL\n')
finds 0 on empty k
finds 0 on empty k --fpr 0.01 --lookups 0
finds 10 on one k --miss-rate 0.9
[ "$(sha256sum "$db")" = "$before" ] || fail "a database was written to"

echo "files of keys"
cd "$work"
keys() { "$prefilter" --runs 1 --keys "$@"; }
printf 'a\nb\n\na\nc' >plain
printf 'a\r\nb\r\n' >crlf
printf 'a\0b\na\0c\n\0\n' >nul
{ head -c 5000000 /dev/zero | tr '\0' x; echo; head -c 5000001 /dev/zero | tr '\0' x; } >long
printf 'a\xff\n\xc3\x28\n' >not-utf8
: >nothing
finds 5 keys plain --probe plain
grep -qE '^table +4 rows, 4 distinct' "$work/out" || fail "duplicates and the empty key"
finds 2 keys plain --probe plain --lookups 2
finds 2 keys plain --probe <(printf 'x\n%.0s' {1..1000}; printf 'a\ny\na\n')
grep -q ' of 2 distinct absent keys' out || fail "a key that is asked twice counts as two samples"
finds 0 keys plain --probe crlf
finds 2 keys crlf --probe crlf
finds 3 keys nul --probe nul
finds 1 keys nul --probe <(printf 'a\0b\na\na\0\n\0b\n')
finds 2 keys long --probe long
finds 2 keys not-utf8 --probe not-utf8
finds 0 keys nothing --probe nothing
finds 0 keys nothing --probe plain
finds 0 keys nothing
finds 100 keys plain --lookups 1000
finds 0 keys plain --lookups 0
finds 0 "$prefilter" --rows 0 --lookups 1000
finds 500 "$prefilter" --rows 1 --lookups 1000 --miss-rate 0.5
finds 0 "$prefilter" --rows 1000 --lookups 1000 --miss-rate 1 --cache-kib 0
finds 1000 "$prefilter" --rows 1000 --lookups 1000 --miss-rate 0 --bits-per-key 64 --simd portable
refuses 1 'cannot read none: No such file' keys none
refuses 1 'cannot read .: Is a directory' keys .
refuses 1 'cannot read none: No such file' keys plain --probe none
works keys plain --lookups 0 --json
python3 -c "
import json, sys
r = json.load(open('out'))
null = [key for key in r if r[key] is None]
assert null == ['lookups_per_s_plain', 'lookups_per_s_filtered', 'fpr_promised', 'fpr_measured'], r"
works keys nothing --fpr 0.5 --json
python3 -c "
import json, sys
r = json.load(open('out'))
assert r['fpr_promised'] == 0.5 and r['fpr_measured'] == 0 and r['bits_per_key'] is None, r"

echo "options"
refuses 2 'unknown option "--row"' "$prefilter" --row 1
refuses 2 'unknown option "x"' "$prefilter" x
refuses 2 'unknown option ""' "$prefilter" ''
refuses 2 '--rows wants an argument' "$prefilter" --rows
refuses 2 '--json takes no argument' "$prefilter" --json=1
for number in '' -1 1.5 1e3 ' 1' 1x 18446744073709551616 2000000000; do
    refuses 2 '--rows wants a whole number' "$prefilter" --rows "$number"
done
for number in '' -0.1 1.1 nan inf 0.5x; do
    refuses 2 '--miss-rate wants a number' "$prefilter" --miss-rate "$number"
done
for number in 0 1 1e-300; do refuses 2 "--fpr $number: " "$prefilter" --fpr $number; done
refuses 2 '--bits-per-key 0: ' "$prefilter" --bits-per-key 0
refuses 2 '--bits-per-key wants a number from 0 to 64' "$prefilter" --bits-per-key 65
refuses 2 '--runs wants a whole number from 1' "$prefilter" --runs 0
refuses 2 'no SIMD level "sse9"' "$prefilter" --simd sse9
refuses 2 '--fpr or --bits-per-key' "$prefilter" --fpr 0.1 --bits-per-key 3
refuses 2 '--rows or --keys' "$prefilter" --rows 1 --keys plain
refuses 2 '--miss-rate or --probe' "$prefilter" --miss-rate 1 --probe plain
refuses 2 'belong together' "$prefilter" --db "$db" --table one
refuses 2 '--table wants --db' "$prefilter" --table one --column k
refuses 2 'for a table that is built' on one k --rows 3
refuses 2 '--load brings its own size' "$prefilter" --load x --fpr 0.1
case $(uname -m) in x86_64) foreign=neon ;; *) foreign=avx2 ;; esac
refuses 1 'does not have the SIMD level' "$prefilter" --simd $foreign
works "$prefilter" --help
for option in rows lookups miss-rate fpr bits-per-key keys probe db table column save load cache-kib runs simd seed \
    json help; do
    grep -q -- "^  --$option " out || fail "--help lacks --$option"
done

echo "images and databases that are kept"
mkdir kept
small() { "$prefilter" --rows 5000 --lookups 1000 --runs 1 "$@"; }
finds 100 small --save kept/image --db 'kept/a b.db'
[ "$(stat -c %a kept/image)" = 644 ] && [ "$(stat -c %a 'kept/a b.db')" = 644 ] || fail "modes of the files"
[ "$(find kept -type f | wc -l)" = 2 ] || fail "more than two files: $(ls kept)"
cp kept/image image
loaded() { "$prefilter" --db 'kept/a b.db' --table kv --column key --lookups 1000 --runs 1 --load "$@"; }
finds 100 loaded image
finds 100 small --load image
finds 0 keys nothing --save nothing.image
finds 0 keys nothing --load nothing.image
cp image kept/old
finds 100 small --save kept/old --bits-per-key 20
! cmp -s image kept/old || fail "an image was not replaced"
bytes=$(stat -c %s image)
for at in 0 4 5 6 7 8 16 24 32 40 48 56 63 64 65 1000 $((bytes / 2)) $((bytes - 1)); do
    python3 -c "
import sys
bytes = bytearray(open('image', 'rb').read())
bytes[$at] ^= 1 << $at % 8
open('flipped', 'wb').write(bytes)"
    refuses 1 'prefilter: flipped: ' loaded flipped
done
for length in 0 1 63 64 128 $((bytes - 64)) $((bytes - 1)); do
    head -c "$length" image >"cut"
    refuses 1 'prefilter: cut: ' loaded cut
done
{ cat image; echo; } >longer
refuses 1 'prefilter: longer: the length' loaded longer
refuses 1 'prefilter: plain: ' loaded plain
refuses 1 'No such file' loaded none
refuses 1 'not a regular file' loaded .
refuses 1 'it lacks some of this table' small --seed 2 --load image
refuses 1 'an image of 5000 keys, but the table has 4999' "$prefilter" --rows 4999 --load image
refuses 1 'an image of 5000 keys, but the table has 5001' "$prefilter" --rows 5001 --load image
refuses 1 'keys in another form' on one k --load image
finds 100 on one k --miss-rate 0 --save one.image
refuses 1 'keys in another form' on nulls k --load one.image
refuses 1 'an image of 1 keys, but the table has 0' on empty k --load one.image
refuses 1 'kept/a b.db exists' small --db 'kept/a b.db'
refuses 1 'exists and is not an image' small --save 'kept/a b.db'
refuses 1 'exists and is not an image' small --save kept
refuses 1 'exists and is not an image' small --save /dev/null
refuses 1 'No such file' small --save none/image
refuses 1 'No such file' small --db none/db
refuses 1 'TMPDIR' env TMPDIR=/none "$prefilter"
for name in ':memory:' 'file:x?mode=memory' '-x'; do
    finds 100 small --db "$name"
    [ -s "./$name" ] || fail "no file $name"
    finds 100 "$prefilter" --db "$name" --table kv --column key --lookups 1000 --runs 1
done

echo "disks that are full, calls that fail or are interrupted, signals"
# shim.so: write() is interrupted and takes parts, and the call named by $FAIL fails (write() after some bytes).
cat >shim.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int fails(const char *call, int error) {
    if (strcmp(getenv("FAIL"), call) != 0) return 0;
    errno = error;
    return 1;
}
ssize_t write(int file, const void *bytes, size_t len) {
    static int calls;
    if (file <= 2) return syscall(SYS_write, file, bytes, len);
    if (++calls > 3 && fails("write", ENOSPC)) return -1;
    if (calls % 3 == 1) { errno = EINTR; return -1; }
    return syscall(SYS_write, file, bytes, calls % 3 == 2 && len > 7 ? 7 : len > 1000 ? 1000 : len);
}
ssize_t pwrite64(int file, const void *bytes, size_t len, off_t at) {
    return fails("pwrite", ENOSPC) ? -1 : syscall(SYS_pwrite64, file, bytes, len, at);
}
int fsync(int file) { return fails("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, file); }
int rename(const char *from, const char *to) {
    return fails("rename", EACCES) ? -1 : (int)syscall(SYS_renameat2, -100, from, -100, to, 0);
}
int link(const char *from, const char *to) {
    return fails("link", EPERM) ? -1 : (int)syscall(SYS_linkat, -100, from, -100, to, 0);
}
END
gcc -shared -fPIC -O1 -w shim.c -o shim.so
shimmed() { # CALL OPTION...
    local call=$1
    shift
    env LD_PRELOAD="$work/shim.so" FAIL="$call" "$work/prefilter.gcc" --rows 5000 --lookups 1000 --runs 1 "$@"
}
rm kept/old
finds 100 shimmed nothing --save kept/shimmed
cmp image kept/shimmed || fail "interrupted writes made another image"
rm kept/shimmed
for call in write fsync rename; do
    refuses 1 'cannot save to kept/image: ' shimmed $call --bits-per-key 20 --save kept/image
    refuses 1 'cannot save to kept/new: ' shimmed $call --save kept/new
done
for call in fsync link pwrite; do refuses 1 'cannot ' shimmed $call --db kept/new; done
refuses 1 'cannot build the table: database or disk is full' shimmed pwrite
limited() { (ulimit -f "$1" && shift && "$@"); }
refuses 1 'cannot build the table' limited 100 small
refuses 1 'cannot build the table' limited 100 small --db kept/new
refuses 1 'cannot save to kept/image: File too large' limited 10 "$prefilter" --db 'kept/a b.db' --table kv \
    --column key --lookups 1000 --runs 1 --bits-per-key 64 --save kept/image
cmp image kept/image || fail "a failed save touched the old image"
[ "$(ls kept)" = "$(printf 'a b.db\nimage')" ] || fail "half files: $(ls kept)"
# shellcheck disable=SC2016
refuses 1 'cannot write the result' sh -c '"$0" --rows 10 >/dev/full' "$prefilter"

cat >signals.py <<'END'
"""signals.py COMMAND...: signals end the command, once it has written to its temporary file, and the file goes."""
import os, signal, subprocess, sys, time
directory = os.environ["TMPDIR"]

def written():
    try:
        return sum(os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)
                   if name.startswith("prefilter-"))
    except FileNotFoundError:
        return 0

def defaults():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    done = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=defaults,
                            start_new_session=True)
    while written() < 1 << 20:
        assert done.poll() is None, "ended before it could be interrupted"
        time.sleep(0.01)
    os.killpg(done.pid, number)
    status = done.wait()
    assert status == -number or sys.argv[1] == "make" and status != 0, (number, status)
END
python3 signals.py "$prefilter" --rows 3000000
is_left_clean
passed
(cd "$root" && exec python3 "$work/signals.py" make -s --no-print-directory demo)
for _ in $(seq 50); do [ -z "$(ls -A "$TMPDIR")" ] && break || sleep 0.1; done # make may be gone before its children
is_left_clean
passed

echo "databases in use"
python3 - kept/wal.db <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA journal_mode = WAL")
db.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
db.executemany("INSERT INTO t VALUES (?)", ((i * 7,) for i in range(3000)))
db.commit()
END
finds 100 "$prefilter" --db kept/wal.db --table t --column k --lookups 1000
cat >changing.py <<'END'
"""changing.py PREFILTER DATABASE: a row that is added in the middle of it all is noticed."""
import sqlite3, subprocess, sys, time
done = subprocess.Popen([sys.argv[1], "--db", sys.argv[2], "--table", "t", "--column", "k", "--lookups", "200000",
                         "--runs", "12"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(1)
assert done.poll() is None, "over too soon"
db = sqlite3.connect(sys.argv[2], timeout=60)
db.execute("INSERT INTO t VALUES (1)")
db.commit()
out, err = done.communicate()
assert done.returncode == 1 and out == "" and "was changed meanwhile" in err, (out, err)
END
python3 changing.py "$prefilter" kept/wal.db
passed

echo "progress is for terminals"
script -qec "'$prefilter' --rows 20000 --lookups 10 --runs 1" /dev/null >out
for stage in 'building the table' 'building the filter' 'looking up without filter' 'looking up with filter'; do
    grep -q "$stage" out || fail "no progress line: $stage"
done
passed

echo "valgrind"
levels=portable
if grep -qw avx2 /proc/cpuinfo; then levels="portable avx2"; fi
careful() {
    valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
        "$work/prefilter.gcc" --lookups 3000 --runs 1 "$@"
}
for level in $levels; do
    finds 300 careful --simd "$level" --rows 3000 --save valgrind.image
    finds 300 careful --simd "$level" --rows 3000 --load valgrind.image
    finds 300 careful --simd "$level" --db "$db" --table one --column k
    finds 3 careful --simd "$level" --keys nul --probe nul
    grep -qE "^SIMD level +$level\$" out || fail "not $level"
done
valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
    "$work/readme.gcc" >out
passed

is_left_clean
echo "demo.sh: $checks checks of the C programs, the demo and its figures, real words, SQL equality, images," \
    "bad input and valgrind (SIMD: $levels)"
