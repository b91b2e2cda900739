#!/usr/bin/env bash
# pipeline.sh [LIBRARY]: c-examples/pipeline.c, after `make lib`. Its answers against exact sets and against a model
# in Python, the same events in every form, kill -9 and --resume, days read back, damaged checkpoints, bad input,
# sanitizers.
# Speed is printed and never asserted.
set -euo pipefail
cd "$(dirname "$0")/.."

library=${1:-${CARGO_TARGET_DIR:-target}/release/libsketchline.a}
[ -e "$library" ] || { echo "pipeline.sh: there is no $library: run make lib" >&2; exit 1; }
library=$(realpath "$library")
.ci/need gcc clang libc6-dev libsqlite3-dev pkg-config valgrind python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec </dev/null
. .ci/programs.sh
program=pipeline

# report: what the last run answered, which the events alone decide; it ends where "exact" or "run" begins.
report() { sed '/^"exact": \|^"run": /,$d' "$work/out"; }

# answers FILE COMMAND...: the same answers as in FILE.
answers() {
    local want=$1
    shift
    works "$@"
    report | cmp - "$want" || fail "other answers: $*"
}

# same FILE FILE: byte for byte.
same() {
    cmp "$1" "$2" || fail "$1 and $2 differ"
    passed
}

echo "building with gcc and clang, and with sanitizers"
compile() { # COMPILER NAME FLAG...
    local compiler=$1 name=$2
    shift 2
    "$compiler" -std=c99 -O2 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -Iinclude "$@" \
        c-examples/pipeline.c "$library" -lpthread -lm -o "$work/$name"
    passed
}
compile gcc pipeline
compile clang pipeline.clang
if command -v clang-19 >/dev/null; then compile clang-19 pipeline.clang-19; fi
compile gcc pipeline.asan -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
compile gcc pipeline.tsan -g -O1 -fsanitize=thread
# shellcheck disable=SC2046
gcc -std=c11 -O2 -Iinclude c-examples/distinct.c "$library" $(pkg-config --cflags --libs sqlite3) -lm -o "$work/distinct"
pipeline=$work/pipeline asan=$work/pipeline.asan distinct=$work/distinct
export ASAN_OPTIONS=detect_leaks=0 # messages leave with exit(); valgrind looks for leaks below
works c-examples/demo pipeline --events 10000
grep -qE '^events +10,000$' "$work/out" || fail "make pipeline"
cd "$work"

echo "beside exact sets"
cat >accuracy.py <<'END_PY'
"""accuracy.py JSON PAIRS: errors within what theory gives."""
import json, math, sys
all = json.load(open(sys.argv[1]))
r, e, sized_for = all["report"], all["exact"], int(sys.argv[2])
assert e["missed_duplicates"] == 0 and e["missed_over"] == 0, "an under-estimate"
assert r["duplicates"] == e["duplicates"] + e["false_duplicates"] and r["events"] == e["pairs"] + e["duplicates"]
assert r["throttled"] == e["over"] + e["false_over"]
want = e["false_duplicates_predicted"]
assert want > 1000 and abs(e["false_duplicates"] - want) < 5 * math.sqrt(want) + 0.01 * want, (want, e)
sigma = math.sqrt(e["fpr_predicted"] / 2e6) # of two million look-ups
assert 0.9 * sized_for < e["pairs"] < sized_for, "the filters are full, and not too full"
assert 0.005 < e["fpr_measured"] < 0.0101 and abs(e["fpr_measured"] - e["fpr_predicted"]) < 5 * sigma + 1e-4, e
assert abs(r["filter_fpr"] - e["fpr_predicted"]) < 0.02 * e["fpr_predicted"] and abs(r["pairs"] / e["pairs"] - 1) < 0.005
d, error = e["distinct_large"], r["distinct_error"]
assert 0.0160 < error < 0.0164 and d["n"] > 100
assert d["rms"] <= error * (1 + 3 / math.sqrt(2 * d["n"])) and d["max"] < 5 * error, d
assert abs(d["mean"]) < 4 * error / math.sqrt(d["n"]), d # neighbours share their most frequent users
assert e["distinct"]["n"] == sum(day["domains"] for day in r["days"]) and e["distinct"]["rms"] < error, e["distinct"]
# Too high by more than the bound in e^-4 of cases, and within it only while an address is as close to the limit.
assert e["false_over"] <= math.exp(-4) * (r["events"] - e["over"]) and e["false_over"] <= 0.001 * e["over"], e
assert abs(r["throttled_addresses"] - e["addresses_over"] - e["addresses_false"]) <= 0.05 * e["addresses_over"]
assert e["offenders"] == len(r["offenders"]) == 10 and e["offenders_found"] >= 9, e
print(f"filters {100 * e['fpr_measured']:.3f} % of {100 * e['fpr_predicted']:.3f} % predicted, distinct "
      f"{100 * d['rms']:.2f} % of {100 * error:.2f} %, {e['false_over']} of {r['throttled']} throttled falsely, none missed; "
      f"exact sets {e['bytes'] / 2**20:.0f} MiB")
