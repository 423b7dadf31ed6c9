/* in_heap.c - the text of tcmalloc's and jemalloc's heap profiles, with the memory map at its end:
 *
 *	heap profile:  2:  96 [ 5: 240] @ heap_v2/524288	heap_v2/524288
 *	  1:  64 [ 3: 144] @ 0x401156 0x7f12ab340000		  t*: 2: 96 [0: 0]
 *	MAPPED_LIBRARIES:					@ 0x401156 0x7f12ab340000
 *	00401000-00402000 r-xp 00001000 08:01 42 /bin/x		  t*: 1: 64 [0: 0]
 *
 * Sources of truth: gperftools' "Gperftools Heap Profiler" and its src/heap-profile-table.cc,
 * jemalloc's src/prof_data.c, proc(5). Numbers are objects and bytes in use, and in brackets
 * allocated. Addresses are return addresses, leaf first. With a rate, allocations were recorded
 * with the probability 1 - exp(-bytes / rate), and each stands for the others. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 1024, NAMES_MAX = 64 };

enum value { IN_USE_OBJECTS, IN_USE_SPACE, ALLOC_OBJECTS, ALLOC_SPACE, VALUES };

static const struct {
	const char *name, *unit;
} values[VALUES] = {{"inuse_objects", "count"},
		    {"inuse_space", "bytes"},
		    {"alloc_objects", "count"},
		    {"alloc_space", "bytes"}};

struct heap_stack {
	size_t first, n; /* in addresses */
	uint64_t values[VALUES];
};

struct heap_map {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min;
	uint32_t path;
};

/* A name of pprof --raw. */
struct heap_symbol {
	uint64_t at;
	uint32_t name; /* inlined functions first, "--" between them */
};

enum section { SECTION_STACKS, SECTION_MAPS, SECTION_SYMBOLS };

struct reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	enum section section;
	bool has_head, in_stack; /* jemalloc: its numbers follow */
	double rate;		 /* bytes; 0: all allocations were recorded */
	VEC(uint64_t) addresses;
	VEC(struct heap_stack) stacks;
	VEC(struct heap_map) maps; /* of code, by address as the kernel lists them */
	VEC(struct heap_symbol) symbols;
	VEC(uint32_t) path;
	uint32_t comm;
	uint32_t events[VALUES];
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* "1: 64 [3: 144] @": returns what follows, or NULL. */
static const char *take_values(const char *s, uint64_t v[VALUES])
{
	int used = 0;

	if (sscanf(s, " %" SCNu64 ": %" SCNu64 " [ %" SCNu64 ": %" SCNu64 "]%n", &v[0], &v[1],
		   &v[2], &v[3], &used) != VALUES ||
	    !used)
		return NULL;
	return s + used;
}

static int take_addresses(struct reader *r, const char *s, struct err *err)
{
	struct heap_stack stack = {.first = r->addresses.n};
	char *end;

	for (s += strspn(s, " \t"); *s; s = end + strspn(end, " \t")) {
		const uint64_t at = strtoull(s, &end, 16);

		if (end == s || (*end && !isspace((unsigned char)*end)) || stack.n == FRAMES_MAX)
			return 1;
		stack.n++;
		if (vec_push(&r->addresses, at))
			return err_nomem(err);
	}
	return vec_push(&r->stacks, stack) ? err_nomem(err) : 0;
}

/* "heap profile: 2: 96 [5: 240] @ heap_v2/524288" or "heap_v2/524288" */
static int take_head(struct reader *r, const char *s)
{
	uint64_t sums[VALUES];
	const char *kind = s, *slash;

	if (str_starts_with(s, "heap profile:")) {
		kind = take_values(s + strlen("heap profile:"), sums);
		if (!kind || !str_starts_with(kind += strspn(kind, " "), "@ "))
			return 1;
		kind += 2 + strspn(kind + 2, " ");
	}
	slash = strchr(kind, '/');
	r->has_head = true;
	r->rate = slash ? strtod(slash + 1, NULL) : 0;
	/* The first version of sampling took each byte's allocation with 2 / rate. */
	if (str_starts_with(kind, "heap/"))
		r->rate /= 2;
	return isfinite(r->rate) && r->rate >= 0 ? 0 : 1;
}

static int take_stack(struct reader *r, const char *s, struct err *err)
{
	uint64_t v[VALUES];
	const char *at;
	int rc;

	if (*s == '@') {
		rc = take_addresses(r, s + 1, err);
		r->in_stack = !rc;
		return rc;
	}
	s += strspn(s, " \t");
	if (*s == 't') { /* of all threads, or of one of them */
		at = strchr(s, ':');
		at = at ? take_values(at + 1, v) : NULL;
		if (!at)
			return 1;
		if (s[1] == '*' && r->in_stack)
			memcpy(r->stacks.v[r->stacks.n - 1].values, v, sizeof v);
		return 0;
	}
	at = take_values(s, v);
	if (!at || !str_starts_with(at += strspn(at, " "), "@"))
		return 1;
	rc = take_addresses(r, at + 1, err);
	if (!rc)
		memcpy(r->stacks.v[r->stacks.n - 1].values, v, sizeof v);
	return rc;
}

