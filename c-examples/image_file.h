/* Images of filters as files: written so that a reader finds the old file or the new one and nothing between,
 * and read in place. */

#ifndef PREFILTER_IMAGE_FILE_H
#define PREFILTER_IMAGE_FILE_H

#include <sys/mman.h>

#include "support.h"

/* write() may be interrupted by a signal, and may take a part. */
static inline bool write_fully(int file, const void *bytes, size_t len)
{
    const char *rest = bytes;
    while (len > 0) {
        ssize_t written = write(file, rest, len);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        rest += written;
        len -= (size_t)written;
    }
    return true;
}

/* Mistyped names must not cost a file: only an image is replaced. */
static inline void check_may_replace(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT) return;
        die("cannot save to %s: %s", path, strerror(errno));
    }
    char magic[4] = {0};
    FILE *file = S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    bool is_image = file != NULL && fread(magic, sizeof magic, 1, file) == 1 && memcmp(magic, "SKLN", 4) == 0;
    if (file != NULL) fclose(file);
    if (!is_image) die("cannot save to %s: it exists and is not an image of a filter", path);
}

static inline void save_image(const char *path, const void *image, size_t len)
{
    check_may_replace(path);
    int file = temporary_open(TEMPORARY_IMAGE, path);
    if (file < 0) die("cannot save to %s: %s", path, strerror(errno));
    bool is_written = write_fully(file, image, len) && set_usual_mode(file) && fsync(file) == 0;
    int error = errno;
    if (close(file) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    if (is_written && rename(temporary_files[TEMPORARY_IMAGE], path) != 0) {
        is_written = false;
        error = errno;
    }
    temporary_end(TEMPORARY_IMAGE, is_written);
    if (!is_written) die("cannot save to %s: %s", path, strerror(error));
    if (!sync_directory_of(path)) die("saved to %s, but its directory is not synced: %s", path, strerror(errno));
}

struct mapped_image {
    void *bytes;
    size_t len;
};

/* The pages are those of the file: nothing is copied, and processes that map one file share them. Replace such
 * a file as save_image does; one that is cut short in place takes its readers down with SIGBUS. */
static inline struct mapped_image map_image(const char *path)
{
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) die("cannot load %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode)) die("cannot load %s: not a regular file", path);
    struct mapped_image image = {.len = (size_t)status.st_size};
    if (image.len > 0) { /* mmap refuses nothing at all; skl_bloom_view says so better */
        image.bytes = mmap(NULL, image.len, PROT_READ, MAP_PRIVATE, file, 0);
        if (image.bytes == MAP_FAILED) die("cannot load %s: %s", path, strerror(errno));
    }
    close(file);
    return image;
}

static inline void unmap_image(struct mapped_image *image)
{
    if (image->bytes != NULL) munmap(image->bytes, image->len);
    *image = (struct mapped_image){0};
}

#endif
