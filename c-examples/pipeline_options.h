/* The options of pipeline.c. */

#ifndef PIPELINE_OPTIONS_H
#define PIPELINE_OPTIONS_H

#include "options.h"
#include "support.h"

enum { MAX_BATCH = 4096, MAX_CAMPAIGNS = 256, MAX_TOP = 1000 };

struct pipeline_options {
    const char *clf_path, *tsv_path, *columns, *generate_only, *checkpoint_path, *days_path, *simd; /* or NULL */
    uint64_t events, users, domains, addresses, campaigns, per_day, seed;
    uint64_t pairs, p, window, limit, top, batch, rate, every;
    double user_zipf, zipf, fpr, epsilon;
    bool sparse, exact, json, resume, progress, help;
};

static inline void print_pipeline_help(const struct option *options, size_t n)
{
    puts("Usage: pipeline [OPTION...]\n"
         "Answers three questions about every event as it comes: did this user see this campaign before? How many\n"
         "distinct users does each publisher domain have today? Does this address come too often? With Sketchline's\n"
         "Bloom filters, HyperLogLog sketches and a Count-Min sketch. Without options: 50,000,000 made-up events.\n");
    for (size_t i = 0; i < n; i++)
        printf("  %-15s %-5s %s\n", options[i].name, options[i].argument, options[i].help);
    puts("\n"
         "Made-up events: users, domains and addresses by Zipf's law, campaigns evenly, days from 2026-01-01.\n"
         "CLF: ADDRESS - USER [DAY/MONTH/YEAR:H:M:S ZONE] \"GET http://DOMAIN/...?campaign=N HTTP/1.1\" STATUS BYTES.\n"
         "Where there is no user (-) the address is one; without http:// the domain is -, without campaign= it is 0.\n"
         "TSV: a line of names first. Times are seconds since 1970, campaigns are numbers. A line that cannot be\n"
         "read is left out and counted. An event of a day before the present one belongs to the present one.\n"
         "\n"
         "--rate is open loop: event i is due at i / rate seconds, whatever became of those before, and its latency\n"
         "is from then to all three answers. The counts behind the throttle are halved once per window.\n"
         "\n"
         "--checkpoint keeps everything in DIR/checkpoint, of which there is one complete version at any time. After\n"
         "a crash the same command with --resume goes on from there. It wants the same options and the same input,\n"
         "from its first byte. Finished days are in DIR/DATE.NNN.groups; `distinct --merge` reads and unites them.\n"
         "SIGINT and SIGTERM end the input early: what was counted is reported.\n"
         "Exit status: 0 done, 1 it failed, 2 the options are wrong.");
}

static inline void check_pipeline_combinations(const struct pipeline_options *o)
{
    bool is_text = o->clf_path != NULL || o->tsv_path != NULL;
    if (o->clf_path != NULL && o->tsv_path != NULL) usage_error("--clf or --tsv, not both");
    if (o->columns != NULL && o->tsv_path == NULL) usage_error("--columns wants --tsv");
    if (o->resume && o->checkpoint_path == NULL) usage_error("--resume wants --checkpoint");
    if (o->resume && o->exact) usage_error("--exact wants the whole run: its sets are not in checkpoints");
    if (o->generate_only != NULL && is_text) usage_error("--generate-only or an input, not both");
    if (o->generate_only != NULL && strcmp(o->generate_only, "clf") != 0 && strcmp(o->generate_only, "tsv") != 0)
        usage_error("--generate-only wants clf or tsv, not \"%s\"", o->generate_only);
}

