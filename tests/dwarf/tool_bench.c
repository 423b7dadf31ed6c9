/* tool_bench.c - times compiling and lookups of one file, beside other tools.
 *
 *	tool_bench FILE [N_ADDRESSES [THREADS [peers]]]
 *
 * Addresses are uniformly random in the executable sections (fixed seed). Prints the time of
 * compiling the units that they hit, with inflating; nanoseconds per sorted and per random lookup
 * with the whole chain; the memory it took; with a directory CACHE in the environment, the same
 * through the cache: a first run, the same again, another set of addresses, a third (with WARM=1
 *only the first of them, and nothing else: a process that has only the file); with `peers` the same
 *addresses through other tools, which write to /dev/null (the slow ones get every hundredth), and
 *the ratio of CPU times. With ALL=1 in the environment everything is compiled. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dwarf/dwarf.h"
#include "tests/dwarf/lookup.h"
#include "tests/random.h"

/* ---- memory ------------------------------------------------------------------------------ */

/* A line of /proc/self/status, in bytes. */
static double status_bytes(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	double kb = 0;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, what, strlen(what)))
			kb = strtod(line + strlen(what) + 1, NULL);
	if (f)
		fclose(f);
	return kb * 1024;
}

/* What compressed sections take that were inflated. */
static uint64_t inflated_bytes(struct elf_image *img, uint64_t *info)
{
	static const char *const names[] = {".debug_info",     ".debug_abbrev",	     ".debug_str",
					    ".debug_line_str", ".debug_str_offsets", ".debug_addr",
					    ".debug_ranges",   ".debug_rnglists",    ".debug_line",
					    ".debug_aranges"};
	struct elf_section s;
	uint64_t total = 0;
	size_t i, k;

	*info = 0;
	for (i = 0; i < elf_image_section_count(img); i++) {
		bool compressed;
		const char *name;

		if (!elf_image_section_at(img, i, &name, &s))
			continue;
		compressed = s.flags & SHF_COMPRESSED;
		for (k = 0; k < sizeof names / sizeof *names; k++) {
			if (strcmp(name, names[k]) || !elf_image_section(img, name, &s, NULL))
				continue;
			total += compressed ? s.size : 0;
			*info += k ? 0 : s.size;
		}
	}
	return total;
}

/* `before` is what of the process's own was in memory when compiling began. The pages of the file
 * that were read are all still there. */
static void print_memory(struct elf_image *img, double before)
{
	double peak = status_bytes("VmHWM") - status_bytes("RssFile") - status_bytes("RssShmem");
	uint64_t info, inflated = inflated_bytes(img, &info);
	double extra = peak - before - (double)inflated;

	if (info)
		printf("memory at its peak: %.1f MB beyond %.1f MB of inflated sections, %.1f %% "
		       "of "
		       ".debug_info\n",
		       extra / 1e6, (double)inflated / 1e6, extra / (double)info * 100);
}

/* ------------------------------------------------------------------------------------------ */

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static int cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void random_addresses(struct elf_image *img, uint64_t *to, size_t n)
{
	uint64_t lo = UINT64_MAX, hi = 0, state = 88172645463325252ull;
	size_t i;

	for (i = 0; i < elf_image_section_count(img); i++) {
		const char *name;
		struct elf_section s;

		if (!elf_image_section_at(img, i, &name, &s) || !(s.flags & SHF_EXECINSTR))
			continue;
		lo = s.vaddr < lo ? s.vaddr : lo;
		hi = s.vaddr + s.size > hi ? s.vaddr + s.size : hi;
	}
	for (i = 0; i < n; i++)
		to[i] = lo + next_random(&state) % (hi - lo);
}

static void time_lookups(struct dwarf_index *d, const uint64_t *addrs, size_t n, const char *what)
{
	struct dwarf_frame frames[128];
	double start = now(CLOCK_PROCESS_CPUTIME_ID);
	size_t i, total = 0, found = 0, k;
	unsigned round;

	for (round = 0; round < 5; round++)
		for (i = 0; i < n; i++) {
			k = dwarf_index_lookup(d, addrs[i], frames, 128, NULL);
			total += k;
			found += k > 0;
		}
	printf("%s lookups: %.1f ns, %.2f frames each, %.2f %% found\n", what,
	       (now(CLOCK_PROCESS_CPUTIME_ID) - start) / 5 / (double)n * 1e9,
	       (double)total / 5 / (double)n, (double)found / 5 / (double)n * 100);
}

