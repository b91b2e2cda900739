/* A histogram of times: 32 buckets for each power of two of nanoseconds, so that a quantile is 3 % too high at most. */

#ifndef PIPELINE_LATENCIES_H
#define PIPELINE_LATENCIES_H

#include "support.h"

enum { LATENCY_BUCKETS = 64 * 32 };

struct latencies {
    uint64_t counts[LATENCY_BUCKETS], n;
    double max; /* seconds */
};

static inline void latencies_add(struct latencies *latencies, double seconds)
{
    if (seconds > latencies->max) latencies->max = seconds;
    uint64_t ns = seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
    unsigned shift = 0;
    while (ns >> shift >= 64) shift++;
    latencies->counts[shift * 32 + (ns >> shift)]++;
    latencies->n++;
}

/* Seconds that a share of all took at most; NaN of none. */
static inline double latencies_quantile(const struct latencies *latencies, double share)
{
    if (latencies->n == 0) return NAN;
    double rank = share * (double)latencies->n, sum = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        sum += (double)latencies->counts[i];
        if (sum == 0 || sum < rank) continue;
        unsigned shift = i < 64 ? 0 : i / 32 - 1;
        double end = ldexp((double)(i - shift * 32 + 1), (int)shift) * 1e-9;
        return end < latencies->max ? end : latencies->max;
    }
    return latencies->max;
}

#endif
