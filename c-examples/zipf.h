/* Zipf's law without tables: rank k comes with a probability in proportion to k^-exponent, 1 <= k <= n. Constant
 * time and a few words of memory for any n, by rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion
 * to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996. The integral of x^-exponent is
 * inverted, and the result is rounded to a rank and now and then rejected: less than 1.2 draws per rank. */

#ifndef PIPELINE_ZIPF_H
#define PIPELINE_ZIPF_H

#include "support.h"

struct zipf {
    double n, exponent;
    double low, high; /* between which the integral is drawn */
    double sure;      /* a rank this little above what was drawn is never rejected */
};

/* (e^x - 1) / x and log(1 + x) / x, with their limits at 0: exponents of 1 and beside it need no case of their own. */
static inline double zipf_expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static inline double zipf_log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

static inline double zipf_weight(const struct zipf *zipf, double x)
{
    return exp(-zipf->exponent * log(x));
}

/* H(x), of which zipf_weight is the derivative. */
static inline double zipf_integral(const struct zipf *zipf, double x)
{
    double l = log(x);
    return zipf_expm1_over((1 - zipf->exponent) * l) * l;
}

static inline double zipf_inverse(const struct zipf *zipf, double y)
{
    double t = y * (1 - zipf->exponent);
    return exp(zipf_log1p_over(t < -1 ? -1 : t) * y);
}

static inline struct zipf zipf_new(uint64_t n, double exponent)
{
    struct zipf zipf = {.n = (double)n, .exponent = exponent};
    zipf.low = zipf_integral(&zipf, 1.5) - 1;
    zipf.high = zipf_integral(&zipf, zipf.n + 0.5);
    zipf.sure = 2 - zipf_inverse(&zipf, zipf_integral(&zipf, 2.5) - zipf_weight(&zipf, 2));
    return zipf;
}

static inline uint64_t zipf_next(const struct zipf *zipf, uint64_t *random)
{
    for (;;) {
        double unit = (double)(random_u64(random) >> 11) * 0x1p-53;
        double y = zipf->high + unit * (zipf->low - zipf->high);
        double x = zipf_inverse(zipf, y), k = floor(x + 0.5);
        k = k < 1 ? 1 : k > zipf->n ? zipf->n : k;
        if (k - x <= zipf->sure || y >= zipf_integral(zipf, k + 0.5) - zipf_weight(zipf, k)) return (uint64_t)k;
    }
}

#endif
