/* header_pmus.c - the PMUs of the recorded machine, and their capabilities. */
#include "reader/header_text.h"

void print_pmus(struct header_printer *t, struct buf *b)
{
	const char *before = "# pmu mappings: ";
	uint32_t n = take_count(b, 8);

	if (!n)
		print_part(t, "# pmu mappings: not available");
	for (; n && buf_ok(b); n--, before = ", ") {
		uint32_t type = buf_u32(b);
		struct header_string name = take_text(b);

		print_part(t, "%s%.*s = %" PRIu32, before, TEXT(name), type);
	}
	print_end(t);
}

/* n pairs of strings. */
static void print_caps(struct header_printer *t, struct buf caps, uint32_t n,
		       struct header_string pmu)
{
	const char *before = "";

	print_part(t, "# %.*s pmu capabilities: %s", TEXT(pmu), n ? "" : "not available");
	for (; n && buf_ok(&caps); n--, before = ", ") {
		struct header_string name = take_text(&caps), value = take_text(&caps);

		print_part(t, "%s%.*s=%.*s", before, TEXT(name), TEXT(value));
	}
	print_end(t);
}

void print_cpu_caps(struct header_printer *t, struct buf *b)
{
	uint32_t n = take_count(b, 8);

	print_caps(t, *b, n, (struct header_string){3, "cpu"});
}

/* The name of the PMU comes after its capabilities. */
void print_pmu_caps(struct header_printer *t, struct buf *b)
{
	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		uint32_t n_caps = take_count(b, 8);
		struct buf caps = *b;
		struct header_string pmu;

		for (uint32_t i = 0; i < n_caps * 2u && buf_ok(b); i++)
			(void)take_text(b);
		pmu = take_text(b);
		if (buf_ok(b))
			print_caps(t, caps, n_caps, pmu);
	}
}
