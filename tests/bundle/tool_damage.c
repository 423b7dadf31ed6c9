/* tool_damage.c - writes the bundle of a recording again, with one of its ELF files changed by
 * hand:
 *
 *	tool_damage SECTION NAME HOW [ARG]
 *
 * SECTION is a file with the section, NAME the last part of a path in it. What it writes has valid
 * sums, as a recording that was changed on purpose. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bundle/bundle.h"

static struct bundle_blob out;
static long arg;

static int put(const struct bundle_entry *e, const uint8_t *v, size_t n)
{
	const struct bundle_range all = {0, n, v};

	return bundle_put(&out, e, &all, 1, 1);
}

/* All bits of 8 bytes at an offset of the headers: the file's, or those of its tables. */
static int lie(const struct bundle_entry *e, struct bundle_bytes *b)
{
	if (arg < 0 || (size_t)arg + 8 > b->n)
		return -1;
	memset(b->v + arg, 0xff, 8);
	return put(e, b->v, b->n);
}

static int section_lies(const struct bundle_entry *e, struct bundle_bytes *b)
{
	Elf64_Ehdr h;
	long at;

	memcpy(&h, b->v, sizeof h);
	at = (long)h.e_shoff + arg;
	memset(b->v + (at < 0 || (size_t)at + 8 > b->n ? 0 : at), 0xff, 8);
	return put(e, b->v, b->n);
}

static int other_machine(const struct bundle_entry *e, struct bundle_bytes *b)
{
	const uint16_t machine = (uint16_t)arg;

	memcpy(b->v + 18, &machine, sizeof machine);
	return put(e, b->v, b->n);
}

/* The first entry of an id counts, whatever the second says. */
static int twice(const struct bundle_entry *e, struct bundle_bytes *b)
{
	static const uint8_t other[4096];

	return put(e, b->v, b->n) || put(e, other, sizeof other) ? -1 : 0;
}

static int grows(const struct bundle_entry *e, struct bundle_bytes *b)
{
	const size_t n = (size_t)arg << 20;
	uint8_t *zeros = calloc(n, 1);
	int rc = zeros ? 0 : -1;

	if (zeros) {
		memcpy(zeros, b->v, b->n < n ? b->n : n);
		rc = bundle_put(&out,
				&(struct bundle_entry){
					.kind = e->kind, .path = e->path, .id = e->id, .size = n},
				&(struct bundle_range){0, n, zeros}, 1, 1);
	}
	free(zeros);
	return rc;
}

/* Ranges that overlap, fall, and repeat. */
static int ranges(const struct bundle_entry *e, struct bundle_bytes *b)
{
	const struct bundle_range r[] = {{0, b->n, b->v}, {64, 64, b->v}, {0, b->n / 2, b->v}};

	return bundle_put(&out, e, r, 3, 1);
}

static int outside(const struct bundle_entry *e, struct bundle_bytes *b)
{
	const struct bundle_range r = {e->size - 8, 64, b->v};

	return bundle_put(&out, e, &r, 1, 1);
}

/* A file that says to be so long. */
static int hole(const struct bundle_entry *e, struct bundle_bytes *b)
{
	struct bundle_entry longer = *e;

	longer.size = (uint64_t)arg;
	return put(&longer, b->v, b->n);
}

/* And many entries whose contents are damaged. */
static int flood(const struct bundle_entry *e, struct bundle_bytes *b)
{
	int rc = put(e, b->v, b->n);
	long i;

	for (i = 0; i < arg && !rc; i++) {
		const struct bundle_entry map = {.kind = BUNDLE_FILE, .path = "/tmp/perf-1.map"};
		const struct bundle_range text = {0, 4, (const uint8_t *)"1 2 "};
		const size_t at = out.n;

		rc = bundle_put(&out, &map, &text, 1, 1);
		if (!rc)
			out.v[at + sizeof(struct bundle_header) + strlen(map.path)] ^= 1;
	}
	return rc;
}

static int cut(const struct bundle_entry *e, struct bundle_bytes *b)
{
	struct bundle_entry shorter = *e;

	shorter.size = (uint64_t)arg < b->n ? (uint64_t)arg : b->n;
	return put(&shorter, b->v, (size_t)shorter.size);
}

/* A path that leads out of the folder that it is laid out below. */
static int climb(const struct bundle_entry *e, struct bundle_bytes *b)
{
	struct bundle_entry other = *e;

	other.path = "/../../../climbed";
	return put(&other, b->v, b->n);
}

static const struct {
	const char *name;
	int (*change)(const struct bundle_entry *e, struct bundle_bytes *b);
} hows[] = {
	{"lie", lie},	  {"section", section_lies}, {"machine", other_machine},
	{"twice", twice}, {"grow", grows},	     {"ranges", ranges},
	{"cut", cut},	  {"outside", outside},	     {"hole", hole},
	{"flood", flood}, {"climb", climb},
};

static int change(const char *how, const struct bundle_entry *e)
{
	struct bundle_bytes bytes;
	size_t i;
	int rc = -1;

	if (bundle_contents(e, &bytes, NULL))
		return -1;
	for (i = 0; i < sizeof hows / sizeof *hows; i++)
		if (!strcmp(how, hows[i].name) && bytes.n > sizeof(Elf64_Ehdr))
			rc = hows[i].change(e, &bytes);
	bundle_bytes_done(&bytes);
	return rc;
}

static int keep(const struct bundle_entry *e)
{
	struct bundle_bytes bytes;
	int rc = bundle_contents(e, &bytes, NULL);

	rc = rc ? -1 : put(e, bytes.v, bytes.n);
	bundle_bytes_done(&bytes);
	return rc;
}

int main(int argc, char **argv)
{
	static uint8_t section[16 << 20];
	FILE *f = argc > 3 ? fopen(argv[1], "rb") : NULL;
	size_t n = f ? fread(section, 1, sizeof section, f) : 0, i, changed = 0;
	struct bundle *b;
	int rc;

	arg = argc > 4 ? atol(argv[4]) : 0;
	if (!f || bundle_open(&b, section, n, NULL) || bundle_begin(&out))
		return 2;
	for (i = 0, rc = 0; i < bundle_count(b) && !rc; i++) {
		const struct bundle_entry *e = bundle_at(b, i);
		const bool is_it = e->kind == BUNDLE_IMAGE && !strcmp(base_name(e->path), argv[2]);

		changed += is_it;
		rc = is_it ? change(argv[3], e) : keep(e);
	}
	if (!rc)
		fwrite(out.v, 1, out.n, stdout);
	bundle_free(b);
	vec_done(&out);
	fclose(f);
	return rc || !changed || fflush(stdout);
}
