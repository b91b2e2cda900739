/* An ingestion process that answers three questions about every event as it comes: did this user see this campaign
 * before? How many distinct users does each publisher domain have today? Does this address come too often? In some
 * megabytes, where exact collections take a gigabyte.
 *
 * `pipeline --help` lists the options. The parts:
 *
 *     jobs.h              the three jobs, in batches
 *     domains.h slots.h   the sketches of the domains, and their memory
 *     source.h            events: made up (events.h, zipf.h), or of text (event_text.h, lines.h)
 *     days.h held.h       the end of a day, without a pause
 *     checkpoint.h        everything in a file, without a pause, and back from it (resume.h); writer.h
 *     exact.h             the same by exact sets, to compare
 *     pipeline_report.h   the report; latencies.h
 *
 * The others are those of other examples, too. */

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>

#define PROGRAM "pipeline"
#include "checkpoint.h"
#include "exact.h"
#include "jobs.h"
#include "pipeline_options.h"
#include "pipeline_report.h"
#include "resume.h"
#include "sketchline.h"
#include "source.h"

static volatile sig_atomic_t is_ended; /* by a signal */

static void end(int signal_number)
{
    (void)signal_number;
    is_ended = 1;
}

/* Without SA_RESTART, so that a read that waits for events ends. */
static void prepare_signals(void)
{
    struct sigaction action = {.sa_handler = end};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit of the shell is a failed write, with a message */
}

struct pipeline {
    const struct pipeline_options *o;
    struct source *source;
    struct jobs *jobs;
    struct exact *exact; /* or NULL */
    struct checkpoint checkpoint;
    struct counters counters;
    struct days days;
    struct closing closing;
    struct run run;
    struct batch batch;
    double start, next_progress; /* seconds */
    uint64_t first_event;        /* of this run */
};

/* What this thread had of the processor: a machine that is busy with other work stretches the other clock, not this. */
static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Open loop: counts how long an event took, from when it was due until `answered`. */
static void measure_latency(struct pipeline *pipeline, uint64_t event, double answered)
{
    double due = (double)(event - pipeline->first_event) / (double)pipeline->o->rate;
    latencies_add(&pipeline->run.latencies, answered - due);
}

static void measure_released(struct pipeline *pipeline)
{
    struct held *held = pipeline->jobs->domains.held;
    double answered = now() - pipeline->start;
    for (size_t i = 0; i < held->num_released && pipeline->o->rate > 0; i++)
        measure_latency(pipeline, held->events[held->n + i], answered);
    held->num_released = 0;
}

/* Goes on with the end of a day, or brings it to its end. */
static void close_day(struct pipeline *pipeline, bool is_urgent)
{
    struct closing *closing = &pipeline->closing;
    const char *directory = closing->is_last && is_ended ? NULL : pipeline->o->days_path;
    while (closing->is_active) {
        if (is_urgent && directory != NULL) writer_wait(pipeline->checkpoint.writer);
        closing_step(closing, &pipeline->jobs->domains, &pipeline->days, pipeline->checkpoint.writer, directory);
        measure_released(pipeline);
        if (!is_urgent) break;
    }
}

/* A day ends: its sketches are written out, and empty ones begin. */
static void end_day(struct pipeline *pipeline, uint64_t next_day)
{
    close_day(pipeline, true);
    checkpoint_interrupt(&pipeline->checkpoint);
    if (pipeline->counters.day_events > 0) {
        if (pipeline->exact != NULL) exact_end_day(pipeline->exact, &pipeline->jobs->domains);
        closing_begin(&pipeline->closing, &pipeline->jobs->domains, &pipeline->counters, false);
    }
    pipeline->counters.day = next_day;
    pipeline->counters.day_events = 0;
}

