/* The final report: what was answered, which depends on the events alone, and apart from it how the run went. */

#ifndef PIPELINE_REPORT_H
#define PIPELINE_REPORT_H

#include "checkpoint.h"
#include "exact.h"
#include "jobs.h"
#include "latencies.h"
#include "memory_use.h"

/* How the run went. */
struct run {
    double seconds, processor_seconds, job_seconds; /* the last: of the processor, too */
    uint64_t events, checkpoints;                   /* answered in this run: fewer after a resume */
    bool is_interrupted;
    struct latencies latencies;
};

struct offender {
    char address[MAX_FIELD + 1];
    uint64_t count;
};

struct report {
    const struct pipeline_options *o;
    const struct counters *counters;
    const struct days *days;
    const struct run *run;
    double pairs, filter_fpr; /* by the bits: keys of all filters together, the mean of their rates */
    uint64_t filter_bytes, domain_bytes, throttle_bytes, sketch_bytes;
    double hll_error, throttled_addresses, window_total, window_error;
    struct domain **domains;  /* of the last day, the most users first */
    size_t num_domains;
    struct offender *offenders;
    size_t num_offenders;
    uint64_t digest; /* of all images */
    const struct exact *exact; /* or NULL */
    double fpr_measured, fpr_predicted, duplicates_predicted;
    uint64_t addresses_over, addresses_false, offenders_due, offenders_found;
};

static inline int compare_users_down(const void *left, const void *right)
{
    const struct domain *l = *(struct domain *const *)left, *r = *(struct domain *const *)right;
    double l_users = domain_users(l), r_users = domain_users(r);
    return l_users != r_users ? (l_users < r_users) - (l_users > r_users) : compare_names(&l->name, &r->name);
}

static inline uint64_t digest_of(uint64_t digest, const void *image, size_t len)
{
    check_skl(skl_hash_bytes(image, len, digest, &digest), "cannot hash an image");
    return digest;
}

/* Of what a resumed run must have in common with one that was never interrupted: everything. */
static inline uint64_t digest_jobs(struct jobs *jobs, struct domain **sorted, size_t num_domains)
{
    const void *image;
    size_t len;
    uint64_t digest = 0;
    for (size_t i = 0; i < jobs->campaigns; i++) {
        check_skl(skl_bloom_seal(&jobs->filters[i]), "cannot seal a filter");
        check_skl(skl_bloom_image(&jobs->filters[i], &image, &len), "cannot read a filter");
        digest = digest_of(digest, image, len);
    }
    for (size_t i = 0; i < num_domains; i++) {
        image = domain_seal(sorted[i], &len);
        digest = digest_of(digest_of(digest, sorted[i]->name.bytes, sorted[i]->name.len), image, len);
    }
    check_skl(skl_cms_seal(&jobs->counts), "cannot seal the counts");
    check_skl(skl_cms_image(&jobs->counts, &image, &len), "cannot read the counts");
    digest = digest_of(digest, image, len);
    check_skl(skl_topk_seal(&jobs->offenders), "cannot sort the offenders");
    check_skl(skl_topk_image(&jobs->offenders, &image, &len), "cannot read the offenders");
    digest = digest_of(digest, image, len);
    check_skl(skl_hll_seal(&jobs->throttled), "cannot seal a sketch");
    check_skl(skl_hll_image(&jobs->throttled, &image, &len), "cannot read a sketch");
    return digest_of(digest, image, len);
}

static inline void report_filters(struct report *report, const struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->campaigns; i++) {
        struct skl_bloom_estimate estimate = {.struct_size = sizeof estimate};
        check_skl(skl_bloom_get_estimate(&jobs->filters[i], &estimate), "cannot estimate a filter");
        report->pairs += estimate.num_keys;
        report->filter_fpr += estimate.fpr / (double)jobs->campaigns;
    }
}

