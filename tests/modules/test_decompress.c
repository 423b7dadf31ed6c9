/* test_decompress.c - compressed sections: the streams that zlib writes are read byte for byte,
 * what is not whole is refused, and who watches sees only bytes that stay. The plain bytes are
 * known: they are what was compressed. */
#include <setjmp.h>
#include <stdarg.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "modules/decompress.h"
#include "tests/random.h"

enum { PLAIN = (1 << 20) + 70000, SMALL = 100000 };

/* Some of it repeats near by, some far away, some not at all. */
static uint8_t *make_plain(size_t n)
{
	uint8_t *p = malloc(n);
	uint64_t x = 88172645463325252u;
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++) {
		next_random(&x);
		p[i] = i % 97 < 20 && i > 31000 ? p[i - 31000]
		       : i % 97 < 60		? (uint8_t)(i / 7)
						: (uint8_t)x;
	}
	return p;
}

struct how {
	int level, bits, strategy;
	size_t flush_each; /* bytes between full flushes; 0: none */
};

static uint8_t *deflated(const uint8_t *plain, size_t n, struct how how, size_t *ret_size)
{
	size_t cap = n + n / 100 + 100000;
	uint8_t *out = malloc(cap);
	z_stream z = {0};
	size_t i, step = how.flush_each ? how.flush_each : n;

	assert_non_null(out);
	assert_int_equal(deflateInit2(&z, how.level, Z_DEFLATED, how.bits, 8, how.strategy), Z_OK);
	z.next_out = out;
	z.avail_out = (uInt)cap;
	for (i = 0; i < n; i += step) {
		z.next_in = (Bytef *)(uintptr_t)(plain + i);
		z.avail_in = (uInt)(n - i < step ? n - i : step);
		assert_int_equal(deflate(&z, Z_FULL_FLUSH), Z_OK);
	}
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_size = z.total_out;
	deflateEnd(&z);
	return out;
}

/* As sections are inflated. */
static int inflated(const uint8_t *in, size_t in_size, uint64_t out_size, uint8_t **ret)
{
	int rc = -ERR_LIMIT;

	*ret = NULL;
	if (out_size <= decompress_limit(in_size))
		rc = decompress_room(out_size, ret);
	if (!rc)
		rc = decompress_into(DECOMPRESS_ZLIB, in, in_size, *ret, out_size, NULL);
	if (rc) {
		free(*ret);
		*ret = NULL;
	}
	return rc;
}

static void assert_inflates(const uint8_t *in, size_t in_size, const uint8_t *plain, size_t n)
{
	uint8_t *out;

	assert_int_equal(inflated(in, in_size, n, &out), 0);
	assert_memory_equal(out, plain, n);
	free(out);
}

static void assert_refused(const uint8_t *in, size_t in_size, uint64_t n)
{
	uint8_t *out;

	assert_int_equal(inflated(in, in_size, n, &out), -ERR_DAMAGED);
	assert_null(out);
}

/* Stored, fixed and dynamic blocks, small windows, flushes. */
static void test_streams(void **state)
{
	static const struct how hows[] = {
		{0, 15, Z_DEFAULT_STRATEGY, 0},
		{1, 15, Z_DEFAULT_STRATEGY, 0},
		{6, 15, Z_DEFAULT_STRATEGY, 0},
		{9, 15, Z_DEFAULT_STRATEGY, 0},
		{6, 9, Z_DEFAULT_STRATEGY, 0},
		{9, 12, Z_DEFAULT_STRATEGY, 0},
		{6, 15, Z_HUFFMAN_ONLY, 0},
		{6, 15, Z_RLE, 0},
		{6, 15, Z_FIXED, 0},
		{6, 15, Z_FILTERED, 5000},
		{9, 15, Z_DEFAULT_STRATEGY, 1000},
	};
	static const size_t sizes[] = {0, 1, 2, 300, 65535, SMALL, (1 << 20) - 1, PLAIN};
	uint8_t *plain = make_plain(PLAIN), *in;
	size_t i, k, n;

	(void)state;
	for (i = 0; i < sizeof hows / sizeof *hows; i++)
		for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			in = deflated(plain, sizes[k], hows[i], &n);
			assert_inflates(in, n, plain, sizes[k]);
			free(in);
		}
	free(plain);
}

