/* The two loops that read every row once. They run at the speed of memory: 32 rows at a time are
 * turned so that one vector register holds the same column of eight rows. */
#ifndef EVENHAND_PASSES_H
#define EVENHAND_PASSES_H
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One clone per instruction set, chosen when the library is loaded: fast here, safe everywhere. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define EVENHAND_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EVENHAND_CLONES
#endif

#define ROWS 32
typedef double lane8 __attribute__((vector_size(64), aligned(8)));

/* out[x] = ||W a_x||^2 for rows a_x of A (k x m); row i of W (r x m) is read up to length[i]. */
EVENHAND_CLONES
static void squared_norms(const double *A, ptrdiff_t k, ptrdiff_t m, const double *W, ptrdiff_t r,
                          const ptrdiff_t *length, double *turned, double *out)
{
    for (ptrdiff_t x = 0; x < k; x += ROWS) {
        const ptrdiff_t n = k - x < ROWS ? k - x : ROWS;
        for (ptrdiff_t row = 0; row < n; row++)
            for (ptrdiff_t j = 0; j < m; j++)
                turned[j * ROWS + row] = A[(x + row) * m + j];
        lane8 d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0};
        for (ptrdiff_t i = 0; i < r; i++) {
            const double *w = W + i * m;
            lane8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            for (ptrdiff_t j = 0; j < length[i]; j++) {
                const lane8 *t = (const lane8 *)(turned + j * ROWS);
                const lane8 c = w[j] - (lane8){0};
                s0 += c * t[0];
                s1 += c * t[1];
                s2 += c * t[2];
                s3 += c * t[3];
            }
            d0 += s0 * s0;
            d1 += s1 * s1;
            d2 += s2 * s2;
            d3 += s3 * s3;
        }
        lane8 d[4] = {d0, d1, d2, d3};
        memcpy(out + x, d, n * sizeof(double));
    }
}

/* out[x] = a_x . u */
EVENHAND_CLONES
static void products(const double *A, ptrdiff_t k, ptrdiff_t m, const double *u, double *out)
{
    for (ptrdiff_t x = 0; x < k; x++) {
        const double *a = A + x * m;
        double s = 0;
        for (ptrdiff_t j = 0; j < m; j++)
            s += a[j] * u[j];
        out[x] = s;
    }
}

/* Collects the rows with |a_x . u| > s[x] or not a number, with their products; returns how many.
 * s may be NULL: then it is 1 everywhere. */
EVENHAND_CLONES
static ptrdiff_t beyond(const double *A, ptrdiff_t k, ptrdiff_t m, const double *u, const double *s,
                        ptrdiff_t *found, double *values)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t x = 0; x < k; x++) {
        const double *a = A + x * m;
        double y = 0;
        for (ptrdiff_t j = 0; j < m; j++)
            y += a[j] * u[j];
        const double size = y < 0 ? -y : y;
        if (!(size <= (s ? s[x] : 1.0))) {
            found[n] = x;
            values[n] = y;
            n++;
        }
    }
    return n;
}
#endif
