/* Numbers and parts of files: little-endian, each part after its length in four bytes. */

#ifndef DISTINCT_PARTS_H
#define DISTINCT_PARTS_H

#include "support.h"

static inline void put_le(struct buffer *out, uint64_t number, size_t num_bytes)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < num_bytes; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    buffer_append(out, bytes, num_bytes);
}

static inline uint64_t get_le(const unsigned char *bytes, size_t num_bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < num_bytes; i++) number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static inline void put_part(struct buffer *out, const void *bytes, size_t len)
{
    if (len > UINT32_MAX) die("cannot save a group: its name is too long");
    put_le(out, len, 4);
    buffer_append(out, bytes, len);
}

/* What is left of a file. */
struct parts {
    const char *path;
    const unsigned char *at;
    size_t len;
};

static inline const unsigned char *take_bytes(struct parts *parts, size_t len)
{
    if (len > parts->len) die("%s: damaged: a part is longer than the file", parts->path);
    const unsigned char *bytes = parts->at;
    parts->at += len;
    parts->len -= len;
    return bytes;
}

static inline const unsigned char *take_part(struct parts *parts, size_t *len)
{
    *len = (size_t)get_le(take_bytes(parts, 4), 4);
    return take_bytes(parts, *len);
}

#endif
