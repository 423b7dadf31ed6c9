/* tool_dwarf.c - prints what DWARF says of addresses.
 *
 *	tool_dwarf [-d DEBUG] [-a ALT] [-j THREADS] [-c CACHE [-m BYTES]] [-s] IMAGE [ADDR...]
 *
 * Addresses are hexadecimal ELF vaddrs, from standard input when none are given. For each a line
 * "ADDR", then one line per frame, innermost first: "\tLINKAGE_NAME\tNAME\tFILE\tLINE\tDECL_LINE",
 * "-" for what is unknown, and "\tENTRY" where that is known and needed; when there is no function
 * but a line, "\t\t\tFILE\tLINE". -s: statistics.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "dwarf/dwarf.h"
#include "tests/dwarf/lookup.h"

struct addresses {
	uint64_t *v;
	size_t n, cap;
};

static struct elf_image *open_image(const char *path)
{
	struct elf_image *img;
	struct err err;
	char text[800];

	if (!elf_image_open(&img, path, &err))
		return img;
	err_format(&err, text, sizeof text);
	fprintf(stderr, "tool_dwarf: %s\n", text);
	exit(2);
}

static int cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static const char *text(const char *s)
{
	return s ? s : "-";
}

static void print(struct dwarf_index *d, uint64_t addr)
{
	struct dwarf_frame frames[256], line = {0};
	size_t n = d ? dwarf_index_lookup(d, addr, frames, 256, &line) : 0, i;

	printf("0x%lx\n", (unsigned long)addr);
	for (i = 0; i < n; i++) {
		printf("\t%s\t%s\t%s\t%u\t%u", text(frames[i].linkage_name), text(frames[i].name),
		       text(frames[i].file), frames[i].line, frames[i].decl_line);
		if (frames[i].entry)
			printf("\t0x%lx", (unsigned long)frames[i].entry);
		putchar('\n');
	}
	if (!n && line.line)
		printf("\t\t\t%s\t%u\n", text(line.file), line.line);
}

static void read_addresses(struct addresses *a, int argc, char **argv)
{
	char word[64];
	int i;

	for (i = 0; i < argc; i++)
		if (vec_push(a, strtoull(argv[i], NULL, 16)))
			exit(2);
	if (!argc)
		while (scanf("%63s", word) == 1)
			if (vec_push(a, strtoull(word, NULL, 16)))
				exit(2);
}

int main(int argc, char **argv)
{
	struct dwarf_cache cache = {.max_bytes = 1ull << 30};
	struct module mod = {0};
	struct addresses given = {0}, sorted = {0};
	struct dwarf_frame frames[256];
	struct dwarf_index *d;
	struct dwarf_index_stats stats;
	unsigned threads = 1;
	bool want_stats = false;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "d:a:j:c:m:s")) != -1)
		switch (c) {
		case 'd':
			mod.debug = open_image(optarg);
			break;
		case 'a':
			mod.alt = open_image(optarg);
			break;
		case 'j':
			threads = (unsigned)atoi(optarg);
			break;
		case 'c':
			cache.dir = optarg;
			break;
		case 'm':
			cache.max_bytes = strtoull(optarg, NULL, 10);
			break;
		case 's':
			want_stats = true;
			break;
		default:
			return 2;
		}
	if (optind == argc)
		return 2;
	mod.image = open_image(argv[optind]);
	read_addresses(&given, argc - optind - 1, argv + optind + 1);
	if (vec_reserve(&sorted, given.n + 1))
		return 2;
	memcpy(sorted.v, given.v, given.n * sizeof *given.v);
	qsort(sorted.v, given.n, sizeof *sorted.v, cmp);
	if (dwarf_index_open(&d, &mod, sorted.v, given.n, cache.dir ? &cache : NULL, threads, NULL))
		return 2;
	for (i = 0; d && i < given.n; i++)
		dwarf_index_lookup(d, given.v[i], frames, 256, NULL);
	if (d && dwarf_index_is_damaged(d)) {
		dwarf_index_discard(d);
		if (dwarf_index_open(&d, &mod, sorted.v, given.n, &cache, threads, NULL))
			return 2;
	}
	for (i = 0; i < given.n; i++)
		print(d, given.v[i]);
	if (want_stats && d) {
		dwarf_index_stats(d, &stats);
		printf("units %zu compiled %zu early %zu damaged %zu segments %lu let go %lu%s%s\n",
		       stats.units, stats.units_compiled, stats.units_early, stats.units_damaged,
		       (unsigned long)stats.segments, (unsigned long)stats.let_go_bytes,
		       stats.inflated_twice ? ", inflated twice" : "",
		       stats.from_cache ? ", from the cache" : "");
	}
	if (d)
		dwarf_index_save(d);
	dwarf_index_free(d);
	elf_image_close(mod.image);
	elf_image_close(mod.debug);
	elf_image_close(mod.alt);
	vec_done(&given);
	vec_done(&sorted);
	return 0;
}
