/* alloc_event.c - finds the functions of allocators, and makes the events of --alloc. */
#include "capture/alloc_event.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"
#include "reader/format.h"

/* ---- functions ------------------------------------------------------------------------------ */

#if defined __aarch64__
#define A0	       "%x0"
#define A1	       "%x1"
#define A2	       "%x2"
#define RETURN_ADDRESS "ra=%x30:x64"
#else
#define A0	       "%di"
#define A1	       "%si"
#define A2	       "%dx"
#define RETURN_ADDRESS "ra=$stack0:x64"
#endif

/* A constant of the place: "\5". */
#define NUMBER(digit) "\\" digit
#define FIELDS(size, n, old) \
	" size=" size ":x64 n=" n ":x64 old=" old ":x64 sp=%sp:x64 " RETURN_ADDRESS

static const char of_a0[] = FIELDS(A0, NUMBER("1"), NUMBER("0")),
		  of_a1[] = FIELDS(A1, NUMBER("1"), NUMBER("0")),
		  stored[] = FIELDS(A2, NUMBER("0"), A0), of_array[] = FIELDS(A1, A0, NUMBER("0")),
		  of_realloc[] = FIELDS(A1, NUMBER("1"), A0);
static const char pointer_of_return[] = " pointer=$retval:x64";
static const char stored_by_return[] = " error=$retval:u64 sp=%sp:x64 words=+0($stack):x64[64]";
static const char pointer_of_free[] = " pointer=" A0 ":x64 sp=%sp:x64";

/* malloc(3), posix_memalign(3); operators new and delete of allocators that have their own; names
 * that Rust's crates give to jemalloc's. */
static const struct {
	const char *name, *fields;
} functions[] = {
	{"malloc", of_a0},
	{"calloc", of_array},
	{"realloc", of_realloc},
	{"memalign", of_a1},
	{"aligned_alloc", of_a1},
	{"posix_memalign", stored},
	{"valloc", of_a0},
	{"pvalloc", of_a0},
	{"_Znwm", of_a0},
	{"_Znam", of_a0},
	{"_ZnwmRKSt9nothrow_t", of_a0},
	{"_ZnamRKSt9nothrow_t", of_a0},
	{"_ZnwmSt11align_val_t", of_a0},
	{"_ZnamSt11align_val_t", of_a0},
	{"mallocx", of_a0},
	{"_rjem_malloc", of_a0},
	{"_rjem_calloc", of_array},
	{"_rjem_realloc", of_realloc},
	{"_rjem_mallocx", of_a0},
	{"free", NULL},
	{"cfree", NULL},
	{"_ZdlPv", NULL},
	{"_ZdaPv", NULL},
	{"_ZdlPvm", NULL},
	{"_ZdaPvm", NULL},
	{"_ZdlPvSt11align_val_t", NULL},
	{"_ZdaPvSt11align_val_t", NULL},
	{"dallocx", NULL},
	{"sdallocx", NULL},
	{"_rjem_free", NULL},
	{"_rjem_sdallocx", NULL},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* Beside the program, which may have one of its own. */
static const char *const libraries[] = {"libc.so.6", "libjemalloc.so.2", "libtcmalloc.so.4",
					"libtcmalloc_minimal.so.4", "libmimalloc.so.2"};

enum { FILES_MAX = 16, SITES_MAX = 256 };

struct sites {
	struct probe_site v[SITES_MAX];
	size_t n;
};

struct allocators {
	char paths[FILES_MAX][PATH_MAX];
	size_t n;
	struct sites entries, frees, stores;
};

static void add_file(struct allocators *a, const char *name, pid_t pid)
{
	char path[PATH_MAX];

	if (a->n == FILES_MAX || probe_locate(name, pid, path, NULL))
		return;
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->paths[i], path))
			return;
	memcpy(a->paths[a->n++], path, sizeof path);
}

/* What the environment puts before libc: ld.so(8). */
static void add_preloaded(struct allocators *a)
{
	const char *at = getenv("LD_PRELOAD");
	char name[PATH_MAX];

	for (; at && *at; at += *at != 0) {
		const size_t n = strcspn(at, " :");

		if (n && n < sizeof name) {
			memcpy(name, at, n);
			name[n] = 0;
			add_file(a, name, 0);
		}
		at += n;
	}
}

static void add_process(struct allocators *a, pid_t pid)
{
	char link[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof exe - 1);
	if (n > 0) {
		exe[n] = 0;
		add_file(a, exe, pid);
	}
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		add_file(a, libraries[i], pid);
}

