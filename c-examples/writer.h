/* A thread that writes to files, so that the events do not wait for a disk: all that a disk may take long for is here. It
 * takes one piece of a file at a time, in a buffer that belongs to it until it is idle again, and puts a checksum after
 * it. A file gets its name when all of it is on the disk. Of several files that belong together only the last waits for
 * the disk, with all of them: a fsync is a few milliseconds, in which no piece is taken. */

#ifndef PIPELINE_WRITER_H
#define PIPELINE_WRITER_H

#include <pthread.h>

#include "image_file.h"
#include "parts.h"
#include "support.h"

enum { CHECKSUM_LEN = 8, MAX_WRITTEN = 32 };

struct written {
    int file;
    struct buffer path, final_path; /* names end in 0 */
};

enum ending { GOES_ON, MORE_FILES, LAST_FILE };

struct writer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_busy, is_leaving;

    struct written open;  /* its file is -1 where there is none */
    struct written written[MAX_WRITTEN]; /* and not on the disk yet */
    size_t num_written;
    struct buffer piece, path, final_path; /* the names are those of the next file */
    size_t checked_from; /* where in the piece what the checksum is of begins */
    bool is_first;
    enum ending ending;
    int error; /* of errno, or 0 */
};

static inline void set_path(struct buffer *path, const char *directory, const char *name, const char *ending)
{
    path->len = 0;
    buffer_append(path, directory, strlen(directory));
    buffer_append(path, "/", 1);
    buffer_append(path, name, strlen(name));
    buffer_append(path, ending, strlen(ending) + 1);
}

/* Of a file that nobody goes on with. */
static inline void writer_abandon(struct writer *writer)
{
    if (writer->open.file < 0) return;
    close(writer->open.file);
    writer->open.file = -1;
    unlink((const char *)writer->open.path.bytes);
}

static inline void set_name(struct buffer *to, const struct buffer *name)
{
    to->len = 0;
    buffer_append(to, name->bytes, name->len);
}

static inline bool writer_start(struct writer *writer)
{
    writer_abandon(writer);
    set_name(&writer->open.path, &writer->path);
    set_name(&writer->open.final_path, &writer->final_path);
    writer->open.file = open((const char *)writer->open.path.bytes, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return writer->open.file >= 0;
}

static inline int written_finish(struct written *written)
{
    const char *path = (const char *)written->path.bytes, *final_path = (const char *)written->final_path.bytes;
    bool is_done = fsync(written->file) == 0 && rename(path, final_path) == 0 && sync_directory_of(final_path);
    int error = is_done ? 0 : errno;
    close(written->file);
    free(written->path.bytes);
    free(written->final_path.bytes);
    return error;
}

/* All files that are written get their names. */
static inline int writer_finish(struct writer *writer)
{
    int error = 0;
    for (size_t i = 0; i < writer->num_written; i++) {
        int of_this = written_finish(&writer->written[i]);
        if (error == 0) error = of_this;
    }
    writer->num_written = 0;
    return error;
}

/* An error as in errno, or 0. */
static inline int writer_work(struct writer *writer)
{
    struct buffer *piece = &writer->piece;
    uint64_t checksum = 0;
    if (writer->is_first && !writer_start(writer)) return errno;
    (void)skl_hash_bytes(piece->bytes + writer->checked_from, piece->len - writer->checked_from, 0, &checksum);
    put_le(piece, checksum, CHECKSUM_LEN);
    if (!write_fully(writer->open.file, piece->bytes, piece->len)) return errno;
    if (writer->ending == GOES_ON) return 0;
    writer->written[writer->num_written++] = writer->open;
    writer->open = (struct written){.file = -1};
    return writer->ending == LAST_FILE || writer->num_written == MAX_WRITTEN ? writer_finish(writer) : 0;
}

static inline void *writer_run(void *argument)
{
    struct writer *writer = argument;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->is_busy && !writer->is_leaving) pthread_cond_wait(&writer->changed, &writer->mutex);
        if (!writer->is_busy) break;
        pthread_mutex_unlock(&writer->mutex);
        int error = writer_work(writer);
        pthread_mutex_lock(&writer->mutex);
        writer->error = error;
        writer->is_first = false;
        writer->is_busy = false;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

/* Signals are for the thread that reads the events. The buffer is touched here, not while events wait. */
static inline struct writer *writer_new(size_t most)
{
    struct writer *writer = allocate(1, sizeof *writer);
    *writer = (struct writer){.open = {.file = -1}, .piece = {.bytes = allocate(most, 1), .capacity = most}};
    memset(writer->piece.bytes, 1, most);
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&writer->thread, NULL, writer_run, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) die("cannot start a thread: %s", strerror(error));
    return writer;
}

static inline void writer_check(const struct writer *writer)
{
    if (writer->error != 0)
        die("cannot write %s: %s", (const char *)writer->final_path.bytes, strerror(writer->error));
}

static inline bool writer_is_idle(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    bool is_idle = !writer->is_busy;
    pthread_mutex_unlock(&writer->mutex);
    if (is_idle) writer_check(writer);
    return is_idle;
}

static inline void writer_wait(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->is_busy) pthread_cond_wait(&writer->changed, &writer->mutex);
    pthread_mutex_unlock(&writer->mutex);
    writer_check(writer);
}

/* Idle only: begins a file that will be called `name`, instead of one that is not finished. */
static inline void writer_open(struct writer *writer, const char *directory, const char *name)
{
    set_path(&writer->final_path, directory, name, "");
    set_path(&writer->path, directory, name, ".unfinished");
    writer->is_first = true;
}

/* Idle only: has the piece written, and after it the checksum of what it has from `checked_from` on. */
static inline void writer_post(struct writer *writer, size_t checked_from, enum ending ending)
{
    pthread_mutex_lock(&writer->mutex);
    writer->checked_from = checked_from;
    writer->ending = ending;
    writer->is_busy = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

static inline void writer_free(struct writer *writer)
{
    if (writer == NULL) return;
    writer_wait(writer);
    writer_abandon(writer);
    writer->error = writer_finish(writer);
    writer_check(writer);
    pthread_mutex_lock(&writer->mutex);
    writer->is_leaving = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    free(writer->piece.bytes);
    free(writer->path.bytes);
    free(writer->final_path.bytes);
    free(writer->open.path.bytes);
    free(writer->open.final_path.bytes);
    free(writer);
}

#endif
