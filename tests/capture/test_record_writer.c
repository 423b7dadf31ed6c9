/* test_record_writer.c - records through the stream into a file and back, compressed and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/bytes.h"
#include "reader/format.h"
#include "capture/record_writer.h"
#include "tests/failing_malloc.h"
#include "tests/random.h"

/* The file begins with the u64 that stands for the header's data.size. */
#define DATA_OFF 8

/* A record of n bytes: random ones do not compress, the others do. */
static void make_record(uint8_t *rec, size_t n, uint64_t *seed, bool random)
{
	struct perf_event_header h = {.type = 9, .size = (uint16_t)n};

	for (size_t i = 8; i + 8 <= n; i += 8) {
		uint64_t v = random ? next_random(seed) : i;

		memcpy(rec + i, &v, 8);
	}
	memcpy(rec, &h, sizeof h);
}

static int temp_file(void)
{
	char path[] = "/tmp/unspool-stream-XXXXXX";
	int fd = mkstemp(path);
	uint64_t zero = 0;

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(pwrite(fd, &zero, sizeof zero, 0), sizeof zero);
	return fd;
}

static struct record_writer *open_stream(int fd, int level)
{
	struct record_writer_options o = {.fd = fd,
					  .data_off = DATA_OFF,
					  .level = level,
					  .queue_bytes = 1 << 30,
					  .reserve_bytes = 65536};
	struct record_writer *s = NULL;

	assert_int_equal(record_writer_start(&s, &o, NULL), 0);
	return s;
}

/* Is it the record that ends the last frame? */
static bool is_round(const uint8_t *p, size_t n)
{
	struct perf_event_header h;

	if (n != sizeof h)
		return false;
	memcpy(&h, p, sizeof h);
	return h.type == RECORD_FINISHED_ROUND && h.size == sizeof h;
}

/* What the data section holds, with COMPRESSED records replaced by their contents. */
static void read_back(int fd, uint64_t size, struct bytes *out, unsigned *rounds)
{
	uint8_t *data = malloc(size + 1), *room = malloc(65536);
	ZSTD_DStream *z = ZSTD_createDStream();

	assert_int_equal(pread(fd, data, size, DATA_OFF), size);
	*rounds = 0;
	for (uint64_t at = 0; at < size;) {
		struct perf_event_header h;

		memcpy(&h, data + at, sizeof h);
		assert_true(h.size >= sizeof h && h.size <= size - at);
		if (h.type == RECORD_COMPRESSED) {
			ZSTD_inBuffer in = {data + at + sizeof h, h.size - sizeof h, 0};
			ZSTD_outBuffer to = {room, 65536, 0};

			/* One call takes all of the input and gives something: perf relies on it.
			 */
			assert_false(ZSTD_isError(ZSTD_decompressStream(z, &to, &in)));
			assert_int_equal(in.pos, in.size);
			assert_true(to.pos > 0);
			if (at + h.size < size || !is_round(room, to.pos))
				bytes_put(out, room, to.pos);
		} else if (h.type == RECORD_FINISHED_ROUND) {
			++*rounds;
		} else {
			bytes_put(out, data + at, h.size);
		}
		at += h.size;
	}
	ZSTD_freeDStream(z);
	free(room);
	free(data);
}

/* `packed`: some are written as they are. */
static void round_trip(int level, bool random, bool packed, size_t total)
{
	struct bytes want = {0}, got = {0};
	struct record_writer_totals totals;
	uint8_t *rec = malloc(65536);
	uint64_t seed = 88172645463325252u, header_size;
	unsigned rounds = 0, got_rounds;
	int fd = temp_file();
	struct record_writer *s = open_stream(fd, level);
	struct stat st;

	while (want.vec.n < total) {
		size_t n = 8 + 8 * (next_random(&seed) % (next_random(&seed) % 10 ? 100 : 8190));

		make_record(rec, n, &seed, random);
		bytes_put(&want, rec, n);
		if (packed && next_random(&seed) % 8 == 0)
			assert_int_equal(record_writer_append_packed(s, rec, n), 0);
		else
			assert_int_equal(record_writer_append(s, rec, n), 0);
		if (next_random(&seed) % 200 == 0) {
			assert_true(record_writer_round_bytes(s) > 0);
			assert_int_equal(record_writer_end_round(s), 0);
			assert_int_equal(record_writer_round_bytes(s), 0);
			assert_int_equal(record_writer_end_round(s), 0); /* empty: no second one */
			rounds++;
		}
	}
	assert_int_equal(record_writer_finish(s, &totals), 0);
	assert_int_equal(totals.raw_bytes, want.vec.n);
	assert_int_equal(pread(fd, &header_size, 8, 0), 8);
	assert_int_equal(header_size, totals.data_bytes);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, DATA_OFF + totals.data_bytes);
	read_back(fd, totals.data_bytes, &got, &got_rounds);
	assert_int_equal(got_rounds, rounds);
	assert_int_equal(got.vec.n, want.vec.n);
	assert_memory_equal(got.vec.v, want.vec.v, want.vec.n);
	if (level && !random && !packed)
		assert_true(totals.data_bytes < want.vec.n / 4);
	bytes_done(&want);
	bytes_done(&got);
	free(rec);
	close(fd);
}