struct peer {
	const char *argv[8]; /* NULL stands for the file */
	size_t step;	     /* gets one address of so many */
};

static const struct peer peers[] = {
	{{"llvm-symbolizer", "--inlines", "-e", NULL, ""}, 1},
	{{"eu-addr2line", "-i", "-f", "-e", NULL, ""}, 100},
	{{"addr2line", "-i", "-f", "-e", NULL, ""}, 100},
};

/* Does not return. */
static void exec_peer(const struct peer *p, const char *file, FILE *input)
{
	char *argv[8];
	int out = open("/dev/null", O_WRONLY);
	size_t i, n = 0;

	for (i = 0; !p->argv[i] || *p->argv[i]; i++)
		argv[n++] = strdup(p->argv[i] ? p->argv[i] : file);
	argv[n] = NULL;
	dup2(fileno(input), 0);
	dup2(out, 1);
	dup2(out, 2);
	execvp(argv[0], argv);
	_exit(127);
}

/* `ours` is CPU seconds for all n addresses. */
static void run_peer(const struct peer *p, const char *file, const uint64_t *addrs, size_t n,
		     double ours)
{
	double wall = now(CLOCK_MONOTONIC), cpu;
	FILE *input = tmpfile();
	struct rusage usage;
	int status;
	pid_t pid;
	size_t i;

	if (!input)
		return;
	for (i = 0; i < n; i += p->step)
		fprintf(input, "0x%lx\n", (unsigned long)addrs[i]);
	rewind(input);
	fflush(stdout);
	pid = fork();
	if (!pid)
		exec_peer(p, file, input);
	fclose(input);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status) {
		printf("%s: cannot be run\n", p->argv[0]);
		return;
	}
	cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	printf("%s -i: %.3f s, %.3f s of CPU, %ld MB for %zu addresses: %.1f x our first run%s\n",
	       p->argv[0], now(CLOCK_MONOTONIC) - wall, cpu, usage.ru_maxrss / 1024,
	       (n + p->step - 1) / p->step, cpu * (double)p->step / ours,
	       p->step > 1 ? ", were it as many" : "");
}

static double peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* Nanoseconds for each of n addresses since `start`. */
static double each_ns(double start, size_t n)
{
	return (now(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)n * 1e9;
}

/* All addresses once, as numbers and then with names. */
static void time_once(struct dwarf_index *d, const uint64_t *sorted, size_t n)
{
	const size_t room = n * 16 + DWARF_CHAIN_MAX;
	struct dwarf_at *all = malloc(room * sizeof *all);
	struct dwarf_chain *chains = calloc(n + 1, sizeof *chains);
	struct dwarf_frame frames[64];
	size_t n_all = 0, text = 0, found = 0, i, k;
	unsigned round;
	double start;

	if (!all || !chains)
		exit(2);
	/* The caller's memory is not counted. */
	for (i = 0; i < room; i++)
		all[i] = (struct dwarf_at){.func = 1};
	for (i = 0; i < n; i++)
		chains[i].n = 1;
	printf("\tchains, sorted:");
	for (round = 0; round < 2; round++) {
		start = now(CLOCK_PROCESS_CPUTIME_ID);
		found = dwarf_index_chains(d, sorted, n, chains, all, room);
		printf(" %.0f ns per address%s", each_ns(start, n), round ? "" : ", again");
	}
	for (i = n_all = 0; i < found; i++)
		n_all += chains[i].n;
	printf(", %.2f frames", (double)n_all / (double)found);
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i < n_all; i += k) {
		k = n_all - i < 64 ? n_all - i : 64;
		dwarf_index_frames(d, all + i, k, frames);
		text += frames[0].file != NULL;
	}
	printf("; their names: %.0f ns more%s\n", each_ns(start, n), text ? "" : ", none");
	free(all);
	free(chains);
}

