/* test_base.c - cursor, arena, scratch memory, vectors, tables, interned strings, threads, errors.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/pages.h"
#include "base/processor.h"
#include "base/scratch.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/vec.h"
#include "tests/unhash.h"

static void test_buf_reads_both_orders(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct buf b = buf_make(bytes, sizeof bytes, 0x100, false);

	(void)state;
	assert_int_equal(buf_u8(&b), 1);
	assert_int_equal(buf_u16(&b), 0x0302);
	assert_int_equal(buf_u32(&b), 0x07060504);
	assert_true(buf_u64(&b) == 0x0f0e0d0c0b0a0908);
	assert_true(buf_ok(&b));
	assert_int_equal(buf_off(&b), 0x100 + 15);
	b = buf_make(bytes, sizeof bytes, 0, true);
	assert_int_equal(buf_u16(&b), 0x0102);
	assert_int_equal(buf_u32(&b), 0x03040506);
}

static void test_buf_end_is_sticky(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct buf b = buf_make(bytes, sizeof bytes, 0, false);

	(void)state;
	assert_int_equal(buf_u16(&b), 0x0201);
	assert_int_equal(buf_u16(&b), 0); /* one byte left is not two */
	assert_false(buf_ok(&b));
	assert_int_equal(buf_u8(&b), 0); /* not even that byte any more */
	assert_null(buf_take(&b, 0));
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_null(buf_take(&b, UINT64_MAX));
	b = buf_make(NULL, 0, 0, false);
	assert_int_equal(buf_left(&b), 0);
	assert_null(buf_cstr(&b));
}

static void test_buf_leb128(void **state)
{
	/* DWARF5 appendix C examples: 128 unsigned, -129 signed; then a cut one */
	static const uint8_t bytes[] = {0x80, 0x01, 0xff, 0x7e, 0x80};
	/* 70 bits: what does not fit is dropped */
	static const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
	struct buf b = buf_make(bytes, sizeof bytes, 0, false);

	(void)state;
	assert_int_equal(buf_uleb(&b), 128);
	assert_int_equal(buf_sleb(&b), -129);
	assert_true(buf_ok(&b));
	(void)buf_uleb(&b);
	assert_false(buf_ok(&b));
	b = buf_make(wide, sizeof wide, 0, false);
	assert_true(buf_uleb(&b) == UINT64_MAX && buf_ok(&b));
	b = buf_make(wide, sizeof wide, 0, false);
	assert_true(buf_sleb(&b) == -1 && buf_ok(&b));
}

/* Padding is allowed, but not to read through a whole file for one number. */
static void test_buf_leb128_padded(void **state)
{
	uint8_t bytes[LEB_BYTES_MAX + 1];
	struct buf b;

	(void)state;
	memset(bytes, 0x80, sizeof bytes);
	bytes[0] = 0x85;
	bytes[LEB_BYTES_MAX - 1] = 0;
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_true(buf_uleb(&b) == 5 && buf_ok(&b));
	assert_int_equal(buf_left(&b), 1);
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_true(buf_sleb(&b) == 5 && buf_ok(&b));
	bytes[LEB_BYTES_MAX - 1] = 0x80;
	bytes[LEB_BYTES_MAX] = 0;
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_int_equal(buf_uleb(&b), 0);
	assert_false(buf_ok(&b));
	b = buf_make(bytes, sizeof bytes, 0, false);
	assert_int_equal(buf_sleb(&b), 0);
	assert_false(buf_ok(&b));
}

static void test_buf_sub_and_strings(void **state)
{
	static const char bytes[] = "ab\0cd";
	struct buf b = buf_make(bytes, 5, 0, false), s;

	(void)state;
	s = buf_sub(&b, 3);
	assert_string_equal(buf_cstr(&s), "ab");
	assert_null(buf_cstr(&b)); /* "cd" has no NUL inside the 5 bytes */
	assert_false(buf_ok(&b));
	b = buf_make(bytes, 5, 0, false);
	s = buf_sub(&b, 6);
	assert_false(buf_ok(&s));
	assert_false(buf_ok(&b));
	b = buf_make(bytes, 5, 0, false);
	buf_seek(&b, 3);
	assert_int_equal(buf_u8(&b), 'c');
	buf_seek(&b, 6);
	assert_false(buf_ok(&b));
}

static void test_arena_keeps_what_it_gave(void **state)
{
	struct arena a = {0};
	char *first = arena_strndup(&a, "first", 5), *p;
	size_t i;

	(void)state;
	for (i = 1; i < 3000; i++) {
		p = arena_alloc(&a, i);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_int_equal(p[i - 1], 0);
		p[i - 1] = 1;
	}
	assert_string_equal(first, "first");
	assert_null(arena_alloc(&a, SIZE_MAX));
	arena_done(&a);
	assert_int_equal(a.total_bytes, 0);
}