static inline void report_throttle(struct report *report, struct jobs *jobs)
{
    struct skl_cms_bounds bounds = {.struct_size = sizeof bounds};
    struct skl_cms_info info = {.struct_size = sizeof info};
    check_skl(skl_hll_estimate(&jobs->throttled, &report->throttled_addresses), "cannot estimate");
    check_skl(skl_cms_get_bounds(&jobs->counts, 0, &bounds), "cannot bound the counts");
    check_skl(skl_cms_get_info(&jobs->counts, &info), "cannot read the counts");
    report->window_total = (double)info.total;
    report->window_error = bounds.error;
    report->offenders = allocate(jobs->offenders_params.k, sizeof *report->offenders);
    struct skl_topk_entry entry = {.struct_size = sizeof entry};
    /* One that is not over the limit any more is not offered: its count is an old one. */
    check_skl(skl_topk_refresh(&jobs->offenders, &jobs->counts), "cannot count the offenders");
    check_skl(skl_topk_sort(&jobs->offenders), "cannot sort the offenders");
    for (size_t i = 0; skl_topk_get(&jobs->offenders, i, &entry) == SKL_OK; i++) {
        struct offender *offender = &report->offenders[report->num_offenders++];
        memcpy(offender->address, entry.key, entry.kept_bytes);
        offender->address[entry.kept_bytes] = 0;
        offender->count = entry.count;
    }
}

static inline void report_exact(struct report *report, struct exact *exact, const struct jobs *jobs)
{
    exact_end_day(exact, &jobs->domains);
    exact_probe(exact, jobs, &report->fpr_measured, &report->fpr_predicted);
    report->duplicates_predicted = exact_predicted_duplicates(exact, jobs);
    exact_count_addresses(exact, &report->addresses_over, &report->addresses_false);
    exact_check_offenders(exact, jobs, &report->offenders_due, &report->offenders_found);
    report->exact = exact;
}

/* Seals the sketches, and ends the last day of the exact side. */
static inline struct report make_report(const struct pipeline_options *o, struct jobs *jobs,
                                        const struct counters *counters, const struct days *days,
                                        const struct run *run, struct exact *exact)
{
    struct report report = {.o = o, .counters = counters, .days = days, .run = run,
                            .filter_bytes = jobs->campaigns * jobs->filter_params.image_bytes,
                            .domain_bytes = jobs->domains.memory->bytes + jobs->domains.n * sizeof(struct domain),
                            .throttle_bytes = jobs->counts_params.image_bytes + jobs->offenders_params.image_bytes +
                                              jobs->throttled_params.dense_bytes,
                            .sketch_bytes = jobs_bytes(jobs), .hll_error = jobs->domains.params.standard_error};
    report_filters(&report, jobs);
    report_throttle(&report, jobs);
    if (exact != NULL) report_exact(&report, exact, jobs);
    report.domains = domains_sorted(&jobs->domains, 0, jobs->domains.n, &report.num_domains);
    report.digest = digest_jobs(jobs, report.domains, report.num_domains);
    qsort(report.domains, report.num_domains, sizeof *report.domains, compare_users_down);
    return report;
}

static inline void report_free(struct report *report)
{
    free(report->domains);
    free(report->offenders);
}

