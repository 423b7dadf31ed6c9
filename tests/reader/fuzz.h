/* fuzz.h - what must hold for whatever bytes the reader is given. */
#ifndef TESTS_READER_FUZZ_H
#define TESTS_READER_FUZZ_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "reader/reader.h"
#include "tests/fuzz.h"

/* perf_event.h */
#define SAMPLE_READ (1u << 4)

static inline void fuzz_space(const struct address_space *as, uint64_t ip)
{
	const struct map *m = address_space_find(as, ip);
	size_t n = address_space_count(as);
	uint64_t end = 0;

	FUZZ_CHECK(address_space_layout(as) != 0);
	FUZZ_CHECK(!m || (m->start <= ip && ip < m->end && m->dso && m->dso->path));
	for (size_t i = 0; i < n && i < 8; i++) {
		m = address_space_at(as, i);
		FUZZ_CHECK(m->start >= end && m->start < m->end);
		end = m->end;
		FUZZ_CHECK(address_space_find(as, m->start) == m);
	}
}

/* Frames that are as long as they say, and no more. */
static inline void fuzz_code(struct perf_file *f)
{
	const uint8_t *code;
	uint64_t packed;
	size_t n, at = 8;
	struct err err;

	FUZZ_CHECK(!perf_file_recorded_code(f, &code, &n, &err));
	FUZZ_CHECK(!code == !n);
	for (; at < n; at += 24 + packed) {
		FUZZ_CHECK(n - at >= 24);
		memcpy(&packed, code + at + 16, sizeof packed);
		FUZZ_CHECK(packed && packed <= n - at - 24);
	}
	(void)fuzz_sum_bytes(code, n);
}

static inline uint64_t fuzz_regs(const struct perf_regs *r)
{
	uint64_t v, sum = 0;

	for (unsigned bit = 0; bit < 64; bit++)
		if (perf_regs_get(r, bit, &v))
			sum += v;
	return sum;
}

/* Touches every byte that a sample claims to have. */
static inline uint64_t fuzz_sample(const struct perf_file *f, const struct perf_sample *s)
{
	uint64_t sum = 0;

	FUZZ_CHECK(s->event && s->event->index < perf_file_event_count(f));
	FUZZ_CHECK(perf_file_event(f, s->event->index) == s->event);
	FUZZ_CHECK(s->space && s->kernel && s->comm);
	FUZZ_CHECK(s->user_stack_bytes <= s->user_stack_asked);
	fuzz_space(s->space, s->ip);
	fuzz_space(s->kernel, s->ip);
	sum += fuzz_sum_bytes(s->ips, s->n_ips * sizeof *s->ips);
	sum += fuzz_sum_bytes(s->user_stack, s->user_stack_bytes);
	sum += fuzz_sum_bytes(s->extra->branches,
			      s->extra->n_branches * sizeof *s->extra->branches);
	sum += fuzz_sum_bytes(s->extra->raw, s->extra->raw_size);
	return sum + fuzz_regs(&s->user_regs) + fuzz_regs(&s->extra->intr_regs) + strlen(s->comm);
}

static inline void fuzz_symbols(const struct perf_file *f, const struct dso *dso)
{
	const struct perf_symbol_file *y = perf_file_symbols(f, dso);

	for (; y; y = y->next) {
		FUZZ_CHECK(!strcmp(y->path, dso->path));
		for (size_t i = 0; i < y->n; i++)
			FUZZ_CHECK(y->symbols[i].len && y->symbols[i].name[0]);
	}
}

static inline void fuzz_line(void *arg, const char *line)
{
	*(size_t *)arg += strlen(line);
	FUZZ_CHECK(!strchr(line, '\n'));
}

static inline void fuzz_tables(const struct perf_file *f)
{
	const struct perf_file_info *info = perf_file_info(f);
	const char *kallsyms;
	size_t size, said = 0;

	for (size_t i = 0; i < perf_file_event_count(f); i++)
		FUZZ_CHECK(perf_file_event(f, i)->index == i && perf_file_event(f, i)->name);
	for (size_t i = 0; i < perf_file_dso_count(f); i++)
		FUZZ_CHECK(perf_file_dso(f, i)->id == i &&
			   perf_file_dso(f, i)->build_id.size <= BUILD_ID_MAX);
	for (size_t i = 0; i < perf_file_dso_count(f); i++)
		fuzz_symbols(f, perf_file_dso(f, i));
	for (size_t i = 1; i < perf_file_map_count(f); i++)
		FUZZ_CHECK(perf_file_map(f, i)->id > perf_file_map(f, i - 1)->id);
	for (size_t i = 0; i < perf_file_note_count(f); i++)
		FUZZ_CHECK(!strchr(perf_file_note(f, i), '\n'));
	for (size_t i = 0; i < info->n_cmdline; i++)
		FUZZ_CHECK(info->cmdline[i]);
	kallsyms = perf_file_kallsyms(f, &size);
	if (kallsyms)
		(void)fuzz_sum_bytes((const uint8_t *)kallsyms, size);
	for (unsigned bit = 0; bit < 256; bit++) {
		const uint8_t *p = perf_file_feature(f, bit, &size);

		if (p)
			(void)fuzz_sum_bytes(p, size);
	}
	perf_file_header(f, fuzz_line, &said);
	FUZZ_CHECK(said);
}