/* Blocks of many sizes, each filled with a number of its own. */
enum { BLOCKS = 400 };

static size_t block_bytes(size_t i)
{
	return i % 50 == 7 ? 40000 : i * 37 % 3000;
}

static void blocks_make(struct scratch *s, uint8_t **blocks, uint8_t mark)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = scratch_alloc(s, block_bytes(i));
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % 16, 0);
		memset(blocks[i], (uint8_t)(i + mark), block_bytes(i));
	}
}

static void assert_blocks(uint8_t *const *blocks, uint8_t mark)
{
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < block_bytes(i); k++)
			assert_int_equal(blocks[i][k], (uint8_t)(i + mark));
}

/* Bytes; 0 where they are not counted. */
static size_t allocated(void)
{
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
#endif
	return 0;
}

static void test_scratch_uses_its_memory_again(void **state)
{
	uint8_t *blocks[BLOCKS], *again[BLOCKS], *last;
	struct scratch s = {0};
	size_t before;

	(void)state;
	blocks_make(&s, blocks, 1);
	assert_blocks(blocks, 1);
	last = blocks[BLOCKS - 1];
	scratch_reset(&s);
	/* the chunk used last is used first */
	again[0] = scratch_alloc(&s, 1);
	assert_true(again[0] <= last && last - again[0] < 16 << 10);
	scratch_reset(&s);
	before = allocated();
	for (unsigned round = 0; round < 3; round++) {
		blocks_make(&s, again, 2);
		assert_int_equal(allocated(), before);
		scratch_reset(&s);
	}
	assert_null(scratch_alloc(&s, SIZE_MAX));
	assert_true(s.failed);
	scratch_reset(&s);
	assert_false(s.failed);
	scratch_done(&s);
}

/* Blocks that are a little larger in each round, as of a program that calls itself, among small
 * ones that share their chunks all the same. */
static void test_scratch_of_growing_blocks(void **state)
{
	enum { LARGE = 50, ROUNDS = 400 };
	struct scratch s = {0};
	size_t before = allocated(), round, i;
	uint8_t *small = NULL, *next;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < LARGE; i++) {
			assert_non_null(scratch_alloc(&s, 17000 + 16 * round));
			next = scratch_alloc(&s, 16);
			assert_true(!i || next == small + 16);
			small = next;
		}
		scratch_reset(&s);
	}
	assert_true(allocated() - before < (size_t)(2 * LARGE + 2) * (32 << 10));
	scratch_done(&s);
	assert_int_equal(allocated(), before);
}

/* What was detached is the caller's alone until it comes back, in parts and in any order. */
static void test_scratch_detached(void **state)
{
	struct scratch s = {0};
	struct scratch_chunks first, second, both = {0};
	uint8_t *blocks[3][BLOCKS];

	(void)state;
	first = scratch_detach(&s);
	assert_true(!first.usual.first && !first.large.first);
	scratch_put_back(&s, first);
	blocks_make(&s, blocks[0], 3);
	first = scratch_detach(&s);
	blocks_make(&s, blocks[1], 4);
	second = scratch_detach(&s);
	blocks_make(&s, blocks[2], 5);
	scratch_reset(&s);
	blocks_make(&s, blocks[2], 6);
	assert_blocks(blocks[0], 3);
	assert_blocks(blocks[1], 4);
	assert_blocks(blocks[2], 6);
	scratch_chunks_join(&both, &first);
	assert_true(!first.usual.first && !first.large.first);
	scratch_chunks_join(&both, &second);
	scratch_chunks_join(&both, &second);
	assert_blocks(blocks[0], 3);
	scratch_put_back(&s, both);
	blocks_make(&s, blocks[0], 7);
	assert_blocks(blocks[2], 6);
	assert_blocks(blocks[0], 7);
	first = scratch_detach(&s);
	scratch_chunks_free(&first);
	assert_true(!first.usual.first && !first.large.first);
	scratch_done(&s);
}

static void test_vec_grows_and_refuses(void **state)
{
	VEC(uint32_t) v = {0};
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++)
		assert_int_equal(vec_push(&v, i * 3), 0);
	assert_int_equal(v.n, 1000);
	assert_int_equal(v.v[999], 2997);
	assert_int_equal(vec_reserve(&v, SIZE_MAX / 2), -1);
	assert_int_equal(v.v[999], 2997);
	vec_done(&v);
	assert_null(v.v);
}

