/* Reads CSV and TSV from standard input, a record at a time, by RFC 4180 with some lenience:
 *
 * - A field in quotes may have separators, newlines and doubled quotes ("") in it. What follows the closing quote
 *   ends the field, or is an error. A quote further into a field is a byte like others.
 * - A line ends with LF or CR LF, and the last one may do without. Any other CR is a byte like others.
 * - A byte order mark at the start is left out. Otherwise bytes are bytes, NUL too: any encoding over ASCII will do.
 * - The first record names the columns, and every other has as many. A blank line is one empty field.
 *
 * Errors name the line, counted as editors count: a newline in quotes begins a line, too. */

#ifndef DISTINCT_CSV_H
#define DISTINCT_CSV_H

#include <inttypes.h>

#include "sql_key.h"
#include "support.h"

struct csv {
    unsigned char input[1 << 16];
    size_t at, end;             /* what is left of the input */
    unsigned char separator;
    uint64_t line, record_line; /* that is being read, and on which the record began */
    struct buffer bytes;        /* of the fields of the record, one after the other */
    size_t *ends;               /* where each field ends */
    size_t num_fields, capacity, num_columns;
    uint64_t fills;
    struct progress progress;
};

/* False at the end. Progress is for files: a pipe does not tell how long it is. */
static inline bool csv_fill(struct csv *csv)
{
    errno = 0;
    csv->at = 0;
    csv->end = fread(csv->input, 1, sizeof csv->input, stdin);
    if (ferror(stdin)) die("cannot read standard input: %s", strerror(errno));
    if (csv->progress.total > 0) progress_step(&csv->progress, 4096 * csv->fills++);
    return csv->end > 0;
}

static inline int csv_peek(struct csv *csv)
{
    return csv->at < csv->end || csv_fill(csv) ? csv->input[csv->at] : EOF;
}

static inline int csv_take(struct csv *csv)
{
    int byte = csv_peek(csv);
    if (byte != EOF) csv->at++;
    csv->line += byte == '\n';
    return byte;
}

/* Takes bytes into the field up to one of two, or to the end of what was read; no newline if it is not one of them. */
static inline void csv_take_until(struct csv *csv, unsigned char stop, unsigned char other_stop)
{
    size_t start = csv->at, at = start;
    while (at < csv->end && csv->input[at] != stop && csv->input[at] != other_stop && csv->input[at] != '\n') at++;
    buffer_append(&csv->bytes, csv->input + start, at - start);
    csv->at = at;
}

static inline void csv_append(struct csv *csv, int byte)
{
    buffer_append(&csv->bytes, &(unsigned char){(unsigned char)byte}, 1);
}

/* The rest of a field in quotes, the closing one included. */
static inline void csv_take_quoted(struct csv *csv)
{
    uint64_t first_line = csv->line;
    for (;;) {
        csv_take_until(csv, '"', '"');
        int byte = csv_take(csv);
        if (byte == EOF) die("line %" PRIu64 ": the quote that opens here is never closed", first_line);
        if (byte == '"' && csv_peek(csv) != '"') return;
        if (byte == '"') csv_take(csv);
        csv_append(csv, byte);
    }
}

/* Reads a field. Answers what ended it: the separator, a newline or EOF. */
static inline int csv_take_field(struct csv *csv)
{
    bool is_quoted = csv_peek(csv) == '"';
    if (is_quoted) {
        csv_take(csv);
        csv_take_quoted(csv);
    }
    for (;;) {
        if (!is_quoted) csv_take_until(csv, csv->separator, '\r');
        int byte = csv_take(csv);
        if (byte == csv->separator || byte == '\n' || byte == EOF) return byte;
        if (byte == '\r' && csv_peek(csv) == '\n') continue;
        if (is_quoted) die("line %" PRIu64 ": something follows a closing quote", csv->line);
        csv_append(csv, byte);
    }
}

static inline bool csv_take_record(struct csv *csv)
{
    csv->bytes.len = csv->num_fields = 0;
    csv->record_line = csv->line;
    if (csv_peek(csv) == EOF) return false;
    do {
        int end = csv_take_field(csv);
        if (csv->num_fields == csv->capacity) {
            csv->capacity = 2 * csv->capacity + 16;
            csv->ends = resize(csv->ends, csv->capacity, sizeof *csv->ends);
        }
        csv->ends[csv->num_fields++] = csv->bytes.len;
        if (end != csv->separator) return true;
    } while (true);
}

/* The bytes last until the next record. */
static inline struct sql_value csv_field(const struct csv *csv, size_t column)
{
    size_t start = column > 0 ? csv->ends[column - 1] : 0, len = csv->ends[column] - start;
    return (struct sql_value){.type = SQLITE_TEXT, .bytes = len > 0 ? csv->bytes.bytes + start : (const void *)"",
                              .len = len};
}

/* Reads the names of the columns. */
static inline struct csv *csv_open(char separator)
{
    struct csv *csv = allocate(1, sizeof *csv);
    *csv = (struct csv){.separator = (unsigned char)separator, .line = 1, .progress = {.what = "reading"}};
    struct stat status;
    if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
        csv->progress.total = (uint64_t)status.st_size / (sizeof csv->input / 4096);
    csv_peek(csv);
    if (csv->end >= 3 && memcmp(csv->input, "\xef\xbb\xbf", 3) == 0) csv->at = 3;
    if (!csv_take_record(csv)) die("line 1: there is no header: the input is empty");
    csv->num_columns = csv->num_fields;
    return csv;
}

/* Looks a name up, while the names are what was read last. */
static inline size_t csv_find_column(const struct csv *csv, const char *name)
{
    size_t found = csv->num_columns;
    for (size_t i = 0; i < csv->num_columns; i++) {
        struct sql_value field = csv_field(csv, i);
        if (field.len != strlen(name) || memcmp(field.bytes, name, field.len) != 0) continue;
        if (found < csv->num_columns) die("line 1: there are two columns \"%s\"", name);
        found = i;
    }
    if (found == csv->num_columns)
        die("line 1: there is no column \"%s\" among the %zu of the header", name, csv->num_columns);
    return found;
}

/* Reads the next record; false at the end. */
static inline bool csv_next(struct csv *csv)
{
    if (!csv_take_record(csv)) return false;
    if (csv->num_fields != csv->num_columns)
        die("line %" PRIu64 ": %zu column%s, but the header has %zu", csv->record_line, csv->num_fields,
            csv->num_fields == 1 ? "" : "s", csv->num_columns);
    return true;
}

static inline void csv_close(struct csv *csv)
{
    progress_end(&csv->progress);
    free(csv->bytes.bytes);
    free(csv->ends);
    free(csv);
}

#endif
