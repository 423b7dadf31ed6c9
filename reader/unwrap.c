/* unwrap.c - decompresses a compressed recording into a temporary file. */
#include "reader/byte_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/tempfile.h"
#include "base/unpack.h"

/* Recordings are compressed to a tenth. Zeros are compressed to nearly nothing, but gigabytes of
 * them are of no use. */
#define EXPANSION_FREE	(1ull << 30)
#define EXPANSION_RATIO 1000

enum { CHUNK = 1 << 18 };

struct unwrapping {
	const struct unpacker *unpacker;
	void *state;
	struct byte_source *source;
	struct piece p;
	uint8_t *in, *out; /* CHUNK each */
	int fd;
	uint64_t n_in, n_out;
	bool eof, between; /* between members */
	const char *why;
};

static int refill(struct unwrapping *u, struct err *err)
{
	ssize_t n = byte_source_read(u->source, u->in, CHUNK, err);

	if (n < 0)
		return (int)n;
	u->p.in = u->in;
	u->p.n_in = (size_t)n;
	u->n_in += (uint64_t)n;
	u->eof = !n;
	return 0;
}

static int flush(struct unwrapping *u, struct err *err)
{
	size_t n = CHUNK - u->p.n_out;

	u->n_out += n;
	u->p.out = u->out;
	u->p.n_out = CHUNK;
	if (u->n_out > EXPANSION_FREE && u->n_out / EXPANSION_RATIO > u->n_in)
		return err_set(err, ERR_LIMIT, u->source->name, "grows more than %d times",
			       EXPANSION_RATIO);
	return tempfile_append(u->fd, u->out, n, err);
}

/* One step: reads input, or writes a piece of output. Returns 1 at the end. */
static int unwrap_step(struct unwrapping *u, struct err *err)
{
	const struct piece before = u->p;
	const bool was_between = u->between;
	enum unpack_step did;

	if (!u->p.n_in && !u->eof)
		return refill(u, err);
	if (!u->p.n_in && u->between)
		return 1;
	did = u->unpacker->step(u->state, &u->p, u->eof);
	u->between = did == STEP_END;
	if (did == STEP_NOMEM)
		return err_nomem(err);
	if (did == STEP_DAMAGED) {
		/* After a complete member, bytes that are not another member are allowed. */
		if (!was_between)
			u->why = "the packed file is damaged; "
				 "what came before the damage is used";
		return 1;
	}
	if (u->eof && u->p.n_out == before.n_out) {
		if (!u->between)
			u->why = "the packed file is cut off";
		return 1;
	}
	return u->p.n_out ? 0 : flush(u, err);
}

static int unwrap_all(struct unwrapping *u, struct err *err)
{
	int rc;

	u->in = malloc(CHUNK);
	u->out = malloc(CHUNK);
	u->state = u->unpacker->begin();
	if (!u->in || !u->out || !u->state)
		return err_nomem(err);
	u->p = (struct piece){u->in, 0, u->out, CHUNK};
	while (!(rc = unwrap_step(u, err)))
		;
	return rc < 0 ? rc : flush(u, err);
}

int byte_source_unwrap(struct byte_source *s, const char **why, struct err *err)
{
	ssize_t n = byte_source_peek(s, UNPACK_MAGIC_BYTES, err);
	struct unwrapping u = {.source = s, .fd = -1};
	int rc;

	*why = NULL;
	if (n < 0)
		return (int)n;
	u.unpacker = unpacker_find(s->head, (size_t)n);
	if (!u.unpacker)
		return 0;
	u.fd = tempfile_open(err);
	if (u.fd < 0)
		return u.fd;
	rc = unwrap_all(&u, err);
	free(u.in);
	free(u.out);
	if (u.state)
		u.unpacker->end(u.state);
	if (rc) {
		close(u.fd);
		return rc;
	}
	byte_source_replace(s, u.fd, u.n_out);
	*why = u.why;
	return 0;
}
