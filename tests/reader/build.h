/* build.h - recordings made by hand, byte by byte, for the tests of the reader.
 *
 *	struct out o = {0};
 *	size_t r = rec(&o, PERF_RECORD_SAMPLE, 2);  u64(&o, ip); ...  end(&o, r);
 *	struct perf_file *f = open_bytes(file_of(&attr, 1, &o), NULL);
 */
#ifndef TESTS_READER_BUILD_H
#define TESTS_READER_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/vec.h"
#include "reader/format.h"
#include "reader/reader.h"

struct out {
	uint8_t *v;
	size_t n, cap;
};

static __attribute__((noinline, unused)) void bytes(struct out *o, const void *p, size_t n)
{
	assert_int_equal(vec_reserve(o, o->n + n + 1), 0);
	if (n)
		memcpy(o->v + o->n, p, n);
	o->n += n;
}

static inline void u16(struct out *o, uint16_t v)
{
	bytes(o, &v, sizeof v);
}

static inline void u32(struct out *o, uint32_t v)
{
	bytes(o, &v, sizeof v);
}

static inline void u64(struct out *o, uint64_t v)
{
	bytes(o, &v, sizeof v);
}

/* A string, padded with zeros to whole words. */
static inline void str(struct out *o, const char *s)
{
	static const char zeros[8];
	size_t n = strlen(s) + 1;

	bytes(o, s, n);
	bytes(o, zeros, -n & 7);
}

/* Begins a record: where it is. end() puts its size. */
static inline size_t rec(struct out *o, uint32_t type, uint16_t misc)
{
	size_t at = o->n;

	u32(o, type);
	u16(o, misc);
	u16(o, 0);
	return at;
}

static inline void end(struct out *o, size_t at)
{
	uint16_t size = (uint16_t)(o->n - at);

	assert_true(o->n - at <= UINT16_MAX);
	memcpy(o->v + at + 6, &size, sizeof size);
}

static inline void header_only(struct out *o, uint32_t type)
{
	end(o, rec(o, type, 0));
}

/* The attr that most tests use: IP, TID, TIME, with trailers. */
#define PLAIN_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static inline struct perf_event_attr plain_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.sample_type = PLAIN_TYPE,
		.sample_period = 1,
		.sample_id_all = 1,
	};
}

static inline void plain_sample(struct out *o, uint64_t ip, uint32_t pid, uint64_t time)
{
	size_t r = rec(o, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	u64(o, ip);
	u32(o, pid);
	u32(o, pid);
	u64(o, time);
	end(o, r);
}

/* The trailer of plain_attr(). */
static inline void trailer(struct out *o, uint32_t pid, uint64_t time)
{
	u32(o, pid);
	u32(o, pid);
	u64(o, time);
}

static inline void plain_comm(struct out *o, uint32_t pid, const char *comm, uint64_t time)
{
	size_t r = rec(o, PERF_RECORD_COMM, 0);

	u32(o, pid);
	u32(o, pid);
	str(o, comm);
	trailer(o, pid, time);
	end(o, r);
}

/* A file of these events (event i has id 10 * (i + 1)) with these records. Frees data. */
static inline struct out file_of(const struct perf_event_attr *attrs, size_t n_attrs,
				 struct out *data)
{
	const uint64_t entry = sizeof *attrs + sizeof(struct perfdata_section);
	struct perfdata_header h = {
		.magic = PERFDATA_MAGIC,
		.size = sizeof h,
		.attr_size = entry,
		.attrs = {sizeof h, n_attrs * entry},
		.data = {sizeof h + n_attrs * (entry + 8), data->n},
	};
	struct out o = {0};

	memcpy(h.magic, PERFDATA_MAGIC, sizeof h.magic);
	bytes(&o, &h, sizeof h);
	for (size_t i = 0; i < n_attrs; i++) {
		bytes(&o, &attrs[i], sizeof attrs[i]);
		u64(&o, sizeof h + n_attrs * entry + 8 * i);
		u64(&o, 8);
	}
	for (size_t i = 0; i < n_attrs; i++)
		u64(&o, 10 * (i + 1));
	bytes(&o, data->v, data->n);
	vec_done(data);
	return o;
}

/* Where the records of a file begin. */
static __attribute__((unused)) size_t data_offset(const struct out *o)
{
	uint64_t off;

	memcpy(&off, o->v + offsetof(struct perfdata_header, data.offset), 8);
	return off;
}

/* A pipe that begins with these events, and goes on with these records. Frees data. */
static inline struct out pipe_of(const struct perf_event_attr *attrs, size_t n_attrs,
				 struct out *data)
{
	struct out o = {0};

	bytes(&o, PERFDATA_MAGIC, 8);
	u64(&o, 16);
	for (size_t i = 0; i < n_attrs; i++) {
		size_t r = rec(&o, RECORD_HEADER_ATTR, 0);

		bytes(&o, &attrs[i], sizeof attrs[i]);
		u64(&o, 10 * (i + 1));
		end(&o, r);
	}
	bytes(&o, data->v, data->n);
	vec_done(data);
	return o;
}

/* Opens bytes as a file; frees them. NULL when the reader refuses them. */
static inline struct perf_file *open_with(struct out o, const struct perf_file_options *opt)
{
	struct perf_file *f = NULL;
	struct err err = {0};
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, o.v, o.n), (ssize_t)o.n);
	vec_done(&o);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (perf_file_open(&f, path, opt, &err))
		f = NULL;
	close(fd);
	return f;
}

static inline struct perf_file *open_bytes(struct out o)
{
	return open_with(o, NULL);
}

/* The next batch, which must be there. */
static inline struct perf_batch *next(struct perf_file *f)
{
	struct perf_batch *b = NULL;
	struct err err = {0};

	assert_int_equal(perf_file_read(f, &b, &err), 1);
	return b;
}

static inline void expect_end(struct perf_file *f)
{
	struct perf_batch *b = NULL;
	struct err err = {0};

	assert_int_equal(perf_file_read(f, &b, &err), 0);
}

/* Reads all that is left: how many samples. */
static inline size_t drain(struct perf_file *f)
{
	struct perf_batch *b;
	struct err err = {0};
	size_t n = 0;
	int rc;

	while ((rc = perf_file_read(f, &b, &err)) > 0) {
		n += b->n;
		perf_batch_release(f, b);
	}
	assert_int_equal(rc, 0);
	return n;
}

/* What the header feature EVENT_DESC says of one event "described" with the id 10. */
static inline void event_desc(struct out *o, const struct perf_event_attr *a)
{
	u32(o, 1);
	u32(o, sizeof *a);
	bytes(o, a, sizeof *a);
	u32(o, 1);
	u32(o, 16);
	bytes(o, "described\0\0\0\0\0\0\0", 16);
	u64(o, 10);
}

#endif
