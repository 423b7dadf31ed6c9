/* test_synth.c - records about what runs already: this process, and a made-up /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/attr.h"
#include "capture/buildid.h"
#include "capture/bytes.h"
#include "reader/format.h"
#include "capture/synth.h"

static int collect(void *arg, const void *rec, size_t n)
{
	struct perf_event_header h;

	memcpy(&h, rec, sizeof h);
	assert_int_equal(h.size, n);
	assert_int_equal(n % 8, 0);
	bytes_put(arg, rec, n);
	return 0;
}

/* One record as a line of text, the trailer checked to be all zero. */
static void describe(struct buf *all, char *line, size_t size)
{
	struct perf_event_header h;
	struct buf b;

	memcpy(&h, all->p, sizeof h);
	for (size_t i = h.size - ATTR_SAMPLE_ID_BYTES; i < h.size; i++)
		assert_int_equal(all->p[i], 0);
	b = buf_sub(all, h.size);
	buf_skip(&b, sizeof h);
	if (h.type == PERF_RECORD_FORK) {
		uint32_t pid = buf_u32(&b), ppid = buf_u32(&b), tid = buf_u32(&b),
			 ptid = buf_u32(&b);

		assert_int_equal(h.misc, MISC_FORK_EXEC);
		snprintf(line, size, "FORK %u %u %u %u", pid, ppid, tid, ptid);
	} else if (h.type == PERF_RECORD_COMM) {
		uint32_t pid = buf_u32(&b), tid = buf_u32(&b);

		snprintf(line, size, "COMM %u %u %s", pid, tid, buf_cstr(&b));
	} else {
		char id[64];
		int pid;
		uint64_t start, len, pgoff;
		uint32_t prot, flags, k;

		assert_int_equal(h.type, PERF_RECORD_MMAP2);
		pid = (int)buf_u32(&b);
		buf_skip(&b, 4);
		start = buf_u64(&b);
		len = buf_u64(&b);
		pgoff = buf_u64(&b);
		if (h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			const uint8_t *p = buf_take(&b, 24);

			for (k = 0; k < p[0]; k++)
				snprintf(id + 2 * k, 3, "%02x", p[4 + k]);
		} else {
			uint32_t maj = buf_u32(&b), min = buf_u32(&b);

			snprintf(id, sizeof id, "%u:%u:%llu", maj, min,
				 (unsigned long long)buf_u64(&b));
			buf_skip(&b, 8);
		}
		prot = buf_u32(&b);
		flags = buf_u32(&b);
		snprintf(line, size, "MMAP2%s%s %d %llx-%llx %llx %s prot=%u flags=%u %s",
			 (h.misc & 7) == PERF_RECORD_MISC_KERNEL ? " kernel" : "",
			 h.misc & PERF_RECORD_MISC_MMAP_DATA ? " data" : "", pid,
			 (unsigned long long)start, (unsigned long long)(start + len),
			 (unsigned long long)pgoff, id, prot, flags, buf_cstr(&b));
	}
	assert_true(buf_ok(&b));
}

static void expect(struct bytes *got, const char *const *lines)
{
	struct buf b = buf_make(got->vec.v, got->vec.n, 0, false);
	char line[8192];

	for (; *lines; lines++) {
		assert_true(buf_left(&b) > 0);
		describe(&b, line, sizeof line);
		assert_string_equal(line, *lines);
	}
	assert_int_equal(buf_left(&b), 0);
	bytes_done(got);
	*got = (struct bytes){0};
}