END_PY
works ./pipeline --events 2000000 --per-day 900000 --pairs 1080000 --limit 100 --exact --json
python3 accuracy.py out 1080000
passed

echo "beside a model in Python"
cat >model.py <<'END_PY'
"""model.py JSON TSV WINDOW LIMIT: parameters with which nothing is left to chance, so that every number is known."""
import collections, json, sys
r, window, limit = json.load(open(sys.argv[1]))["report"], int(sys.argv[3]), int(sys.argv[4])
pairs, throttled, duplicates, over, started = set(), 0, 0, set(), 0
counts = collections.Counter()
days = collections.defaultdict(lambda: (collections.Counter(), collections.defaultdict(set)))
with open(sys.argv[2]) as file:
    assert next(file) == "time\tuser\tcampaign\tdomain\taddress\n"
    for line in file:
        time, user, campaign, domain, address = line[:-1].split("\t")
        duplicates += (user, campaign) in pairs
        pairs.add((user, campaign))
        day = days[int(time) // 86400]
        day[0]["events"] += 1
        day[1][domain].add(user)
        halvings = (int(time) - started) // window
        if halvings > 0:
            started += halvings * window
            counts = collections.Counter({a: n >> min(halvings, 32) for a, n in counts.items()})
        counts[address] += 1
        if counts[address] > limit:
            throttled += 1
            over.add(address)
assert (r["duplicates"], r["throttled"], r["late"], r["bad_lines"]) == (duplicates, throttled, 0, 0), (r, duplicates, throttled)
assert round(r["throttled_addresses"]) == len(over), (r["throttled_addresses"], len(over))
assert len(r["days"]) == len(days) > 2
for got, (events, users) in zip(r["days"], days.values()):
    assert (got["events"], got["domains"]) == (events["events"], len(users)), got
    exact, union = sum(map(len, users.values())), len(set.union(*users.values()))
    assert abs(got["users_by_domain"] / exact - 1) < 1e-3 and abs(got["users"] / union - 1) < 1e-3, (got, exact, union)
last = {domain: len(users) for domain, users in list(days.values())[-1][1].items()}
assert [round(d["users"]) for d in r["domains"]] == sorted(last.values(), reverse=True)[:10], r["domains"]
assert all(round(d["users"]) == last[d["domain"]] for d in r["domains"])
top = sorted((n for a, n in counts.items() if n > limit), reverse=True)[:10]
assert top and [o["count"] for o in r["offenders"]][:len(top)] == top, (r["offenders"], top)
assert all(counts[o["address"]] == o["count"] for o in r["offenders"])
print(f"{r['events']} events on {len(days)} days: {duplicates} duplicates, {throttled} throttled, {len(over)} addresses")
END_PY
few=(--events 60000 --per-day 17001 --users 5000 --domains 300 --addresses 900 --window 1800 --limit 20 --seed 7
    --pairs 100000)
exactly=(--fpr 1e-6 --epsilon 1e-6 --p 16 --sparse)
works ./pipeline --generate-only tsv "${few[@]}"
mv out few.tsv
works ./pipeline --generate-only clf "${few[@]}"
mv out few.clf
head -n 1 few.clf
[ "$(wc -l <few.tsv)" = 60001 ] && [ "$(wc -l <few.clf)" = 60000 ] || fail "lines of events"
works ./pipeline "${few[@]}" "${exactly[@]}" --exact --json
python3 model.py out few.tsv 1800 20
passed

echo "the same events in every form"
works ./pipeline "${few[@]}" --json
report >few.json
for batch in 1 63 4096; do answers few.json "$asan" "${few[@]}" --json --batch $batch; done
levels=portable
if grep -qw avx2 /proc/cpuinfo; then levels="portable avx2"; fi
for level in $levels; do answers few.json ./pipeline "${few[@]}" --json --simd "$level"; done
answers few.json ./pipeline.clang "${few[@]}" --json --rate 200000
answers few.json "$asan" "${few[@]}" --json --tsv few.tsv
answers few.json "$asan" "${few[@]}" --json --clf few.clf
answers few.json "$asan" "${few[@]}" --json --clf - --batch 100 < <(cat few.clf)
awk -F '\t' -v OFS='\t' '{ print "x" NR, $5, $4 (NR == 1 ? "_name" : ""), $2, $3, (NR == 1 ? "" : $1 ".25"), "" }' few.tsv |
    sed 's/$/\r/; 1s/\t\t/\twhen\t/' >other.tsv
answers few.json "$asan" "${few[@]}" --json --tsv other.tsv --columns when,user,campaign,domain_name,address
sed 's/ - u/ x u/; s/$/ "http:\/\/a" "agent"/; s/:00:0\([0-9]:[0-9]*\) +0000/:01:3\1 +0130/' few.clf >combined.clf
grep -q ' +0130' combined.clf
answers few.json "$asan" "${few[@]}" --json --clf combined.clf
works "$asan" "${few[@]}"
cp out tables
grep -qE '^events +60,000$' tables && grep -q '^2026-01-04 ' tables || { cat tables >&2; fail "tables"; }

echo "days read back"
# The first two days by the program for distinct values, from the lines and from the files: to the byte.
awk -F '\t' 'NR > 1 { print $4 "\t" $2 >"day" int($1 / 86400) }' few.tsv
works "$asan" "${few[@]}" --sparse --days days
for day in 1 2 3 4; do
    { printf 'd\tu\n'; cat "day$((20453 + day))"; } >day.tsv
    works "$distinct" --p 12 --tsv --group d --value u --save direct <day.tsv
    works "$distinct" --p 12 --merge days/2026-01-0$day.*.groups --save merged
    same direct merged
done
[ "$(ls days)" = "$(printf '2026-01-%02d.000.groups\n' 1 2 3 4)" ] || fail "other files of days: $(ls days)"
works ./pipeline --events 30000 --per-day 20000 --days many
[ "$(find many -name '2026-01-01.*' | wc -l)" -gt 8 ] || fail "days of many domains are in several files"
works "$distinct" --merge many/2026-01-01.*.groups --top 3
cat out

echo "kill -9 and --resume"
cat >kill.py <<'END_PY'
"""kill.py SEED PLAIN_JSON INPUT COMMAND...: kills the command at random moments, and resumes it each time, until a
checkpoint is of its second half: then it may end, and has answered what it would have without all that."""
import json, os, random, shutil, signal, struct, subprocess, sys, time
seed, plain, input = int(sys.argv[1]), sys.argv[2], sys.argv[3]
random.seed(seed)
want = json.load(open(plain))["report"]
stdin_of = {"file": lambda: subprocess.DEVNULL, "stdin": lambda: open("few.tsv", "rb"),
            "pipe": lambda: subprocess.Popen(["cat", "few.tsv"], stdout=subprocess.PIPE).stdout}

def start():
    return subprocess.Popen(sys.argv[4:] + ["--json", "--checkpoint", "kept", "--resume"], stdout=subprocess.PIPE,
                            stdin=stdin_of[input]())

def reached():
    """The event at which the checkpoint ended."""
    try:
        whole = open("kept/checkpoint", "rb").read()
    except FileNotFoundError:
        return 0
    at = 8
    while at < len(whole):
        event, length = struct.unpack("<QQ", whole[at + 8:at + 24])
        at += 32 + length
    return event

shutil.rmtree("kept", ignore_errors=True)
killed, resumed = 0, 0
for life in range(30):
    if killed >= 3 and reached() >= want["events"] / 2:
        break
    before, done = reached(), start()
    while life % 4 > 0 and done.poll() is None and reached() == before: # the fourth is killed at any time
        time.sleep(0.005)
    time.sleep(random.uniform(0, 0.1))
    done.send_signal(signal.SIGKILL)
    done.communicate()
    killed += done.returncode == -signal.SIGKILL
    resumed += before > 0
    if done.returncode == 0: # it was faster: once more from the start
        shutil.rmtree("kept")
at, done = reached(), start()
out, _ = done.communicate()
result = json.loads(out)
assert done.returncode == 0 and result["report"] == want, (want, result)
assert killed >= 3 and resumed >= 1 and result["run"]["events"] == want["events"] - at <= want["events"] / 2
print(f"killed {killed} times, resumed {resumed + 1} times, the last time at event {at} of {want['events']}: as if nothing "
      "had happened")
END_PY
long=(--events 1500000 --per-day 400000 --pairs 1000000 --window 1000 --limit 200)
kills=(--every 50000)
works ./pipeline "${long[@]}" --json --checkpoint undisturbed "${kills[@]}"
grep -q '"checkpoints": [1-9]' out || fail "no checkpoints"
cp out plain.json
report >long.json
answers long.json ./pipeline "${long[@]}" --json
days_of() { (cd "$1" && sha256sum ./*.groups); }
days_of undisturbed >undisturbed.days
for seed in 1 2 3; do
    python3 kill.py $seed plain.json file ./pipeline "${long[@]}" "${kills[@]}" --rate 1000000
    days_of kept | cmp - undisturbed.days || fail "other days after kill -9"
    passed
done
works ./pipeline "${few[@]}" --json --sparse --tsv few.tsv
cp out sparse.json
for input in file stdin pipe; do # of which the last cannot seek
    from=few.tsv
    [ $input = file ] || from=-
    python3 kill.py 4 sparse.json $input "$asan" "${few[@]}" --sparse --tsv $from --every 7000 --rate 100000
    passed
done
# A signal ends the input, not the day: what was counted is reported, and the rest can follow.
rm -rf kept
./pipeline "${long[@]}" --checkpoint kept "${kills[@]}" --rate 500000 --json >out 2>err &
sleep 0.5
kill -TERM $! && wait $! || fail "not 0 after SIGTERM"
grep -q '"interrupted": true' out || fail "SIGTERM interrupts"
[ -e kept/checkpoint ] || fail "no checkpoint before SIGTERM"
answers long.json ./pipeline "${long[@]}" "${kills[@]}" --checkpoint kept --resume --json

echo "checkpoints that are damaged or of something else"
small=(--events 20000 --per-day 15000 --users 50 --domains 4 --addresses 9 --campaigns 2 --pairs 100 --p 4 --epsilon 0.05
    --limit 9 --top 2)
works "$asan" "${small[@]}" --checkpoint small --every 8000
cat >damage.py <<'END_PY'
"""damage.py PIPELINE OPTION...: a checkpoint that is cut or has a wrong bit is refused, with one line."""
import os, random, struct, subprocess, sys
random.seed(3)
os.mkdir("damaged")
whole = open("small/checkpoint", "rb").read()
def run(data):
    with open("damaged/checkpoint", "wb") as file:
        file.write(data)
    return subprocess.run(sys.argv[1:] + ["--checkpoint", "damaged", "--resume"], capture_output=True, text=True)
def refused(data, text=""):
    done = run(data)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("pipeline: damaged/checkpoint: ") and text in done.stderr, done.stderr
assert run(whole).returncode == 0
parts, at = [], 8
while at < len(whole):
    end = at + 24 + struct.unpack("<Q", whole[at + 16:at + 24])[0] + 8
    parts.append(whole[at:end])
    at = end
assert [part[:1] for part in parts] == [b"F", b"F", b"T", b"D", b"E"], parts
runs = 1
starts = [8 + sum(map(len, parts[:i])) for i in range(5)]
for length in sorted({0, 1, 7, 8, 9, 31, len(whole) - 1, *starts, *(random.randrange(len(whole)) for _ in range(20))}):
    refused(whole[:length], "damaged: " if length > 8 else "")
    runs += 1
places = [start + i for start in starts for i in (0, 4, 8, 16, 22)] + [random.randrange(len(whole)) for _ in range(60)]
for at in places + list(range(8)):
    changed = bytearray(whole)
    changed[at] ^= 1 << random.randrange(8)
    refused(bytes(changed), "damaged: " if at >= 8 else "not a checkpoint")
    runs += 1
refused(whole + b"\0", "damaged: ")
for i in range(5):
    refused(whole[:8] + b"".join(parts[:i] + parts[i + 1:]), "damaged: ")
    refused(whole[:8] + b"".join(parts[:i + 1] + parts[i:]), "damaged: ")
    runs += 2
print(f"{runs} damaged checkpoints, each refused")
END_PY
python3 damage.py "$asan" "${small[@]}"
passed
resume_small() { timeout 60 "$asan" "${small[@]}" --checkpoint small --resume "$@"; }
works resume_small
refuses 1 'small/checkpoint: made with another --p' resume_small --p 5
refuses 1 'small/checkpoint: made with another --seed' resume_small --seed 9
refuses 1 'small/checkpoint: made with another --tsv' resume_small --tsv few.tsv
refuses 1 'the input is shorter than when the checkpoint was made' resume_small --events 10
refuses 1 'small/checkpoint exists: --resume goes on from it' "$asan" "${small[@]}" --checkpoint small
works "$asan" --tsv few.tsv --checkpoint text --every 20000 --pairs 100000 --rate 100000
[ -e text/checkpoint ] || fail "no checkpoint"
head -n 9 few.tsv >short.tsv
refuses 1 'the input is shorter than when the checkpoint was made' "$asan" --tsv short.tsv --checkpoint text --every 20000 \
    --pairs 100000 --resume

echo "bad options, bad lines, full disks"
works "$asan" --help
for option in --clf --tsv --columns --rate --exact --json --checkpoint --every --resume --seed --events --window --days; do
    grep -q -- "^  $option " out || fail "--help without $option"
done
refuses 2 'unknown option "--none"' "$asan" --none
refuses 2 '--events wants an argument' "$asan" --events
refuses 2 '--events wants a whole number from 0' "$asan" --events 1e6
refuses 2 '--rate wants a whole number from 1' "$asan" --rate 0
refuses 2 '--p wants a whole number from 4 to 18' "$asan" --p 3
refuses 2 '--zipf wants a number from 0 to 3' "$asan" --zipf nan
refuses 2 '--json takes no argument' "$asan" --json=1
refuses 2 '--clf or --tsv, not both' "$asan" --clf - --tsv -
refuses 2 '--columns wants --tsv' "$asan" --columns a,b,c,d,e
refuses 2 '--resume wants --checkpoint' "$asan" --resume
refuses 2 '--exact wants the whole run' "$asan" --resume --checkpoint x --exact
refuses 2 '--generate-only wants clf or tsv' "$asan" --generate-only csv
refuses 2 'there is no SIMD level "fast"' "$asan" --simd fast
refuses 1 '--fpr 0: ' "$asan" --fpr 0
refuses 1 'cannot read none: No such file' "$asan" --clf none
refuses 1 'cannot read .: ' "$asan" --clf .
refuses 1 'line 1: there is no header' "$asan" --tsv /dev/null
refuses 1 'line 1: there is no column "time", only: a, b' "$asan" --tsv <(printf 'a\tb\n')
refuses 2 '--columns wants five names' "$asan" --tsv few.tsv --columns user,time
refuses 1 'cannot make the folder few.tsv/x: Not a directory' "$asan" --events 1 --checkpoint few.tsv/x
refuses 1 'cannot make the folder none/x: No such file' "$asan" --events 1 --checkpoint none/x
touch file
refuses 1 'cannot write file/' "$asan" "${small[@]}" --checkpoint file --every 5000
# shellcheck disable=SC2016
refuses 1 'cannot write the result' sh -c '"$0" --events 10 >/dev/full' "$asan"
# shellcheck disable=SC2016
refuses 1 'cannot write the result' sh -c '"$0" --events 100000 --generate-only tsv >/dev/full' "$asan"
limited() { (ulimit -f 100 && "$pipeline" "${long[@]}" "$@"); }
refuses 1 'cannot write full/checkpoint: File too large' limited --checkpoint full --every 1000
refuses 1 'cannot write full/2026-01-01.000.groups: File too large' limited --days full
works "$asan" --events 0
works "$asan" --clf /dev/null --json
grep -q '"events": 0, ' out || fail "no events"
# lines FORM WANT TEXT: this many events of printf's lines, and the first bad one is told in these words.
lines() {
    # shellcheck disable=SC2059
    printf "$4" >lines
    works "$asan" "--$1" lines --pairs 1000 --campaigns 2
    grep -qE "^events +$2, and $3\$" out || { head -n 1 out >&2; fail "not $2, and $3: $4"; }
}
good='1\tu\t1\td\ta\n' head='time\tuser\tcampaign\tdomain\taddress\n'
lines tsv 2 '1 bad lines: line 3: it has not as many fields as it should' "$head${good}1\tu\t1\td\n$good"
lines tsv 1 '2 bad lines: line 3: it has no valid time' "$head${good}x\tu\t1\td\ta\n1\tu\t1\td\ta\tb\n"
lines tsv 1 '1 bad lines: line 2: it has no valid time' "${head}253402300800\tu\t1\td\ta\n$good"
lines tsv 1 '1 bad lines: line 3: its campaign is not a number below --campaigns' "$head${good}1\tu\t2\td\ta\n"
lines tsv 1 '1 bad lines: line 3: its user, domain or address is empty' "$head${good}1\t\t1\td\ta"
long_field=$(printf '%256s' '' | tr ' ' x)
lines tsv 1 '1 bad lines: line 3: a field is longer than 255 bytes' "$head${good}1\t$long_field\t1\td\ta"
lines tsv 1 '1 bad lines: line 3: it is longer than 65,536 bytes' "$head$good$(printf '%70000s' '')\n"
good='a - u [01/Jan/2026:00:00:00 +0000] "GET http://d/?campaign=1 HTTP/1.1" 200 1\n'
lines clf 1 '1 bad lines: line 2: it has not as many fields as it should' "${good}a - u\n"
lines clf 1 '2 bad lines: line 1: it has no valid time' "a - u [32/Jan/2026:00:00:00 +0000] \"GET / H\"\n${good}a - u [01/Jan/1969:00:00:00 +0000] \"GET / H\"\n"
lines clf 1 '1 bad lines: line 2: it has no request in quotes' "${good}a - u [01/Jan/2026:00:00:00 +0000] GET / H\n"
refuses 1 'no line could be read; line 1: it has not as many fields as it should' "$asan" --clf few.tsv
# Late events belong to the present day; without a user the address is one, without http:// the domain is "-".
printf '%s\n' 'a - u [02/Jan/2026:00:30:00 +0100] "GET / HTTP/1.1" 200 1' \
    'a - - [02/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1' 'b - - [02/Jan/2026:23:59:59 +0000] "GET http://x:80" 1 1' \
    'a - a [01/Jan/2026:23:59:59 +0000] "GET http://x:80/ HTTP/1.1" 200 1' >edges.clf
works "$asan" --clf edges.clf --json --pairs 1000
python3 - <<'END_PY'
import json
r = json.load(open("out"))["report"]
days = [(d["day"], d["events"], d["domains"], round(d["users"]), round(d["users_by_domain"])) for d in r["days"]]
assert days == [("2026-01-01", 1, 1, 1, 1), ("2026-01-02", 3, 2, 2, 3)], days
assert (r["events"], r["late"], r["duplicates"], r["bad_lines"]) == (4, 1, 1, 0), r
END_PY
passed

echo "memory, latency, rate" # of the claim's parameters; the first is asserted, since nothing else on the machine changes it
works ./pipeline --events 5000000 --per-day 3000000 --checkpoint claim --every 1000000 --json
python3 - <<'END_PY'
import json
r = json.load(open("out"))
peak, domains = r["run"]["peak_rss_bytes"], r["report"]["days"][0]["domains"]
print(f"{peak / 2**20:.1f} MiB with {domains} domains; {r['run']['events'] / r['run']['seconds'] / 1e6:.2f} million events per "
      f"second with {r['run']['checkpoints']} checkpoints")
assert peak <= 64 * 2**20 and domains > 9900 and r["run"]["checkpoints"] >= 3, (peak, domains)
END_PY
rm -rf claim
works ./pipeline --events 3000000 --rate 1000000 --checkpoint claim --every 1000000
grep -E '^(latency|checkpoints)' out

echo "valgrind and threads"
careful() {
    valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all \
        ./pipeline "${small[@]}" --simd "${levels##* }" "$@"
}
rm -rf kept
works careful --exact
works careful --checkpoint kept --every 3000
works careful --checkpoint kept --every 3000 --resume --json
works ./pipeline.tsan "${few[@]}" --checkpoint threads --every 9000

echo "pipeline.sh: $checks checks: exact sets, a model, every form of input, kill -9, damaged checkpoints, bad input," \
    "sanitizers and valgrind (SIMD: $levels)"