static inline double share_of(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static inline double rms_of(const struct errors *errors)
{
    return sqrt(share_of(errors->sum_of_squares, (double)errors->n));
}

/* Tables. */

static inline void print_text(const char *bytes, size_t len, size_t width)
{
    for (size_t i = 0; i < len; i++) putchar((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f ? '?' : bytes[i]);
    for (; len < width; len++) putchar(' ');
}

static inline void print_days(const struct report *r)
{
    printf("%-12s %15s %10s %15s %18s\n", "day", "events", "domains", "users", "users by domain");
    for (size_t i = 0; i < r->days->n; i++) {
        const struct day *day = &r->days->all[i];
        char date[DATE_TEXT_LEN + 1];
        date_text(day->day, date);
        printf("%-12s %15s %10s %15s %18s\n", date, grouped((double)day->events), grouped((double)day->domains),
               grouped(day->users), grouped(day->pairs));
    }
}

static inline void print_tops(const struct report *r)
{
    size_t n = r->num_domains < r->o->top ? r->num_domains : (size_t)r->o->top;
    printf("\n%-24s %15s   %-24s %10s\n", "domain, last day", "users", "offender, last window", "count");
    for (size_t i = 0; i < n || i < r->num_offenders; i++) {
        if (i < n) {
            print_text((const char *)r->domains[i]->name.bytes, r->domains[i]->name.len, 24);
            printf(" %15s", grouped(domain_users(r->domains[i])));
        } else {
            printf("%40s", "");
        }
        if (i < r->num_offenders) {
            fputs("   ", stdout);
            print_text(r->offenders[i].address, strlen(r->offenders[i].address), 24);
            printf(" %10s", grouped((double)r->offenders[i].count));
        }
        putchar('\n');
    }
}

static inline void print_answers(const struct report *r)
{
    const struct counters *c = r->counters;
    printf("events                %s", grouped((double)c->events));
    if (c->late > 0) printf(", %s of them of a day that was over", grouped((double)c->late));
    if (c->bad_lines > 0)
        printf(", and %s bad lines: line %s: %s", grouped((double)c->bad_lines), grouped((double)c->first_bad_line),
               fault_text(c->first_fault));
    printf("\nduplicates            %s (%.2f %%), about %s pairs of user and campaign\n",
           grouped((double)c->duplicates), 100 * share_of((double)c->duplicates, (double)c->events),
           grouped(r->pairs));
    printf("throttled             %s (%.2f %%), from about %s addresses with more than %s in %s s\n",
           grouped((double)c->throttled), 100 * share_of((double)c->throttled, (double)c->events),
           grouped(r->throttled_addresses), grouped((double)r->o->limit), grouped((double)r->o->window));
    printf("errors to expect      filters %.3f %% by their bits, distinct %.2f %%, counts +%s of %s in the window\n\n",
           100 * r->filter_fpr, 100 * r->hll_error, grouped(ceil(r->window_error)), grouped(r->window_total));
    print_days(r);
    print_tops(r);
}

static inline void print_exact(const struct report *r)
{
    const struct exact *e = r->exact;
    double news = (double)e->pairs.num_used + e->pairs.has_zero;
    printf("\nbeside exact sets\n");
    printf("false duplicates      %s of %s new pairs (%.3f %%), predicted %s; missed %s\n",
           grouped((double)e->false_duplicates), grouped(news), 100 * share_of((double)e->false_duplicates, news),
           grouped(r->duplicates_predicted), grouped((double)e->missed_duplicates));
    printf("false positives now   %.3f %%, predicted %.3f %%\n", 100 * r->fpr_measured, 100 * r->fpr_predicted);
    printf("distinct users        rms %.2f %%, mean %+.2f %%, worst %.2f %% of %s domains and days\n",
           100 * rms_of(&e->all), 100 * share_of(e->all.sum, (double)e->all.n), 100 * e->all.max,
           grouped((double)e->all.n));
    printf("  of 1,000 and more   rms %.2f %%, mean %+.2f %%, worst %.2f %% of %s\n", 100 * rms_of(&e->large),
           100 * share_of(e->large.sum, (double)e->large.n), 100 * e->large.max, grouped((double)e->large.n));
    printf("throttle              %s events over the limit, %s missed, %s throttled falsely\n",
           grouped((double)e->over), grouped((double)e->missed_over), grouped((double)e->false_over));
    printf("throttled addresses   %s, and %s falsely\n", grouped((double)r->addresses_over),
           grouped((double)r->addresses_false));
    printf("top offenders         %s of %s\n", grouped((double)r->offenders_found), grouped((double)r->offenders_due));
}

static inline const char *mebibytes(double bytes)
{
    return formatted("%.1f MiB", bytes / 1048576);
}

static inline void print_run(const struct report *r)
{
    const struct run *run = r->run;
    double events = (double)run->events;
    printf("\nthis run              %s events in %.2f s%s: %s per second\n", grouped(events), run->seconds,
           run->is_interrupted ? ", interrupted" : "", grouped(share_of(events, run->seconds)));
    printf("processor             %.2f s, of which the three jobs %.2f: %s and %s per second\n",
           run->processor_seconds, run->job_seconds, grouped(share_of(events, run->processor_seconds)),
           grouped(share_of(events, run->job_seconds)));
    if (run->latencies.n > 0)
        printf("latency               p50 %.3f ms, p99 %.3f, p99.9 %.3f, p99.99 %.3f, most %.3f; %s per second\n",
               1e3 * latencies_quantile(&run->latencies, 0.5), 1e3 * latencies_quantile(&run->latencies, 0.99),
               1e3 * latencies_quantile(&run->latencies, 0.999), 1e3 * latencies_quantile(&run->latencies, 0.9999),
               1e3 * run->latencies.max, grouped((double)r->o->rate));
    if (r->o->checkpoint_path != NULL) printf("checkpoints           %s\n", grouped((double)run->checkpoints));
    printf("memory                sketches %s (filters %s, distinct %s, throttle %s)",
           mebibytes((double)r->sketch_bytes), mebibytes((double)r->filter_bytes), mebibytes((double)r->domain_bytes),
           mebibytes((double)r->throttle_bytes));
    if (r->exact != NULL) {
        printf(", exact sets of hashes %s", mebibytes((double)exact_bytes(r->exact)));
    } else {
        printf(", the process at most %s", mebibytes(peak_resident_bytes()));
    }
    printf("\nSIMD level            %s\n", skl_simd_name(skl_simd_level()));
}

static inline void print_tables(const struct report *report)
{
    print_answers(report);
    if (report->exact != NULL) print_exact(report);
    print_run(report);
}

/* JSON. */

static inline void json_number(const char *name, double number, const char *after)
{
    if (isfinite(number)) {
        printf("\"%s\": %.12g%s", name, number, after);
    } else {
        printf("\"%s\": null%s", name, after);
    }
}

static inline void json_count(const char *name, uint64_t count, const char *after)
{
    printf("\"%s\": %" PRIu64 "%s", name, count, after);
}

/* Bytes beyond ASCII become U+FFFD: a name may be in any encoding. */
static inline void json_text(const char *bytes, size_t len)
{
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\') {
            printf("\\%c", byte);
        } else if (byte < ' ') {
            printf("\\u%04x", byte);
        } else {
            fputs(byte < 0x80 ? (char[]){(char)byte, 0} : "\\ufffd", stdout);
        }
    }
    putchar('"');
}

