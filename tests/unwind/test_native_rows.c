/* test_native_rows.c - methods of native-image: a file made here as GraalVM CE 25 lays it out,
 * found and read; the row at each instruction; files that lie. Real programs: test_native_image.py.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "modules/modules.h"
#include "tests/random.h"
#include "unwind/native_image.h"

#define TEXT 0x410000u
#define CODE 0x411000u
#define HEAP 0x500000u

enum {
	CHUNK = 256,
	N = 128,	  /* methods, one in each chunk */
	RETURN_AT = 0x45, /* in the first method; then up to 6 later: returns(i) */
	LEAVE_AT = 0x50,  /* add rsp; ret */
	FRAME = 0x20,
	TEXT_OFF = 0x1000,
	TEXT_BYTES = (N + 16) * CHUNK + 0x1000,
	HEAP_OFF = TEXT_OFF + TEXT_BYTES,
	INDEX_OFF = 64, /* in the heap, of the length */
	ENTRY_BYTES = 3 + 4,
	ENCODINGS_OFF = INDEX_OFF + 4 * (N + 2) + 36,
	HEAP_BYTES = 8192,
	FILE_BYTES = HEAP_OFF + HEAP_BYTES
};

static uint8_t returns(size_t i)
{
	return (uint8_t)(RETURN_AT + i % 7);
}

/* sub $0x18,%rsp .. call .. add $0x18,%rsp; ret; the rest is padding. The last 16 chunks of the
 * section are of no method. */
static void put_code(uint8_t *text)
{
	size_t i;

	memset(text, 0xcc, TEXT_BYTES);
	for (i = 0; i < N; i++) {
		uint8_t *code = text + (CODE - TEXT) + i * CHUNK;

		memset(code, 0x90, LEAVE_AT);
		memcpy(code, "\x48\x83\xec\x18", 4);
		memcpy(code + returns(i) - 5, "\xe8\0\1\0", 5);
		memcpy(code + LEAVE_AT, "\x48\x83\xc4\x18\xc3", 5);
	}
}

static void put_u32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof v);
}

/* Each method: an entry with its frame size that begins it, and one with references where its call
 * returns. */
static void put_heap(uint8_t *heap)
{
	size_t i;

	memset(heap, 0, HEAP_BYTES);
	put_u32(heap + INDEX_OFF, 4 * (N + 1));
	put_u32(heap + ENCODINGS_OFF, N * ENTRY_BYTES + 8);
	for (i = 0; i <= N; i++)
		put_u32(heap + INDEX_OFF + 4 + 4 * i, (uint32_t)(i * ENTRY_BYTES));
	for (i = 0; i < N; i++) {
		const uint8_t entries[] = {1, returns(i), FRAME | 1, 0x20, (uint8_t)-returns(i)};

		memcpy(heap + ENCODINGS_OFF + 4 + i * ENTRY_BYTES, entries, sizeof entries);
	}
}

static void put_file(uint8_t *file)
{
	static const char names[] = "\0.text\0.svm_heap\0.shstrtab";
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file;
	Elf64_Phdr *ph = (Elf64_Phdr *)(file + 64);
	Elf64_Shdr *sh = (Elf64_Shdr *)(file + 256);

	memset(file, 0, TEXT_OFF);
	memcpy(eh->e_ident, ELFMAG "\2\1\1", 7);
	eh->e_type = ET_EXEC;
	eh->e_machine = EM_X86_64;
	eh->e_version = 1;
	eh->e_ehsize = eh->e_phoff = eh->e_shentsize = 64;
	eh->e_phentsize = sizeof *ph;
	eh->e_phnum = 1;
	eh->e_shoff = 256;
	eh->e_shnum = 4;
	eh->e_shstrndx = 3;
	*ph = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, TEXT_OFF,   TEXT,
			   TEXT,    TEXT_BYTES,	 TEXT_BYTES, 4096};
	sh[1] = (Elf64_Shdr){
		1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, TEXT_OFF, TEXT_BYTES, 0, 0, 16,
		0};
	sh[2] = (Elf64_Shdr){7, SHT_PROGBITS, SHF_ALLOC, HEAP, HEAP_OFF, HEAP_BYTES, 0, 0, 16, 0};
	sh[3] = (Elf64_Shdr){17, SHT_STRTAB, 0, 0, 1024, sizeof names, 0, 0, 1, 0};
	memcpy(file + 1024, names, sizeof names);
	put_code(file + TEXT_OFF);
	put_heap(file + HEAP_OFF);
}

static bool open_file(uint8_t *file, struct elf_image **img, struct native_image *t)
{
	struct err err;

	*img = NULL;
	*t = (struct native_image){0};
	return !elf_image_open_memory(img, file, FILE_BYTES, "native", &err) &&
	       native_image_open(t, *img);
}

static uint8_t file[FILE_BYTES];