/* Answers a batch, a day at a time. */
static void answer(struct pipeline *pipeline)
{
    const struct batch *batch = &pipeline->batch;
    close_day(pipeline, !held_has_room(pipeline->jobs->domains.held));
    for (size_t from = 0, to = 0; from < batch->n; from = to) {
        uint64_t day = batch->times[from] / DAY_SECONDS;
        if (day > pipeline->counters.day) end_day(pipeline, day);
        for (; to < batch->n && (day = batch->times[to] / DAY_SECONDS) <= pipeline->counters.day; to++)
            pipeline->counters.late += day < pipeline->counters.day;
        double before = processor_time();
        jobs_run(pipeline->jobs, batch, from, to, &pipeline->counters);
        pipeline->run.job_seconds += processor_time() - before;
        if (pipeline->exact != NULL) exact_run(pipeline->exact, batch, from, to, pipeline->jobs);
    }
}

/* Takes the next events into the batch; false at the end. */
static bool fill(struct pipeline *pipeline, uint64_t first, size_t max)
{
    batch_clear(&pipeline->batch, first);
    source_fill(pipeline->source, &pipeline->batch, max, &pipeline->jobs->domains, &pipeline->counters);
    batch_hash(&pipeline->batch);
    return pipeline->batch.n > 0;
}

/* Brings all parts of a checkpoint to its end. Nothing is counted again, and no day ends: see checkpoint.h. */
static void catch_up(struct pipeline *pipeline, const struct resumption *resumption)
{
    struct counters ignored = resumption->counters;
    uint64_t event = resumption->first_event;
    pipeline->jobs->is_catching_up = true;
    source_go_to(pipeline->source, resumption->first_position);
    while (event < resumption->counters.events) {
        uint64_t left = next_change(pipeline->jobs, resumption, event) - event;
        pipeline->counters = resumption->counters;
        if (!fill(pipeline, event, left < pipeline->o->batch ? (size_t)left : (size_t)pipeline->o->batch))
            die("the input is shorter than when the checkpoint was made");
        jobs_run(pipeline->jobs, &pipeline->batch, 0, pipeline->batch.n, &ignored);
        event += pipeline->batch.n;
    }
    pipeline->jobs->is_catching_up = false;
    pipeline->counters = resumption->counters;
    pipeline->checkpoint.next_at = event + pipeline->o->every;
}

static void resume(struct pipeline *pipeline)
{
    struct resumption resumption;
    if (load_checkpoint(pipeline->o, pipeline->jobs, &pipeline->days, &resumption)) catch_up(pipeline, &resumption);
}

/* A run that starts anew must not cost a checkpoint that somebody still wants. */
static void check_no_checkpoint(const struct pipeline_options *o)
{
    struct buffer path = {0};
    if (o->checkpoint_path == NULL || o->resume) return;
    set_path(&path, o->checkpoint_path, "checkpoint", "");
    if (access((const char *)path.bytes, F_OK) == 0)
        die("%s exists: --resume goes on from it; remove it to start anew", (const char *)path.bytes);
    free(path.bytes);
}

/* Open loop: how many events are due, at most `most`; waits for the first. */
static size_t wait_for_events(const struct pipeline *pipeline, uint64_t done, size_t most)
{
    double rate = (double)pipeline->o->rate;
    while (!is_ended) {
        double due = floor((now() - pipeline->start) * rate) + 1 - (double)done;
        if (due >= (double)most) return most;
        if (due >= 1) return (size_t)due;
        double wait = ((double)done) / rate - (now() - pipeline->start) - 100e-6; /* what a sleep may be too long */
        if (wait > 0) nanosleep(&(struct timespec){(time_t)wait, (long)((wait - floor(wait)) * 1e9)}, NULL);
    }
    return 0;
}

/* Of the events that are answered; those that are held follow. */
static void measure_batch(struct pipeline *pipeline)
{
    const struct batch *batch = &pipeline->batch;
    double answered = now() - pipeline->start;
    for (size_t i = 0; i < batch->n; i++)
        if (!pipeline->jobs->is_held[i]) measure_latency(pipeline, batch->first + i, answered);
}

