/* verify.c - the report of --verify-unwind. */
#include "report/report.h"

#include <inttypes.h>

#include "unwind/unwind.h"

void report_verify(const struct verify *v, FILE *out)
{
#define X(name, text) [VERIFY_##name] = text,
	static const char *const texts[] = {VERIFY_CLASSES(X)};
#undef X
	uint64_t sum = 0;
	unsigned c;

	for (c = 0; c < VERIFY_N; c++)
		sum += v->counts[c];
	fprintf(out, "verify-unwind: %" PRIu64 " stacks unwound by libdw too\n", sum);
	for (c = 0; c < VERIFY_N; c++) {
		const struct verify_example *e = &v->examples[c];

		if (!v->counts[c])
			continue;
		fprintf(out, "  %8" PRIu64 "  %s\n", v->counts[c], texts[c]);
		if (c != VERIFY_EQUAL)
			fprintf(out,
				"            first: tid %" PRIu32 " at %" PRIu64 ".%06" PRIu64
				", frame %zu: ours %#" PRIx64 ", libdw %#" PRIx64
				"; ours ended: %s, libdw: %s\n",
				e->tid, e->time_ns / 1000000000, e->time_ns / 1000 % 1000000,
				e->frame, e->ours_ip, e->libdw_ip, unwind_stop_text(e->ours_stop),
				unwind_stop_text(e->libdw_stop));
	}
}