static void put_file(const char *path, const void *data, size_t n)
{
	char dir[256];
	FILE *f;

	for (const char *p = path; (p = strchr(p, '/')); p++) {
		snprintf(dir, sizeof dir, "%.*s", (int)(p - path), path);
		mkdir(dir, 0755);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/* A note with another one before it, as in /sys/kernel/notes. */
static size_t make_notes(uint8_t *out, uint8_t id_size)
{
	struct bytes b = {0};
	size_t n;

	bytes_u32(&b, 6);
	bytes_u32(&b, 3);
	bytes_u32(&b, 0x101);
	bytes_put(&b, "Linux\0\0\0", 8);
	bytes_put(&b, "xyz\0", 4);
	bytes_u32(&b, 4);
	bytes_u32(&b, id_size);
	bytes_u32(&b, NT_GNU_BUILD_ID);
	bytes_put(&b, "GNU", 4);
	for (uint8_t i = 0; i < id_size; i++)
		bytes_put(&b, &(uint8_t){(uint8_t)(0xa0 + i)}, 1);
	n = b.vec.n;
	memcpy(out, b.vec.v, n);
	bytes_done(&b);
	return n;
}

static void notes(void **state)
{
	uint8_t data[256];

	(void)state;
	for (uint8_t size = 0; size < 40; size++) {
		size_t n = make_notes(data, size);
		struct build_id id = buildid_from_notes(data, n);

		/* 20 bytes is the most that MMAP2 has room for. */
		assert_int_equal(id.size, size <= 20 ? size : 0);
		for (uint8_t i = 0; i < id.size; i++)
			assert_int_equal(id.bytes[i], 0xa0 + i);
		for (size_t cut = 0; cut < n; cut++) {
			uint8_t *exact = malloc(cut + 1);

			memcpy(exact, data, cut);
			assert_int_equal(buildid_from_notes(exact, cut).size, 0);
			free(exact);
		}
	}
}

static void kernel_and_modules(void **state)
{
	struct bytes got = {0};
	struct synth s = {.proc = "fake/proc",
			  .sys = "fake/sys",
			  .modules = "/lib/modules/6.1",
			  .emit = collect,
			  .arg = &got};
	uint8_t data[256];
	bool hidden;

	(void)state;
	put_text("fake/proc/kallsyms", "0000000000000000 A fixed_percpu_data\n"
				       "ffffffff81000000 T _stext\n"
				       "ffffffff81000000 T _text\n"
				       "ffffffff81000040 t not_text\n"
				       "ffffffff82200000 T _etext\n"
				       "ffffffff83000000 D _edata\n");
	put_text("fake/proc/modules", "nf_conntrack 172032 2 nf_nat,xt_x, Live 0xffffffffc0a00000\n"
				      "snd_hda 4096 0 - Live 0xffffffffc0b00000 (OE)\n"
				      "hidden 4096 0 - Live 0x0000000000000000\n"
				      "broken\n"
				      "lost 8192 0 - Live 0xffffffffc0c00000\n");
	put_text("here/modules.dep", "kernel/net/netfilter/nf_conntrack_x.ko: a b\n"
				     "kernel/net/netfilter/nf_conntrack.ko.xz: kernel/lib/x.ko\n"
				     "updates/snd-hda.ko.zst:\n");
	put_file("fake/sys/kernel/notes", data, make_notes(data, 20));
	put_file("fake/sys/module/snd_hda/notes/.note.gnu.build-id", data, make_notes(data, 8));
	s.modules = "here";
	assert_int_equal(synth_kernel(&s, &hidden), 0);
	assert_false(hidden);
	expect(&got, (const char *[]){
			     "MMAP2 kernel -1 ffffffff81000000-ffffffff82200000 ffffffff81000000 "
			     "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3 prot=0 flags=0 "
			     "[kernel.kallsyms]_text",
			     NULL});
	assert_int_equal(synth_modules(&s), 0);
	expect(&got, (const char *[]){
			     "MMAP2 kernel -1 ffffffffc0a00000-ffffffffc0a2a000 0 0:0:0 prot=0 "
			     "flags=0 here/kernel/net/netfilter/nf_conntrack.ko.xz",
			     "MMAP2 kernel -1 ffffffffc0b00000-ffffffffc0b01000 0 a0a1a2a3a4a5a6a7 "
			     "prot=0 flags=0 here/updates/snd-hda.ko.zst",
			     "MMAP2 kernel -1 ffffffffc0c00000-ffffffffc0c02000 0 0:0:0 prot=0 "
			     "flags=0 [lost]",
			     NULL});

	/* kernel.kptr_restrict: all addresses are 0. */
	put_text("fake/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n");
	assert_int_equal(synth_kernel(&s, &hidden), 0);
	assert_true(hidden);
	s.proc = "no-such-folder";
	assert_int_equal(synth_kernel(&s, &hidden), 0);
	assert_true(hidden);
	assert_int_equal(synth_modules(&s), 0);
	expect(&got, (const char *[]){NULL});
	synth_done(&s);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void processes_by_text(void **state)
{
	struct bytes got = {0};
	struct synth s = {.proc = "fake2/proc",
			  .sys = "fake2/sys",
			  .modules = "",
			  .emit = collect,
			  .arg = &got,
			  .no_query = true,
			  .with_data = true};

	(void)state;
	put_text("fake2/proc/42/stat", "42 (a) b (c) S 7 42 42 0 -1\n");
	put_text("fake2/proc/42/task/42/comm", "a) b (c\n");
	put_text("fake2/proc/42/task/43/comm", "worker\n");
	put_text("fake2/proc/self", "not a number");
	put_text("fake2/proc/42/maps",
		 "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/with blank (deleted)\n"
		 "00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/with blank (deleted)\n"
		 "00652000-00655000 rw-p 00052000 08:02 173521      /usr/bin/with blank (deleted)\n"
		 "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
		 "7f0000002000-7f0000003000 r--p 00000000 00:00 0 \n"
		 "7f0000004000-7f0000005000 rwxs 00001000 00:05 9   /dev/zero\n"
		 "garbage\n"
		 "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          "
		 "[vdso]\n");
	assert_int_equal(synth_all(&s, nothing, NULL), 0);
	expect(&got,
	       (const char *[]){
		       "FORK 42 7 42 7", "COMM 42 42 a) b (c",
		       "MMAP2 42 400000-452000 0 8:2:173521 prot=5 flags=2 /usr/bin/with blank "
		       "(deleted)",
		       "MMAP2 data 42 651000-652000 51000 8:2:173521 prot=1 flags=2 "
		       "/usr/bin/with blank (deleted)",
		       "MMAP2 42 7f0000000000-7f0000001000 0 0:0:0 prot=5 flags=2 //anon",
		       "MMAP2 42 7f0000004000-7f0000005000 1000 0:5:9 prot=7 flags=1 /dev/zero",
		       "MMAP2 42 7ffd00000000-7ffd00002000 0 0:0:0 prot=5 flags=2 [vdso]",
		       "FORK 42 42 43 42", "COMM 42 43 worker", NULL});
	assert_int_equal(synth_process(&s, 4711), 0); /* gone */
	expect(&got, (const char *[]){NULL});
	synth_done(&s);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All MMAP2 records as sorted lines. */
static size_t map_lines(struct bytes *got, char **lines, size_t max)
{
	struct buf b = buf_make(got->vec.v, got->vec.n, 0, false);
	char line[8192];
	size_t n = 0;

	while (buf_left(&b)) {
		describe(&b, line, sizeof line);
		/* [vsyscall] is in the text only: no VMA stands for that page. */
		if (!strncmp(line, "MMAP2", 5) && !strstr(line, "[vsyscall]")) {
			assert_true(n < max);
			lines[n++] = strdup(line);
		}
	}
	qsort(lines, n, sizeof *lines, compare_lines);
	bytes_done(got);
	*got = (struct bytes){0};
	return n;
}

/* The ioctl and the text tell the same about this process, build ids included: the second reads
 * them from the files. */
static void query_equals_text(void **state)
{
	void *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *by_query[500], *by_text[500];
	struct bytes got = {0};
	struct synth s = {.proc = "/proc",
			  .sys = "/sys",
			  .modules = "",
			  .emit = collect,
			  .arg = &got,
			  .with_data = true};
	size_t n, m, with_id = 0, anon = 0;

	(void)state;
	assert_ptr_not_equal(jit, MAP_FAILED);
	assert_int_equal(synth_process(&s, getpid()), 0);
	if (s.no_query)
		skip();
	n = map_lines(&got, by_query, 500);
	s.no_query = true;
	assert_int_equal(synth_process(&s, getpid()), 0);
	m = map_lines(&got, by_text, 500);
	assert_int_equal(n, m);
	assert_true(n > 5);
	for (size_t i = 0; i < n; i++) {
		/* Maps without code carry no id through the ioctl and none through the text. */
		assert_string_equal(by_query[i], by_text[i]);
		with_id += strstr(by_query[i], "libc.so") && !strstr(by_query[i], "data") &&
			   strlen(by_query[i]) > 90;
		anon += !!strstr(by_query[i], "//anon");
		free(by_query[i]);
		free(by_text[i]);
	}
	assert_true(with_id >= 1);
	assert_true(anon >= 1);
	synth_done(&s);
	munmap(jit, 4096);
}

static int refuse(void *arg, const void *rec, size_t n)
{
	(void)rec;
	(void)n;
	return ++*(int *)arg == 3;
}

static void stops_on_request(void **state)
{
	int calls = 0;
	struct synth s = {
		.proc = "/proc", .sys = "/sys", .modules = "", .emit = refuse, .arg = &calls};

	(void)state;
	assert_int_not_equal(synth_process(&s, getpid()), 0);
	assert_int_equal(calls, 3);
	synth_done(&s);
}

static void longest_path(void **state)
{
	struct bytes got = {0};
	char path[9000], line[8192];
	struct synth s = {.emit = collect, .arg = &got};
	struct synth_map m = {.pid = 1, .start = 4096, .end = 8192, .path = path};
	struct buf b;

	(void)state;
	for (size_t n = 0; n < sizeof path - 1; n += 97) {
		memset(path, 'p', n);
		path[n] = 0;
		assert_int_equal(synth_map_emit(&s, &m), 0);
		b = buf_make(got.vec.v, got.vec.n, 0, false);
		describe(&b, line, sizeof line);
		bytes_done(&got);
		got = (struct bytes){0};
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes),
		cmocka_unit_test(kernel_and_modules),
		cmocka_unit_test(processes_by_text),
		cmocka_unit_test(query_equals_text),
		cmocka_unit_test(stops_on_request),
		cmocka_unit_test(longest_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
