/* A filter in front of an SQLite table: how many page reads does it save, and what does it cost?
 *
 * Opens or builds a table, builds a filter from its key column, replays look-ups with and without the filter, and
 * compares. `prefilter --help` lists the options. The parts:
 *
 *     sql_key.h     SQL values as keys of a filter: the one thing to get right in front of SQL
 *     image_file.h  images as files
 *     lookups.h     what is looked up
 *     demo_table.h  the table that is built where none is given
 *     options.h     the options
 *     support.h     memory, messages, temporary files */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>

#define PROGRAM "prefilter"
#include "demo_table.h"
#include "image_file.h"
#include "lookups.h"
#include "options.h"
#include "sketchline.h"
#include "sql_key.h"
#include "support.h"

/* The database. */

/* To read only, with a page cache of its own. */
static sqlite3 *open_database(const char *path, uint64_t cache_kib)
{
    if (access(path, R_OK) != 0) die("cannot open %s: %s", path, strerror(errno));
    sqlite3 *db = open_sqlite(path, SQLITE_OPEN_READONLY);
    char *pragmas = sqlite3_mprintf("PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cache_size = -%llu;"
                                    "SELECT 1 FROM main.sqlite_master",
                                    (unsigned long long)cache_kib);
    if (pragmas == NULL) die("out of memory");
    if (sqlite3_busy_timeout(db, 5000) != SQLITE_OK || sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        die("cannot open %s: %s", path, sqlite3_errmsg(db));
    sqlite3_free(pragmas);
    return db;
}

/* Answers the name of a database that has the table: the one that was given, or one that is built now. */
static const char *provide_table(const struct options *o)
{
    if (o->table != NULL) return o->db_path;
    if (o->db_path == NULL) return build_temporary_table(o->key_path, o->rows, o->seed);
    build_table_to_keep(o->db_path, o->key_path, o->rows, o->seed);
    return o->db_path;
}

/* The filter. */

struct filter {
    skl_bloom bloom;
    struct mapped_image image; /* where it was loaded from, if it was */
    double seconds;            /* to build it, or to check it */
};

static skl_bloom_params size_filter(const struct options *o, uint64_t num_keys)
{
    skl_bloom_params params;
    skl_status status = o->fpr >= 0 ? skl_bloom_params_for_fpr(num_keys, o->fpr, &params)
                                    : skl_bloom_params_for_bits_per_key(num_keys, o->bits_per_key, &params);
    if (status != SKL_OK && o->fpr >= 0) usage_error("--fpr %g: %s", o->fpr, skl_status_string(status));
    if (status != SKL_OK) usage_error("--bits-per-key %g: %s", o->bits_per_key, skl_status_string(status));
    return params;
}

/* Canonical keys one after the other, as the library takes them in one call. */
enum { BATCH_KEYS = 1024, BATCH_BYTES = 1 << 20 };
struct key_batch {
    struct buffer bytes;
    int64_t offsets[BATCH_KEYS + 1];
    size_t n;
};

typedef void use_keys(skl_bloom *bloom, const skl_keys *keys);

static void flush_batch(struct key_batch *batch, use_keys *use, skl_bloom *bloom)
{
    skl_keys keys = {.kind = SKL_KEYS_BYTES64, .n = batch->n, .data = batch->bytes.bytes,
                     .data_len = batch->bytes.len, .offsets = batch->offsets};
    if (batch->n > 0) use(bloom, &keys);
    batch->n = 0;
    batch->bytes.len = 0;
}

/* Gives the distinct keys of the table to `use`, in batches. */
static void for_all_keys(sqlite3 *db, const struct key_column *column, struct progress progress, use_keys *use,
                         skl_bloom *bloom)
{
    struct key_maker maker = key_maker_new(column->affinity);
    struct key_batch batch = {.n = 0};
    sqlite3_stmt *statement = prepare_and_free(db, distinct_keys_sql(column, "key"));
    int status;
    for (uint64_t i = 0; (status = sqlite3_step(statement)) == SQLITE_ROW; i++) {
        struct sql_value value = value_of_column(statement, 0);
        const struct buffer *key = make_key(&maker, &value);
        buffer_append(&batch.bytes, key->bytes, key->len);
        batch.offsets[++batch.n] = (int64_t)batch.bytes.len;
        if (batch.n == BATCH_KEYS || batch.bytes.len >= BATCH_BYTES) flush_batch(&batch, use, bloom);
        progress_step(&progress, i);
    }
    check_sql(db, status, "cannot read the keys");
    flush_batch(&batch, use, bloom);
    progress_end(&progress);
    sqlite3_finalize(statement);
    key_maker_free(&maker);
    free(batch.bytes.bytes);
}

static void insert_keys(skl_bloom *bloom, const skl_keys *keys)
{
    check_skl(skl_bloom_insert_batch(bloom, keys, NULL), "cannot build the filter");
}

static void require_keys(skl_bloom *bloom, const skl_keys *keys)
{
    size_t count;
    check_skl(skl_bloom_count_batch(bloom, keys, &count), "cannot check the image");
    if (count < keys->n) die("the image is of other keys: it lacks some of this table");
}

static void build_filter(struct filter *filter, const struct options *o, sqlite3 *db,
                         const struct key_column *column, uint64_t num_keys)
{
    double start = now();
    skl_bloom_params params = size_filter(o, num_keys);
    params.seed = key_seed(column->affinity);
    check_skl(skl_bloom_new(&filter->bloom, &params, NULL), "cannot make the filter");
    for_all_keys(db, column, (struct progress){"building the filter", num_keys, 0}, insert_keys, &filter->bloom);
    filter->seconds = now() - start;
    if (o->save_path == NULL) return;
    const void *image;
    size_t len;
    check_skl(skl_bloom_seal(&filter->bloom), "cannot seal the filter");
    check_skl(skl_bloom_image(&filter->bloom, &image, &len), "cannot save the filter");
    save_image(o->save_path, image, len);
}

/* An intact image may still be one of another table, or of this one as it was: that would lose rows. The seed tells
 * the form of its keys; the counts, whether keys were added or taken away; and one pass over the table, whether it
 * has every key there is. (A server that writes images itself can keep a version of the table beside them instead,
 * and save the pass.) */
static void load_filter(struct filter *filter, const struct options *o, sqlite3 *db,
                        const struct key_column *column, uint64_t num_keys)
{
    double start = now();
    filter->image = map_image(o->load_path);
    const void *bytes = filter->image.bytes != NULL ? filter->image.bytes : "";
    check_skl(skl_bloom_view(&filter->bloom, bytes, filter->image.len, SKL_OPEN_STRICT), o->load_path);
    skl_bloom_info info = {.struct_size = sizeof info};
    check_skl(skl_bloom_get_info(&filter->bloom, &info), o->load_path);
    if (info.hash_id != SKL_HASH_XXH3 || info.seed != key_seed(column->affinity))
        die("%s is an image of keys in another form: of another program, or of a column of another type", o->load_path);
    uint64_t inserted = info.num_inserted == UINT64_MAX ? 0 : info.num_inserted; /* images write both as 0 */
    if (inserted != num_keys || info.capacity != num_keys)
        die("%s is an image of %" PRIu64 " keys, but the table has %" PRIu64, o->load_path, inserted, num_keys);
    for_all_keys(db, column, (struct progress){"checking the filter", num_keys, 0}, require_keys, &filter->bloom);
    filter->seconds = now() - start;
}

/* The runs. */

enum { ANSWER_FOUND = 1, ANSWER_MAYBE = 2 };

struct run {
    uint64_t page_reads;
    double seconds;
    unsigned char *answers; /* one for each look-up */
};

static int compare_doubles(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

static double median(double *numbers, uint64_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_doubles);
    return (numbers[n / 2] + numbers[(n - 1) / 2]) / 2;
}

/* Looks all keys up, those that the filter rules out in the filter alone. Without a filter every key goes to the
 * table. Making the canonical key counts as time of the filter. */
static void replay_lookups(const struct lookups *lookups, sqlite3_stmt *lookup, const skl_bloom *bloom,
                           struct key_maker *maker, unsigned char *answers)
{
    struct progress progress = {.what = bloom == NULL ? "looking up without filter" : "looking up with filter",
                                .total = lookups->n};
    for (size_t i = 0; i < lookups->n; i++) {
        int maybe = 1;
        if (bloom != NULL) {
            const struct buffer *key = make_key(maker, &lookups->values[i]);
            maybe = skl_bloom_contains(bloom, key->bytes, key->len);
            if (maybe < 0) check_skl(maybe, "cannot ask the filter");
        }
        answers[i] = maybe ? ANSWER_MAYBE : 0;
        if (maybe && is_in_table(lookup, &lookups->values[i])) answers[i] |= ANSWER_FOUND;
        progress_step(&progress, i);
    }
    progress_end(&progress);
}

/* A new connection, so that every run starts with an empty page cache; what the system keeps of the file is warm
 * since the filter was built. One transaction: taking the lock of the file anew for each look-up would only make
 * the runs without filter slower. */
static void run_once(struct run *run, const struct options *o, const char *db_path, const struct key_column *column,
                     const struct lookups *lookups, const skl_bloom *bloom)
{
    sqlite3 *db = open_database(db_path, o->cache_kib);
    sqlite3_stmt *lookup = prepare_and_free(db, lookup_sql(column, ""));
    struct key_maker maker = key_maker_new(column->affinity);
    run_sql(db, "BEGIN");
    int misses, highest;
    check_sql(db, sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, true), "SQLite");
    double start = now();
    replay_lookups(lookups, lookup, bloom, &maker, run->answers);
    run->seconds = now() - start;
    check_sql(db, sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, false), "SQLite");
    run->page_reads = (uint64_t)misses;
    key_maker_free(&maker);
    sqlite3_finalize(lookup);
    sqlite3_close(db);
}