static void test_not_whole(void **state)
{
	const struct how how = {6, 15, Z_DEFAULT_STRATEGY, 0};
	uint8_t *plain = make_plain(SMALL);
	size_t n, i;
	uint8_t *in = deflated(plain, SMALL, how, &n);

	(void)state;
	for (i = 0; i < n; i += i < 64 || i + 64 > n ? 1 : 997)
		assert_refused(in, i, SMALL);
	/* The size is not what the header of the section says. */
	assert_refused(in, n, SMALL - 1);
	assert_refused(in, n, SMALL + 1);
	assert_refused(in, n, 0);
	/* Any byte of the checksum (RFC 1950 2.2), and some of the others. */
	for (i = 0; i<n; i += i + 5> n ? 1 : 499) {
		in[i] ^= 0x10;
		assert_refused(in, n, SMALL);
		in[i] ^= 0x10;
	}
	for (i = n - 4; i < n; i++) {
		in[i] ^= 1;
		assert_refused(in, n, SMALL);
		in[i] ^= 1;
	}
	/* What follows the stream is not looked at. */
	in = realloc(in, n + 9);
	assert_non_null(in);
	memset(in + n, 0xa5, 9);
	assert_inflates(in, n + 9, plain, SMALL);
	free(in);
	free(plain);
}

/* A claim that the input cannot fill is refused before anything is allocated. */
static void test_claims(void **state)
{
	static const uint8_t in[16] = {0x78, 0x9c};
	uint8_t *out;

	(void)state;
	assert_int_equal(decompress_limit(0), DECOMPRESS_SMALL_BYTES);
	assert_int_equal(decompress_limit(1 << 20), 32 << 20);
	assert_int_equal(decompress_limit(UINT64_MAX), DECOMPRESS_MAX_BYTES);
	assert_int_equal(inflated(in, sizeof in, DECOMPRESS_SMALL_BYTES + 1, &out), -ERR_LIMIT);
	assert_int_equal(inflated(in, sizeof in, UINT64_MAX, &out), -ERR_LIMIT);
}

/* ---- watching ------------------------------------------------------------------------------ */

struct watcher {
	const uint8_t *plain, *data;
	uint64_t done;
	unsigned calls;
};

static void grew(void *arg, const uint8_t *data, uint64_t done, uint64_t size)
{
	struct watcher *w = arg;

	assert_true(!w->data || w->data == data);
	assert_int_equal(size, PLAIN);
	assert_true(done >= w->done && done <= size);
	assert_memory_equal(data + w->done, w->plain + w->done, (size_t)(done - w->done));
	w->data = data;
	w->done = done;
	w->calls++;
}

enum { TWINS_MAX = 100 };

/* An ELF file with a compressed section .debug_info, and more that are made of the same bytes. */
static struct elf_image *image_with_twins(const uint8_t *in, size_t n, uint64_t plain_size,
					  size_t twins)
{
	static const char names[] = "\0.debug_info\0.shstrtab";
	const size_t at = sizeof(Elf64_Ehdr) + (3 + twins) * sizeof(Elf64_Shdr);
	size_t size = at + sizeof names + sizeof(Elf64_Chdr) + n;
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_shoff = sizeof e,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (Elf64_Half)(3 + twins),
			.e_shstrndx = 2};
	Elf64_Shdr s[3 + TWINS_MAX] = {[1] = {.sh_name = 1,
					      .sh_type = SHT_PROGBITS,
					      .sh_flags = SHF_COMPRESSED,
					      .sh_offset = at + sizeof names,
					      .sh_size = sizeof(Elf64_Chdr) + n},
				       [2] = {.sh_name = 13,
					      .sh_type = SHT_STRTAB,
					      .sh_offset = at,
					      .sh_size = sizeof names}};
	Elf64_Chdr c = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = plain_size, .ch_addralign = 1};
	uint8_t *file = calloc(1, size);
	struct elf_image *img;

	assert_non_null(file);
	memcpy(file, &e, sizeof e);
	assert_in_range(twins, 0, TWINS_MAX);
	for (size_t i = 0; i < twins; i++)
		s[3 + i] = s[1];
	memcpy(file + sizeof e, s, (3 + twins) * sizeof *s);
	memcpy(file + at, names, sizeof names);
	memcpy(file + at + sizeof names, &c, sizeof c);
	memcpy(file + at + sizeof names + sizeof c, in, n);
	assert_int_equal(elf_image_open_memory(&img, file, size, "crafted", NULL), 0);
	free(file);
	return img;
}