/* One run through the cache; -1 when it fails. */
static int run_cached(struct module *mod, const uint64_t *sorted, size_t n,
		      const struct dwarf_cache *cache, unsigned threads, const char *what)
{
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), save;
	struct dwarf_index_stats s;
	struct dwarf_index *d;

	if (dwarf_index_open(&d, mod, sorted, n, cache, threads, NULL) || !d)
		return -1;
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	dwarf_index_stats(d, &s);
	printf("%s: %zu units compiled, opened in %.3f ms, %.3f ms of CPU; %.0f MB\n", what,
	       s.units_compiled, wall * 1e3, cpu * 1e3, peak_mb());
	time_once(d, sorted, n);
	if (s.from_cache)
		time_lookups(d, sorted, n, "\tsorted, again and again");
	save = now(CLOCK_PROCESS_CPUTIME_ID);
	dwarf_index_save(d);
	save = now(CLOCK_PROCESS_CPUTIME_ID) - save;
	if (!s.from_cache)
		printf("\tkept in %.3f s\n", save);
	dwarf_index_free(d);
	return 0;
}

/* A first recording, the same again, another one (half of its addresses are new), a third. */
static void time_cache(struct module *mod, const uint64_t *sorted, size_t n, unsigned threads)
{
	struct dwarf_cache cache = {.dir = getenv("CACHE"), .max_bytes = 1ull << 30};
	uint64_t *other = malloc((n + 1) * sizeof *other);
	size_t i;

	if (!cache.dir || !other) {
		free(other);
		return;
	}
	for (i = 0; i < n; i++)
		other[i] = sorted[i] + i % 2 * 3;
	qsort(other, n, sizeof *other, cmp);
	if (!run_cached(mod, sorted, n, &cache, threads, "first run") &&
	    !run_cached(mod, sorted, n, &cache, threads, "the same again") &&
	    !run_cached(mod, other, n, &cache, threads, "another recording"))
		run_cached(mod, sorted, n, &cache, threads, "a third");
	free(other);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	uint64_t *sorted = malloc(n * sizeof *sorted), *random = malloc(n * sizeof *random);
	struct module mod = {0};
	struct dwarf_index *d = NULL;
	struct dwarf_index_stats s;
	double start, cpu, before;
	size_t i;

	if (argc < 2 || !sorted || !random || elf_image_open(&mod.image, argv[1], NULL))
		return 2;
	random_addresses(mod.image, random, n);
	memcpy(sorted, random, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, cmp);
	if (getenv("WARM")) {
		struct dwarf_cache cache = {.dir = getenv("CACHE"), .max_bytes = 1ull << 30};

		return run_cached(&mod, sorted, n, &cache, threads, "warm");
	}
	before = status_bytes("RssAnon");
	start = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	if (dwarf_index_open(&d, &mod, getenv("ALL") ? NULL : sorted, n, NULL, threads, NULL))
		return 2;
	start = now(CLOCK_MONOTONIC) - start;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (!d) {
		printf("%s: no DWARF\n", argv[1]);
		return 0;
	}
	dwarf_index_stats(d, &s);
	printf("compile: %.3f s, %.3f s of CPU: %zu of %zu units, %.1f MB, %lu segments, %zu "
	       "damaged; peak %.0f MB\n",
	       start, cpu, s.units_compiled, s.units, (double)s.compiled_bytes / 1e6,
	       (unsigned long)s.segments, s.units_damaged, peak_mb());
	print_memory(mod.image, before);
	time_lookups(d, sorted, n, "sorted");
	time_lookups(d, random, n, "random");
	dwarf_index_free(d);
	elf_image_close(mod.image);
	/* Opened again: sections stay inflated as long as the file is open. */
	if (elf_image_open(&mod.image, argv[1], NULL))
		return 2;
	time_cache(&mod, sorted, n, threads);
	elf_image_close(mod.image);
	for (i = 0; argc > 4 && i < sizeof peers / sizeof *peers; i++)
		run_peer(&peers[i], argv[1], sorted, n, cpu);
	free(sorted);
	free(random);
	return 0;
}