static inline void json_lists(const struct report *r)
{
    size_t n = r->num_domains < r->o->top ? r->num_domains : (size_t)r->o->top;
    fputs("\n \"days\": [", stdout);
    for (size_t i = 0; i < r->days->n; i++) {
        const struct day *day = &r->days->all[i];
        char date[DATE_TEXT_LEN + 1];
        date_text(day->day, date);
        printf("%s\n  {\"day\": \"%s\", ", i > 0 ? "," : "", date);
        json_count("events", day->events, ", ");
        json_count("domains", day->domains, ", ");
        json_number("users", day->users, ", ");
        json_number("users_by_domain", day->pairs, "}");
    }
    fputs("],\n \"domains\": [", stdout);
    for (size_t i = 0; i < n; i++) {
        fputs(i > 0 ? ",\n  {\"domain\": " : "\n  {\"domain\": ", stdout);
        json_text((const char *)r->domains[i]->name.bytes, r->domains[i]->name.len);
        fputs(", ", stdout);
        json_number("users", domain_users(r->domains[i]), "}");
    }
    fputs("],\n \"offenders\": [", stdout);
    for (size_t i = 0; i < r->num_offenders; i++) {
        fputs(i > 0 ? ",\n  {\"address\": " : "\n  {\"address\": ", stdout);
        json_text(r->offenders[i].address, strlen(r->offenders[i].address));
        fputs(", ", stdout);
        json_count("count", r->offenders[i].count, "}");
    }
    fputs("],\n ", stdout);
}

