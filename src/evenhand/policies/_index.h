/* The passes over all options that a step by step policy makes at every step. Rows are stored by
 * columns, padded to whole lanes, so that one vector register holds the same column of eight
 * options. Padding has a mean of minus infinity: it is never the largest. */
#ifndef EVENHAND_INDEX_H
#define EVENHAND_INDEX_H
#include "numerics/_passes.h"
#include "numerics/_ties.h"

/* out[x] = h_x . u for rows h_x by columns, w x k, k a multiple of LANES. */
EVENHAND_INLINE void all_products(const double *restrict T, ptrdiff_t k, ptrdiff_t w,
                                  const double *restrict u, double *restrict out)
{
    for (ptrdiff_t x = 0; x < k; x += LANES) {
        lane8 s = {0};
        for (ptrdiff_t j = 0; j < w; j++)
            s += u[j] * *(const lane8 *)(T + j * k + x);
        *(lane8 *)(out + x) = s;
    }
}

/* After n evaluations of a: the means move by `move` times h.g and the leverages of all h fall by
 * `fall` times (h.g)^2, where g is V^-1 a of before. Returns where mean + beta sqrt(leverage) is
 * largest, here and below the first that ties. */
EVENHAND_CLONES
static ptrdiff_t follow(const double *restrict T, ptrdiff_t k, ptrdiff_t w,
                        const double *restrict g, double move, double fall, double beta,
                        double *restrict mean, double *restrict leverage, double *restrict index)
{
    all_products(T, k, w, g, index);
    for (ptrdiff_t x = 0; x < k; x++) {
        const double p = index[x];
        const double v = leverage[x] - fall * p * p;
        mean[x] += move * p;
        leverage[x] = v > 0 ? v : 0;
        index[x] = mean[x] + beta * sqrt(leverage[x]);
    }
    return first_largest(index, k);
}

/* Returns where start + h.u is largest. */
EVENHAND_CLONES
static ptrdiff_t largest_product(const double *restrict T, ptrdiff_t k, ptrdiff_t w,
                                 const double *restrict u, const double *restrict start,
                                 double *restrict index)
{
    all_products(T, k, w, u, index);
    for (ptrdiff_t x = 0; x < k; x++)
        index[x] += start[x];
    return first_largest(index, k);
}
#endif