static struct elf_image *image_of(const uint8_t *in, size_t n, uint64_t plain_size)
{
	return image_with_twins(in, n, plain_size, 0);
}

/* What all sections would take together counts, and none is inflated when that is too much. */
static void test_twins(void **state)
{
	const struct how how = {6, 15, Z_DEFAULT_STRATEGY, 0};
	uint8_t *plain = make_plain(PLAIN);
	struct elf_section s;
	enum err_code why;
	size_t n, fit, size;
	uint8_t *in = deflated(plain, PLAIN, how, &n);
	struct elf_image *img = image_of(in, n, PLAIN);

	(void)state;
	elf_image_bytes(img, &size);
	fit = (size_t)(decompress_limit(size) / PLAIN);
	elf_image_close(img);
	img = image_with_twins(in, n, PLAIN, fit - 1);
	assert_true(elf_image_section(img, ".debug_info", &s, &why));
	assert_memory_equal(s.data, plain, PLAIN);
	elf_image_close(img);
	img = image_with_twins(in, n, PLAIN, fit);
	assert_false(elf_image_section(img, ".debug_info", &s, &why));
	assert_int_equal(why, ERR_LIMIT);
	elf_image_close(img);
	free(in);
	free(plain);
}

/* 20 MB of which 20 KB remain: a stream that does not tell its size is given up on the way. */
static void test_endless_stream(void **state)
{
	enum { ZEROS = 20 << 20 };
	const struct how how = {9, 15 + 16, Z_DEFAULT_STRATEGY, 0};
	uint8_t *plain = calloc(1, ZEROS), *out = NULL, *in;
	size_t n, size;

	(void)state;
	assert_non_null(plain);
	in = deflated(plain, ZEROS, how, &n);
	assert_true(n < DECOMPRESS_SMALL_BYTES / DECOMPRESS_TIMES_MAX);
	assert_int_equal(decompress_stream(in, n, &out, &size), -ERR_LIMIT);
	free(in);
	in = deflated(plain, DECOMPRESS_SMALL_BYTES, how, &n);
	assert_int_equal(decompress_stream(in, n, &out, &size), 0);
	assert_int_equal(size, DECOMPRESS_SMALL_BYTES);
	free(out);
	free(in);
	free(plain);
}

static void test_watch(void **state)
{
	const struct how how = {6, 15, Z_DEFAULT_STRATEGY, 0};
	struct watcher w = {.plain = make_plain(PLAIN)};
	struct elf_watch watch = {grew, &w};
	struct elf_section s;
	struct elf_image *img;
	enum err_code why;
	size_t n;
	uint8_t *in = deflated(w.plain, PLAIN, how, &n);

	(void)state;
	img = image_of(in, n, PLAIN);
	assert_true(elf_image_section_watched(img, ".debug_info", &watch, &s, &why));
	assert_int_equal(s.size, PLAIN);
	assert_memory_equal(s.data, w.plain, PLAIN);
	assert_ptr_equal(s.data, w.data);
	assert_int_equal(w.done, PLAIN);
	assert_in_range(w.calls, 2, 100);
	/* It is there now: no watch is called a second time. */
	w.calls = 0;
	assert_true(elf_image_section_watched(img, ".debug_info", &watch, &s, &why));
	assert_int_equal(w.calls, 0);
	elf_image_close(img);

	/* Its checksum is wrong: what was seen stays until close, and is no section. */
	in[n - 1] ^= 1;
	w = (struct watcher){.plain = w.plain};
	img = image_of(in, n, PLAIN);
	assert_false(elf_image_section_watched(img, ".debug_info", &watch, &s, &why));
	assert_int_equal(why, ERR_DAMAGED);
	assert_in_range(w.calls, 1, 100);
	assert_memory_equal(w.data, w.plain, (size_t)w.done);
	assert_false(elf_image_section(img, ".debug_info", &s, &why));
	assert_int_equal(why, ERR_DAMAGED);
	elf_image_close(img);
	free(in);
	free((void *)(uintptr_t)w.plain);
}

