/* fuzz_inputs.c - libFuzzer target: profiles of other tools. The first byte says which reader gets
 * the rest, 0 the one that is found by content; what is read is added up with itself.
 */
#include <string.h>

#include "input/input.h"
#include "tests/fuzz.h"

/* What the low bits of the first byte choose from. */
enum { FORMATS = 16 };

static bool accept_some(const void *arg, const struct input_sample *s)
{
	(void)arg;
	return fuzz_sum_bytes(s->comm, strlen(s->comm)) % 16 && strlen(s->event) < 1000;
}

static void check(const struct profile *p, const struct input_result *r)
{
	uint64_t count = 0;
	size_t i;

	for (i = 1; i < p->nodes.n; i++)
		FUZZ_CHECK(p->nodes.v[i].parent < i && p->nodes.v[i].location < p->locations.n);
	for (i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];

		FUZZ_CHECK(l->mapping < p->mappings.n &&
			   (uint64_t)l->first_line + l->n_lines <= p->lines.n);
	}
	for (i = 0; i < p->lines.n; i++)
		FUZZ_CHECK(p->lines.v[i].function < p->functions.n);
	for (i = 0; i < p->samples.n; i++) {
		FUZZ_CHECK(p->samples.v[i].node < p->nodes.n &&
			   p->samples.v[i].event < p->events.n);
		count += p->samples.v[i].count;
	}
	FUZZ_CHECK(!p->samples.n || r->samples);
	(void)count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct input_options all = {0}, some = {.accept = accept_some};
	const struct input_format *f;
	struct input_result result;
	struct profile *p, *sum;
	struct err err;
	char path[32];
	size_t n;
	int fd;

	if (!size)
		return 0;
	fd = fuzz_file_of(data + 1, size - 1, path);
	if (input_detect(path, &f, &err))
		f = NULL;
	for (n = 0; input_formats[n]; n++)
		if (data[0] % FORMATS == n + 1)
			f = input_formats[n];
	FUZZ_CHECK(n < FORMATS); /* each can be chosen */
	p = f ? profile_new(data[0] & 128 ? PROFILE_KEEP_LOG | PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS
					  : 0)
	      : NULL;
	if (p && !input_read(f, p, path, data[0] & 64 ? &some : &all, &result, &err)) {
		check(p, &result);
		sum = profile_new(0);
		FUZZ_CHECK(sum && !profile_absorb(sum, p, &err) && !profile_absorb(sum, p, &err));
		check(sum, &result);
		profile_free(sum);
	}
	profile_free(p);
	close(fd);
	return 0;
}
