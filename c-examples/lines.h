/* Lines of a file or of standard input, in a buffer of fixed size. A line that does not fit is skipped, and told. */

#ifndef PIPELINE_LINES_H
#define PIPELINE_LINES_H

#include <inttypes.h>

#include "support.h"

struct lines {
    char input[1 << 16];
    size_t start, end; /* what is left of the input */
    uint64_t at, line; /* bytes and lines taken so far */
    const char *path;
    int file;
    bool is_at_end;
};

struct line {
    const char *bytes; /* without LF or CR LF; until the next line */
    size_t len;
    bool is_too_long;
};

static inline struct lines *lines_open(const char *path)
{
    struct lines *lines = allocate(1, sizeof *lines);
    *lines = (struct lines){.path = path};
    lines->file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY);
    if (lines->file < 0) die("cannot read %s: %s", path, strerror(errno));
    return lines;
}

/* Reads more behind what is left, which moves. False if there is no more. A signal ends it, too, where `is_ended` is set then. */
static inline bool lines_fill(struct lines *lines, const volatile sig_atomic_t *is_ended)
{
    memmove(lines->input, lines->input + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
    ssize_t n;
    do n = read(lines->file, lines->input + lines->end, sizeof lines->input - lines->end);
    while (n < 0 && errno == EINTR && !*is_ended);
    if (n < 0 && errno != EINTR) die("cannot read %s: %s", lines->path, strerror(errno));
    lines->is_at_end = n <= 0;
    lines->end += n > 0 ? (size_t)n : 0;
    return !lines->is_at_end;
}

static inline void lines_take(struct lines *lines, size_t len)
{
    lines->start += len;
    lines->at += len;
}

/* Whether a line is there without waiting for it. */
static inline bool lines_has_next(const struct lines *lines)
{
    return memchr(lines->input + lines->start, '\n', lines->end - lines->start) != NULL;
}

/* False at the end. */
static inline bool lines_next(struct lines *lines, struct line *line, const volatile sig_atomic_t *is_ended)
{
    *line = (struct line){0};
    for (;;) {
        char *start = lines->input + lines->start;
        size_t len = lines->end - lines->start;
        char *newline = memchr(start, '\n', len);
        if (newline == NULL && len < sizeof lines->input && !lines->is_at_end) {
            lines_fill(lines, is_ended);
            continue;
        }
        if (newline == NULL && (*is_ended || len == 0)) {
            lines->line += line->is_too_long;
            return line->is_too_long;
        }
        if (newline == NULL && !lines->is_at_end) { /* the buffer is full of it */
            line->is_too_long = true;
            lines_take(lines, len);
            continue;
        }
        line->bytes = start;
        line->len = newline != NULL ? (size_t)(newline - start) : len;
        lines_take(lines, line->len + (newline != NULL));
        lines->line++;
        if (line->len > 0 && start[line->len - 1] == '\r') line->len--;
        return true;
    }
}

/* Goes on `at` bytes from the start: by seeking, or where that cannot be, by reading. */
static inline void lines_skip(struct lines *lines, uint64_t at, uint64_t line)
{
    static const volatile sig_atomic_t is_ended = 0;
    if (at > INT64_MAX) die("%s: no file is that long", lines->path);
    if (lseek(lines->file, (off_t)at, SEEK_SET) >= 0) {
        lines->start = lines->end = 0;
        lines->is_at_end = false;
    } else {
        while (lines->at < at) {
            uint64_t left = at - lines->at, have = lines->end - lines->start;
            lines_take(lines, have < left ? (size_t)have : (size_t)left);
            if (lines->at < at && !lines_fill(lines, &is_ended))
                die("%s is shorter than when the checkpoint was made", lines->path);
        }
    }
    lines->at = at;
    lines->line = line;
}

#endif