static void uncompressed(void **state)
{
	(void)state;
	round_trip(0, true, false, 5 << 20);
}

static void compressed(void **state)
{
	(void)state;
	round_trip(1, false, false, 20 << 20);
}

/* They stand between compressed ones, in their order. */
static void packed_ones(void **state)
{
	(void)state;
	round_trip(1, false, true, 20 << 20);
	round_trip(0, true, true, 5 << 20);
}

static void incompressible(void **state)
{
	(void)state;
	round_trip(1, true, false, 5 << 20);
}

static void nothing_at_all(void **state)
{
	struct record_writer_totals totals;
	int fd = temp_file();
	struct record_writer *s = open_stream(fd, 1);

	(void)state;
	assert_int_equal(record_writer_end_round(s), 0);
	assert_int_equal(record_writer_finish(s, &totals), 0);
	assert_int_equal(totals.data_bytes, 0);
	close(fd);
}

/* /dev/full refuses every write: the error is returned, the appending side goes on undisturbed. */
static void full_disk(void **state)
{
	int fd = open("/dev/full", O_RDWR);
	struct record_writer_totals totals;
	struct record_writer *s;
	uint8_t rec[64];
	uint64_t seed = 1;

	(void)state;
	assert_true(fd >= 0);
	s = open_stream(fd, 1);
	make_record(rec, sizeof rec, &seed, true);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(record_writer_append(s, rec, sizeof rec), 0);
	assert_int_equal(record_writer_end_round(s), 0);
	assert_int_equal(record_writer_finish(s, &totals), ENOSPC);
	assert_int_equal(totals.data_bytes, 0);
	close(fd);
}

/* SAMPLE records of a stream of records, the last of which may be cut. */
static uint64_t count_whole(const struct bytes *b)
{
	uint64_t n = 0;

	for (size_t at = 0; b->vec.n - at >= sizeof(struct perf_event_header); n++) {
		struct perf_event_header h;

		memcpy(&h, b->vec.v + at, sizeof h);
		if (h.size > b->vec.n - at)
			break;
		at += h.size;
	}
	return n;
}

/* Where the file may grow to a limit, what fits is kept, and each sample that is not there is
 * counted. */
