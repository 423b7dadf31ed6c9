/* fuzz_demangle.c - libFuzzer target: names of any kind. */
#include <string.h>

#include "demangle/demangle.h"
#include "tests/fuzz.h"

/* 10 ms are hundreds of times what the worst real name takes. The best of several tries counts: the
 * time of a busy machine is in the others. */
enum { NS_MAX = 10000000, TRIES = 5 };

typedef const char *shows_fn(struct demangler *d, const char *name, const struct name_style *style);

static const char *show(shows_fn *fn, struct demangler *d, const char *name,
			const struct name_style *style)
{
	uint64_t start, best = UINT64_MAX, used;
	const char *text = name;
	unsigned i;

	for (i = 0; i < TRIES && best > NS_MAX * FUZZ_SLOWER; i++) {
		start = fuzz_cpu_ns();
		text = fn(d, name, style);
		used = fuzz_cpu_ns() - start;
		best = used < best ? used : best;
	}
	FUZZ_CHECK(best <= NS_MAX * FUZZ_SLOWER);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demangler d = {0};
	char *name = malloc(size + 1);

	if (!name)
		return 0;
	if (size)
		memcpy(name, data, size);
	name[size] = 0;
	for (unsigned bits = 0; bits < 24; bits++) {
		struct name_style style = {.demangle = (enum sym_demangle)(bits % 3),
					   .fold_clones = bits & 1,
					   .cut_templates = bits >= 12,
					   .template_depth = bits / 3 % 4,
					   .compiler = bits / 2 % 3};
		const char *text = show(demangle, &d, name, &style);

		FUZZ_CHECK(text && (style.demangle != SYM_DEMANGLE_NONE || style.fold_clones ||
				    text == name));
		(void)fuzz_sum_bytes(text, strlen(text) + 1);
		text = show(restyle, &d, name, &style);
		(void)fuzz_sum_bytes(text, strlen(text) + 1);
	}
	demangler_done(&d);
	free(name);
	return 0;
}
