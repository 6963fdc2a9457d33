/* The passes over all options that priced exploration makes at every step. Rows are stored in
 * tiles: eight options at a time, column by column, so that a pass reads memory in order and one
 * vector register holds the same column of eight options. */
#ifndef EVENHAND_RIVALS_H
#define EVENHAND_RIVALS_H
#include "_index.h"

#define CELLS 128   /* per unit of d/s: what is tabulated is known to this */
#define FARTHEST 9  /* d/s from which on a rival does not count */

/* Rows (k x m) to tiles; the last one is filled up with its first row. */
static void tiles_of(const double *rows, ptrdiff_t k, ptrdiff_t m, double *tiles)
{
    for (ptrdiff_t x = 0; x < (k + LANES - 1) / LANES * LANES; x++) {
        const double *row = rows + (x < k ? x : x / LANES * LANES) * m;
        for (ptrdiff_t j = 0; j < m; j++)
            tiles[x / LANES * LANES * m + j * LANES + x % LANES] = row[j];
    }
}

EVENHAND_INLINE lane8 tile_product(const double *restrict tile, ptrdiff_t m,
                                   const double *restrict u)
{
    lane8 s = {0};
    for (ptrdiff_t j = 0; j < m; j++)
        s += u[j] * *(const lane8 *)(tile + j * LANES);
    return s;
}

/* out[x] = row_x . u; here and below k is a multiple of LANES. */
EVENHAND_CLONES
static void tile_products(const double *restrict tiles, ptrdiff_t k, ptrdiff_t m,
                          const double *restrict u, double *restrict out)
{
    for (ptrdiff_t x = 0; x < k; x += LANES)
        *(lane8 *)(out + x) = tile_product(tiles + x * m, m, u);
}

/* out[x] = ||S^T (origin - row_x)||^2, exactly 0 for a row that equals the origin. */
EVENHAND_CLONES
static void tile_distances(const double *restrict tiles, ptrdiff_t k, ptrdiff_t m,
                           const double *restrict origin, const double *restrict S,
                           double *restrict apart, double *restrict out)
{
    for (ptrdiff_t x = 0; x < k; x += LANES) {
        lane8 total = {0};
        for (ptrdiff_t j = 0; j < m; j++)
            *(lane8 *)(apart + j * LANES) = origin[j] - *(const lane8 *)(tiles + x * m + j * LANES);
        for (ptrdiff_t i = 0; i < m; i++) {
            lane8 s = {0};
            for (ptrdiff_t j = 0; j < m; j++)
                s += S[j * m + i] * *(const lane8 *)(apart + j * LANES);
            total += s * s;
        }
        *(lane8 *)(out + x) = total;
    }
}

EVENHAND_CLONES
static ptrdiff_t place_of_largest(const double *restrict entries, ptrdiff_t k)
{
    return first_largest(entries, k);
}

/* The same for entries >= 0. */
EVENHAND_CLONES
static ptrdiff_t place_of_steepest(const double *restrict entries, ptrdiff_t k)
{
    return first_largest_positive(entries, k);
}

/* The values move by `move` times value.g. */
EVENHAND_CLONES
static void shift(ptrdiff_t k, const double *restrict along, double move, double *restrict value)
{
    for (ptrdiff_t x = 0; x < k; x++)
        value[x] += move * along[x];
}

/* Variances fall by `fall` times the squares of what g tells of them. */
EVENHAND_CLONES
static void lower(ptrdiff_t k, const double *restrict along, double origin, double fall,
                  double *restrict variance)
{
    for (ptrdiff_t x = 0; x < k; x++) {
        const double apart = origin - along[x], v = variance[x] - fall * apart * apart;
        variance[x] = v > 0 ? v : 0;
    }
}

/* For leads d = best - value of deviation s = sigma sqrt(variance): s, and what a table says for the
 * cell of d/s, from its left end where all are largest or least: how large the loss and the
 * steepness are at most, and what s times the stake must exceed for the rival to be open. */
EVENHAND_CLONES
static void size_up(ptrdiff_t k, double best, double sigma, const double *restrict value,
                    const double *restrict variance, const double *restrict table,
                    double *restrict deviation, double *restrict loss, double *restrict steep,
                    double *restrict needed)
{
    const double *restrict losses = table;
    const double *restrict densities = table + CELLS * FARTHEST + 1;
    const double *restrict needs = densities + CELLS * FARTHEST + 1;
    for (ptrdiff_t x = 0; x < k; x++) {
        const double s = sigma * sqrt(variance[x]);
        double u = s > 0 ? (best - value[x]) / s : FARTHEST;
        u = u < FARTHEST ? u : FARTHEST;
        u = u > 0 ? u : 0;
        const int i = (int)(u * CELLS);
        deviation[x] = s;
        loss[x] = s * losses[i];
        steep[x] = s * densities[i];
        needed[x] = needs[i];
    }
}

/* 1/price for price = min(gap, worst) + extra; returns the largest leverage per price. */
EVENHAND_CLONES
static double price_all(ptrdiff_t k, double best, double worst, double extra,
                        const double *restrict value, const double *restrict leverage,
                        double *restrict per_price)
{
    double most[LANES] = {0}, largest = 0;
    for (ptrdiff_t x = 0; x < k; x += LANES)
        for (int l = 0; l < LANES; l++) {
            double gap = best - value[x + l];
            gap = gap > 0 ? gap : 0; /* of a tie with the leader, whichever is ahead */
            const double inverse = 1 / ((gap < worst ? gap : worst) + extra);
            const double sharp = leverage[x + l] * inverse;
            per_price[x + l] = inverse;
            most[l] = sharp > most[l] ? sharp : most[l];
        }
    for (int l = 0; l < LANES; l++)
        largest = most[l] > largest ? most[l] : largest;
    return largest;
}

/* The steepness at most of those that may be open; 0 for the others. */
EVENHAND_CLONES
static void keep_open(ptrdiff_t k, double stake, const double *restrict deviation,
                      const double *restrict needed, double *restrict steep)
{
    for (ptrdiff_t x = 0; x < k; x++)
        steep[x] = deviation[x] * stake > needed[x] ? steep[x] : 0;
}

/* Returns where (row.g)^2 / price is largest, and writes them all to `sharp`. */
EVENHAND_CLONES
static ptrdiff_t sharpest(const double *restrict tiles, ptrdiff_t k, ptrdiff_t m,
                          const double *restrict g, const double *restrict per_price,
                          double *restrict sharp)
{
    for (ptrdiff_t x = 0; x < k; x += LANES) {
        const lane8 p = tile_product(tiles + x * m, m, g);
        *(lane8 *)(sharp + x) = p * p * *(const lane8 *)(per_price + x);
    }
    return first_largest_positive(sharp, k);
}
#endif
