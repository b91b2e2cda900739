/* Memory between unreadable pages: an access beside it ends the process. Define _DEFAULT_SOURCE before all includes. */
#ifndef PAGES_H
#define PAGES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Whether a thing ends where the unreadable page behind begins, or begins where the one in front ends. */
enum place { AT_END, AT_START };
static int place;

struct region {
    unsigned char *start, *end;
};

static inline struct region make_region(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    unsigned char *memory = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct region region;
    if (memory == MAP_FAILED || mprotect(memory + page, inside, PROT_READ | PROT_WRITE) != 0) {
        perror("guard pages");
        exit(EXIT_FAILURE);
    }
    region.start = memory + page;
    region.end = region.start + inside;
    return region;
}

/* Exactly so many bytes of a region, filled with a pattern. */
static inline void *in(const struct region *region, size_t bytes)
{
    unsigned char *memory = place == AT_END ? region->end - bytes : region->start;
    return memset(memory, 0xa5, bytes);
}

#endif
