/* How much memory this process has, in bytes; 0 where the system does not tell. */

#ifndef PIPELINE_MEMORY_USE_H
#define PIPELINE_MEMORY_USE_H

#include <sys/resource.h>

#include "support.h"

static inline double resident_bytes(void)
{
    unsigned long long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%llu %llu", &ignored, &pages) != 2) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* The most that it ever had. */
static inline double peak_resident_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * 1024 : 0;
}

#endif