/* ---- sites ---------------------------------------------------------------------------------- */

/* Bytes of x86-64 that a probe may be behind, as they change neither the stack nor arguments. The
 * kernel executes a push, on which a probe is, by itself; for most instructions it has to step over
 * a copy, which takes ten times as long (arch/x86/kernel/uprobes.c, push_setup_xol_ops(); 10 us
 * were measured in a virtual machine, 0.7 us on a push). What is freed as NULL jumps before. */
static size_t before_push(const uint8_t *code, size_t n, bool is_free)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, test_di[] = {0x48, 0x85, 0xff};
	size_t at = 0;

	if (n < 32)
		return 0;
	if (!memcmp(code, endbr64, sizeof endbr64))
		at += sizeof endbr64;
	if (is_free && !memcmp(code + at, test_di, sizeof test_di)) {
		const uint8_t *jump = code + at + sizeof test_di;

		if (jump[0] == 0x74)
			at += sizeof test_di + 2;
		else if (jump[0] == 0x0f && jump[1] == 0x84)
			at += sizeof test_di + 6;
	}
	if ((code[at] & 0xf8) == 0x50 || (code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50))
		return at;
	return 0;
}

static size_t place_of_probe(const char *path, uint64_t off, bool is_free)
{
	uint8_t code[32];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : pread(fd, code, sizeof code, (off_t)off);

	if (fd >= 0)
		close(fd);
#if defined __x86_64__
	return n > 0 ? before_push(code, (size_t)n, is_free) : 0;
#else
	(void)n;
	(void)is_free;
	return 0;
#endif
}

/* Functions may have several names. */
static void add_site(struct sites *s, const char *path, const char *name, uint64_t off,
		     const char *fields)
{
	off += place_of_probe(path, off, fields == pointer_of_free);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].off == off && s->v[i].path == path)
			return;
	if (s->n < SITES_MAX)
		s->v[s->n++] = (struct probe_site){path, name, off, fields};
}

/* Of one file. */
struct finding {
	struct allocators *a;
	const char *path;
};

static void found_function(void *arg, size_t i, uint64_t off)
{
	const struct finding *f = arg;
	const char *const fields = functions[i].fields;

	add_site(fields ? &f->a->entries : &f->a->frees, f->path, functions[i].name, off,
		 fields ? fields : pointer_of_free);
}

/* A file that cannot be read has none. */
static int find_functions(struct allocators *a, const char *path, struct err *err)
{
	const char *names[N_FUNCTIONS];
	struct finding f = {a, path};
	int rc;

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		names[i] = functions[i].name;
	rc = probe_find_named(path, names, N_FUNCTIONS, found_function, &f, NULL);
	return rc == -ERR_NOMEM ? err_nomem(err) : 0;
}

static bool is_interrupted(const struct session *s)
{
	return s->probes.stop && *s->probes.stop;
}

static int find_in_files(struct session *s, struct allocators *a, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < a->n && !rc; i++) {
		if (is_interrupted(s))
			return err_set(err, ERR_USAGE, NULL,
				       "interrupted before the recording began");
		rc = find_functions(a, a->paths[i], err);
	}
	return rc;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Where allocations of a class end: 16 << 4 * class. */
static uint64_t class_end(unsigned class)
{
	return (uint64_t)16 << 4 * class;
}

/* The largest prime number up to n: programs do things each second, tenth or 64th time. */
static uint64_t period_of(uint64_t n)
{
	for (; n > 2; n--) {
		uint64_t by = 2;

		while (by * by <= n && n % by)
			by++;
		if (by * by > n)
			return n;
	}
	return 1;
}

static void add_term(char *ret, size_t size, const char *term)
{
	const size_t used = strlen(ret);

	snprintf(ret + used, size - used, "%s%s", used ? "||" : "", term);
}

/* As heap_class() says: of one object by its size, of more by the sum of both logarithms. */
static void make_filter(char *ret, size_t size, unsigned class, unsigned last)
{
	char term[128];

	*ret = 0;
	if (class < last)
		snprintf(term, sizeof term, "n<2&&size>=%" PRIu64 "&&size<%" PRIu64,
			 class ? class_end(class - 1) : 0, class_end(class));
	else
		snprintf(term, sizeof term, "n<2&&size>=%" PRIu64,
			 class ? class_end(class - 1) : 0);
	add_term(ret, size, term);
	for (unsigned of_size = 0; of_size < class; of_size++) {
		const unsigned of_n = class - 1 - of_size;
		const uint64_t from = of_size ? class_end(of_size - 1) : 0;
		const uint64_t n_from = of_n ? class_end(of_n - 1) : 2;

		if (class < last)
			snprintf(term, sizeof term,
				 "size>=%" PRIu64 "&&size<%" PRIu64 "&&n>=%" PRIu64 "&&n<%" PRIu64,
				 from, class_end(of_size), n_from, class_end(of_n));
		else
			snprintf(term, sizeof term, "size>=%" PRIu64 "&&n>=%" PRIu64, from, n_from);
		add_term(ret, size, term);
	}
}

