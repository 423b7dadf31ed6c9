/* jit_recorded.c - the jitdumps in a recording: see jit_codes_give() of functions.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/unpack.h"
#include "functions/jitdump.h"

/* Limits: of one process unpacked, and of all of them, as so many times the section and some more.
 * Code shrinks to a tenth or a twentieth. */
enum { BYTES_MAX = 256 << 20, RATIO_MAX = 64, BYTES_FREE = 64 << 20, PROCESSES_MAX = 1 << 16 };

static const char where[] = "the section of runtimes' code";

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
		struct jit_recorded_dump d = {.pid = buf_u32(&b)};
		uint64_t at = buf_off(&b), bytes, packed;

		buf_skip(&b, 4);
		bytes = buf_u64(&b);
		packed = buf_u64(&b);
		d.packed = buf_take(&b, packed);
		if (!buf_ok(&b) || bytes > BYTES_MAX || bytes > room || r->dumps.n >= PROCESSES_MAX)
			return err_at(err, ERR_DAMAGED, where, at,
				      "what it holds of process %" PRIu32 " has a wrong size",
				      d.pid);
		room -= bytes;
		d.n = (size_t)bytes;
		d.n_packed = (size_t)packed;
		if (vec_push(&r->dumps, d) || hash_put(&r->by_pid, d.pid, (uint32_t)r->dumps.n - 1))
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

static int read_dump(struct jit_recorded_dump *d)
{
	uint8_t *data = malloc(d->n ? d->n : 1);
	struct jitdump *j = calloc(1, sizeof *j);
	int rc = data && j ? unpack(d, data) : -ERR_NOMEM;

	if (rc) {
		free(data);
		free(j);
		return rc;
	}
	rc = jitdump_read_memory(j, data, d->n, where, NULL);
	if (rc) {
		jitdump_done(j);
		free(j);
		return rc;
	}
	d->dump = j;
	return 0;
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
		int rc = read_dump(d);

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
