/* test_ring.c - reading records out of a ring, around its end, over memory made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/ring.h"

#define SIZE 64

struct fixture {
	struct perf_event_mmap_page control;
	uint8_t data[SIZE];
	struct ring ring;
};

/* The ring holds bytes that count from 0 at position 0 of the stream, written up to `head`. */
static void fill(struct fixture *f, uint64_t pos, uint64_t head)
{
	memset(f, 0, sizeof *f);
	for (uint64_t i = head > SIZE ? head - SIZE : 0; i < head; i++)
		f->data[i % SIZE] = (uint8_t)i;
	f->control.data_head = head;
	f->ring = (struct ring){&f->control, f->data, SIZE, 0, pos};
}

static void copies_around_the_end(void **state)
{
	struct fixture f;
	uint8_t got[SIZE];

	(void)state;
	for (uint64_t pos = 0; pos <= 3 * SIZE; pos += 8)
		for (size_t n = 0; n <= SIZE; n += 8) {
			fill(&f, pos, pos + SIZE);
			ring_copy(&f.ring, 0, got, n);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(got[i], (uint8_t)(pos + i));
			if (n >= 8) {
				ring_copy(&f.ring, 8, got, n - 8);
				for (size_t i = 0; i + 8 < n; i++)
					assert_int_equal(got[i], (uint8_t)(pos + 8 + i));
			}
		}
}

static void peeks_at_headers(void **state)
{
	const struct perf_event_header want = {.type = 9, .misc = 2, .size = 24};
	struct fixture f;

	(void)state;
	/* The last one lies around the end. */
	for (size_t at = SIZE - 16; at < SIZE; at += 4) {
		fill(&f, 5 * SIZE + at, 6 * SIZE + 16);
		for (size_t i = 0; i < sizeof want; i++)
			f.data[(at + i) % SIZE] = ((const uint8_t *)&want)[i];
		assert_int_equal(ring_peek(&f.ring).type, 9);
		assert_int_equal(ring_peek(&f.ring).size, 24);
	}
	assert_int_equal(ring_head(&f.ring), 6 * SIZE + 16);
}

static void gives_back_what_was_read(void **state)
{
	struct fixture f;

	(void)state;
	fill(&f, 40, 104);
	f.ring.pos += 24;
	assert_int_equal(f.control.data_tail, 0);
	ring_release(&f.ring);
	assert_int_equal(f.control.data_tail, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_around_the_end),
		cmocka_unit_test(peeks_at_headers),
		cmocka_unit_test(gives_back_what_was_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
