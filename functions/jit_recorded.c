/* jit_recorded.c - the jitdumps in a recording: see jit_codes_give() of functions.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"
#include "functions/jitdump.h"

/* Limits, unpacked. Of one process twice of what capture writes. How well code packs says nothing:
 * what is empty packs to a hundredth of a percent. So of all together there is a limit, too, and
 * where it is passed the largest are left out: who fills it takes no names but his own. */
enum { BYTES_MAX = 256 << 20, ALL_BYTES_MAX = 1 << 30, DUMPS_MAX = 1 << 20 };

/* jitdump-specification.txt: the header, in which total_size says where the records begin. */
enum { JITDUMP_TOTAL_SIZE = 8, JITDUMP_PID = 20, JITDUMP_HEADER_BYTES = 40 };

static const char where[] = "the section of runtimes' code";

/* Behind those of its process, if there are some. One with a size that cannot be, alone or with
 * those before it, is damaged. */
static int add(struct jit_recorded *r, struct jit_recorded_dump d, uint64_t bytes)
{
	const uint32_t at = (uint32_t)r->dumps.n, first = hash_get(&r->by_pid, d.pid);
	const uint64_t before = first == HASH_NONE ? 0 : r->dumps.v[first].n_all;
	struct jit_recorded_dump *head;

	d.is_damaged = bytes > BYTES_MAX - before;
	d.n = d.is_damaged ? 0 : (size_t)bytes;
	d.last = at;
	d.n_all = d.n;
	if (vec_push(&r->dumps, d))
		return -1;
	if (first == HASH_NONE)
		return hash_put(&r->by_pid, d.pid, at);
	head = &r->dumps.v[first];
	r->dumps.v[head->last].next = at;
	head->last = at;
	head->n_all += d.n;
	return 0;
}