static void limited(int level, bool random, size_t limit)
{
	enum { SAMPLES = 2000, RESERVED = 65536, RECORD_MOST = 16384 };
	struct rlimit old, tight = {limit, RLIM_INFINITY};
	struct record_writer_totals totals;
	struct bytes got = {0};
	uint64_t seed = 7;
	unsigned rounds;
	uint8_t rec[RECORD_MOST];
	int fd = temp_file();
	struct record_writer *s = open_stream(fd, level);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	tight.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	for (int i = 0; i < SAMPLES; i++) {
		size_t n = 8 + 8 * (next_random(&seed) % (RECORD_MOST / 8));

		make_record(rec, n, &seed, random);
		assert_int_equal(record_writer_append(s, rec, n), 0);
		if (i % 100 == 0)
			assert_int_equal(record_writer_end_round(s), 0);
	}
	assert_int_equal(record_writer_finish(s, &totals), EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	read_back(fd, totals.data_bytes, &got, &rounds);
	assert_int_equal(count_whole(&got) + totals.lost_samples, SAMPLES);
	assert_true(totals.data_bytes + RESERVED <= limit);
	if (random) /* what is missing is less than what the next record needs */
		assert_true(totals.data_bytes + RESERVED + RECORD_MOST + 256 > limit);
	bytes_done(&got);
	close(fd);
}

static void small_disk(void **state)
{
	(void)state;
	limited(0, true, 100000);
	limited(0, true, 3000000);
	limited(1, true, 100000);
	limited(1, true, 3000000);
	limited(1, false, 70000);
}

/* Each frame begins with a record, is small, has a checksum, and needs none of the others. */
static void frames(void **state)
{
	enum { TOTAL = 30 << 20 };
	struct record_writer_totals totals;
	uint8_t *data, *rec = malloc(65536), *room = malloc(RECORD_WRITER_FRAME_BYTES + 1);
	uint64_t seed = 5, raw = 0;
	unsigned n_frames = 0;
	int fd = temp_file();
	struct record_writer *s = open_stream(fd, 1);
	ZSTD_DStream *z = NULL;
	size_t frame = 0;

	(void)state;
	while (raw < TOTAL) {
		size_t n = 8 + 8 * (next_random(&seed) % 4000);

		make_record(rec, n, &seed, false);
		assert_int_equal(record_writer_append(s, rec, n), 0);
		raw += n;
	}
	assert_int_equal(record_writer_finish(s, &totals), 0);
	data = malloc(totals.data_bytes);
	assert_int_equal(pread(fd, data, totals.data_bytes, DATA_OFF), totals.data_bytes);
	raw = 0;
	for (uint64_t at = 0; at < totals.data_bytes;) {
		static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
		struct perf_event_header h;
		ZSTD_inBuffer in = {data + at + sizeof h, 0, 0};
		ZSTD_outBuffer to = {room, RECORD_WRITER_FRAME_BYTES + 1, frame};
		size_t rc;

		memcpy(&h, data + at, sizeof h);
		assert_int_equal(h.type, RECORD_COMPRESSED);
		in.size = h.size - sizeof h;
		if (!z) {
			assert_memory_equal(in.src, magic, sizeof magic);
			assert_true(((const uint8_t *)in.src)[4] &
				    4); /* RFC 8878: Content_Checksum_flag */
			z = ZSTD_createDStream();
		}
		rc = ZSTD_decompressStream(z, &to, &in);
		assert_false(ZSTD_isError(rc));
		assert_int_equal(in.pos, in.size);
		frame = to.pos;
		at += h.size;
		if (rc)
			continue;
		assert_true(frame <= RECORD_WRITER_FRAME_BYTES);
		for (size_t pos = 0; pos < frame; pos += h.size) {
			memcpy(&h, room + pos, sizeof h);
			assert_true(h.size >= sizeof h && h.size <= frame - pos);
		}
		raw += frame;
		frame = 0;
		n_frames++;
		ZSTD_freeDStream(z);
		z = NULL;
	}
	assert_null(z); /* the last one has ended, by a record that changes nothing */
	assert_int_equal(raw, totals.raw_bytes + sizeof(struct perf_event_header));
	assert_true(n_frames >= TOTAL / RECORD_WRITER_FRAME_BYTES);
	free(data);
	free(rec);
	free(room);
	close(fd);
}

/* A full queue is reported, and gets empty again. */
static void back_pressure(void **state)
{
	struct record_writer_options o = {
		.fd = temp_file(), .data_off = DATA_OFF, .queue_bytes = 1 << 20};
	struct record_writer_totals totals;
	struct record_writer *s;
	uint8_t rec[32768];
	uint64_t seed = 1;
	bool was_full = false;

	(void)state;
	assert_int_equal(record_writer_start(&s, &o, NULL), 0);
	make_record(rec, sizeof rec, &seed, true);
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(record_writer_append(s, rec, sizeof rec), 0);
		was_full |= record_writer_is_full(s);
	}
	assert_true(was_full);
	while (record_writer_is_full(s))
		usleep(1000);
	assert_int_equal(record_writer_finish(s, &totals), 0);
	assert_int_equal(totals.data_bytes, 2000 * sizeof rec);
	close(o.fd);
}

#ifndef SANITIZED

/* zstd takes its memory when it compresses first. That it gets none is no fault of the disk. */
static void no_memory_to_compress(void **state)
{
	struct record_writer *s;
	struct record_writer_totals totals;
	uint8_t rec[4096];
	uint64_t seed = 1;
	int fd = temp_file(), rc;

	(void)state;
	s = open_stream(fd, 1);
	make_record(rec, sizeof rec, &seed, true);
	assert_int_equal(record_writer_append(s, rec, sizeof rec), 0);
	allocations_left = 0;
	rc = record_writer_finish(s, &totals);
	allocations_left = -1;
	assert_int_equal(rc, ENOMEM);
	assert_int_equal(totals.data_bytes, 0);
	close(fd);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uncompressed),
		cmocka_unit_test(compressed),
		cmocka_unit_test(incompressible),
		cmocka_unit_test(packed_ones),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(small_disk),
		cmocka_unit_test(frames),
		cmocka_unit_test(back_pressure),
#ifndef SANITIZED
		cmocka_unit_test(no_memory_to_compress),
#endif
	};

	signal(SIGXFSZ, SIG_IGN); /* as capture does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