/* What the kernel appends to the paths of files that were removed, or replaced by a build. */
#define DELETED " (deleted)"

static int take_map(struct reader *r, const char *s, struct err *err)
{
	struct heap_map m;
	size_t n;
	char perms[5] = "";
	int used = 0;

	if (sscanf(s,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &m.start, &m.end, perms, &m.pgoff, &m.maj, &m.min, &m.ino, &used) != 7 ||
	    !used || m.end <= m.start)
		return 1;
	s += used;
	if (!*s || perms[2] != 'x')
		return 0;
	n = str_ends_with(s, DELETED) ? strlen(s) - (sizeof DELETED - 1) : strlen(s);
	m.path = profile_string(r->p, s, n);
	if (m.path == STRTAB_FAILED)
		return err_nomem(err);
	if (r->maps.n && m.start < r->maps.v[r->maps.n - 1].end)
		return 1;
	if (!r->maps.n) /* the program itself is the first file */
		r->comm = profile_string(r->p, base_name(s), n - (size_t)(base_name(s) - s));
	return vec_push(&r->maps, m) || r->comm == STRTAB_FAILED ? err_nomem(err) : 0;
}

static int take_symbol(struct reader *r, const char *s, struct err *err)
{
	struct heap_symbol symbol;
	char *end;

	if (str_starts_with(s, "binary=")) {
		r->comm = profile_string(r->p, base_name(s + 7), strlen(base_name(s + 7)));
		return r->comm == STRTAB_FAILED ? err_nomem(err) : 0;
	}
	symbol.at = strtoull(s, &end, 16);
	if (end == s || *end != ' ')
		return 1;
	symbol.name = profile_string(r->p, end + 1, strlen(end + 1));
	if (symbol.name == STRTAB_FAILED || vec_push(&r->symbols, symbol))
		return err_nomem(err);
	return 0;
}

static int take_line(void *arg, char *line, size_t n, struct err *err)
{
	struct reader *r = arg;

	n = line_trimmed(line, n);
	line[n] = '\0';
	if (!n || *line == '#')
		return 0;
	if (str_starts_with(line, "---")) {
		r->section = !strcmp(line, "--- symbol") ? SECTION_SYMBOLS : SECTION_STACKS;
		return 0;
	}
	if (r->section == SECTION_SYMBOLS)
		return take_symbol(r, line, err);
	if (!strcmp(line, "MAPPED_LIBRARIES:")) {
		r->section = SECTION_MAPS;
		return 0;
	}
	if (r->section == SECTION_MAPS)
		return take_map(r, line, err);
	return r->has_head ? take_stack(r, line, err) : take_head(r, line);
}

/* ---- the profile ----------------------------------------------------------------------------- */

static int compare_symbols(const void *pa, const void *pb)
{
	const struct heap_symbol *a = pa, *b = pb;

	return (a->at > b->at) - (a->at < b->at);
}

static int compare_address(const void *key, const void *element)
{
	const uint64_t at = *(const uint64_t *)key;
	const struct heap_symbol *s = element;

	return (at > s->at) - (at < s->at);
}

/* Names of a text, innermost first. */
static int lines_of(struct reader *r, uint64_t at, struct profile_line lines[NAMES_MAX], size_t *n,
		    struct err *err)
{
	const struct heap_symbol *symbol = r->symbols.n
						   ? bsearch(&at, r->symbols.v, r->symbols.n,
							     sizeof *r->symbols.v, compare_address)
						   : NULL;
	char *text = symbol ? strdup(strtab_get(&r->p->strings, symbol->name)) : NULL, *s = text;
	int rc = symbol && !text ? err_nomem(err) : 0;

	/* A name that is an address is none. */
	for (*n = 0; s && !rc && *n < NAMES_MAX && strncmp(s, "0x", 2) != 0; (*n)++) {
		char *next = strstr(s, "--");
		struct profile_function f = {.is_foreign = true};

		if (next)
			*next = '\0';
		f.name = profile_string(r->p, s, strlen(s));
		lines[*n] = (struct profile_line){0};
		rc = profile_add_function(r->p, &f, &lines[*n].function, err);
		s = next ? next + 2 : NULL;
	}
	free(text);
	return rc;
}