static void test_hash_table(void **state)
{
	struct hash_table h = {0};
	uint64_t i;

	(void)state;
	assert_int_equal(hash_get(&h, 5), HASH_NONE);
	for (i = 0; i < 20000; i++)
		assert_int_equal(hash_put(&h, i << 32, (uint32_t)i), 0);
	for (i = 0; i < 20000; i++)
		assert_int_equal(hash_get(&h, i << 32), i);
	assert_int_equal(hash_get(&h, 1), HASH_NONE);
	assert_int_equal(hash_put(&h, 0, 7), 0);
	assert_int_equal(hash_get(&h, 0), 7);
	assert_int_equal(h.n, 20000);
	hash_done(&h);
}

/* Against a list of what is in there, with so few keys that runs of slots grow and break often. */
static void test_hash_remove(void **state)
{
	enum { KEYS = 500, STEPS = 200000 };
	struct hash_table h = {0};
	bool there[KEYS] = {false};
	uint64_t random = 1;
	size_t n = 0;

	(void)state;
	hash_remove(&h, 3);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t key;

		random = hash_u64(random + 1);
		key = random % KEYS;
		if (random >> 32 & 1) {
			assert_int_equal(hash_put(&h, key, (uint32_t)key + 7), 0);
			n += !there[key];
			there[key] = true;
		} else {
			hash_remove(&h, key);
			n -= there[key];
			there[key] = false;
		}
		assert_int_equal(h.n, n);
		for (key = i % 100 ? KEYS : 0; key < KEYS; key++)
			assert_int_equal(hash_get(&h, key), there[key] ? key + 7 : HASH_NONE);
	}
	hash_done(&h);
}

/* Keys whose author knows the hash function and wants them all in one place. */
static void test_hash_table_spreads_chosen_keys(void **state)
{
	enum { KEYS = 10000 };
	struct hash_table h = {0};
	uint64_t i;
	size_t away = 0, slot;

	(void)state;
	for (i = 0; i < KEYS; i++) {
		uint64_t key = unhash(i << 32 | 7);

		assert_true(hash_u64(key) == (i << 32 | 7));
		assert_int_equal(hash_put(&h, key, (uint32_t)i), 0);
	}
	for (slot = 0; slot <= h.mask; slot++)
		if (h.slots[slot].value != HASH_NONE)
			away += (slot - hash_place(&h, h.slots[slot].key)) & h.mask;
	assert_true(away < 10 * KEYS);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(hash_get(&h, unhash(i << 32 | 7)), i);
	hash_done(&h);
}

/* Seven ids share each hash, so every look-up must pass the others and still end. */
static void test_hash_index(void **state)
{
	enum { IDS = 7000, HASHES = 1000 };
	struct hash_index x = {0};
	struct hash_probe probe = hash_index_probe(&x, 5);
	uint32_t i, id, found;
	uint64_t sum;

	(void)state;
	assert_int_equal(hash_index_next(&x, &probe), HASH_NONE);
	for (i = 0; i < IDS; i++)
		assert_int_equal(hash_index_put(&x, i % HASHES * 0x9e3779b9u, i), 0);
	for (i = 0; i < HASHES; i++) {
		probe = hash_index_probe(&x, i * 0x9e3779b9u);
		for (found = 0, sum = 0; (id = hash_index_next(&x, &probe)) != HASH_NONE; found++) {
			assert_int_equal(id % HASHES, i);
			sum += id / HASHES;
		}
		assert_int_equal(found, 7);
		assert_int_equal(sum, 0 + 1 + 2 + 3 + 4 + 5 + 6);
	}
	assert_int_equal(x.n, IDS);
	hash_index_done(&x);
}

/* Sizes around that of a large page: cleared although the memory was used before. */
static void test_pages_calloc(void **state)
{
	const size_t sizes[] = {1, 4096, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20};
	size_t i, k, round;

	(void)state;
	for (round = 0; round < 2; round++)
		for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			unsigned char *p = pages_calloc(sizes[i], 1), any = 0;

			assert_non_null(p);
			for (k = 0; k < sizes[i]; k++)
				any |= p[k];
			assert_int_equal(any, 0);
			memset(p, 0xa5, sizes[i]);
			free(p);
		}
	assert_null(pages_calloc(SIZE_MAX / 4, 8));
}