static void show_progress(struct pipeline *pipeline)
{
    double t = now();
    if (t < pipeline->next_progress) return;
    double seconds = t - pipeline->start;
    pipeline->next_progress = t + 0.5;
    fprintf(stderr, "\r%15s events, %12s/s, %10s of memory", grouped((double)pipeline->counters.events),
            grouped((double)pipeline->run.events / seconds), mebibytes(resident_bytes()));
}

/* Answers all events. */
static void run(struct pipeline *pipeline)
{
    const struct pipeline_options *o = pipeline->o;
    const struct moment moment = {pipeline->jobs, pipeline->source, &pipeline->counters, &pipeline->days};
    bool has_progress = o->progress || isatty(STDERR_FILENO);
    double start_of_processor = processor_time();
    pipeline->first_event = pipeline->counters.events;
    pipeline->start = now();
    while (!is_ended) {
        size_t most = (size_t)o->batch;
        if (o->rate > 0) most = wait_for_events(pipeline, pipeline->run.events, most);
        if (most == 0 || !fill(pipeline, pipeline->counters.events, most)) break;
        answer(pipeline);
        pipeline->run.events += pipeline->batch.n;
        if (o->rate > 0) measure_batch(pipeline);
        if (!pipeline->closing.is_active) checkpoint_step(&pipeline->checkpoint, &moment);
        if (has_progress) show_progress(pipeline);
    }
    close_day(pipeline, true);
    pipeline->run.seconds = now() - pipeline->start;
    pipeline->run.processor_seconds = processor_time() - start_of_processor;
    pipeline->run.is_interrupted = is_ended;
    if (has_progress) fprintf(stderr, "\r%70s\r", "");
}

/* The last day stays open after a signal: more of its events may come. */
static void finish(struct pipeline *pipeline)
{
    if (pipeline->checkpoint.writer != NULL) writer_wait(pipeline->checkpoint.writer);
    checkpoint_interrupt(&pipeline->checkpoint);
    pipeline->run.checkpoints = pipeline->checkpoint.num_written;
    if (pipeline->counters.events == 0 && pipeline->counters.bad_lines > 0)
        die("no line could be read; line %" PRIu64 ": %s", pipeline->counters.first_bad_line,
            fault_text(pipeline->counters.first_fault));
    if (pipeline->counters.day_events == 0) return;
    closing_begin(&pipeline->closing, &pipeline->jobs->domains, &pipeline->counters, true);
    close_day(pipeline, true);
    if (pipeline->checkpoint.writer != NULL) writer_wait(pipeline->checkpoint.writer);
}

static void pipeline_free(struct pipeline *pipeline)
{
    writer_free(pipeline->checkpoint.writer);
    source_close(pipeline->source);
    jobs_free(pipeline->jobs);
    exact_free(pipeline->exact);
    free(pipeline->days.all);
    free(pipeline->batch.users.bytes.bytes);
    free(pipeline->batch.addresses.bytes.bytes);
    free(pipeline);
}

static void check_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) die("cannot write the result: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    struct pipeline_options o = parse_pipeline_options(argc, argv);
    if (o.help) return EXIT_SUCCESS;
    if (o.simd != NULL) choose_simd(o.simd);
    if (o.generate_only != NULL) {
        print_events(&o);
        check_output();
        return EXIT_SUCCESS;
    }
    check_no_checkpoint(&o);
    prepare_signals();

    struct pipeline *pipeline = allocate(1, sizeof *pipeline);
    *pipeline = (struct pipeline){.o = &o, .source = source_open(&o, &is_ended), .jobs = jobs_new(&o)};
    pipeline->checkpoint = checkpoint_new(&o, pipeline->jobs);
    if (o.exact) pipeline->exact = exact_new(&o);
    if (o.resume) resume(pipeline);
    run(pipeline);
    finish(pipeline);

    struct report report = make_report(&o, pipeline->jobs, &pipeline->counters, &pipeline->days, &pipeline->run,
                                       pipeline->exact);
    (o.json ? print_json : print_tables)(&report);
    check_output();
    report_free(&report);
    pipeline_free(pipeline);
    return EXIT_SUCCESS;
}