static int add_event(struct session *s, const struct event *like, const char *name,
		     struct event **ret, struct err *err)
{
	struct event *e = &s->events[s->n_events];

	if (s->n_events == CAPTURE_EVENTS_MAX)
		return err_set(err, ERR_USAGE, NULL, "more than %d events", CAPTURE_EVENTS_MAX);
	*e = like ? *like : (struct event){0};
	e->is_alloc = true;
	e->exclude_kernel = e->exclude_hv = false;
	e->period = 1;
	snprintf(e->name, sizeof e->name, "%s", name);
	s->n_events++;
	*ret = e;
	return 0;
}

/* The classes have stacks, the event of all entries has none; they are one event of tracefs. */
static int add_entries(struct session *s, const struct sites *sites, struct err *err)
{
	const uint64_t bytes = s->opt->alloc_bytes;
	struct event probe = {.name = HEAP_ENTRY_EVENT}, *e = NULL;
	unsigned class, last = 0;
	char name[64];
	int rc = probe_event_at(&s->probes, &probe, 'p', sites->v, sites->n, err);

	while (class_end(last) < bytes)
		last++;
	for (class = 0; class <= last && !rc; class ++) {
		snprintf(name, sizeof name, HEAP_STACK_EVENT "%u", class);
		rc = add_event(s, &probe, name, &e, err);
		if (rc)
			break;
		e->period = period_of(bytes / class_end(class));
		make_filter(e->filter, sizeof e->filter, class, last);
	}
	if (!rc)
		rc = add_event(s, &probe, HEAP_ENTRY_EVENT, &e, err);
	if (!rc)
		e->no_stack = true;
	return rc;
}

static int add_others(struct session *s, const struct sites *sites, const char *name, char letter,
		      struct err *err)
{
	struct event *e = NULL;
	int rc = add_event(s, NULL, name, &e, err);

	if (rc)
		return rc;
	e->no_stack = true;
	return probe_event_at(&s->probes, e, letter, sites->v, sites->n, err);
}

/* Leaves in s what returns a pointer, and moves the others to `ret`. */
static void make_returns(struct sites *s, struct sites *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const bool stores = s->v[i].fields == stored;
		struct probe_site *to = stores ? &ret->v[ret->n++] : &s->v[n++];

		*to = s->v[i];
		to->fields = stores ? stored_by_return : pointer_of_return;
	}
	s->n = n;
}

static int add_events(struct session *s, struct allocators *a, struct err *err)
{
	int rc = add_entries(s, &a->entries, err);

	make_returns(&a->entries, &a->stores);
	if (!rc && a->entries.n)
		rc = add_others(s, &a->entries, HEAP_RETURN_EVENT, 'r', err);
	if (!rc && a->stores.n)
		rc = add_others(s, &a->stores, HEAP_STORED_EVENT, 'r', err);
	if (!rc && a->frees.n)
		rc = add_others(s, &a->frees, HEAP_FREE_EVENT, 'p', err);
	snprintf(s->events[s->n_events].name, sizeof s->events->name, "dummy:u");
	return rc;
}

int alloc_events(struct session *s, pid_t pid, struct err *err)
{
	struct allocators *a = calloc(1, sizeof *a);
	int rc = a ? 0 : err_nomem(err);

	for (size_t i = 0; a && pid && i < s->processes.tids.n; i++)
		add_process(a, s->processes.tids.v[i]);
	if (a && !pid) {
		if (s->opt->command)
			add_file(a, s->opt->command[0], 0);
		add_preloaded(a);
		for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
			add_file(a, libraries[i], 0);
	}
	if (!rc)
		rc = find_in_files(s, a, err);
	if (!rc && !a->entries.n)
		rc = err_set(err, ERR_NOT_FOUND, NULL,
			     "--alloc: no function malloc was found, in the program or in libc");
	if (!rc)
		rc = add_events(s, a, err);
	free(a);
	return rc;
}
