/* secrets.c - finds the auxiliary vector in a stack copy. */
#include "capture/secrets.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum {
	PAIRS_MAX = 64, /* of the vector; Linux 6.18 writes some 25 */
	TYPE_MAX = 256,
	/* Between the end of the vector and the random bytes: padding. */
	RANDOM_NEAR = 4096,
};

static uint64_t word_at(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static bool is_page_size(uint64_t v)
{
	return v == 4096 || v == 16384 || v == 65536;
}

/* Follows the pairs from `at` on to the end of the vector; 0: it is none. *name: where the name of
 * the program is, which is the last string. */
static size_t end_of_vector(const uint8_t *stack, size_t n, size_t at, uint64_t sp, unsigned w,
			    uint64_t *name)
{
	uint64_t random = 0, end;
	unsigned i;

	for (i = 0; i < PAIRS_MAX && at + 2 * w <= n; i++, at += 2 * w) {
		const uint64_t type = word_at(stack + at, w), value = word_at(stack + at + w, w);

		if (type == AT_RANDOM)
			random = value;
		if (type == AT_EXECFN)
			*name = value;
		if (type == AT_NULL) {
			end = sp + at + 2 * w;
			return random >= end && random - end < RANDOM_NEAR ? at + 2 * w : 0;
		}
		if (type > TYPE_MAX)
			return 0;
	}
	return 0;
}

struct secrets secrets_find(const uint8_t *stack, size_t n, uint64_t sp, unsigned word_bytes)
{
	const unsigned w = word_bytes;
	size_t at = -sp % w, end;
	uint64_t name;

	for (; at + 2 * w <= n; at += w) {
		if (word_at(stack + at, w) != AT_PAGESZ ||
		    !is_page_size(word_at(stack + at + w, w)))
			continue;
		name = 0;
		end = end_of_vector(stack, n, at, sp, w, &name);
		if (end)
			return (struct secrets){end, name - sp < n && memchr(stack + (name - sp), 0,
									     n - (name - sp))};
	}
	return (struct secrets){n, false};
}

size_t secrets_clear(uint8_t *stack, size_t n, uint64_t sp, unsigned word_bytes)
{
	const size_t at = secrets_find(stack, n, sp, word_bytes).at;

	memset(stack + at, 0, n - at);
	return n - at;
}
