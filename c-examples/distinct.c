/* How many distinct values does a column have in each group? COUNT(DISTINCT ...) GROUP BY with one HyperLogLog
 * sketch per group, over CSV or an SQLite table, and over the saved results of other runs.
 *
 * `distinct --help` lists the options. The parts:
 *
 *     groups.h            groups by name, their sketches, and the exact sets that --exact compares them with
 *     groups_file.h       the sketches of all groups as a file
 *     csv.h               CSV and TSV
 *     distinct_options.h  the options
 *     shared.h            what prefilter.c has, too: SQL values as keys, files, messages, memory */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>

#define PROGRAM "distinct"
#include "csv.h"
#include "distinct_options.h"
#include "groups.h"
#include "groups_file.h"
#include "sketchline.h"

/* Reading. */

/* How many rows there were, and how many of them had NULL for a value. */
struct counts {
    uint64_t rows, nulls;
};

static uint32_t find_group(struct groups *groups, struct key_maker *maker, const struct sql_value *name)
{
    if (name == NULL) return groups_find(groups, "", 0);
    if (name->type == SQLITE_NULL) return groups_find(groups, "n", 1);
    const struct buffer *key = make_key(maker, name);
    return groups_find(groups, key->bytes, key->len);
}

/* NULL as a name stands for all rows. */
static void add_row(struct groups *groups, struct key_maker *maker, const struct sql_value *name,
                    const struct sql_value *value, struct counts *counts)
{
    uint32_t group = find_group(groups, maker, name);
    counts->rows++;
    if (value->type == SQLITE_NULL) {
        counts->nulls++;
    } else {
        groups_add(groups, group, make_key(maker, value));
    }
}

static void read_csv(struct groups *groups, struct key_maker *maker, const struct distinct_options *o,
                     struct counts *counts)
{
    struct csv *csv = csv_open(o->tsv ? '\t' : ',');
    size_t value_column = csv_find_column(csv, o->value);
    size_t group_column = o->group != NULL ? csv_find_column(csv, o->group) : 0;
    while (csv_next(csv)) {
        struct sql_value value = csv_field(csv, value_column), name = csv_field(csv, group_column);
        add_row(groups, maker, o->group != NULL ? &name : NULL, &value, counts);
    }
    csv_close(csv);
}

/* Bytes tell values apart, and collations other than BINARY do not. */
static void refuse_column(sqlite3 *db, const char *table, const char *name)
{
    const char *type, *collation;
    int not_null, primary_key, autoincrement;
    if (sqlite3_table_column_metadata(db, "main", table, name, &type, &collation, &not_null, &primary_key,
                                      &autoincrement) != SQLITE_OK)
        die("the table \"%s\" has no column \"%s\"", table, name);
    if (sqlite3_stricmp(collation, "BINARY") != 0)
        die("the column \"%s\" has the collation %s, under which different bytes can be equal: a sketch would count "
            "them apart",
            name, collation);
}

static sqlite3 *open_database(const struct distinct_options *o)
{
    if (access(o->db_path, R_OK) != 0) die("cannot open %s: %s", o->db_path, strerror(errno));
    sqlite3 *db = open_sqlite(o->db_path, SQLITE_OPEN_READONLY);
    check_sql(db, sqlite3_busy_timeout(db, 5000), "SQLite");
    refuse_utf16(db);
    refuse_all_but_tables(db, o->table);
    refuse_column(db, o->table, o->value);
    if (o->group != NULL) refuse_column(db, o->table, o->group);
    return db;
}

static void read_table(struct groups *groups, struct key_maker *maker, const struct distinct_options *o,
                       struct counts *counts)
{
    sqlite3 *db = open_database(o);
    struct progress progress = {.what = "reading"};
    if (isatty(STDERR_FILENO))
        progress.total = count_sql(db, sqlite3_mprintf("SELECT count(*) FROM main.\"%w\"", o->table));
    sqlite3_stmt *statement = prepare_and_free(
        db, sqlite3_mprintf("SELECT source.\"%w\", source.\"%w\" FROM main.\"%w\" AS source", o->value,
                            o->group != NULL ? o->group : o->value, o->table));
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        struct sql_value value = value_of_column(statement, 0), name = value_of_column(statement, 1);
        add_row(groups, maker, o->group != NULL ? &name : NULL, &value, counts);
        progress_step(&progress, counts->rows);
    }
    check_sql(db, status, "cannot read the table");
    progress_end(&progress);
    sqlite3_finalize(statement);
    check_sql(db, sqlite3_close(db), "SQLite");
}