static inline void json_answers(const struct report *r)
{
    const struct counters *c = r->counters;
    fputs("{\"report\": {", stdout);
    json_count("events", c->events, ", ");
    json_count("late", c->late, ", ");
    json_count("bad_lines", c->bad_lines, ", ");
    json_count("first_bad_line", c->first_bad_line, ", ");
    json_count("duplicates", c->duplicates, ", ");
    json_number("pairs", r->pairs, ", ");
    json_number("filter_fpr", r->filter_fpr, ", ");
    json_number("distinct_error", r->hll_error, ", ");
    json_count("throttled", c->throttled, ", ");
    json_number("throttled_addresses", r->throttled_addresses, ", ");
    json_number("window_total", r->window_total, ", ");
    json_number("window_error", r->window_error, ",");
    json_lists(r);
    printf("\"digest\": \"%016" PRIx64 "\"},\n", r->digest);
}

static inline void json_errors(const char *name, const struct errors *errors)
{
    printf("\"%s\": {", name);
    json_count("n", errors->n, ", ");
    json_number("rms", rms_of(errors), ", ");
    json_number("mean", share_of(errors->sum, (double)errors->n), ", ");
    json_number("max", errors->max, "}, ");
}

static inline void json_exact(const struct report *r)
{
    const struct exact *e = r->exact;
    fputs("\"exact\": {", stdout);
    json_count("pairs", hash_set_count(&e->pairs), ", ");
    json_count("duplicates", e->duplicates, ", ");
    json_count("false_duplicates", e->false_duplicates, ", ");
    json_number("false_duplicates_predicted", r->duplicates_predicted, ", ");
    json_count("missed_duplicates", e->missed_duplicates, ", ");
    json_number("fpr_measured", r->fpr_measured, ", ");
    json_number("fpr_predicted", r->fpr_predicted, ", ");
    json_errors("distinct", &e->all);
    json_errors("distinct_large", &e->large);
    json_count("over", e->over, ", ");
    json_count("missed_over", e->missed_over, ", ");
    json_count("false_over", e->false_over, ", ");
    json_count("addresses_over", r->addresses_over, ", ");
    json_count("addresses_false", r->addresses_false, ", ");
    json_count("offenders", r->offenders_due, ", ");
    json_count("offenders_found", r->offenders_found, ", ");
    json_count("bytes", exact_bytes(e), "},\n");
}

static inline void print_json(const struct report *r)
{
    const struct run *run = r->run;
    json_answers(r);
    if (r->exact != NULL) json_exact(r);
    fputs("\"run\": {", stdout);
    json_count("events", run->events, ", ");
    json_number("seconds", run->seconds, ", ");
    json_number("processor_seconds", run->processor_seconds, ", ");
    json_number("job_seconds", run->job_seconds, ", ");
    printf("\"interrupted\": %s, ", run->is_interrupted ? "true" : "false");
    json_count("checkpoints", run->checkpoints, ", ");
    json_number("latency_p50", latencies_quantile(&run->latencies, 0.5), ", ");
    json_number("latency_p99", latencies_quantile(&run->latencies, 0.99), ", ");
    json_number("latency_p999", latencies_quantile(&run->latencies, 0.999), ", ");
    json_number("latency_max", run->latencies.n > 0 ? run->latencies.max : NAN, ", ");
    json_count("filter_bytes", r->filter_bytes, ", ");
    json_count("distinct_bytes", r->domain_bytes, ", ");
    json_count("throttle_bytes", r->throttle_bytes, ", ");
    json_number("peak_rss_bytes", peak_resident_bytes(), ", ");
    printf("\"simd_level\": \"%s\"}}\n", skl_simd_name(skl_simd_level()));
}

#endif
