/* The options of prefilter.c. */

#ifndef PREFILTER_OPTIONS_H
#define PREFILTER_OPTIONS_H

#include "support.h"

enum { MAX_RUNS = 99 };

#define UNSET UINT64_MAX /* a count that was not given; a number is negative then, a text NULL */

struct options {
    const char *key_path, *probe_path, *db_path, *table, *column, *save_path, *load_path, *simd; /* or NULL */
    uint64_t rows, lookups, cache_kib, runs, seed;
    double miss_rate, fpr, bits_per_key; /* of the last two, one is negative; both are with --load */
    bool json, help;
};

struct option {
    const char *name, *argument, *help;
    enum { OPTION_FLAG, OPTION_COUNT, OPTION_NUMBER, OPTION_TEXT } kind;
    void *target;
    double min, max; /* of a number */
};

PRINTF_LIKE NORETURN static void usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" (--help lists the options)\n", stderr);
    va_end(arguments);
    exit(2);
}

static inline void print_help(const struct option *options, size_t n)
{
    puts("Usage: prefilter [OPTION...]\n"
         "Replays look-ups in an SQLite table with and without a Sketchline filter in front, and compares them.\n"
         "Without options: a new table of 2,000,000 rows, 10 bits per key, 90 % misses.\n");
    for (size_t i = 0; i < n; i++) printf("  %-15s %-6s %s\n", options[i].name, options[i].argument, options[i].help);
    puts("\n"
         "Files of keys have one key per line: all bytes before the newline, CR too. Where the column is numeric,\n"
         "SQLite reads keys as numbers as it would in `column = '...'`.\n"
         "A database that is given is only read, and must not change meanwhile.\n"
         "A table that is built is kv (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID, with values of 100 bytes; it\n"
         "is in $TMPDIR or /tmp, and removed in the end, unless --db names a new file for it.\n"
         "All runs look up the same keys in the same order, each through a new connection whose page cache is\n"
         "empty, inside one read transaction. Page reads are SQLite's count of misses in that cache.\n"
         "Exit status: 0 done, 1 it failed or a row was lost, 2 the options are wrong.");
}

static inline void set_option(const struct option *option, const char *text)
{
    char *end = NULL;
    errno = 0;
    if (option->kind == OPTION_TEXT) {
        *(const char **)option->target = text;
    } else if (option->kind == OPTION_COUNT) {
        uint64_t count = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 ||
            (double)count < option->min || (double)count > option->max)
            usage_error("%s wants a whole number from %.0f to %.0f, not \"%s\"", option->name, option->min,
                        option->max, text);
        *(uint64_t *)option->target = count;
    } else {
        double number = strtod(text, &end);
        if (end == text || *end != 0 || !(number >= option->min && number <= option->max))
            usage_error("%s wants a number from %g to %g, not \"%s\"", option->name, option->min, option->max, text);
        *(double *)option->target = number;
    }
}

/* --name ARGUMENT or --name=ARGUMENT, and flags. */
static inline void set_options(const struct option *options, size_t n, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        const struct option *option = options, *end = options + n;
        while (option < end && (strlen(option->name) != len || strncmp(argv[i], option->name, len) != 0)) option++;
        bool has_argument = argv[i][len] == '=';
        if (option == end) usage_error("unknown option \"%s\"", argv[i]);
        if (option->kind == OPTION_FLAG) {
            if (has_argument) usage_error("%s takes no argument", option->name);
            *(bool *)option->target = true;
        } else if (has_argument) {
            set_option(option, argv[i] + len + 1);
        } else {
            if (++i == argc) usage_error("%s wants an argument", option->name);
            set_option(option, argv[i]);
        }
    }
}

static inline void check_combinations(const struct options *o)
{
    if ((o->table == NULL) != (o->column == NULL)) usage_error("--table and --column belong together");
    if (o->table != NULL && o->db_path == NULL) usage_error("--table wants --db");
    if (o->table != NULL && (o->key_path != NULL || o->rows != UNSET))
        usage_error("--rows and --keys are for a table that is built, --table is for one that exists");
    if (o->key_path != NULL && o->rows != UNSET) usage_error("--rows or --keys, not both");
    if (o->probe_path != NULL && o->miss_rate >= 0) usage_error("--miss-rate or --probe, not both");
    if (o->fpr >= 0 && o->bits_per_key >= 0) usage_error("--fpr or --bits-per-key, not both");
    if (o->load_path != NULL && (o->fpr >= 0 || o->bits_per_key >= 0 || o->save_path != NULL))
        usage_error("--load brings its own size, and is saved already: no --fpr, --bits-per-key or --save");
}

