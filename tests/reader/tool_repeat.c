/* tool_repeat.c - makes a large recording of a small one: its records again and again, each time
 *later.
 *
 *	tool_repeat [-n] [-p] IN OUT BYTES
 *
 * IN is a plain file as perf on this machine writes it, all events with the same sample_type and
 * with sample_id_all. -n: without FINISHED_ROUND, as in files of old perf and of directories; -p:
 *as a pipe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "reader/format.h"

static const uint64_t before_time = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
static const uint64_t behind_time = PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				    PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

struct input {
	uint8_t *v;
	size_t n;
	struct perfdata_header h;
	struct perf_event_attr attr;
	VEC(size_t) times; /* where they are in the data */
	uint8_t *data;	   /* what is repeated */
	size_t n_data;
	uint64_t span; /* from the first time to behind the last */
};

static void die(const char *what)
{
	fprintf(stderr, "tool_repeat: %s\n", what);
	exit(2);
}

static void load(struct input *in, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size = 0;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < (long)sizeof in->h)
		die("cannot read the input");
	rewind(f);
	in->n = (size_t)size;
	in->v = malloc(in->n);
	if (!in->v || fread(in->v, 1, in->n, f) != in->n)
		die("cannot read the input");
	fclose(f);
	memcpy(&in->h, in->v, sizeof in->h);
	memcpy(&in->attr, in->v + in->h.attrs.offset, PERF_ATTR_SIZE_VER5);
	if (!in->attr.sample_id_all || !(in->attr.sample_type & PERF_SAMPLE_TIME))
		die("records without time");
}

static size_t time_pos(const struct input *in, const struct perf_event_header *h)
{
	const uint64_t type = in->attr.sample_type;

	if (h->type == PERF_RECORD_SAMPLE)
		return 8 + 8u * (unsigned)__builtin_popcountll(type & before_time);
	return h->size - 8u * (unsigned)__builtin_popcountll(type & behind_time);
}

/* Copies the records that are wanted, and notes where their times are. */
static void prepare(struct input *in, int no_rounds)
{
	const uint8_t *p = in->v + in->h.data.offset, *end = p + in->h.data.size;
	uint64_t first = UINT64_MAX, last = 0, time;
	struct perf_event_header h;

	in->data = malloc(in->h.data.size);
	if (!in->data)
		die("out of memory");
	for (; p < end; p += h.size) {
		memcpy(&h, p, sizeof h);
		if (h.size < sizeof h || (no_rounds && h.type == RECORD_FINISHED_ROUND))
			continue;
		memcpy(in->data + in->n_data, p, h.size);
		if (h.type < RECORD_HEADER_ATTR) {
			memcpy(&time, p + time_pos(in, &h), sizeof time);
			if (time && time != UINT64_MAX) {
				first = time < first ? time : first;
				last = time > last ? time : last;
				if (vec_push(&in->times, in->n_data + time_pos(in, &h)))
					die("out of memory");
			}
		}
		in->n_data += h.size;
	}
	in->span = last - first + 1000;
}

static void put(FILE *out, const void *p, size_t n)
{
	if (n && fwrite(p, 1, n, out) != n)
		die("cannot write the output");
}

/* The attrs in records of their own, with their ids. */
static void put_pipe_start(const struct input *in, FILE *out)
{
	const uint64_t size = sizeof(struct perfdata_pipe_header);
	const uint8_t *entry = in->v + in->h.attrs.offset;

	put(out, PERFDATA_MAGIC, 8);
	put(out, &size, sizeof size);
	for (uint64_t at = 0; at < in->h.attrs.size;
	     at += in->h.attr_size, entry += in->h.attr_size) {
		struct perfdata_section ids;
		struct perf_event_header h = {.type = RECORD_HEADER_ATTR};

		memcpy(&ids, entry + in->h.attr_size - sizeof ids, sizeof ids);
		h.size = (uint16_t)(sizeof h + in->h.attr_size - sizeof ids + ids.size);
		put(out, &h, sizeof h);
		put(out, entry, in->h.attr_size - sizeof ids);
		put(out, in->v + ids.offset, ids.size);
	}
}

/* The table of header sections, which move with what is before them, and the sections. */
static void put_features(const struct input *in, FILE *out, uint64_t moved)
{
	const size_t from = in->h.data.offset + in->h.data.size;
	size_t n = 0;

	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(in->h.features[i]);
	for (size_t i = 0; i < n; i++) {
		struct perfdata_section s;

		memcpy(&s, in->v + from + i * sizeof s, sizeof s);
		s.offset += moved;
		put(out, &s, sizeof s);
	}
	put(out, in->v + from + n * sizeof(struct perfdata_section),
	    in->n - from - n * sizeof(struct perfdata_section));
}

int main(int argc, char **argv)
{
	int no_rounds = 0, pipe = 0, c;
	struct input in = {0};
	uint64_t copies;
	FILE *out;

	while ((c = getopt(argc, argv, "np")) > 0) {
		no_rounds |= c == 'n';
		pipe |= c == 'p';
	}
	if (argc - optind != 3)
		die("tool_repeat [-n] [-p] IN OUT BYTES");
	load(&in, argv[optind]);
	prepare(&in, no_rounds);
	copies = strtoull(argv[optind + 2], NULL, 0) / in.n_data + 1;
	out = fopen(argv[optind + 1], "wb");
	if (!out)
		die("cannot open the output");
	if (pipe) {
		put_pipe_start(&in, out);
	} else {
		struct perfdata_header h = in.h;

		h.data.size = in.n_data * copies;
		put(out, &h, sizeof h);
		put(out, in.v + sizeof h, in.h.data.offset - sizeof h);
	}
	for (uint64_t i = 0; i < copies; i++) {
		put(out, in.data, in.n_data);
		for (size_t k = 0; k < in.times.n; k++) {
			uint64_t time;

			memcpy(&time, in.data + in.times.v[k], sizeof time);
			time += in.span;
			memcpy(in.data + in.times.v[k], &time, sizeof time);
		}
	}
	if (!pipe)
		put_features(&in, out, in.n_data * copies - in.h.data.size);
	if (fclose(out))
		die("cannot write the output");
	vec_done(&in.times);
	free(in.data);
	free(in.v);
	return 0;
}