static const struct heap_map *map_of(const struct reader *r, uint64_t at)
{
	size_t low = 0, high = r->maps.n;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (r->maps.v[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->maps.n && r->maps.v[low].start <= at ? &r->maps.v[low] : NULL;
}

static int location_of(struct reader *r, uint64_t ip, uint32_t *ret, struct err *err)
{
	const struct heap_map *map = map_of(r, ip - 1);
	struct profile_location l = {
		.how = FRAME_USER_CHAIN, .ip = ip, .off = ip - 1, .is_return_address = true};
	struct profile_line lines[NAMES_MAX];
	size_t n;
	int rc = lines_of(r, ip, lines, &n, err);

	if (!rc && !n && r->symbols.n) /* older versions name the instruction before */
		rc = lines_of(r, ip - 1, lines, &n, err);
	if (!rc && map) {
		const char *path = strtab_get(&r->p->strings, map->path);
		const struct profile_mapping m = {
			.path = map->path,
			.kind = *path == '/' ? DSO_FILE : DSO_UNKNOWN,
			.maj = map->maj,
			.min = map->min,
			.ino = map->ino,
			.map = {.start = map->start, .end = map->end, .pgoff = map->pgoff}};

		rc = profile_add_mapping(r->p, &m, &l.mapping, err);
		l.off = ip - 1 - map->start + map->pgoff;
	}
	return rc ? rc : profile_add_location(r->p, &l, lines, n, ret, err);
}

/* How many allocations like these were not recorded, for each that was. */
static double scale_of(const struct reader *r, uint64_t n, uint64_t bytes)
{
	return r->rate > 1 && n ? 1 / -expm1(-((double)bytes / (double)n) / r->rate) : 1;
}

static int add_stack(struct reader *r, const struct heap_stack *stack, struct err *err)
{
	const struct input_sample about = {.comm = strtab_get(&r->p->strings, r->comm),
					   .event = "",
					   .pid = PROFILE_NO_PID,
					   .tid = PROFILE_NO_PID};
	struct profile_sample s = {.comm = r->comm, .pid = PROFILE_NO_PID, .tid = PROFILE_NO_PID};
	const uint64_t *v = stack->values;
	const double scale[] = {scale_of(r, v[IN_USE_OBJECTS], v[IN_USE_SPACE]),
				scale_of(r, v[ALLOC_OBJECTS], v[ALLOC_SPACE])};

	if (!input_accepts(r->opt, &about, r->ret))
		return 0;
	r->path.n = 0;
	for (size_t i = stack->n; i--;) {
		uint32_t location;

		if (location_of(r, r->addresses.v[stack->first + i], &location, err))
			return -(int)err->code;
		if (vec_push(&r->path, location))
			return err_nomem(err);
	}
	if (profile_add_stack(r->p, r->path.v, r->path.n, &s.node, err))
		return -(int)err->code;
	for (int i = 0; i < VALUES; i++) {
		const double scaled = (double)v[i] * scale[i / 2];

		if (!(scaled < 1.8e19)) {
			r->ret->damaged++;
			continue;
		}
		s.event = r->events[i];
		s.count = s.period = scale[i / 2] > 1 ? (uint64_t)(scaled + 0.5) : v[i];
		if (s.count && profile_add_sample(r->p, &s, err))
			return -(int)err->code;
	}
	return 0;
}

static int add_events(struct reader *r, struct err *err)
{
	for (int i = 0; i < VALUES; i++) {
		const char *name = values[i].name, *unit = values[i].unit;

		if (profile_add_event(r->p, profile_string(r->p, name, strlen(name)),
				      profile_string(r->p, unit, strlen(unit)), &r->events[i], err))
			return -(int)err->code;
		r->p->events.v[r->events[i]].is_sum = true;
		r->p->events.v[r->events[i]].is_default = i == IN_USE_SPACE;
	}
	return 0;
}

static int read_heap(struct profile *p, struct input_source *s, const struct input_options *opt,
		     struct input_result *ret, struct err *err)
{
	struct reader r = {.p = p, .opt = opt, .ret = ret};
	int rc = input_each_line(s, ret, take_line, &r, err);

	if (!rc && r.symbols.n)
		qsort(r.symbols.v, r.symbols.n, sizeof *r.symbols.v, compare_symbols);
	if (!rc)
		rc = add_events(&r, err);
	for (size_t i = 0; !rc && i < r.stacks.n; i++)
		rc = add_stack(&r, &r.stacks.v[i], err);
	if (!r.maps.n && !r.symbols.n)
		input_note(ret, "stacks have no names: the text has no MAPPED_LIBRARIES",
			   r.stacks.n, true);
	ret->has_offsets = true;
	vec_done(&r.addresses);
	vec_done(&r.stacks);
	vec_done(&r.maps);
	vec_done(&r.symbols);
	vec_done(&r.path);
	return rc;
}

/* The head, and a stack or the sum of the threads behind it. */
static bool detect(const char *head, size_t n)
{
	const char *heap = strstr(head, "heap profile:"), *v2 = strstr(head, "heap_v2/");
	uint64_t v[VALUES];
	const char *line;

	(void)n;
	if (heap != head && v2 != head && !str_starts_with(head, "--- symbol\n"))
		return false;
	if (heap)
		return take_values(heap + strlen("heap profile:"), v) && strstr(heap, "] @ ");
	line = v2 ? strchr(v2, '\n') : NULL;
	line = line ? line + 1 + strspn(line + 1, " ") : "";
	return *line == 't' && line[strcspn(line, ":\n")] == ':' &&
	       take_values(line + strcspn(line, ":") + 1, v);
}

const struct input_format input_heap = {
	.name = "heap",
	.help = "the text of tcmalloc's and jemalloc's heap profiles",
	.detect = detect,
	.read = read_heap,
};
