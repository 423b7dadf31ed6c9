/* tool_symbolize.c - symbolize.h from the command line, for the scripts beside it.
 *
 *	tool_symbolize [-i] [-a] [-t THREADS] [-d full|simple|none] [-k KALLSYMS] [-v VMLINUX]
 *		       [-b BUILDID] [-r OS_RELEASE] [-S SYMFS] [-D DEBUGDIR] [-n REPEAT] KIND PATH <
 *addresses
 *
 * KIND is file (addresses are ELF vaddrs), vdso, off (file offsets), kernel, module, jit, bpf,
 *guest or unknown. Prints for every address, separated by tabs: address, miss, symbol as in the
 *file, offset, symbol for people, aliases, then each line of the chain as NAME|FILE:LINE; at the
 *end a line "# source".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/symbolize.h"

static const struct {
	const char *name;
	enum dso_kind kind;
} kinds[] = {
	{"file", DSO_FILE},
	{"off", DSO_FILE},
	{"vdso", DSO_VDSO},
	{"kernel", DSO_KERNEL},
	{"jit", DSO_ANON},
	{"bpf", DSO_BPF},
	{"module", DSO_KERNEL_MODULE},
	{"guest", DSO_GUEST_KERNEL},
	{"unknown", DSO_UNKNOWN},
};

static int die(const char *what, const struct err *e)
{
	fprintf(stderr, "tool_symbolize: %s: %s\n", what, e ? e->what : "");
	return 2;
}

static struct build_id parse_id(const char *hex)
{
	struct build_id id = {0};
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1 && id.size < BUILD_ID_MAX; hex += 2)
		id.bytes[id.size++] = (uint8_t)byte;
	return id;
}

static struct sym_query *read_queries(const struct dso *dso, struct modules *modules, bool is_vaddr,
				      size_t *n)
{
	struct module *mod = is_vaddr ? modules_get(modules, dso) : NULL;
	struct sym_query *q = NULL;
	size_t cap = 0;
	char line[128];

	for (*n = 0; fgets(line, sizeof line, stdin); ++*n) {
		char *rest;
		uint64_t addr = strtoull(line, &rest, 16), off = addr;

		if (*n == cap) {
			cap = cap ? 2 * cap : 1024;
			q = realloc(q, cap * sizeof *q);
			if (!q)
				exit(die("out of memory", NULL));
		}
		if (mod && mod->image && !elf_image_vaddr_to_off(mod->image, addr, &off))
			off = UINT64_MAX;
		q[*n] = (struct sym_query){
			.dso = dso, .off = off, .ip = addr, .time_ns = strtoull(rest, NULL, 10)};
	}
	return q;
}

static void print(const struct symbolizer *s, const struct sym_query *q, const struct sym_result *r)
{
	const struct strtab *t = symbolizer_strings(s);
	uint32_t i;

	printf("%" PRIx64 "\t%d\t%s\t%" PRIx64 "\t%s\t%" PRIu32, q->ip, (int)r->miss,
	       strtab_get(t, r->symbol_system), r->offset, strtab_get(t, r->symbol), r->aliases);
	for (i = 0; i < r->n_lines; i++)
		printf("\t%s|%s:%" PRIu32, strtab_get(t, r->lines[i].name),
		       strtab_get(t, r->lines[i].file), r->lines[i].line);
	printf("\n");
}

/* Reads a recording to its end: its maps are what counts. */
static struct perf_file *read_recording(const char *path)
{
	struct perf_batch *batch;
	struct perf_file *f;
	struct err err = {0};
	int rc;

	if (perf_file_open(&f, path, NULL, &err))
		exit(die(path, &err));
	while ((rc = perf_file_read(f, &batch, &err)) > 0)
		perf_batch_release(f, batch);
	if (rc < 0)
		exit(die(path, &err));
	return f;
}

int main(int argc, char **argv)
{
	const char *demangles[] = {"full", "simple", "none"}, *debug_dirs[2] = {NULL, NULL};
	struct symbolizer_options opt = {.no_inline = true, .n_threads = 1};
	struct modules_options mopt = {.debug_dirs = debug_dirs, .no_debuginfod_cache = true};
	struct perf_file_info info = {0};
	struct dso dso = {0};
	struct perf_file *recording = NULL;
	struct modules *modules;
	struct symbolizer *s;
	struct err err = {0};
	int c, repeat = 1, i;
	bool is_vaddr;
	struct sym_query *q;
	struct sym_result *r;
	size_t n, j;

	while ((c = getopt(argc, argv, "iat:d:k:v:b:r:S:D:p:n:")) != -1)
		switch (c) {
		case 'i':
			opt.no_inline = false;
			break;
		case 'a':
			opt.folded = SYM_FOLDED_MARK;
			break;
		case 't':
			opt.n_threads = (unsigned)atoi(optarg);
			break;
		case 'd':
			for (i = 0; i < 3; i++)
				if (!strcmp(optarg, demangles[i]))
					opt.demangle = (enum sym_demangle)i;
			break;
		case 'k':
			opt.kallsyms = optarg;
			break;
		case 'v':
			opt.vmlinux = optarg;
			break;
		case 'b':
			dso.build_id = parse_id(optarg);
			break;
		case 'r':
			info.os_release = optarg;
			break;
		case 'S':
			mopt.symfs = optarg;
			break;
		case 'D':
			debug_dirs[0] = optarg;
			break;
		case 'p':
			opt.file = recording = read_recording(optarg);
			break;
		case 'n':
			repeat = atoi(optarg);
			break;
		default:
			return 2;
		}
	if (argc - optind != 2)
		return die("usage: KIND PATH", NULL);
	for (j = 0; j < sizeof kinds / sizeof *kinds && strcmp(kinds[j].name, argv[optind]); j++)
		;
	if (j == sizeof kinds / sizeof *kinds)
		return die("unknown kind", NULL);
	dso.kind = kinds[j].kind;
	dso.path = argv[optind + 1];
	if (dso.kind == DSO_ANON && strstr(dso.path, "perf-"))
		dso.pid = (uint32_t)atoi(strstr(dso.path, "perf-") + 5);
	is_vaddr = !strcmp(argv[optind], "file") || !strcmp(argv[optind], "vdso");
	if (modules_new(&modules, &mopt, &err))
		return die("modules", &err);
	q = read_queries(&dso, modules, is_vaddr, &n);
	r = calloc(n ? n : 1, sizeof *r);
	if (!r)
		return die("out of memory", NULL);
	while (repeat--) {
		struct timespec a, b;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		if (symbolizer_new(&s, modules, &info, &opt, &err) ||
		    symbolizer_run(s, q, n, r, &err))
			exit(die("symbolizer", &err));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		if (getenv("TIMES"))
			fprintf(stderr, "%.3f ms\n",
				(double)(b.tv_sec - a.tv_sec) * 1e3 +
					(double)(b.tv_nsec - a.tv_nsec) / 1e6);
		if (repeat)
			symbolizer_free(s);
	}
	for (j = 0; j < n; j++)
		print(s, &q[j], &r[j]);
	printf("# %s\t%s\n", symbolizer_source(s, &dso), sym_miss_text(symbolizer_miss(s, &dso)));
	symbolizer_free(s);
	modules_free(modules);
	perf_file_close(recording);
	free(q);
	free(r);
	return 0;
}
