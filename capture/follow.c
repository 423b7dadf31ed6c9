/* follow.c - looks for what processes have mapped, executed and started since the last look.
 *
 * Sources: proc(5) for /proc/PID/stat (23 vsize, 26 startcode, 28 startstack). */
#include "capture/follow.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "capture/attr.h"
#include "capture/sysfile.h"

#define LOOK_NS	    1000000000ull
#define RECORD_MAX  (64 * 1024)
#define LOOKS_SHARE 10 /* of the time at most one part in so many is spent on looks */

/* ---- records -------------------------------------------------------------------------------- */

static uint32_t word(const uint8_t *rec, size_t at)
{
	uint32_t v;

	memcpy(&v, rec + at, sizeof v);
	return v;
}

/* FORK: pid, ppid, tid, ptid, time. COMM: pid, tid. */
static bool is_of_leader(const struct perf_event_header *h, const uint8_t *rec)
{
	return word(rec, 8) == word(rec, h->type == PERF_RECORD_FORK ? 16 : 12);
}

/* The trailer: TID, TIME, CPU, IDENTIFIER. */
static int emit_timed(struct follow *f, struct perf_event_header h, const uint8_t *rec, size_t n)
{
	uint8_t copy[RECORD_MAX], *end = copy + n - ATTR_SAMPLE_ID_BYTES;

	if (n > sizeof copy)
		return 0;
	if (h.type == PERF_RECORD_COMM && f->is_exec && is_of_leader(&h, rec))
		h.misc |= PERF_RECORD_MISC_COMM_EXEC;
	memcpy(copy, rec, n);
	memcpy(copy, &h, sizeof h);
	if (h.type == PERF_RECORD_FORK)
		memcpy(copy + 24, &f->time_ns, sizeof f->time_ns);
	memcpy(end, rec + 8, 4);
	memcpy(end + 4, rec + 8, 4);
	memcpy(end + 8, &f->time_ns, sizeof f->time_ns);
	memcpy(end + 24, &f->id, sizeof f->id);
	return f->emit(f->arg, copy, n);
}

/* Leaves out what the look before had, too. */
static int take(void *follow, const void *rec, size_t n)
{
	struct follow *f = follow;
	const uint64_t hash = hash_bytes(rec, n);
	const uint32_t known = hash_get(&f->records, hash);
	struct perf_event_header h;

	memcpy(&h, rec, sizeof h);
	if (hash_put(&f->records, hash, f->look)) {
		f->no_memory = true;
		return -1;
	}
	if (known != HASH_NONE && known + 1 >= f->look)
		return 0;
	if (!f->time_ns)
		return f->emit(f->arg, rec, n);
	/* Another parent, as its own has ended, is no reason to forget its maps. */
	if (h.type == PERF_RECORD_FORK && is_of_leader(&h, rec) && f->look > 1)
		return 0;
	return emit_timed(f, h, rec, n);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* False: it has ended, or waits for its parent (it then has no memory). */
static bool describe(pid_t pid, struct followed *ret)
{
	char path[64], text[1024], *at;
	uint64_t size, code, stack;
	struct stat st = {0};

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (sysfile_read(path, text, sizeof text) <= 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1,
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %" SCNu64 " %*s %*s %" SCNu64 " %*s %" SCNu64,
		   &size, &code, &stack) != 3 ||
	    !code)
		return false;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	stat(path, &st);
	ret->program = hash_mix(hash_mix(code, stack), hash_mix(st.st_dev, st.st_ino));
	ret->size = hash_mix(size, hash_bytes(text, (size_t)(at - text)));
	return true;
}

static int look(struct follow *f, struct followed *p, bool timed)
{
	int rc;

	f->look = p->look;
	p->looked_ns = clock_ns_of(ATTR_CLOCK);
	f->time_ns = timed ? p->looked_ns : 0;
	f->synth.emit = take;
	f->synth.arg = f;
	rc = synth_process(&f->synth, p->pid);
	p->took_ns = clock_ns_of(ATTR_CLOCK) - p->looked_ns;
	return f->no_memory ? -1 : rc;
}

int follow_process(struct follow *f, pid_t pid, bool is_new)
{
	struct followed p = {.pid = pid, .look = 1};

	describe(pid, &p);
	if (vec_push(&f->processes, p) ||
	    hash_put(&f->by_pid, (uint64_t)pid, (uint32_t)(f->processes.n - 1)))
		return -1;
	f->is_exec = false;
	return look(f, &f->processes.v[f->processes.n - 1], is_new);
}

static bool seems_changed(const struct followed *p, const struct followed *now, uint64_t ns)
{
	const uint64_t since = ns - p->looked_ns;

	if (now->program != p->program || since >= LOOK_NS)
		return true;
	return now->size != p->size && since >= p->took_ns * LOOKS_SHARE;
}

int follow_changes(struct follow *f, pid_t pid)
{
	const uint32_t i = hash_get(&f->by_pid, (uint64_t)pid);
	struct followed *p, now = {0};

	if (i == HASH_NONE || !describe(pid, &now))
		return 0;
	p = &f->processes.v[i];
	if (!seems_changed(p, &now, clock_ns_of(ATTR_CLOCK)))
		return 0;
	f->is_exec = now.program != p->program;
	p->program = now.program;
	p->size = now.size;
	p->look += f->is_exec ? 2 : 1; /* after an exec nothing is known */
	return look(f, p, true);
}

int follow_thread(struct follow *f, pid_t pid, pid_t tid)
{
	const uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
	const uint32_t i = hash_get(&f->by_pid, (uint64_t)pid);

	if (hash_get(&f->threads, key) != HASH_NONE || i == HASH_NONE)
		return 0;
	if (hash_put(&f->threads, key, 1))
		return -1;
	f->is_exec = false;
	f->look = f->processes.v[i].look;
	f->time_ns = clock_ns_of(ATTR_CLOCK);
	return pid == tid ? 0 : synth_thread(&f->synth, pid, pid, tid);
}

void follow_done(struct follow *f)
{
	synth_done(&f->synth);
	vec_done(&f->processes);
	hash_done(&f->by_pid);
	hash_done(&f->threads);
	hash_done(&f->records);
}
