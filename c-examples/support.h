/* What the examples share: leaving with one line, memory, random numbers, time, temporary files. */

#ifndef PREFILTER_SUPPORT_H
#define PREFILTER_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sketchline.h"

#ifdef __GNUC__
#define PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#define NORETURN __attribute__((noreturn))
#else
#define PRINTF_LIKE
#define NORETURN
#endif

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Leaving. Temporary files go in an atexit handler. */

PRINTF_LIKE NORETURN static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(PROGRAM ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

static inline void check_skl(skl_status status, const char *what)
{
    if (status != SKL_OK) die("%s: %s", what, skl_status_string(status));
}

/* Memory that either is there or ends the program. */

static inline void *resize(void *memory, size_t n, size_t size)
{
    if (n > SIZE_MAX / size) die("out of memory");
    memory = realloc(memory, n == 0 ? 1 : n * size);
    if (memory == NULL) die("out of memory");
    return memory;
}

static inline void *allocate(size_t n, size_t size)
{
    return resize(NULL, n, size);
}

struct buffer {
    unsigned char *bytes;
    size_t len, capacity;
};

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t len)
{
    if (len > SIZE_MAX / 2 - buffer->len) die("out of memory");
    if (buffer->len + len > buffer->capacity) {
        buffer->capacity = 2 * (buffer->len + len);
        buffer->bytes = resize(buffer->bytes, buffer->capacity, 1);
    }
    if (len > 0) memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
}

/* Bytes that stay where they are until all of them are freed. */
struct arena {
    struct arena_chunk {
        struct arena_chunk *previous;
        char bytes[];
    } *last;
    size_t used, capacity;
};

/* Never NULL, not even for no bytes: SQLite takes a NULL pointer for the SQL value NULL. */
static inline const void *arena_copy(struct arena *arena, const void *bytes, size_t len)
{
    if (arena->last == NULL || len > arena->capacity - arena->used) {
        size_t capacity = len > ((size_t)1 << 20) ? len : (size_t)1 << 20;
        if (capacity > SIZE_MAX - sizeof(struct arena_chunk)) die("out of memory");
        struct arena_chunk *chunk = allocate(sizeof *chunk + capacity, 1);
        chunk->previous = arena->last;
        *arena = (struct arena){.last = chunk, .capacity = capacity};
    }
    char *copy = arena->last->bytes + arena->used;
    if (len > 0) memcpy(copy, bytes, len);
    arena->used += len;
    return copy;
}

static inline void arena_free(struct arena *arena)
{
    while (arena->last != NULL) {
        struct arena_chunk *chunk = arena->last;
        arena->last = chunk->previous;
        free(chunk);
    }
}

/* Random numbers: splitmix64. mix64 is a bijection, so different numbers make different keys. */

static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t random_u64(uint64_t *state)
{
    return mix64(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return random_u64(state) % bound;
}

/* Time and progress. */

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct progress {
    const char *what;
    uint64_t total;
    double next;
};

/* One line that is rewritten ten times a second, and only where somebody watches. The clock is read once in
 * 4096 steps, so that the runs that are timed do not notice. */
static inline void progress_step(struct progress *progress, uint64_t done)
{
    if ((done & 4095) != 0 || !isatty(STDERR_FILENO)) return;
    double t = now();
    if (t < progress->next) return;
    progress->next = t + 0.1;
    double percent = progress->total > 0 ? 100 * (double)done / (double)progress->total : 100;
    fprintf(stderr, "\r%-36s %3.0f %%", progress->what, percent > 100 ? 100 : percent);
}

static inline void progress_end(const struct progress *progress)
{
    if (progress->next > 0) fprintf(stderr, "\r%42s\r", "");
}

/* Temporary files: gone when the program ends, also when a signal ends it. */

enum temporary { TEMPORARY_DATABASE, TEMPORARY_IMAGE };
static char *volatile temporary_files[2];

static inline void remove_temporary_files(void)
{
    for (size_t i = 0; i < COUNT_OF(temporary_files); i++)
        if (temporary_files[i] != NULL) unlink(temporary_files[i]);
}

static inline void remove_temporary_files_and_end(int signal_number)
{
    remove_temporary_files();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static inline void prepare_temporary_files(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
    struct sigaction action = {.sa_handler = remove_temporary_files_and_end};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct sigaction old;
        sigaction(ends[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(ends[i], &action, NULL); /* nohup stays nohup */
    }
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit of the shell is a failed write, with a message */
    if (atexit(remove_temporary_files) != 0) die("out of memory");
}

/* Makes an empty file named `prefix` and six random characters, and opens it; -1 as open. Signals wait, so that
 * the handler sees either no file or its name. */
static inline int temporary_open(enum temporary which, const char *prefix)
{
    struct buffer path = {0};
    buffer_append(&path, prefix, strlen(prefix));
    buffer_append(&path, "XXXXXX", sizeof "XXXXXX");
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int file = mkstemp((char *)path.bytes);
    if (file >= 0) temporary_files[which] = (char *)path.bytes;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (file < 0) free(path.bytes);
    return file;
}

/* Removes it, or forgets it after it was given another name. */
static inline void temporary_end(enum temporary which, bool is_renamed)
{
    char *path = temporary_files[which];
    if (path == NULL) return;
    if (!is_renamed) unlink(path);
    temporary_files[which] = NULL;
    free(path);
}

/* mkstemp makes files for their owner alone; those that stay get the mode that any new file would. */
static inline bool set_usual_mode(int file)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(file, 0666 & ~mask) == 0;
}

/* A new name is only certain to survive a power cut once its directory is on the disk. */
static inline bool sync_directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct buffer directory = {0};
    buffer_append(&directory, slash != NULL ? path : ".", slash != NULL ? (size_t)(slash - path) + 1 : 1);
    buffer_append(&directory, "", 1);
    int file = open((const char *)directory.bytes, O_RDONLY | O_DIRECTORY);
    free(directory.bytes);
    if (file < 0) return false;
    bool is_synced = fsync(file) == 0 || errno == EINVAL; /* EINVAL: a file system that has no such thing */
    close(file);
    return is_synced;
}

/* "1,234,567" or "-". One of few texts at a time, as printf needs them. */
static inline const char *grouped(double number)
{
    static char texts[8][48];
    static unsigned next;
    char digits[32], *text = texts[next++ % COUNT_OF(texts)], *out = text;
    if (isnan(number)) return "-";
    int len = snprintf(digits, sizeof digits, "%.0f", number);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return text;
}

/* The number with a format for one double, or "-". */
static inline const char *formatted(const char *format, double number)
{
    static char texts[8][48];
    static unsigned next;
    char *text = texts[next++ % COUNT_OF(texts)];
    if (isnan(number)) return "-";
    snprintf(text, sizeof texts[0], format, number);
    return text;
}

#endif