/* Three pages of a file that is cut inside of the second. */
static void test_pages_survive_cuts(void **state)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	unsigned char bytes[3 * 4096];
	const unsigned char *p;

	(void)state;
	pages_survive_cuts();
	memset(bytes, 0xa5, sizeof bytes);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	p = mmap(NULL, sizeof bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(p[8192], 0xa5);
	assert_int_equal(ftruncate(fd, 4097), 0);
	assert_int_equal(p[8192], 0);
	assert_int_equal(p[4096], 0xa5);
	assert_int_equal(p[4097], 0);
	pages_forget(p, sizeof bytes);
	assert_int_equal(p[4096], 0xa5);
	assert_int_equal(p[8192 + 4095], 0);
	munmap((void *)(uintptr_t)p, sizeof bytes);
	close(fd);
}

static void test_strtab_interns(void **state)
{
	struct strtab t = {0};
	uint32_t a, b;
	char name[16];
	int i;

	(void)state;
	assert_int_equal(strtab_add_cstr(&t, ""), 0);
	a = strtab_add_cstr(&t, "alpha");
	b = strtab_add(&t, "al\0ha", 5);
	assert_int_not_equal(a, b);
	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "name%d", i);
		strtab_add_cstr(&t, name);
	}
	assert_int_equal(strtab_add_cstr(&t, "alpha"), a);
	assert_int_equal(strtab_find(&t, "alpha", 5), a);
	assert_int_equal(strtab_find(&t, "alphabet", 8), STRTAB_FAILED);
	assert_string_equal(strtab_get(&t, a), "alpha");
	assert_int_equal(strtab_len(&t, b), 5);
	assert_int_equal(strtab_count(&t), 5003);
	strtab_done(&t);
	assert_string_equal(strtab_get(&t, 0), "");
}

/* Strings that hash_bytes() gives the same hash. */
static void test_strtab_spreads_chosen_strings(void **state)
{
	struct strtab t = {0};
	uint64_t words[2];
	uint32_t i;

	(void)state;
	for (words[0] = 1; words[0] <= 100; words[0]++) {
		words[1] = unhash(0x1234567) ^
			   hash_mix(hash_mix(0, sizeof words), words[0]) * 0x9e3779b97f4a7c15u;
		assert_true(hash_bytes(words, sizeof words) == 0x1234567);
		assert_int_equal(strtab_add(&t, (const char *)words, sizeof words), words[0]);
	}
	for (i = 2; i <= 100 && t.entries.v[i].hash == t.entries.v[1].hash; i++)
		;
	assert_true(i <= 100);
	strtab_done(&t);
}

static void count_item(void *arg, size_t i, unsigned worker)
{
	atomic_uint *seen = arg;

	(void)worker;
	atomic_fetch_add(&seen[i], 1);
}

static void test_threads_visit_each_item_once(void **state)
{
	static atomic_uint seen[1000];
	size_t i;

	(void)state;
	threads_for(7, 1000, count_item, seen);
	for (i = 0; i < 1000; i++)
		assert_int_equal(seen[i], 1);
	threads_for(7, 0, count_item, seen);
	threads_for(0, 1, count_item, seen);
	assert_int_equal(seen[0], 2);
	assert_true(threads_available() >= 1);
}

struct place {
	sem_t started;
	cpu_set_t cpus;
};

static void *note_affinity(void *arg)
{
	struct place *p = arg;

	sem_wait(&p->started);
	sched_getaffinity(0, sizeof p->cpus, &p->cpus);
	return NULL;
}

/* Where it begins is a wish; where it may run is not. */
static void started_thread_may_run(const cpu_set_t *wanted)
{
	struct place p;
	pthread_t id;

	sem_init(&p.started, 0, 0);
	assert_int_equal(threads_start(&id, note_affinity, &p), 0);
	sem_post(&p.started);
	assert_int_equal(pthread_join(id, NULL), 0);
	sem_destroy(&p.started);
	assert_true(CPU_EQUAL(&p.cpus, wanted));
}