/* Lets go, as soon as it is there, of what is not in the first or the last 100 bytes of a step. */
struct dropper {
	struct elf_image *img;
	uint64_t done;
};

static void drop(void *arg, const uint8_t *data, uint64_t done, uint64_t size)
{
	struct dropper *d = arg;
	const struct elf_range what = {d->done, done};
	const struct elf_range keep[] = {{d->done, d->done + 100}, {done - 100, done}};

	(void)size;
	assert_in_range(done - d->done, 200, PLAIN);
	elf_image_section_let_go(d->img, ".debug_info", what, keep, 2);
	assert_int_equal(data[d->done + 100] | data[done - 101], 0);
	d->done = done;
}

/* What is kept is there; all of it is when the section is asked for again, at the same place. */
static void test_let_go(void **state)
{
	const struct how how = {6, 15, Z_DEFAULT_STRATEGY, 0};
	uint8_t *plain = make_plain(PLAIN);
	struct dropper d = {0};
	struct elf_watch watch = {drop, &d};
	struct elf_section s, again;
	struct elf_range middle = {5000, PLAIN - 5000};
	size_t n, i;
	uint8_t *in = deflated(plain, PLAIN, how, &n);

	(void)state;
	d.img = image_of(in, n, PLAIN);
	assert_true(elf_image_section_watched(d.img, ".debug_info", &watch, &s, NULL));
	assert_memory_equal(s.data, plain, 100);
	assert_memory_equal(s.data + PLAIN - 100, plain + PLAIN - 100, 100);
	for (i = 0; i < PLAIN; i++)
		if (s.data[i] && s.data[i] != plain[i])
			fail();
	assert_true(elf_image_section(d.img, ".debug_info", &again, NULL));
	assert_ptr_equal(again.data, s.data);
	assert_memory_equal(s.data, plain, PLAIN);

	/* That can be watched, too. */
	elf_image_section_let_go(d.img, ".debug_info", middle, NULL, 0);
	assert_memory_equal(s.data, plain, 5000);
	assert_int_equal(s.data[5000] | s.data[70000] | s.data[PLAIN - 5001], 0);
	assert_memory_equal(s.data + PLAIN - 5000, plain + PLAIN - 5000, 5000);
	d.done = 0;
	assert_true(elf_image_section_watched(d.img, ".debug_info", &watch, &again, NULL));
	assert_ptr_equal(again.data, s.data);
	assert_int_equal(d.done, PLAIN);
	assert_true(elf_image_section(d.img, ".debug_info", &again, NULL));
	assert_memory_equal(s.data, plain, PLAIN);

	elf_image_section_let_go(d.img, ".debug_inf", middle, NULL, 0);
	elf_image_section_let_go(d.img, ".shstrtab", middle, NULL, 0);
	assert_memory_equal(s.data, plain, PLAIN);
	elf_image_close(d.img);
	free(in);
	free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_let_go),	       cmocka_unit_test(test_streams),
		cmocka_unit_test(test_not_whole),      cmocka_unit_test(test_claims),
		cmocka_unit_test(test_watch),	       cmocka_unit_test(test_twins),
		cmocka_unit_test(test_endless_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