static void finds_methods(void **state)
{
	struct native_method m;
	struct native_image t;
	struct elf_image *img;

	(void)state;
	put_file(file);
	assert_true(open_file(file, &img, &t));
	assert_int_equal(t.code_vaddr, CODE);
	assert_int_equal(t.n_chunks, N);
	assert_false(native_image_method(&t, CODE - 1, &m));
	assert_false(native_image_method(&t, CODE + N * CHUNK, &m));
	assert_true(native_image_method(&t, CODE + 5 * CHUNK + 255, &m));
	assert_int_equal(m.start, CODE + 5 * CHUNK);
	assert_int_equal(m.end, CODE + 6 * CHUNK);
	assert_int_equal(m.frame_bytes, FRAME);
	assert_true(native_image_has_references(&t, m.start + returns(5)));
	assert_false(native_image_has_references(&t, m.start + returns(5) + 1));
	assert_false(native_image_has_references(&t, m.start));
	elf_image_close(img);
}

/* The CFA's distance from the stack pointer at each instruction; 0: not known. */
static int64_t row_at(const struct native_image *t, struct elf_image *img, uint64_t off)
{
	struct native_method m;
	struct cfi_row row;
	uint64_t steps = 1000;

	return native_image_method(t, CODE + off, &m) &&
			       native_image_row_at(&m, img, &arch_x86_64, CODE + off, &steps, &row)
		       ? row.cfa_off
		       : 0;
}

static void knows_rows(void **state)
{
	struct native_image t;
	struct elf_image *img;

	(void)state;
	put_file(file);
	memcpy(file + TEXT_OFF + (CODE - TEXT) + CHUNK + 0x20, "\x48\x89\xd4", 3); /* mov rdx,rsp */
	file[TEXT_OFF + (CODE - TEXT) + 2 * CHUNK + 3] = 0x28; /* another size */
	assert_true(open_file(file, &img, &t));
	assert_int_equal(row_at(&t, img, 0), 8);
	assert_int_equal(row_at(&t, img, 2), 0); /* within an instruction */
	assert_int_equal(row_at(&t, img, 4), FRAME);
	assert_int_equal(row_at(&t, img, RETURN_AT), FRAME);
	assert_int_equal(row_at(&t, img, LEAVE_AT), FRAME);
	assert_int_equal(row_at(&t, img, LEAVE_AT + 4), 8);
	assert_int_equal(row_at(&t, img, CHUNK + 0x10), 0);
	assert_int_equal(row_at(&t, img, 2 * CHUNK + 0x10), 0);
	assert_int_equal(row_at(&t, img, 3 * CHUNK + 0x10), FRAME);
	elf_image_close(img);
}

static bool opens(void)
{
	struct native_image t;
	struct elf_image *img;
	bool found = open_file(file, &img, &t);

	elf_image_close(img);
	return found;
}

/* Whatever does not fit: nothing is known. */
static void refuses_what_does_not_fit(void **state)
{
	uint8_t *heap = file + HEAP_OFF, *encodings = heap + ENCODINGS_OFF;

	(void)state;
	put_file(file);
	assert_true(opens());
	encodings[4 + 60 * ENTRY_BYTES + 1]--; /* does not end with its chunk */
	assert_false(opens());
	put_heap(heap);
	encodings[4 + 60 * ENTRY_BYTES] = 2; /* nor where the index says */
	assert_false(opens());
	put_heap(heap);
	encodings[4 + 60 * ENTRY_BYTES + 2] = 0x28; /* not the size of the method that it is in */
	assert_false(opens());
	put_heap(heap);
	memcpy(heap + 4096, encodings, N * ENTRY_BYTES + 16); /* which of them? */
	assert_false(opens());
	put_heap(heap);
	memcpy(heap + 4096, heap + INDEX_OFF, 4 * (N + 2));
	assert_false(opens());
	put_heap(heap);
	put_u32(encodings, HEAP_BYTES); /* longer than the heap */
	assert_false(opens());
	put_file(file);
	memset(file + TEXT_OFF, 0xe8, TEXT_BYTES); /* where the code begins is not known */
	assert_false(opens());
}

static void survives_damage(void **state)
{
	uint64_t seed = 4711, i, k;
	struct native_method m;
	struct native_image t;
	struct elf_image *img;

	(void)state;
	for (i = 0; i < 3000; i++) {
		put_file(file);
		for (k = next_random(&seed) % 4; k < 4; k++)
			file[HEAP_OFF + next_random(&seed) % 2048] = (uint8_t)next_random(&seed);
		file[TEXT_OFF + next_random(&seed) % TEXT_BYTES] = (uint8_t)next_random(&seed);
		if (open_file(file, &img, &t))
			for (k = 0; k < 64; k++) {
				uint64_t at = CODE + next_random(&seed) % (N * CHUNK);

				if (native_image_method(&t, at, &m))
					assert_true(m.start <= at && at < m.end);
				row_at(&t, img, at - CODE);
			}
		elf_image_close(img);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_methods),
		cmocka_unit_test(knows_rows),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
