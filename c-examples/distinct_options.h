/* The options of distinct.c. */

#ifndef DISTINCT_OPTIONS_H
#define DISTINCT_OPTIONS_H

#include "options.h"
#include "support.h"

struct distinct_options {
    const char *db_path, *table, *group, *value, *save_path, *load_path, *merge_path, *simd; /* or NULL */
    const char **load_paths; /* of --load and --merge */
    size_t num_load_paths;
    uint64_t p, sigmas, top; /* p is UNSET where it was not given */
    bool csv, tsv, json, exact, help;
};

static inline void print_distinct_help(const struct option *options, size_t n)
{
    puts("Usage: distinct --value COL [--group COL] [OPTION...] <FILE.csv\n"
         "       distinct --value COL [--group COL] --db FILE --table T [OPTION...]\n"
         "       distinct --merge FILE... [OPTION...]\n"
         "Counts the distinct values of a column in each group, with one Sketchline HyperLogLog per group.\n");
    for (size_t i = 0; i < n; i++) printf("  %-10s %-7s %s\n", options[i].name, options[i].argument, options[i].help);
    puts("\n"
         "CSV comes on standard input: a line of names first, fields in quotes where they need them (\"\" is a quote\n"
         "in quotes, newlines are allowed), LF or CR LF. TSV is the same with tabs. As in SQL's COUNT(DISTINCT),\n"
         "NULL is not counted; as a group it is one like others. An empty field of CSV is not NULL but the empty\n"
         "string, and counted. All of CSV is text, and equal if its bytes are. Values of SQLite are equal where\n"
         "SQL says so: 1 and 1.0 are, 1 and '1' are not, so that a result from CSV and one from a column of\n"
         "numbers have nothing in common. Without --group, all rows are one group.\n"
         "\n"
         "lower and upper: the truth is between them in 68, 95 or 99.7 % of cases for 1, 2 or 3 sigmas. form and\n"
         "bytes: of the sketch as --save keeps it. --exact counts with a set of 64-bit hashes per group, too, and\n"
         "shows the error of the estimate in percent and in standard deviations. In names, bytes that are not\n"
         "UTF-8 become \\x.., in JSON U+FFFD. In JSON a group is text, a number, null or {\"blob\": \"hex\"}, and\n"
         "missing without --group.\n"
         "\n"
         "Runs over parts of the data, each with --save, and one with --merge of all their files give what one run\n"
         "over everything gives, to the byte. --load or --merge beside --value adds the files to what is read.\n"
         "Precisions must be equal, unless --p asks for the least of them or less.\n"
         "Exit status: 0 done, 1 it failed, 2 the options are wrong.");
}

static inline void check_distinct_combinations(const struct distinct_options *o)
{
    if (o->value == NULL && o->num_load_paths == 0) usage_error("--value names what to count");
    if ((o->db_path == NULL) != (o->table == NULL)) usage_error("--db and --table belong together");
    if (o->csv + o->tsv + (o->db_path != NULL) > 1) usage_error("one of --csv, --tsv and --db");
    if (o->value == NULL && (o->csv || o->tsv || o->db_path != NULL || o->group != NULL))
        usage_error("--csv, --tsv, --db and --group want --value");
    if (o->exact && o->num_load_paths > 0) usage_error("--exact wants all values, and files do not have them");
}

static inline void add_load_path(struct distinct_options *o, const char *path)
{
    o->load_paths = resize(o->load_paths, o->num_load_paths + 1, sizeof *o->load_paths);
    o->load_paths[o->num_load_paths++] = path;
}

static inline struct distinct_options parse_distinct_options(int argc, char **argv)
{
    struct distinct_options o = {.p = UNSET, .sigmas = 2, .top = UNSET};
    const struct option options[] = {
        {"--value", "COL", "the column whose distinct values are counted", OPTION_TEXT, &o.value, 0, 0},
        {"--group", "COL", "the column that names the group of a row", OPTION_TEXT, &o.group, 0, 0},
        {"--csv", "", "read CSV from standard input, which is the default", OPTION_FLAG, &o.csv, 0, 0},
        {"--tsv", "", "read TSV from standard input", OPTION_FLAG, &o.tsv, 0, 0},
        {"--db", "FILE", "read a table of an SQLite database", OPTION_TEXT, &o.db_path, 0, 0},
        {"--table", "T", "which table", OPTION_TEXT, &o.table, 0, 0},
        {"--p", "N", "precision: 2^N registers in a dense sketch, 4 to 18 (14)", OPTION_COUNT, &o.p, 4, 18},
        {"--sigmas", "N", "bounds at 1, 2 or 3 standard deviations (2)", OPTION_COUNT, &o.sigmas, 1, 3},
        {"--top", "N", "show the N largest groups only", OPTION_COUNT, &o.top, 1, 1e15},
        {"--exact", "", "count exactly, too, and show the error", OPTION_FLAG, &o.exact, 0, 0},
        {"--json", "", "one JSON object instead of the table", OPTION_FLAG, &o.json, 0, 0},
        {"--save", "FILE", "keep the sketches of all groups", OPTION_TEXT, &o.save_path, 0, 0},
        {"--load", "FILE", "add what --save kept", OPTION_TEXT, &o.load_path, 0, 0},
        {"--merge", "FILE...", "add what --save kept in several files", OPTION_TEXT, &o.merge_path, 0, 0},
        {"--simd", "LEVEL", "portable, neon, avx2, avx512 or avx512vbmi (the fastest there is)", OPTION_TEXT, &o.simd,
         0, 0},
        {"--help", "", "this text", OPTION_FLAG, &o.help, 0, 0},
    };
    bool is_after_merge = false;
    for (int i = 1; i < argc; i++) {
        if (is_after_merge && strncmp(argv[i], "--", 2) != 0) {
            add_load_path(&o, argv[i]);
            continue;
        }
        size_t len = strcspn(argv[i], "=");
        const struct option *option = options, *end = options + COUNT_OF(options);
        while (option < end && (strlen(option->name) != len || strncmp(argv[i], option->name, len) != 0)) option++;
        bool has_argument = argv[i][len] == '=';
        if (option == end) usage_error("unknown option \"%s\"", argv[i]);
        is_after_merge = option->target == &o.merge_path;
        if (option->kind == OPTION_FLAG) {
            if (has_argument) usage_error("%s takes no argument", option->name);
            *(bool *)option->target = true;
            continue;
        }
        if (!has_argument && ++i == argc) usage_error("%s wants an argument", option->name);
        set_option(option, has_argument ? argv[i] + len + 1 : argv[i]);
        if (is_after_merge) add_load_path(&o, o.merge_path);
        if (option->target == &o.load_path) add_load_path(&o, o.load_path);
    }
    if (o.help) {
        print_distinct_help(options, COUNT_OF(options));
    } else {
        check_distinct_combinations(&o);
    }
    return o;
}

#endif