static inline void set_defaults(struct options *o)
{
    if (o->rows == UNSET) o->rows = 2000000;
    if (o->lookups == UNSET) o->lookups = o->probe_path != NULL ? UINT64_MAX : 1000000;
    if (o->miss_rate < 0) o->miss_rate = 0.9;
    if (o->fpr < 0 && o->bits_per_key < 0 && o->load_path == NULL) o->bits_per_key = 10;
    if (o->cache_kib == UNSET) o->cache_kib = 2000;
    if (o->runs == UNSET) o->runs = 3;
    if (o->seed == UNSET) o->seed = 1;
}

static inline struct options parse_options(int argc, char **argv)
{
    struct options o = {.rows = UNSET, .lookups = UNSET, .cache_kib = UNSET, .runs = UNSET, .seed = UNSET,
                        .miss_rate = -1, .fpr = -1, .bits_per_key = -1};
    const struct option options[] = {
        {"--rows", "N", "rows of the table that is built (2000000)", OPTION_COUNT, &o.rows, 0, 1e9},
        {"--lookups", "N", "look-ups (1000000; with --probe all lines, or the first N)", OPTION_COUNT, &o.lookups, 0,
         1e9},
        {"--miss-rate", "R", "share of look-ups that find nothing, 0 to 1 (0.9)", OPTION_NUMBER, &o.miss_rate, 0, 1},
        {"--fpr", "P", "size the filter for this false-positive rate", OPTION_NUMBER, &o.fpr, 0, 1},
        {"--bits-per-key", "B", "size the filter with this many bits per key, up to 64 (10)", OPTION_NUMBER,
         &o.bits_per_key, 0, 64},
        {"--keys", "FILE", "build the table from the lines of a file", OPTION_TEXT, &o.key_path, 0, 0},
        {"--probe", "FILE", "look up the lines of a file, in their order", OPTION_TEXT, &o.probe_path, 0, 0},
        {"--db", "FILE", "an existing database (with --table), or a new one to keep", OPTION_TEXT, &o.db_path, 0, 0},
        {"--table", "T", "table of an existing database", OPTION_TEXT, &o.table, 0, 0},
        {"--column", "C", "its key column; it needs an index", OPTION_TEXT, &o.column, 0, 0},
        {"--save", "FILE", "keep the filter as an image", OPTION_TEXT, &o.save_path, 0, 0},
        {"--load", "FILE", "use the image of a filter over the same keys", OPTION_TEXT, &o.load_path, 0, 0},
        {"--cache-kib", "N", "page cache of each connection in KiB (2000)", OPTION_COUNT, &o.cache_kib, 0, 1e9},
        {"--runs", "N", "runs with and without the filter, whose median counts (3)", OPTION_COUNT, &o.runs, 1,
         MAX_RUNS},
        {"--simd", "LEVEL", "portable, neon, avx2, avx512 or avx512vbmi (the fastest there is)", OPTION_TEXT, &o.simd,
         0, 0},
        {"--seed", "N", "seed of keys and look-ups (1)", OPTION_COUNT, &o.seed, 0, 1e15},
        {"--json", "", "one JSON object instead of the table", OPTION_FLAG, &o.json, 0, 0},
        {"--help", "", "this text", OPTION_FLAG, &o.help, 0, 0},
    };
    set_options(options, COUNT_OF(options), argc, argv);
    if (o.help) print_help(options, COUNT_OF(options));
    check_combinations(&o);
    set_defaults(&o);
    return o;
}

/* Chooses what new handles use. */
static inline void choose_simd(const char *name)
{
    for (int level = SKL_SIMD_PORTABLE; level <= SKL_SIMD_AVX512VBMI; level++) {
        if (strcmp(name, skl_simd_name(level)) != 0) continue;
        check_skl(skl_simd_set_level(level), name);
        return;
    }
    usage_error("there is no SIMD level \"%s\"", name);
}

#endif
