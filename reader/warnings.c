/* warnings.c - warnings: each kind once, with totals at the end. */
#include <stdarg.h>
#include <stdio.h>

#include "reader/file.h"

void file_note(struct perf_file *f, enum note kind, const char *fmt, ...)
{
	char line[512];
	const char *copy;
	va_list ap;

	if (f->noted[kind])
		return;
	f->noted[kind] = true;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	copy = arena_strndup(&f->arena, line, strlen(line));
	if (copy)
		(void)vec_push(&f->notes, copy); /* when out of memory one message is missing */
}

void file_skip(struct perf_file *f, enum perf_skip why, uint32_t type)
{
	f->stats.skips[why]++;
	if (type == PERF_RECORD_SAMPLE)
		f->stats.skipped_samples++;
	if (why == PERF_SKIP_UNKNOWN_TYPE)
		f->unknown_type = type;
	else
		f->stats.damaged = true;
}

void file_lose(struct perf_file *f, uint64_t off, const char *where, uint64_t n, bool at_end)
{
	f->stats.lost_bytes += n;
	f->stats.damaged = true;
	/* A recording that was cut ends inside of a record: that needs no message of its own. */
	if (!at_end || !(f->stats.truncated || f->stats.interrupted))
		file_note(f, NOTE_RESYNC, "no records can be read at offset %#llx%s",
			  (unsigned long long)off, where);
}

void file_note_totals(struct perf_file *f)
{
	const struct perf_file_stats *s = &f->stats;
	char names[256];

	for (unsigned i = 0; i < PERF_SKIP_N; i++) {
		if (!s->skips[i])
			continue;
		if (i == PERF_SKIP_UNKNOWN_TYPE)
			file_note(f, NOTE_SKIPS + i, "%llu records skipped: %s (the last is %u)",
				  (unsigned long long)s->skips[i], perf_skip_text(i),
				  f->unknown_type);
		else
			file_note(f, NOTE_SKIPS + i, "%llu records skipped: %s",
				  (unsigned long long)s->skips[i], perf_skip_text(i));
	}
	if (simpleperf_unused(&f->simpleperf, names, sizeof names))
		file_note(f, NOTE_SIMPLEPERF, "records of simpleperf that are not used: %s", names);
	if (f->chains_missing)
		file_note(
			f, NOTE_CHAINS,
			"%llu samples have kernel frames only: the records that hold the user part "
			"of their call chains (CALLCHAIN_DEFERRED) never came",
			(unsigned long long)f->chains_missing);
	if (f->order.n_late)
		file_note(f, NOTE_LATE,
			  "%llu records came later than the recording promised; they are out of "
			  "order",
			  (unsigned long long)f->order.n_late);
}
