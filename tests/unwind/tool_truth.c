/* tool_truth.c DATA SYMBOLS [full] - every sample's frames beside the path that the program itself
 * has recorded on its stack (truth/shadow.h), for test_truth.py.
 *
 * SYMBOLS, of the functions that record themselves and those that do it for them: "CLASS START SIZE
 * FUNCTION PATH" per line, in hex; FUNCTION is where the function begins of which it is a part.
 * CLASS: f records itself; h is a hook that it calls for that; g may be between a function and the
 * one that it returns to, where that is not known (site 0 or 1). Functions without a file begin at
 * multiples of JIT_BYTES.
 *
 * The path must be what the stack says, frame by frame: each function's caller is at the very
 * address that the function returns to. Exempt is one entry, which may be there or not: that of a
 * function that is just being entered or left, so of the sample's own frame, of one that a signal
 * has interrupted, and of one that has called the hook.
 *
 * Prints lines "KEY VALUE": samples, between (as in longjmp), compared (with a path), frames,
 * wrong, gaps (frames that stand for callers on another stack), and how they ended. Status 1:
 * something is wrong. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"
#include "tests/unwind/truth/shadow.h"
#include "unwind/unwind.h"

enum { JIT_BYTES = 256, PATH_MAX_ENTRIES = 4096, WRONG_SHOWN = 5 };

struct symbol {
	char class;
	uint64_t start, end, function;
	char *path;
};

struct entry {
	uint64_t function, site;
};

struct truth {
	struct modules *modules;
	struct symbol *symbols;
	size_t n_symbols;
	uint64_t samples, compared, between, frames, wrong, gaps;
	uint64_t stops[UNWIND_STOP_N];
};

/* What a frame is for the comparison. */
struct seen {
	char class;	   /* of its function; 'o': other code */
	uint64_t function; /* where it begins, at run time */
	uint64_t ip;
	bool is_return_address;
	uint8_t how; /* enum frame_how */
};

static int by_place(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->start > y->start) - (x->start < y->start);
}

static bool symbols_read(struct truth *t, const char *name)
{
	FILE *f = fopen(name, "r");
	char path[4096];
	uint64_t start, size, function;
	char class;

	if (!f)
		return false;
	while (fscanf(f, " %c %" SCNx64 " %" SCNx64 " %" SCNx64 " %4095[^\n]", &class, &start,
		      &size, &function, path) == 5) {
		t->symbols = realloc(t->symbols, (t->n_symbols + 1) * sizeof *t->symbols);
		t->symbols[t->n_symbols++] =
			(struct symbol){class, start, start + size, function, strdup(path)};
	}
	fclose(f);
	qsort(t->symbols, t->n_symbols, sizeof *t->symbols, by_place);
	return t->n_symbols;
}

static const struct symbol *symbol_find(const struct truth *t, const char *path, uint64_t vaddr)
{
	size_t low = 0, high = t->n_symbols;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(t->symbols[mid].path, path);

		if (order < 0 || (!order && t->symbols[mid].end <= vaddr))
			low = mid + 1;
		else
			high = mid;
	}
	if (low < t->n_symbols && !strcmp(t->symbols[low].path, path) &&
	    t->symbols[low].start <= vaddr)
		return &t->symbols[low];
	return NULL;
}

static struct seen seen_at(struct truth *t, const struct map *map, uint64_t ip)
{
	struct seen r = {.class = 'o', .ip = ip};
	struct module *mod;
	const struct symbol *s;
	uint64_t vaddr;

	if (!map)
		return r;
	if (map->dso->kind == DSO_ANON) {
		r.class = 'f';
		r.function = ip & ~(uint64_t)(JIT_BYTES - 1);
		return r;
	}
	mod = modules_get(t->modules, map->dso);
	if (!mod || !module_ip_to_vaddr(mod, map, ip, &vaddr))
		return r;
	s = symbol_find(t, map->dso->path, vaddr);
	if (s) {
		r.class = s->class;
		r.function = ip - vaddr + s->function;
	}
	return r;
}

