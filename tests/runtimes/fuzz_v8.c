/* fuzz_v8.c - libFuzzer target: a process that says that it is a V8, and whose memory is anything.
 *
 * An input is a struct head, then what stands in memory from MEMORY on. Memory is a file, which
 * reads as /proc/PID/mem does: zeros around that, or nothing. With $UNSPOOL_FUZZ_SAY it says on
 * stderr what was named. */
#include <string.h>

#include "functions/functions.h"
#include "functions/jitdump.h"
#include "runtimes/v8.h"
#include "tests/fuzz.h"

enum { MEMORY = 0x10000, SEEN = 4, CHANGE = 8 };
#define MEMORY_END (1ull << 47)

enum {
	HAS_FILE = 1,  /* a file with the numbers is at MEMORY; else they are the head's */
	IS_SMALL = 2,  /* there is no more memory than what is given */
	IS_CHANGED = 4 /* before all is compared */
};

struct head {
	uint32_t flags;
	int32_t k[V8_N];
	uint32_t change_at; /* of the memory */
	uint8_t change[CHANGE];
	uint64_t seen[SEEN][3]; /* pc, function, bytecode */
};

static int memory_of(const uint8_t *data, size_t size, bool is_small)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && pwrite(fd, data, size, MEMORY) == (ssize_t)size);
	FUZZ_CHECK(!ftruncate(fd, is_small ? (off_t)(MEMORY + size + REMOTE_PAGE - 1) /
						     REMOTE_PAGE * REMOTE_PAGE
					   : (off_t)MEMORY_END));
	return fd;
}

static struct v8 *open_v8(const struct head *h, int fd)
{
	struct v8 *v = calloc(1, sizeof *v);
	struct err err;
	bool ok;

	FUZZ_CHECK(v);
	v->fresh.pid = 1;
	v->mem = (struct remote){.fd = fd, .pages = calloc(REMOTE_PAGES, sizeof *v->mem.pages)};
	FUZZ_CHECK(v->mem.pages);
	remote_renew(&v->mem, 1 << 17);
	memcpy(v->k, h->k, sizeof v->k);
	ok = h->flags & HAS_FILE ? !v8_read_tables(v, MEMORY, &err) : v8_numbers_fit(v);
	if (ok)
		return v;
	v8_free(v);
	return NULL;
}

static void check_known(const struct v8 *v, const struct v8_seen *seen, size_t n)
{
	for (size_t i = 0; i < v->spans.n; i++) {
		FUZZ_CHECK(v->spans.v[i].start < v->spans.v[i].end);
		FUZZ_CHECK(!i || v->spans.v[i - 1].start <= v->spans.v[i].start);
		FUZZ_CHECK(v8_knows(v, v->spans.v[i].start));
	}
	for (size_t i = 0; i < n; i++) {
		(void)v8_knows(v, seen[i].pc);
		(void)v8_knows_bytecode(v, seen[i].bytecode);
	}
}

/* Readers take what was written: the same number of pieces, at times that do not fall. */
static void check_log(struct code_log *log, bool says)
{
	struct jitdump d = {0};
	struct err err;

	FUZZ_CHECK(!log->failed);
	FUZZ_CHECK(!jitdump_read_memory(&d, log->bytes.v, log->bytes.n, "", &err));
	log->bytes.v = NULL; /* it is d's */
	log->bytes.n = log->bytes.cap = 0;
	for (size_t i = 0; i < d.tab.funcs.n; i++) {
		const struct func *f = &d.tab.funcs.v[i];
		const char *name = f->name;

		FUZZ_CHECK(f->start < f->end && name);
		FUZZ_CHECK(!*name || !strncmp(name, "JS:", 3));
		if (says && *name)
			fprintf(stderr, "%s\n", name);
	}
	jitdump_done(&d);
}

/* The process ends long after something had changed: then all may have, and no name holds on. */
static void check_end(struct v8 *v, struct code_log *log, struct v8_counts *c)
{
	v->mem.is_gone = true;
	v->changed_ns = v->changed_ns != 0;
	FUZZ_CHECK(!v8_write(v, log, c));
	for (size_t i = 0; i < v->pieces.n; i++)
		FUZZ_CHECK(v->pieces.v[i].is_dead || !v->changed_ns);
}

static void look(struct v8 *v, const struct head *h, int fd)
{
	const char *says = getenv("UNSPOOL_FUZZ_SAY");
	struct v8_seen seen[SEEN];
	struct v8_counts c = {0};
	struct code_log log;

	for (size_t i = 0; i < SEEN; i++)
		seen[i] = (struct v8_seen){h->seen[i][0], h->seen[i][1], h->seen[i][2], i + 1};
	code_log_begin(&log, 1, 0);
	FUZZ_CHECK(!v8_look(v, seen, SEEN, &c));
	check_known(v, seen, SEEN);
	FUZZ_CHECK(c.functions <= 2 * SEEN && c.functions == v->pieces.n);
	if (h->flags & IS_CHANGED)
		FUZZ_CHECK(pwrite(fd, h->change, CHANGE, MEMORY + (off_t)h->change_at) == CHANGE);
	FUZZ_CHECK(!v8_write(v, &log, &c));
	FUZZ_CHECK(c.changed <= c.functions);
	FUZZ_CHECK(!v8_look(v, seen, SEEN, &c) && !v8_write(v, &log, &c));
	check_known(v, seen, SEEN);
	check_end(v, &log, &c);
	check_log(&log, says);
	if (says)
		fprintf(stderr, "named %d torn %d changed %d\n", (int)c.functions, (int)c.torn,
			(int)c.changed);
	code_log_done(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct head h;
	struct v8 *v;
	int fd;

	if (size < sizeof h)
		return 0;
	memcpy(&h, data, sizeof h);
	fd = memory_of(data + sizeof h, size - sizeof h, h.flags & IS_SMALL);
	v = open_v8(&h, fd);
	if (v)
		look(v, &h, fd);
	v8_free(v); /* closes fd */
	return 0;
}