static inline struct pipeline_options parse_pipeline_options(int argc, char **argv)
{
    struct pipeline_options o = {
        .events = 50000000, .users = 5000000, .domains = 10000, .addresses = 300000, .campaigns = 20,
        .per_day = 25000000, .seed = 1, .pairs = 15000000, .p = 12, .window = 3600, .limit = 1000, .top = 10,
        .batch = 1024, .every = 10000000, .user_zipf = 0.96, .zipf = 1, .fpr = 0.01, .epsilon = 1e-5};
    const struct option options[] = {
        {"--events", "N", "how many to make up (50000000)", OPTION_COUNT, &o.events, 0, 1e15},
        {"--users", "N", "among so many users (5000000)", OPTION_COUNT, &o.users, 1, 1e12},
        {"--domains", "N", "publisher domains (10000)", OPTION_COUNT, &o.domains, 1, 1 << 20},
        {"--addresses", "N", "and addresses (300000)", OPTION_COUNT, &o.addresses, 1, 1 << 24},
        {"--user-zipf", "S", "exponent of Zipf's law for users, 0 to 3 (0.96)", OPTION_NUMBER, &o.user_zipf, 0, 3},
        {"--zipf", "S", "and for domains and addresses (1)", OPTION_NUMBER, &o.zipf, 0, 3},
        {"--per-day", "N", "events of a made-up day (25000000)", OPTION_COUNT, &o.per_day, 1, 1e15},
        {"--seed", "N", "seed of made-up events (1)", OPTION_COUNT, &o.seed, 0, 1e15},
        {"--clf", "FILE", "read the Common Log Format instead, - for standard input", OPTION_TEXT, &o.clf_path, 0, 0},
        {"--tsv", "FILE", "or TSV", OPTION_TEXT, &o.tsv_path, 0, 0},
        {"--columns", "LIST", "its columns (time,user,campaign,domain,address)", OPTION_TEXT, &o.columns, 0, 0},
        {"--generate-only", "FORM", "print the made-up events as clf or tsv", OPTION_TEXT, &o.generate_only, 0, 0},
        {"--rate", "N", "events per second, open loop (as fast as they go)", OPTION_COUNT, &o.rate, 1, 1e9},
        {"--batch", "N", "most events that are answered at once (1024)", OPTION_COUNT, &o.batch, 1, MAX_BATCH},
        {"--campaigns", "N", "active campaigns (20)", OPTION_COUNT, &o.campaigns, 1, MAX_CAMPAIGNS},
        {"--pairs", "N", "pairs of user and campaign that the filters are sized for (15000000)", OPTION_COUNT,
         &o.pairs, 1, 1e12},
        {"--fpr", "P", "false-positive rate with that many (0.01)", OPTION_NUMBER, &o.fpr, 0, 1},
        {"--p", "N", "precision of the sketches of a domain and day, 4 to 18 (12)", OPTION_COUNT, &o.p, 4, 18},
        {"--sparse", "", "start them sparse: exact and small files while there are few users, but slower",
         OPTION_FLAG, &o.sparse, 0, 0},
        {"--epsilon", "E", "error of the throttle's counts, as a share of all in the window (1e-5)", OPTION_NUMBER,
         &o.epsilon, 1e-8, 0.5},
        {"--window", "S", "seconds of event time that the throttle looks back (3600)", OPTION_COUNT, &o.window, 1,
         1e9},
        {"--limit", "N", "events of an address there that are too many (1000)", OPTION_COUNT, &o.limit, 1, 1e9},
        {"--top", "N", "domains and offenders shown (10)", OPTION_COUNT, &o.top, 1, MAX_TOP},
        {"--exact", "", "count exactly, too, and show every error", OPTION_FLAG, &o.exact, 0, 0},
        {"--checkpoint", "DIR", "keep checkpoints and finished days here", OPTION_TEXT, &o.checkpoint_path, 0, 0},
        {"--every", "N", "events from one checkpoint to the next (10000000)", OPTION_COUNT, &o.every, 1, 1e15},
        {"--resume", "", "go on from the checkpoint, if there is one", OPTION_FLAG, &o.resume, 0, 0},
        {"--days", "DIR", "keep finished days here", OPTION_TEXT, &o.days_path, 0, 0},
        {"--progress", "", "show progress although nobody watches", OPTION_FLAG, &o.progress, 0, 0},
        {"--simd", "LEVEL", "portable, neon, avx2, avx512 or avx512vbmi (the fastest there is)", OPTION_TEXT, &o.simd,
         0, 0},
        {"--json", "", "one JSON object instead of the tables", OPTION_FLAG, &o.json, 0, 0},
        {"--help", "", "this text", OPTION_FLAG, &o.help, 0, 0},
    };
    set_options(options, COUNT_OF(options), argc, argv);
    if (o.help) print_pipeline_help(options, COUNT_OF(options));
    check_pipeline_combinations(&o);
    if (o.days_path == NULL) o.days_path = o.checkpoint_path;
    return o;
}

#endif