/* Each in turn, so that a machine that is busy for a while is busy for both. */
static void run_in_turn(struct run *plain, struct run *filtered, const struct options *o, const char *db_path,
                        const struct key_column *column, const struct lookups *lookups, const skl_bloom *bloom)
{
    double plain_seconds[MAX_RUNS], filtered_seconds[MAX_RUNS];
    for (uint64_t i = 0; i < o->runs; i++) {
        run_once(plain, o, db_path, column, lookups, NULL);
        run_once(filtered, o, db_path, column, lookups, bloom);
        plain_seconds[i] = plain->seconds;
        filtered_seconds[i] = filtered->seconds;
    }
    plain->seconds = median(plain_seconds, o->runs);
    filtered->seconds = median(filtered_seconds, o->runs);
}

/* The comparison. Numbers that do not exist are NAN. */

struct result {
    uint64_t rows, num_keys, lookups, misses;
    struct run plain, filtered;
    uint64_t false_negatives;
    uint64_t absent, false_positives; /* among distinct keys: a key that is asked twice is no second sample */
    double fpr_promised, fpr_measured, sigma, deviation;
    double filter_seconds;
    skl_bloom_info info;
};

/* Sigma is that of counting so many keys. Filters of one size differ a little themselves, by how their keys spread
 * over the blocks: at 10 bits per key by 0.3 % of the rate with 2 million keys, and by 0.8 % with 300,000. */