static void test_threads_may_run_where_their_creator_may(void **state)
{
	cpu_set_t all, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	started_thread_may_run(&all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	started_thread_may_run(&one);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* How many processors the kernel is built for, as it tells by refusing smaller sets. */
static size_t kernel_cpus;

/* In the place of the C library's. A machine of kernel_cpus processors, all of which may be used;
 * 0: the one that this is. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	long n = kernel_cpus ? 0 : syscall(SYS_sched_getaffinity, pid, size, set);

	if (size * 8 < kernel_cpus) {
		errno = EINVAL;
		return -1;
	}
	if (n < 0)
		return -1;
	memset((char *)set + n, 0, size - (size_t)n);
	for (size_t i = 0; i < kernel_cpus; i++)
		CPU_SET_S(i, size, set);
	return 0;
}

static void *note_ran(void *arg)
{
	*(bool *)arg = true;
	return NULL;
}

/* More processors than a cpu_set_t has: there was one thread then. */
static void test_threads_on_large_machines(void **state)
{
	static const size_t sizes[] = {1, 1023, 1024, 1025, 4096, 8192};
	bool ran = false;
	pthread_t id;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		kernel_cpus = sizes[i];
		assert_int_equal(threads_available(), sizes[i]);
	}
	assert_int_equal(threads_start(&id, note_ran, &ran), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	assert_true(ran);
	kernel_cpus = SIZE_MAX;
	assert_int_equal(threads_available(), 1);
	kernel_cpus = 0;
}

/* perf since 7.2 names the processor as the directories arch/ of the kernel's source do. */
static void test_processor_names(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} names[] = {
		{"x86", "x86_64", true},      {"x86_64", "x86", true},
		{"x86", "i686", true},	      {"arm64", "aarch64", true},
		{"powerpc", "ppc64le", true}, {"s390", "s390x", true},
		{"riscv", "riscv64", true},   {"arm", "armv7l", true},
		{"x86", "aarch64", false},    {"arm", "arm64", false},
		{"arm", "aarch64", false},    {"riscv32", "riscv64", false},
		{"sparc64", "sparc64", true}, {"sparc64", "sparc", false},
		{"", "x86_64", false},	      {"", "", true},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(processor_same(names[i].a, names[i].b), names[i].same);
	assert_ptr_equal(processor_find("x86", 0), processor_find("x86_64", 8));
	assert_ptr_equal(processor_find("x86", 4), processor_find("i686", 4));
	assert_ptr_equal(processor_find("arm64", 0), processor_find("aarch64", 8));
	assert_int_equal(processor_find("riscv", 0)->word_bytes, 8);
}

static void test_text_quoted(void **state)
{
	static const uint8_t bytes[] = "a\n\t\"\\\v\001z\0017\377";
	struct text t = {0};

	(void)state;
	text_quoted(&t, bytes, sizeof bytes - 1, false);
	text_char(&t, 0);
	assert_string_equal(t.s, "\"a\\n\\t\\\"\\\\\\013\\001z\\0017\\377\"");
	t.n = 0;
	text_quoted(&t, bytes, sizeof bytes - 1, true);
	text_char(&t, 0);
	assert_string_equal(t.s, "\"a\\n\\t\\\"\\\\\\v\\1z\\0017\\377\"");
	text_done(&t);
}

static void test_err_formats(void **state)
{
	struct err e;
	char line[128];

	(void)state;
	assert_int_equal(err_at(&e, ERR_DAMAGED, "f", 0x10, "size %d", 7), -ERR_DAMAGED);
	err_format(&e, line, sizeof line);
	assert_string_equal(line, "f: offset 0x10: size 7");
	assert_int_equal(err_errno(&e, ENOENT, "g", "open"), -ERR_NOT_FOUND);
	err_format(&e, line, sizeof line);
	assert_string_equal(line, "g: cannot open: No such file or directory");
	assert_int_equal(err_set(NULL, ERR_IO, NULL, "x"), -ERR_IO);
	assert_string_equal(err_code_text((enum err_code)99), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf_reads_both_orders),
		cmocka_unit_test(test_buf_end_is_sticky),
		cmocka_unit_test(test_buf_leb128),
		cmocka_unit_test(test_buf_leb128_padded),
		cmocka_unit_test(test_buf_sub_and_strings),
		cmocka_unit_test(test_arena_keeps_what_it_gave),
		cmocka_unit_test(test_scratch_uses_its_memory_again),
		cmocka_unit_test(test_scratch_of_growing_blocks),
		cmocka_unit_test(test_scratch_detached),
		cmocka_unit_test(test_vec_grows_and_refuses),
		cmocka_unit_test(test_hash_table),
		cmocka_unit_test(test_hash_remove),
		cmocka_unit_test(test_hash_table_spreads_chosen_keys),
		cmocka_unit_test(test_hash_index),
		cmocka_unit_test(test_pages_calloc),
		cmocka_unit_test(test_pages_survive_cuts),
		cmocka_unit_test(test_strtab_interns),
		cmocka_unit_test(test_strtab_spreads_chosen_strings),
		cmocka_unit_test(test_threads_visit_each_item_once),
		cmocka_unit_test(test_threads_may_run_where_their_creator_may),
		cmocka_unit_test(test_threads_on_large_machines),
		cmocka_unit_test(test_processor_names),
		cmocka_unit_test(test_text_quoted),
		cmocka_unit_test(test_err_formats),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