/* The paths of all blocks in the copy, innermost entry first. False: there is none. */
static bool path_read(const struct perf_sample *s, struct entry *path, size_t *n)
{
	const size_t head = offsetof(struct shadow, path);
	bool found = false;
	size_t at;

	*n = 0;
	for (at = 0; at + head <= s->user_stack_bytes; at += 8) {
		struct shadow b;
		size_t left = s->user_stack_bytes - at;

		memcpy(&b, s->user_stack + at, head);
		if (b.magic[0] != SHADOW_MAGIC_0 || b.magic[1] != SHADOW_MAGIC_1)
			continue;
		if (b.n > SHADOW_MAX || left < head + b.n * sizeof *b.path ||
		    *n + b.n > PATH_MAX_ENTRIES)
			return found;
		found = true;
		memcpy(&b, s->user_stack + at, head + b.n * sizeof *b.path);
		while (b.n--)
			path[(*n)++] = (struct entry){b.path[b.n].function, b.path[b.n].site};
		at += head;
	}
	return found;
}

struct compare {
	const struct seen *frames;
	size_t n;
	const struct entry *path;
	size_t n_path;
	bool is_root;
};

/* Where the next frame of a function that records itself is; n: nowhere. */
static size_t next_own(const struct compare *c, size_t i)
{
	while (i < c->n && c->frames[i].class != 'f')
		i++;
	return i;
}

/* May frame i's function be entered or left just now? */
static bool is_in_between(const struct compare *c, size_t i)
{
	return i == 0 || !c->frames[i].is_return_address || c->frames[i - 1].class == 'h' ||
	       (i > 1 && c->frames[i - 1].class == 'o' && c->frames[i - 2].class == 'h');
}

static bool matches_from(const struct compare *c, size_t i, size_t j);

/* Frame i is of entry j: and what follows? */
static bool matches_entry(const struct compare *c, size_t i, size_t j)
{
	size_t next;

	if (j >= c->n_path || c->frames[i].function != c->path[j].function)
		return false;
	if (i + 1 >= c->n)
		return !c->is_root || c->path[j].site == 0;
	if (c->path[j].site > SHADOW_MAYBE && c->frames[i + 1].ip != c->path[j].site)
		return false;
	next = next_own(c, i + 1);
	if (c->path[j].site > SHADOW_MAYBE)
		return c->frames[i + 1].class == 'f' ? matches_from(c, i + 1, j + 1)
						     : matches_from(c, next, j + 1);
	if (j + 1 == c->n_path && next < c->n)
		return false;
	while (i + 1 < next && next < c->n)
		if (c->frames[++i].class != 'g')
			return false;
	return next >= c->n && !c->path[j].site ? !c->is_root || j + 1 == c->n_path
						: matches_from(c, next, j + 1);
}

/* Entry j says that an exception is on its way. */
static bool matches_thrown(const struct compare *c, size_t i, size_t j)
{
	for (j++; j < c->n_path; j++)
		if (matches_from(c, i, j))
			return true;
	return false;
}

static bool matches_from(const struct compare *c, size_t i, size_t j)
{
	if (j < c->n_path && c->path[j].function == SHADOW_THROWING)
		return matches_thrown(c, i, j);
	if (i >= c->n) /* the stack ends here */
		return !c->is_root || j >= c->n_path;
	if (matches_entry(c, i, j))
		return true;
	/* what calls a function without an entry of its own writes it: before, until after */
	if (j < c->n_path &&
	    (c->path[j].site == SHADOW_MAYBE ||
	     (c->path[j].site == 0 && !c->frames[i].is_return_address)) &&
	    matches_from(c, i, j + 1))
		return true;
	return is_in_between(c, i) && matches_from(c, next_own(c, i + 1), j);
}

/* The entry of a function without a file is written by what calls it. */
static bool matches_without_top(const struct compare *c)
{
	size_t i = next_own(c, 0);

	return c->n_path && c->path[0].site == 0 && is_in_between(c, i) && matches_from(c, i, 1);
}

static void print_wrong(const struct truth *t, const struct compare *c, const struct perf_sample *s,
			enum unwind_stop stop)
{
	size_t i;

	if (t->wrong > WRONG_SHOWN)
		return;
	printf("# wrong: tid %u, time %" PRIu64 ", %s\n", s->tid, s->time_ns,
	       unwind_stop_text(stop));
	for (i = 0; i < c->n && i < 60; i++)
		printf("#   frame %" PRIx64 " %c of %c %" PRIx64 ": %s\n", c->frames[i].ip,
		       c->frames[i].is_return_address ? 'r' : 'x', c->frames[i].class,
		       c->frames[i].function, frame_how_text(c->frames[i].how));
	for (i = 0; i < c->n_path && i < 60; i++)
		printf("#   truth %" PRIx64 " returns to %" PRIx64 "\n", c->path[i].function,
		       c->path[i].site);
}