static void measure_fpr(struct result *result, const skl_bloom *bloom, uint64_t *absent_hashes, size_t n)
{
    qsort(absent_hashes, n, sizeof *absent_hashes, compare_u64);
    size_t distinct = 0, positives = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || absent_hashes[i] != absent_hashes[i - 1]) absent_hashes[distinct++] = absent_hashes[i];
    skl_keys keys = {.kind = SKL_KEYS_HASHES, .n = distinct, .data = absent_hashes};
    check_skl(skl_bloom_count_batch(bloom, &keys, &positives), "cannot ask the filter");
    double predicted = result->info.predicted_fpr;
    result->absent = distinct;
    result->false_positives = positives;
    result->fpr_measured = distinct > 0 ? (double)positives / (double)distinct : NAN;
    result->sigma = distinct > 0 ? sqrt(predicted * (1 - predicted) / (double)distinct) : NAN;
    result->deviation = result->sigma > 0 ? (result->fpr_measured - predicted) / result->sigma : NAN;
}

static void compare_answers(struct result *result, const struct lookups *lookups, const struct key_column *column,
                            const skl_bloom *bloom)
{
    struct key_maker maker = key_maker_new(column->affinity);
    uint64_t *absent_hashes = allocate(lookups->n, sizeof *absent_hashes);
    for (size_t i = 0; i < lookups->n; i++) {
        bool is_found = result->plain.answers[i] & ANSWER_FOUND;
        bool is_found_again = result->filtered.answers[i] & ANSWER_FOUND;
        bool is_maybe = result->filtered.answers[i] & ANSWER_MAYBE;
        if (is_maybe && is_found != is_found_again) die("the runs found different rows");
        if (is_found) {
            result->false_negatives += !is_maybe;
        } else {
            const struct buffer *key = make_key(&maker, &lookups->values[i]);
            check_skl(skl_hash_bytes(key->bytes, key->len, result->info.seed, &absent_hashes[result->misses++]),
                      "cannot hash a key");
        }
    }
    measure_fpr(result, bloom, absent_hashes, result->misses);
    free(absent_hashes);
    key_maker_free(&maker);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* The report. */

static void print_json_number(const char *name, double number, const char *after)
{
    if (isnan(number)) {
        printf("\"%s\": null%s", name, after);
    } else {
        printf("\"%s\": %.12g%s", name, number, after);
    }
}

static void print_json(const struct result *r)
{
    putchar('{');
    print_json_number("rows", (double)r->rows, ", ");
    print_json_number("lookups", (double)r->lookups, ", ");
    print_json_number("page_reads_plain", (double)r->plain.page_reads, ", ");
    print_json_number("page_reads_filtered", (double)r->filtered.page_reads, ", ");
    print_json_number("lookups_per_s_plain", r->lookups > 0 ? ratio((double)r->lookups, r->plain.seconds) : NAN, ", ");
    print_json_number("lookups_per_s_filtered", r->lookups > 0 ? ratio((double)r->lookups, r->filtered.seconds) : NAN,
                      ", ");
    print_json_number("filter_bytes", (double)r->info.image_bytes, ", ");
    print_json_number("bits_per_key", ratio(8 * (double)r->info.image_bytes, (double)r->num_keys), ", ");
    print_json_number("fpr_promised", r->fpr_promised, ", ");
    print_json_number("fpr_predicted", r->info.predicted_fpr, ", ");
    print_json_number("fpr_measured", r->fpr_measured, ", ");
    print_json_number("false_negatives", (double)r->false_negatives, ", ");
    printf("\"simd_level\": \"%s\"}\n", skl_simd_name((int)r->info.simd_level));
}

static void print_table(const struct options *o, const struct result *r)
{
    double lookups = r->lookups > 0 ? (double)r->lookups : NAN, keys = (double)r->num_keys;
    double plain_reads = (double)r->plain.page_reads, filtered_reads = (double)r->filtered.page_reads;
    double bytes = (double)r->info.image_bytes;
    printf("%-22s %16s %16s\n", "", "without filter", "with filter");
    printf("%-22s %16s %16s   %s removed\n", "page reads", grouped(plain_reads), grouped(filtered_reads),
           formatted("%.1f %%", 100 * ratio(plain_reads - filtered_reads, plain_reads)));
    printf("%-22s %16s %16s   %s times as many\n\n", "look-ups per second",
           grouped(ratio(lookups, r->plain.seconds)), grouped(ratio(lookups, r->filtered.seconds)),
           formatted("%.2f", r->lookups > 0 ? ratio(r->plain.seconds, r->filtered.seconds) : NAN));
    printf("%-22s %s rows, %s distinct keys\n", "table", grouped((double)r->rows), grouped(keys));
    printf("%-22s %s, of which %s find nothing (%s)\n", "look-ups", grouped((double)r->lookups),
           grouped((double)r->misses), formatted("%.1f %%", 100 * ratio((double)r->misses, lookups)));
    printf("%-22s %s bytes, %s bits per key, %" PRIu32 " probes; %s in %.2f s\n", "filter", grouped(bytes),
           formatted("%.2f", ratio(8 * bytes, keys)), r->info.num_probes,
           o->load_path != NULL ? "loaded and checked" : "built", r->filter_seconds);
    printf("%-22s %s\n", "FPR promised", formatted("%.4g %%", 100 * r->fpr_promised));
    printf("%-22s %s\n", "FPR predicted", formatted("%.4g %%", 100 * r->info.predicted_fpr));
    printf("%-22s %s: %s of %s distinct absent keys, %s sigma from the prediction (sigma: %s)\n", "FPR measured",
           formatted("%.4g %%", 100 * r->fpr_measured), grouped((double)r->false_positives),
           grouped((double)r->absent), formatted("%+.2f", r->deviation), formatted("%.4g %%", 100 * r->sigma));
    printf("%-22s %s\n", "false negatives", grouped((double)r->false_negatives));
    printf("%-22s %s\n", "SIMD level", skl_simd_name((int)r->info.simd_level));
    printf("%-22s SQLite %s, %" PRIu64 " KiB of page cache, empty at the start of each run\n", "database",
           sqlite3_libversion(), o->cache_kib);
    printf("%-22s %" PRIu64 " without and with the filter in turn; the median time of each\n", "runs", o->runs);
}

static void add_lookups(struct lookups *lookups, const struct options *o, sqlite3 *db,
                        const struct key_column *column)
{
    struct miss_plan plan = miss_plan_new(o->lookups, o->miss_rate, o->seed);
    if (o->probe_path != NULL) {
        add_lookups_of_file(lookups, o->probe_path, o->lookups);
    } else if (o->table == NULL && o->key_path == NULL) {
        add_made_up_lookups(lookups, plan, o->rows, o->seed);
    } else {
        add_lookups_of_table(lookups, plan, db, column);
    }
}

/* Runs it all on one table. `db` stays open from first to last, to notice when somebody changes the database. */
static struct result measure(const struct options *o, const char *db_path)
{
    sqlite3 *db = open_database(db_path, 65536);
    struct key_column column = inspect_column(db, o->table != NULL ? o->table : "kv",
                                              o->table != NULL ? o->column : "key");
    uint64_t version = count_sql(db, sqlite3_mprintf("PRAGMA main.data_version"));
    struct result result = {
        .rows = count_sql(db, sqlite3_mprintf("SELECT count(*) FROM main.\"%w\"", column.table)),
        .num_keys = count_sql(db, distinct_keys_sql(&column, "count(*)")),
        .fpr_promised = o->fpr >= 0 ? o->fpr : NAN,
        .info = {.struct_size = sizeof result.info},
    };
    struct lookups lookups = {0};
    add_lookups(&lookups, o, db, &column);
    result.lookups = lookups.n;

    struct filter filter = {0};
    (o->load_path != NULL ? load_filter : build_filter)(&filter, o, db, &column, result.num_keys);
    check_skl(skl_bloom_get_info(&filter.bloom, &result.info), "cannot ask the filter");
    result.filter_seconds = filter.seconds;

    result.plain.answers = allocate(lookups.n, 1);
    result.filtered.answers = allocate(lookups.n, 1);
    run_in_turn(&result.plain, &result.filtered, o, db_path, &column, &lookups, &filter.bloom);
    if (count_sql(db, sqlite3_mprintf("PRAGMA main.data_version")) != version)
        die("the database was changed meanwhile: the runs cannot be compared");
    compare_answers(&result, &lookups, &column, &filter.bloom);

    free(result.plain.answers);
    free(result.filtered.answers);
    skl_bloom_free(&filter.bloom);
    unmap_image(&filter.image);
    lookups_free(&lookups);
    sqlite3_close(db);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = parse_options(argc, argv);
    if (o.help) return EXIT_SUCCESS;
    prepare_temporary_files();
    if (o.simd != NULL) choose_simd(o.simd);
    if (o.load_path == NULL) size_filter(&o, 1); /* a bad size is told before the table is built */
    if (o.save_path != NULL) check_may_replace(o.save_path);

    struct result result = measure(&o, provide_table(&o));
    temporary_end(TEMPORARY_DATABASE, false);
    sqlite3_shutdown();

    if (o.json) {
        print_json(&result);
    } else {
        print_table(&o, &result);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) die("cannot write the result: %s", strerror(errno));
    if (result.false_negatives > 0)
        die("the filter ruled out %" PRIu64 " keys that the table has: rows were lost", result.false_negatives);
    return EXIT_SUCCESS;
}
