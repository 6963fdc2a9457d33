/* Ties, as `ties.py` breaks them: by place, so that no decision hangs on rounding. */
#ifndef EVENHAND_TIES_H
#define EVENHAND_TIES_H
#include <float.h>
#include <math.h>
#include <stddef.h>

/* Inlined, so that it is compiled for the instruction set of the clone that calls it. */
#define EVENHAND_INLINE static inline __attribute__((always_inline))

#define LANES 8  /* doubles that are worked on at once */
#define TIE 1e-9 /* that of ties.py */

/* The first place of an entry that is no smaller than ``least``; the last if there is none. */
EVENHAND_INLINE ptrdiff_t first_above(const double *restrict entries, ptrdiff_t n, double least)
{
    ptrdiff_t x = 0;
    for (; x + LANES <= n; x += LANES) {
        int some = 0;
        for (int l = 0; l < LANES; l++)
            some |= entries[x + l] >= least;
        if (some)
            break;
    }
    while (x < n - 1 && !(entries[x] >= least))
        x++;
    return x < n ? x : n - 1;
}

/* The first place of those within a tie of the largest entry, for n >= 1 entries. Infinite ones have
 * no size. */
EVENHAND_INLINE ptrdiff_t first_largest(const double *restrict entries, ptrdiff_t n)
{
    double best[LANES], large[LANES], most = -INFINITY, size = 0;
    ptrdiff_t x = 0;
    for (int l = 0; l < LANES; l++) {
        best[l] = -INFINITY;
        large[l] = 0;
    }
    for (; x + LANES <= n; x += LANES)
        for (int l = 0; l < LANES; l++) {
            const double entry = entries[x + l];
            const double far = fabs(entry) <= DBL_MAX ? fabs(entry) : 0;
            best[l] = entry > best[l] ? entry : best[l];
            large[l] = far > large[l] ? far : large[l];
        }
    for (; x < n; x++) {
        const double far = fabs(entries[x]) <= DBL_MAX ? fabs(entries[x]) : 0;
        best[0] = entries[x] > best[0] ? entries[x] : best[0];
        large[0] = far > large[0] ? far : large[0];
    }
    for (int l = 0; l < LANES; l++) {
        most = best[l] > most ? best[l] : most;
        size = large[l] > size ? large[l] : size;
    }
    return first_above(entries, n, most - TIE * size);
}

/* The same for entries >= 0, whose largest is their size. */
EVENHAND_INLINE ptrdiff_t first_largest_positive(const double *restrict entries, ptrdiff_t n)
{
    double best[LANES] = {0}, most = 0;
    ptrdiff_t x = 0;
    for (; x + LANES <= n; x += LANES)
        for (int l = 0; l < LANES; l++)
            best[l] = entries[x + l] > best[l] ? entries[x + l] : best[l];
    for (; x < n; x++)
        best[0] = entries[x] > best[0] ? entries[x] : best[0];
    for (int l = 0; l < LANES; l++)
        most = best[l] > most ? best[l] : most;
    return first_above(entries, n, most * (1 - TIE));
}

/* Whether one number is larger than another >= 0 by more than a tie. */
EVENHAND_INLINE int clearly_larger(double one, double other)
{
    return one > other * (1 + TIE);
}

/* x >= 0 rounded down, unless it ties with a whole number: then it is that. */
EVENHAND_INLINE double rounded_down(double x)
{
    const double near = rint(x);
    return fabs(x - near) <= TIE * x ? near : floor(x);
}
#endif
