/* jit_recorded.c - the jitdumps in a recording: see jit_codes_give() of functions.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"
#include "functions/jitdump.h"

/* Limits: of one process unpacked, and of all of them, as so many times the section and some more.
 * Code shrinks to a tenth or a twentieth. */
enum { BYTES_MAX = 256 << 20, RATIO_MAX = 64, BYTES_FREE = 64 << 20, DUMPS_MAX = 1 << 20 };

/* jitdump-specification.txt: the header, in which total_size says where the records begin. */
enum { JITDUMP_TOTAL_SIZE = 8, JITDUMP_HEADER_BYTES = 40 };

static const char where[] = "the section of runtimes' code";

/* Behind those of its process, if there are some. What passes BYTES_MAX is left out. */
static int add(struct jit_recorded *r, struct jit_recorded_dump d)
{
	const uint32_t at = (uint32_t)r->dumps.n, first = hash_get(&r->by_pid, d.pid);
	struct jit_recorded_dump *head;

	d.last = at;
	d.n_all = d.n;
	if (first == HASH_NONE)
		return vec_push(&r->dumps, d) || hash_put(&r->by_pid, d.pid, at);
	if (r->dumps.v[first].n_all + d.n > BYTES_MAX)
		return 0;
	if (vec_push(&r->dumps, d))
		return -1;
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
	uint64_t room = BYTES_FREE + (uint64_t)n * RATIO_MAX;

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
		if (!buf_ok(&b) || bytes > BYTES_MAX || bytes > room || r->dumps.n >= DUMPS_MAX)
			return err_at(err, ERR_DAMAGED, where, at,
				      "what it holds of process %" PRIu32 " has a wrong size",
				      d.pid);
		room -= bytes;
		d.n = (size_t)bytes;
		d.n_packed = (size_t)packed;
		if (add(r, d))
			return err_nomem(err);
	}
	return 0;
}

/* Returns 0, -ERR_DAMAGED or -ERR_NOMEM. */
static int unpack(const struct jit_recorded_dump *d, uint8_t *to)
{
	const struct unpacker *u = unpacker_find(d->packed, d->n_packed);
	struct piece p = {d->packed, d->n_packed, to, d->n};
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
	return step == STEP_DAMAGED || p.n_out ? -ERR_DAMAGED : 0;
}

/* Unpacks all of a process into `data`, less what each but the first begins with. Returns how many
 * bytes, *damaged: not all of them could be; or -ERR_NOMEM. */
static int64_t unpack_all(const struct jit_recorded *r, const struct jit_recorded_dump *head,
			  uint8_t *data, bool *damaged)
{
	const struct jit_recorded_dump *d = head;
	size_t at = 0;

	for (;;) {
		uint32_t skip = 0;
		const int rc = unpack(d, data + at);

		if (rc == -ERR_NOMEM)
			return rc;
		if (!rc && at && d->n >= JITDUMP_HEADER_BYTES)
			memcpy(&skip, data + at + JITDUMP_TOTAL_SIZE, sizeof skip);
		if (rc || (at && (!skip || skip > d->n))) {
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
	uint8_t *data = malloc(d->n_all ? (size_t)d->n_all : 1);
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
	d = &r->dumps.v[i];
	if (!d->is_open) {
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
