/* tool_fuzz.c - compiles damaged copies of an ELF file's DWARF.
 *
 *	tool_fuzz FILE FIRST_SEED N [PACKAGE]
 *
 * Each seed damages some bytes of the debug sections (of PACKAGE, written to FILE.dwp, when it is
 * given), compiles everything and reads all answers. A crash, a sanitizer report or five seconds
 * without an end are failures. fuzz_dwarf.c is the libFuzzer target. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/dwarf.h"
#include "tests/dwarf/lookup.h"
#include "tests/random.h"

enum { SECONDS_MAX = 5, ADDRESSES = 512 };

/* Strings must end inside of memory that is ours. */
static size_t read_frames(const struct dwarf_frame *f, size_t n)
{
	size_t total = 0, i;

	for (i = 0; i < n; i++) {
		total += f[i].linkage_name ? strlen(f[i].linkage_name) : 0;
		total += f[i].name ? strlen(f[i].name) : 0;
		total += f[i].file ? strlen(f[i].file) : 0;
	}
	return total;
}

/* Parameters at some addresses, read to their ends. */
static void read_params(struct module *mod)
{
	const struct dwarf_site *site;
	struct dwarf_params *p;
	size_t total = 0;

	if (dwarf_params_open(&p, mod, NULL) || !p)
		return;
	for (size_t i = 0; i < ADDRESSES && !dwarf_params_at(p, 0x1000 + i * 3, &site); i++) {
		for (size_t k = 0; site && k < site->n; k++)
			for (size_t a = 0; a < site->levels[k].n; a++) {
				const struct dwarf_param *param = &site->levels[k].v[a];

				total += param->name ? strlen(param->name) : 0;
				total += param->where.n ? param->where.code[param->where.n - 1] : 0;
				total += param->type ? param->type->n_members : 0;
			}
		total += site && dwarf_params_calls_itself_last(p, site);
	}
	dwarf_params_free(p);
	if (total == SIZE_MAX)
		abort();
}

static void compile(struct elf_image *img)
{
	struct module mod = {.image = img, .debug = img};
	struct dwarf_frame frames[64], line;
	struct dwarf_index *d;
	uint64_t addrs[ADDRESSES];
	size_t total = 0, i;

	for (i = 0; i < ADDRESSES; i++)
		addrs[i] = 0x1000 + i * 3;
	if (dwarf_index_open(&d, &mod, addrs, ADDRESSES, NULL, 2, NULL) || !d)
		return;
	for (i = 0; i < ADDRESSES; i++) {
		total += read_frames(frames, dwarf_index_lookup(d, addrs[i], frames, 64, &line));
		total += read_frames(&line, 1);
	}
	if (total == SIZE_MAX) /* it is wanted, so the names are read */
		abort();
	dwarf_index_free(d);
	/* Everything, not only what is asked for. */
	read_params(&mod);
	if (dwarf_index_open(&d, &mod, NULL, 0, NULL, 1, NULL) || !d)
		return;
	dwarf_index_free(d);
}

static uint64_t state;

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes read_file(const char *path)
{
	struct bytes b = {NULL, 0};
	FILE *f = fopen(path, "rb");
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) <= 0)
		exit(2);
	rewind(f);
	b.size = (size_t)size;
	b.data = malloc(b.size);
	if (!b.data || fread(b.data, 1, b.size, f) != b.size)
		exit(2);
	fclose(f);
	return b;
}

static void damage(uint8_t *at, size_t size)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x3f, 0x40};
	unsigned n = 1 + next_random(&state) % 6;

	while (n--) {
		size_t i = next_random(&state) % size;

		switch (next_random(&state) % 4) {
		case 0:
			at[i] ^= (uint8_t)(1u << next_random(&state) % 8);
			break;
		case 1:
			at[i] = values[next_random(&state) % sizeof values];
			break;
		case 2:
			at[i] = (uint8_t)next_random(&state);
			break;
		default:
			if (size > 8)
				memmove(at + next_random(&state) % (size - 8),
					at + next_random(&state) % (size - 8),
					1 + next_random(&state) % 8);
		}
	}
}

/* Damages some debug sections of the file in memory. */
static void damage_sections(const struct bytes *b)
{
	struct elf_image *img;
	size_t i;

	if (elf_image_open_memory(&img, b->data, b->size, "plain", NULL))
		exit(2);
	for (i = 0; i < elf_image_section_count(img); i++) {
		const char *name;
		struct elf_section s;

		if (elf_image_section_at(img, i, &name, &s) && !strncmp(name, ".debug_", 7) &&
		    s.size && s.data && next_random(&state) % 3 == 0)
			damage(b->data + s.off, s.size);
	}
	elf_image_close(img);
}

static void write_package(const char *file, const struct bytes *b)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s.dwp", file);
	f = fopen(path, "wb");
	if (!f || fwrite(b->data, 1, b->size, f) != b->size || fclose(f))
		exit(2);
}

int main(int argc, char **argv)
{
	struct bytes plain, copy;
	uint64_t seed, end;

	if (argc < 4)
		return 2;
	plain = read_file(argv[argc > 4 ? 4 : 1]);
	copy = plain;
	copy.data = malloc(plain.size);
	end = strtoull(argv[2], NULL, 10) + strtoull(argv[3], NULL, 10);
	for (seed = strtoull(argv[2], NULL, 10); copy.data && seed < end; seed++) {
		struct elf_image *img;

		fprintf(stderr, "\r%lu ", (unsigned long)seed);
		state = seed * 0x9e3779b97f4a7c15u + 1;
		memcpy(copy.data, plain.data, plain.size);
		damage_sections(&copy);
		alarm(SECONDS_MAX);
		if (argc > 4) {
			write_package(argv[1], &copy);
			if (elf_image_open(&img, argv[1], NULL))
				return 2;
		} else if (elf_image_open_memory(&img, copy.data, copy.size, "copy", NULL)) {
			return 2;
		}
		compile(img);
		elf_image_close(img);
	}
	alarm(0);
	free(plain.data);
	free(copy.data);
	return 0;
}