int jit_recorded_open(struct jit_recorded *r, const uint8_t *data, size_t n, struct err *err)
{
	struct buf b = buf_make(data, n, 0, false);
	uint32_t magic = buf_u32(&b), version = buf_u32(&b);

	if (!buf_ok(&b) || magic != RUNTIME_CODE_MAGIC)
		return err_set(err, ERR_DAMAGED, where, "does not begin with its magic number");
	if (version != RUNTIME_CODE_VERSION)
		return err_set(err, ERR_UNSUPPORTED, where,
			       "has version %" PRIu32 "; this program reads %d", version,
			       RUNTIME_CODE_VERSION);
	while (buf_left(&b)) {
		struct jit_recorded_dump d = {.pid = buf_u32(&b), .next = HASH_NONE};
		uint64_t at = buf_off(&b), bytes, packed;

		buf_skip(&b, 4);
		bytes = buf_u64(&b);
		packed = buf_u64(&b);
		d.packed = buf_take(&b, packed);
		if (!buf_ok(&b) || r->dumps.n >= DUMPS_MAX)
			return err_at(err, ERR_DAMAGED, where, at,
				      "what is there, of process %" PRIu32 ", cannot be read",
				      d.pid);
		d.n_packed = (size_t)packed;
		if (add(r, d, bytes))
			return err_nomem(err);
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct jit_recorded_dump *const *x = a, *const *y = b;

	return ((*x)->n_all > (*y)->n_all) - ((*x)->n_all < (*y)->n_all);
}

/* Leaves out the largest while all are too large. Returns 0 or -ERR_NOMEM. */
static int keep_small(struct jit_recorded *r)
{
	VEC(struct jit_recorded_dump *) heads = {0};
	uint64_t all = 0;
	int rc = 0;

	r->is_settled = true;
	for (size_t i = 0; i < r->dumps.n && !rc; i++)
		if (hash_get(&r->by_pid, r->dumps.v[i].pid) == i)
			rc = vec_push(&heads, &r->dumps.v[i]);
	if (!rc && heads.n)
		qsort(heads.v, heads.n, sizeof *heads.v, by_bytes);
	for (size_t i = 0; i < heads.n && !rc; i++) {
		all += heads.v[i]->n_all;
		heads.v[i]->is_left_out = all > ALL_BYTES_MAX;
		r->n_left_out += heads.v[i]->is_left_out;
	}
	vec_done(&heads);
	return rc ? -ERR_NOMEM : 0;
}

/* All of d->n bytes and no more: to[d->n] is written, too. Returns 0, -ERR_DAMAGED or -ERR_NOMEM.
 */
static int unpack(const struct jit_recorded_dump *d, uint8_t *to)
{
	const struct unpacker *u = d->is_damaged ? NULL : unpacker_find(d->packed, d->n_packed);
	struct piece p = {d->packed, d->n_packed, to, d->n + 1};
	enum unpack_step step = STEP_ON;
	void *state;

	if (!u)
		return -ERR_DAMAGED;
	state = u->begin();
	if (!state)
		return -ERR_NOMEM;
	while (step == STEP_ON && (p.n_in || p.n_out)) {
		size_t in = p.n_in, out = p.n_out;

		step = u->step(state, &p, true);
		if (step == STEP_ON && in == p.n_in && out == p.n_out)
			break;
	}
	u->end(state);
	if (step == STEP_NOMEM)
		return -ERR_NOMEM;
	return step != STEP_END || p.n_in || p.n_out != 1 ? -ERR_DAMAGED : 0;
}

/* How long the header of an unpacked jitdump is; 0: it is none of that process. A frame is
 * another's if its record is damaged: names would be false. */
static uint32_t header_bytes(const struct jit_recorded_dump *d, const uint8_t *data)
{
	uint32_t bytes, pid;

	if (d->n < JITDUMP_HEADER_BYTES)
		return 0;
	memcpy(&bytes, data + JITDUMP_TOTAL_SIZE, sizeof bytes);
	memcpy(&pid, data + JITDUMP_PID, sizeof pid);
	return pid == d->pid && bytes <= d->n ? bytes : 0;
}

/* Unpacks all of a process into `data`, less what each but the first begins with. Returns how many
 * bytes, *damaged: not all of them could be; or -ERR_NOMEM. */
static int64_t unpack_all(const struct jit_recorded *r, const struct jit_recorded_dump *head,
			  uint8_t *data, bool *damaged)
{
	const struct jit_recorded_dump *d = head;
	size_t at = 0;

	for (;;) {
		const int rc = unpack(d, data + at);
		const uint32_t header = rc ? 0 : header_bytes(d, data + at);
		const uint32_t skip = at ? header : 0;

		if (rc == -ERR_NOMEM)
			return rc;
		if (!header) {
			*damaged = true;
		} else {
			memmove(data + at, data + at + skip, d->n - skip);
			at += d->n - skip;
		}
		if (d->next == HASH_NONE)
			return (int64_t)at;
		d = &r->dumps.v[d->next];
	}
}

/* Returns 0, -ERR_NOMEM, or -ERR_DAMAGED: d->dump has what is not, or is NULL. */
static int read_dump(const struct jit_recorded *r, struct jit_recorded_dump *d)
{
	uint8_t *data = malloc((size_t)d->n_all + 1);
	struct jitdump *j = calloc(1, sizeof *j);
	bool damaged = false;
	int64_t n = data && j ? unpack_all(r, d, data, &damaged) : -ERR_NOMEM;
	int rc;

	if (n <= 0) {
		free(data);
		free(j);
		return n ? (int)n : -ERR_DAMAGED;
	}
	rc = jitdump_read_memory(j, data, (size_t)n, where, NULL);
	if (rc) {
		jitdump_done(j);
		free(j);
		return rc;
	}
	d->dump = j;
	return damaged ? -ERR_DAMAGED : 0;
}

int jit_recorded_get(struct jit_recorded *r, uint32_t pid, const struct jitdump **ret,
		     struct err *err)
{
	uint32_t i = hash_get(&r->by_pid, pid);
	struct jit_recorded_dump *d;

	*ret = NULL;
	if (i == HASH_NONE)
		return 0;
	if (!r->is_settled && keep_small(r))
		return err_nomem(err);
	d = &r->dumps.v[i];
	if (!d->is_open && !d->is_left_out) {
		int rc = read_dump(r, d);

		if (rc == -ERR_NOMEM)
			return err_nomem(err);
		r->n_damaged += rc != 0;
	}
	d->is_open = true;
	*ret = d->dump;
	return 0;
}

void jit_recorded_done(struct jit_recorded *r)
{
	for (size_t i = 0; i < r->dumps.n; i++) {
		if (r->dumps.v[i].dump)
			jitdump_done(r->dumps.v[i].dump);
		free(r->dumps.v[i].dump);
	}
	vec_done(&r->dumps);
	hash_done(&r->by_pid);
}