/* How a recording is read and looked at. */
struct fuzz_how {
	bool map;
	uint64_t look_from; /* samples before this place of the data are only counted */
	bool skip_tables;   /* nor are names, maps and sections looked at */
};

/* The counters at the end must fit what was seen. */
static inline void fuzz_stats(const struct perf_file *f, uint64_t samples, uint64_t period)
{
	const struct perf_file_stats *st = perf_file_stats(f);
	uint64_t skipped = 0;
	bool groups = false, weighed = false;

	for (unsigned i = 0; i < PERF_SKIP_N; i++)
		skipped += st->skips[i];
	for (size_t i = 0; i < perf_file_event_count(f); i++) {
		groups |= (perf_file_event(f, i)->attr.sample_type & SAMPLE_READ) != 0;
		weighed |= perf_file_event(f, i)->is_ns;
	}
	FUZZ_CHECK(st->samples == samples && st->period_sum == period);
	FUZZ_CHECK(st->skipped_samples <= skipped);
	FUZZ_CHECK(st->sample_records <= st->records);
	/* Waits that were not sampled become samples, and samples of switches stand for waits. */
	if (weighed)
		return;
	/* A record of a group is a sample for each member that counted, and none if none did. */
	FUZZ_CHECK(groups ? st->skipped_samples <= st->sample_records
			  : st->samples + st->skipped_samples == st->sample_records);
}

/* Reads the file at `path` to its end. All zero when it cannot be opened. */
static inline struct perf_file_stats fuzz_read_how(const char *path, struct fuzz_how how)
{
	const struct perf_file_options opt = {.map = how.map};
	struct perf_file_stats st = {0};
	uint64_t samples = 0, period = 0;
	struct perf_batch *batch;
	struct perf_file *f;
	struct err err = {0};
	int rc = perf_file_open(&f, path, &opt, &err);

	if (rc) {
		FUZZ_CHECK(rc < 0 && err.what[0]);
		return st;
	}
	fuzz_code(f);
	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
		FUZZ_CHECK(batch->n > 0);
		for (size_t i = 0; i < batch->n; i++) {
			if (batch->samples[i].file_off >= how.look_from)
				(void)fuzz_sample(f, &batch->samples[i]);
			period += batch->samples[i].period;
		}
		samples += batch->n;
		perf_batch_release(f, batch);
	}
	FUZZ_CHECK(rc == 0 || err.what[0]);
	if (!rc)
		fuzz_stats(f, samples, period);
	if (!how.skip_tables)
		fuzz_tables(f);
	st = *perf_file_stats(f);
	perf_file_close(f);
	return st;
}

static inline struct perf_file_stats fuzz_read(const char *path, bool map)
{
	return fuzz_read_how(path, (struct fuzz_how){.map = map});
}

/* The same file read and mapped must tell the same. */
static inline struct perf_file_stats fuzz_both(const char *path)
{
	struct perf_file_stats st = fuzz_read(path, false), mapped = fuzz_read(path, true);

	FUZZ_CHECK(st.samples == mapped.samples && st.period_sum == mapped.period_sum &&
		   st.records == mapped.records && st.lost_bytes == mapped.lost_bytes);
	return st;
}

/* The bytes as a file that can be mapped. */
static inline struct perf_file_stats fuzz_as_file(const uint8_t *data, size_t size)
{
	struct perf_file_stats st;
	char path[32];
	int fd = fuzz_file_of(data, size, path);

	st = fuzz_both(path);
	close(fd);
	return st;
}

struct fuzz_writer {
	const uint8_t *data;
	size_t size;
	int fd;
};

/* Until all is written, or the reader is gone. */
static inline void *fuzz_write(void *arg)
{
	struct fuzz_writer *w = arg;
	ssize_t n;

	for (; w->size; w->data += n, w->size -= (size_t)n)
		if ((n = write(w->fd, w->data, w->size)) < 0)
			break;
	close(w->fd);
	return NULL;
}

/* The bytes as standard input that cannot seek. */
static inline struct perf_file_stats fuzz_as_pipe_how(const uint8_t *data, size_t size,
						      struct fuzz_how how)
{
	struct perf_file_stats st;
	struct fuzz_writer w;
	pthread_t thread;
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	FUZZ_CHECK(!pipe(fds));
	w = (struct fuzz_writer){data, size, fds[1]};
	FUZZ_CHECK(dup2(fds[0], 0) == 0);
	close(fds[0]);
	if (size <= 65536) /* fits */
		fuzz_write(&w);
	else
		FUZZ_CHECK(!pthread_create(&thread, NULL, fuzz_write, &w));
	st = fuzz_read_how("-", how);
	close(0);
	FUZZ_CHECK(open("/dev/null", O_RDONLY) == 0);
	if (size > 65536)
		FUZZ_CHECK(!pthread_join(thread, NULL));
	return st;
}

static inline struct perf_file_stats fuzz_as_pipe(const uint8_t *data, size_t size)
{
	return fuzz_as_pipe_how(data, size, (struct fuzz_how){0});
}

#endif
