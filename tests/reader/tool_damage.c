/* tool_damage.c - `tool_damage FILE..`: the properties of fuzz.h over damaged copies of recordings.
 *
 * Each file is cut at every 512th byte, and has single bytes and whole fields changed to values
 * that are apt to be believed too much; of large files as many copies as the budget allows. What is
 * done depends on the file only. Prints each name and the number of copies, so that the last one
 * printed is the one to look at. */
#include "tests/reader/fuzz.h"

#include "base/hash.h"

#define CUT_EVERY    512
#define COPIES	     40
#define BUDGET_BYTES (16u << 20) /* read per file and kind of damage */

static size_t copies_of(size_t size, size_t most)
{
	size_t n = BUDGET_BYTES / (size + 1);

	return n < most ? n + 1 : most;
}

static size_t cut(const uint8_t *data, size_t size)
{
	size_t n = copies_of(size, size / CUT_EVERY + 1), step = size / n / CUT_EVERY * CUT_EVERY;

	if (!step)
		step = CUT_EVERY;
	for (size_t end = 0; end < size; end += step)
		fuzz_as_file(data, end);
	return n;
}

/* Values that overflow, wrap, or point far away. */
static const uint64_t nasty[] = {
	0,
	1,
	7,
	8,
	0xff,
	0xffff,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	1ull << 32,
	1ull << 60,
	1ull << 61,
	1ull << 63,
	UINT64_MAX / 8,
	UINT64_MAX - 7,
	UINT64_MAX,
};

/* Half of the damage goes where headers and attrs are. */
static size_t place(uint64_t r, size_t size)
{
	size_t head = size < 1024 ? size : 1024;

	return r & 1 ? (size_t)(r >> 1) % size : (size_t)(r >> 1) % head;
}

static size_t change(uint8_t *data, size_t size)
{
	static const size_t widths[] = {1, 2, 4, 8};
	size_t n = copies_of(size, COPIES);
	uint64_t r = size;

	for (size_t i = 0; i < n; i++) {
		uint8_t saved[8];
		size_t width, at;
		uint64_t value;

		r = hash_u64(r + i);
		width = widths[i % 4];
		if (width >= size)
			break;
		at = place(r, size - width) / width * width;
		value = width == 1 ? data[at] ^ (1u << (r >> 60 & 7))
				   : nasty[(r >> 55) % (sizeof nasty / sizeof *nasty)];
		memcpy(saved, data + at, width);
		memcpy(data + at, &value, width);
		fuzz_as_file(data, size);
		memcpy(data + at, saved, width);
	}
	return n;
}

static int damage(const char *path)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;

	if (!in || fseek(in, 0, SEEK_END) || (size = ftell(in)) < 0) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	rewind(in);
	data = malloc((size_t)size + 1);
	if (!data || fread(data, 1, (size_t)size, in) != (size_t)size)
		return 1;
	fclose(in);
	printf("%s", path);
	fflush(stdout);
	if (size)
		printf(" %zu", cut(data, (size_t)size) + change(data, (size_t)size));
	puts("");
	fflush(stdout);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= damage(argv[i]);
	return rc;
}