/* Without --group there is one group, even of no rows. */
static struct counts read_all(struct groups *groups, const struct distinct_options *o)
{
    struct counts counts = {0};
    struct key_maker maker = key_maker_new(AFFINITY_NONE); /* stored values have the affinity of their column */
    if (o->group == NULL) find_group(groups, &maker, NULL);
    (o->db_path != NULL ? read_table : read_csv)(groups, &maker, o, &counts);
    groups_flush(groups);
    key_maker_free(&maker);
    return counts;
}

/* The files first: they may give the precision. */
static struct groups *count_groups(const struct distinct_options *o, struct counts *counts)
{
    struct groups *groups = allocate(1, sizeof *groups);
    *groups = (struct groups){.is_exact = o->exact};
    if (o->p != UNSET) groups_set_precision(groups, (uint32_t)o->p);
    for (size_t i = 0; i < o->num_load_paths; i++) load_groups(groups, o->load_paths[i], o->p != UNSET);
    if (groups->params.p == 0) groups_set_precision(groups, 14);
    if (o->value != NULL) *counts = read_all(groups, o);
    return groups;
}

/* The results. Numbers that do not exist are NAN. */

struct result {
    const struct group *group;
    double estimate, lower, upper;
    const char *form;
    size_t bytes;    /* of the sealed image */
    uint64_t memory; /* of the handle and the image with room to grow */
    double exact, percent, sigmas;
    uint64_t exact_memory;
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static void compare_with_exact(struct result *result, double standard_error)
{
    result->exact = (double)hash_set_count(&result->group->exact);
    double error = ratio(result->estimate - result->exact, result->exact);
    result->percent = 100 * error;
    result->sigmas = error / standard_error;
    result->exact_memory = result->group->exact.num_slots * sizeof(uint64_t);
}

static struct result result_of(struct group *group, uint32_t sigmas, bool is_exact)
{
    struct result result = {.group = group, .exact = NAN, .percent = NAN, .sigmas = NAN};
    const void *image;
    skl_hll_info info = {.struct_size = sizeof info};
    check_skl(skl_hll_get_info(&group->sketch, &info), "cannot ask a sketch");
    check_skl(skl_hll_estimate_bounds(&group->sketch, sigmas, &result.estimate, &result.lower, &result.upper),
              "cannot ask a sketch");
    check_skl(skl_hll_seal(&group->sketch), "cannot seal a sketch");
    check_skl(skl_hll_image(&group->sketch, &image, &result.bytes), "cannot ask a sketch");
    result.form = info.form == SKL_HLL_SPARSE ? "sparse" : "dense";
    result.memory = info.image_bytes + sizeof group->sketch;
    if (is_exact) compare_with_exact(&result, info.standard_error);
    return result;
}

/* The most first; names decide between equals. */
static int compare_results(const void *left, const void *right)
{
    const struct result *l = left, *r = right;
    int order = (l->estimate < r->estimate) - (l->estimate > r->estimate);
    return order != 0 ? order : compare_names(&l->group->name, &r->group->name);
}

static struct result *make_results(const struct groups *groups, const struct distinct_options *o)
{
    struct result *results = allocate(groups->n, sizeof *results);
    for (size_t i = 0; i < groups->n; i++) results[i] = result_of(groups->all[i], (uint32_t)o->sigmas, o->exact);
    qsort(results, groups->n, sizeof *results, compare_results);
    return results;
}

/* Names as text. */

/* Bytes of the character of UTF-8 that begins here, or 0 if none does. */
static size_t character_len(const unsigned char *bytes, size_t len)
{
    unsigned char first = bytes[0], least = 0x80, most = 0xbf;
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (n > len) return 0;
    if (first == 0xe0) least = 0xa0; /* no longer than it need be */
    if (first == 0xed) most = 0x9f;  /* no surrogates */
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f; /* nothing beyond U+10FFFF */
    for (size_t i = 1; i < n; i++, least = 0x80, most = 0xbf)
        if (bytes[i] < least || bytes[i] > most) return 0;
    return n;
}

/* Text as JSON has it between quotes, or as a terminal can show it. */
static void append_text(struct buffer *out, const unsigned char *bytes, size_t len, bool is_json)
{
    while (len > 0) {
        size_t n = character_len(bytes, len);
        char escape[8] = "";
        if (n == 0) {
            snprintf(escape, sizeof escape, is_json ? "\\ufffd" : "\\x%02x", bytes[0]);
            n = 1;
        } else if (bytes[0] < 0x20 || bytes[0] == 0x7f) {
            snprintf(escape, sizeof escape, is_json ? "\\u%04x" : "\\x%02x", bytes[0]);
        } else if (is_json && (bytes[0] == '"' || bytes[0] == '\\')) {
            snprintf(escape, sizeof escape, "\\%c", bytes[0]);
        }
        if (escape[0] != 0) {
            buffer_append(out, escape, strlen(escape));
        } else {
            buffer_append(out, bytes, n);
        }
        bytes += n;
        len -= n;
    }
}

static void append_hex(struct buffer *out, const unsigned char *bytes, size_t len)
{
    char digits[3];
    for (size_t i = 0; i < len; i++) {
        snprintf(digits, sizeof digits, "%02x", bytes[i]);
        buffer_append(out, digits, 2);
    }
}

static void append_string(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

/* With as many digits as tell it from other numbers; infinite ones as SQLite writes them. */
static void append_real(struct buffer *out, uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    char text[32];
    int digits = 15;
    do {
        snprintf(text, sizeof text, "%.*g", digits, real);
    } while (strtod(text, NULL) != real && ++digits <= 17);
    append_string(out, isinf(real) ? real > 0 ? "1e999" : "-1e999" : text);
}

static void append_integer(struct buffer *out, uint64_t number)
{
    char text[32];
    bool is_negative = number >> 63 != 0;
    snprintf(text, sizeof text, "%s%" PRIu64, is_negative ? "-" : "", is_negative ? -number : number);
    append_string(out, text);
}

/* The name of a group that has one, with a NUL behind it. */
static struct buffer text_of(const struct group *group, bool is_json)
{
    const unsigned char *bytes = group->name.bytes + 1;
    size_t len = group->name.len - 1;
    struct buffer out = {0};
    switch (group->name.bytes[0]) {
    case 'n': append_string(&out, is_json ? "null" : "NULL"); break;
    case 'i': append_integer(&out, get_le(bytes, 8)); break;
    case 'r': append_real(&out, get_le(bytes, 8)); break;
    case 'b':
        append_string(&out, is_json ? "{\"blob\": \"" : "x'");
        append_hex(&out, bytes, len);
        append_string(&out, is_json ? "\"}" : "'");
        break;
    default:
        append_string(&out, is_json ? "\"" : len == 0 ? "''" : "");
        append_text(&out, bytes, len, is_json);
        append_string(&out, is_json ? "\"" : "");
        break;
    }
    buffer_append(&out, "", 1);
    return out;
}

/* The report. */

struct totals {
    double sketches, exact; /* bytes of memory */
    size_t within;          /* groups whose exact number is within the bounds */
};

static struct totals add_up(const struct result *results, size_t n)
{
    struct totals totals = {0};
    for (size_t i = 0; i < n; i++) {
        totals.sketches += (double)results[i].memory;
        totals.exact += (double)results[i].exact_memory;
        totals.within += results[i].exact >= results[i].lower && results[i].exact <= results[i].upper;
    }
    return totals;
}

static void print_json_number(const char *name, double number, const char *after)
{
    if (isnan(number)) {
        printf("\"%s\": null%s", name, after);
    } else {
        printf("\"%s\": %.12g%s", name, number, after);
    }
}

static void print_json_result(const struct result *r, bool is_exact)
{
    putchar('{');
    if (r->group->name.len > 0) {
        struct buffer name = text_of(r->group, true);
        printf("\"group\": %s, ", (const char *)name.bytes);
        free(name.bytes);
    }
    print_json_number("estimate", r->estimate, ", ");
    print_json_number("lower", r->lower, ", ");
    print_json_number("upper", r->upper, ", ");
    printf("\"form\": \"%s\", \"bytes\": %zu, \"memory\": %" PRIu64, r->form, r->bytes, r->memory);
    if (is_exact) {
        fputs(", ", stdout);
        print_json_number("exact", r->exact, ", ");
        print_json_number("error_percent", r->percent, ", ");
        print_json_number("error_sigmas", r->sigmas, ", ");
        print_json_number("exact_memory", (double)r->exact_memory, "");
    }
    putchar('}');
}

static void print_json(const struct distinct_options *o, const struct groups *groups, const struct counts *counts,
                       const struct result *results, size_t num_shown)
{
    struct totals totals = add_up(results, groups->n);
    printf("{\"p\": %" PRIu32 ", \"sigmas\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"nulls\": %" PRIu64
           ", \"num_groups\": %zu, ",
           groups->params.p, o->sigmas, counts->rows, counts->nulls, groups->n);
    print_json_number("memory", totals.sketches, ", ");
    if (o->exact) print_json_number("exact_memory", totals.exact, ", ");
    printf("\"simd_level\": \"%s\", \"groups\": [", skl_simd_name(skl_simd_level()));
    for (size_t i = 0; i < num_shown; i++) {
        fputs(i > 0 ? ",\n" : "\n", stdout);
        print_json_result(&results[i], o->exact);
    }
    puts("]}");
}

static struct buffer table_name(const struct group *group)
{
    if (group->name.len > 0) return text_of(group, false);
    struct buffer text = {0};
    buffer_append(&text, "(all rows)", sizeof "(all rows)");
    return text;
}

enum { MAX_NAME_WIDTH = 40 }; /* longer ones stick out */

/* Characters, which are columns of a terminal for most scripts. */
static int width_of(const struct buffer *text)
{
    int width = 0;
    for (size_t i = 0; text->bytes[i] != 0 && width <= MAX_NAME_WIDTH; i++) width += (text->bytes[i] & 0xc0) != 0x80;
    return width;
}

static int name_width(const struct result *results, size_t n)
{
    int most = 5;
    for (size_t i = 0; i < n; i++) {
        struct buffer name = table_name(results[i].group);
        int width = width_of(&name);
        if (width > most && width <= MAX_NAME_WIDTH) most = width;
        free(name.bytes);
    }
    return most;
}

/* The truth is a whole number, so the bounds are shown as the least and the greatest between them. */
static void print_row(const struct result *r, int width, bool is_exact)
{
    struct buffer name = table_name(r->group);
    int padding = width - width_of(&name);
    printf("%s%*s %15s %15s %15s  %-6s %9s", (const char *)name.bytes, padding > 0 ? padding : 0, "",
           grouped(r->estimate), grouped(ceil(r->lower)), grouped(floor(r->upper)), r->form, grouped((double)r->bytes));
    if (is_exact)
        printf(" %15s %9s %7s", grouped(r->exact), formatted("%+.3f %%", r->percent), formatted("%+.2f", r->sigmas));
    putchar('\n');
    free(name.bytes);
}

static void print_table(const struct distinct_options *o, const struct groups *groups, const struct counts *counts,
                        const struct result *results, size_t num_shown)
{
    int width = name_width(results, num_shown);
    printf("%-*s %15s %15s %15s  %-6s %9s", width, "group", "estimate", "lower", "upper", "form", "bytes");
    if (o->exact) printf(" %15s %9s %7s", "exact", "error", "sigma");
    putchar('\n');
    for (size_t i = 0; i < num_shown; i++) print_row(&results[i], width, o->exact);

    struct totals totals = add_up(results, groups->n);
    printf("\n%s of %s groups", grouped((double)num_shown), grouped((double)groups->n));
    if (o->value != NULL)
        printf(", %s rows read, %s with NULL", grouped((double)counts->rows), grouped((double)counts->nulls));
    printf("\nprecision %" PRIu32 " (dense: %.2f %% standard error), bounds at %" PRIu64 " sigma, SIMD level %s\n",
           groups->params.p, 100 * groups->params.standard_error, o->sigmas, skl_simd_name(skl_simd_level()));
    printf("memory of the sketches: %s bytes\n", grouped(totals.sketches));
    if (!o->exact) return;
    printf("memory of exact sets of 64-bit hashes: %s bytes, %s times as much\n", grouped(totals.exact),
           formatted("%.1f", ratio(totals.exact, totals.sketches)));
    printf("%s of %s groups are within their bounds\n", grouped((double)totals.within), grouped((double)groups->n));
}

int main(int argc, char **argv)
{
    struct distinct_options o = parse_distinct_options(argc, argv);
    if (o.help) return EXIT_SUCCESS;
    prepare_temporary_files();
    if (o.simd != NULL) choose_simd(o.simd);
    if (o.save_path != NULL) check_may_replace_groups(o.save_path); /* told before the work, and checked again after */

    struct counts counts = {0};
    struct groups *groups = count_groups(&o, &counts);
    struct result *results = make_results(groups, &o);
    if (o.save_path != NULL) save_groups(groups, o.save_path);
    (o.json ? print_json : print_table)(&o, groups, &counts, results, o.top < groups->n ? (size_t)o.top : groups->n);
    if (fflush(stdout) != 0 || ferror(stdout)) die("cannot write the result: %s", strerror(errno));

    free(results);
    groups_free(groups);
    free(o.load_paths);
    sqlite3_shutdown();
    return EXIT_SUCCESS;
}
