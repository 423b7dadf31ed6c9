/* sort.c - least significant digit first, skipping the digits in which all keys agree.
 *
 * Symbol tables are nearly sorted runs of addresses that differ in their low 3-4 bytes only, so
 * three or four linear passes beat a comparison sort by an order of magnitude. */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 6, BUCKETS = 1 << DIGIT_BITS, SMALL = 48 };

static void sort_small(struct sort_pair *v, size_t n)
{
	size_t i, j;

	for (i = 1; i < n; i++) {
		struct sort_pair x = v[i];

		for (j = i; j && v[j - 1].key > x.key; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

static size_t digit(uint64_t key, unsigned d)
{
	return key >> (d * DIGIT_BITS) & (BUCKETS - 1);
}

static void sort_digit(struct sort_pair *to, const struct sort_pair *from, size_t n, unsigned d,
		       size_t *next)
{
	size_t i, sum = 0;

	memset(next, 0, BUCKETS * sizeof *next);
	for (i = 0; i < n; i++)
		next[digit(from[i].key, d)]++;
	for (i = 0; i < BUCKETS; i++) {
		size_t count = next[i];

		next[i] = sum;
		sum += count;
	}
	for (i = 0; i < n; i++)
		to[next[digit(from[i].key, d)]++] = from[i];
}

int sort_pairs(struct sort_pair *v, size_t n)
{
	struct sort_pair *tmp, *from = v, *to;
	uint64_t differing = 0;
	size_t *next, i;
	unsigned d;

	if (n < SMALL) {
		sort_small(v, n);
		return 0;
	}
	for (i = 1; i < n && v[i - 1].key <= v[i].key; i++)
		;
	if (i == n)
		return 0;
	for (i = 1; i < n; i++)
		differing |= v[i].key ^ v[0].key;
	tmp = n <= SIZE_MAX / sizeof *tmp ? malloc(n * sizeof *tmp) : NULL;
	next = malloc(BUCKETS * sizeof *next);
	if (!tmp || !next) {
		free(tmp);
		free(next);
		return -1;
	}
	to = tmp;
	for (d = 0; d < DIGITS; d++) {
		struct sort_pair *swap = to;

		if (!digit(differing, d))
			continue;
		sort_digit(to, from, n, d, next);
		to = from;
		from = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
	free(tmp);
	free(next);
	return 0;
}