/* Without those of functions that the compiler made to record themselves, but nothing is asked of.
 */
static size_t own_entries(struct truth *t, const struct perf_sample *s, struct entry *path,
			  size_t n)
{
	size_t i, own = 0;

	for (i = 0; i < n; i++) {
		const struct map *map = address_space_find(s->space, path[i].function);
		struct seen seen = seen_at(t, map, path[i].function);

		if (path[i].function == SHADOW_THROWING) {
			path[own++] = path[i];
			continue;
		}
		path[own] = (struct entry){seen.function, path[i].site};
		own += seen.class == 'f';
	}
	return own;
}

static void compare(struct truth *t, const struct perf_sample *s, const struct stack_trace *trace)
{
	static struct entry path[PATH_MAX_ENTRIES];
	static struct seen frames[UNWIND_FRAMES_MAX];
	struct compare c = {
		.frames = frames, .path = path, .is_root = trace->stop == UNWIND_STOP_END};
	size_t i;

	t->samples++;
	if (!s->user_stack || !path_read(s, path, &c.n_path))
		return;
	for (i = trace->n_kernel; i < trace->n && trace->frames[i].how != FRAME_STITCHED; i++) {
		const struct frame *f = &trace->frames[i];

		frames[c.n] = seen_at(t, f->map, frame_lookup_ip(f));
		if (f->how == FRAME_OTHER_STACK)
			frames[c.n].class = 'g';
		t->gaps += f->how == FRAME_OTHER_STACK;
		frames[c.n].ip = f->ip;
		frames[c.n].how = f->how;
		frames[c.n++].is_return_address = f->is_return_address;
	}
	if (c.n_path && path[0].function == SHADOW_BETWEEN) {
		t->between++;
		return;
	}
	t->compared++;
	t->frames += c.n;
	t->stops[trace->stop]++;
	c.n_path = own_entries(t, s, path, c.n_path);
	if (matches_from(&c, next_own(&c, 0), 0) || matches_without_top(&c))
		return;
	t->wrong++;
	print_wrong(t, &c, s, trace->stop);
}

static int run(struct truth *t, struct perf_file *f, struct unwinder *u)
{
	struct perf_batch *batch;
	struct stack_trace trace;
	struct err err;
	size_t i;
	int rc;

	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
		for (i = 0; i < batch->n; i++) {
			unwind_sample(u, &batch->samples[i], &trace);
			compare(t, &batch->samples[i], &trace);
		}
		perf_batch_release(f, batch);
	}
	return rc;
}

/* What the recording holds of code without a file; NULL: nothing, or it cannot be read. */
static struct jit_codes *recorded_code(struct perf_file *f)
{
	struct jit_codes *codes = NULL;
	const uint8_t *data;
	size_t n;
	struct err err;

	if (perf_file_recorded_code(f, &data, &n, &err) || !data ||
	    jit_codes_new(&codes, NULL, true, &err) || jit_codes_give(codes, data, n, &err))
		return NULL;
	return codes;
}

int main(int argc, char **argv)
{
	struct modules_options mopt = {0};
	struct unwind_options opt = {.method = argc > 3 ? UNWIND_FULL : UNWIND_AUTO};
	struct truth t = {0};
	struct unwinder *u;
	struct perf_file *f;
	struct err err;
	size_t i;
	int rc;

	if (argc < 3 || !symbols_read(&t, argv[2]) || perf_file_open(&f, argv[1], NULL, &err))
		return 2;
	opt.jit = recorded_code(f);
	if (modules_new(&t.modules, &mopt, &err) || unwinder_new(&u, t.modules, &opt, &err))
		return 2;
	rc = run(&t, f, u);
	printf("samples %" PRIu64 "\nbetween %" PRIu64 "\ncompared %" PRIu64 "\nframes %" PRIu64
	       "\nwrong %" PRIu64 "\ngaps %" PRIu64 "\n",
	       t.samples, t.between, t.compared, t.frames, t.wrong, t.gaps);
	for (i = 0; i < UNWIND_STOP_N; i++)
		if (t.stops[i])
			printf("%s: %" PRIu64 "\n", unwind_stop_text(i), t.stops[i]);
	for (i = 0; i < t.n_symbols; i++)
		free(t.symbols[i].path);
	free(t.symbols);
	unwinder_free(u);
	jit_codes_free(opt.jit);
	modules_free(t.modules);
	perf_file_close(f);
	return rc ? 2 : t.wrong > 0;
}
