/* v8.c - the functions that a running V8 executes: their compiled code by its address, and what its
 * interpreter runs by what frames hold.
 *
 * A name is given where it is proved: a frame's JSFunction leads to the function that the code's
 * own data names, or to the bytecode that is in the frame, too. The collector moves and frees all
 * of these meanwhile. So what was read is compared with what is there afterwards, and now and then
 * with what is there later: what has changed has no name since the last time when it was the same,
 * and what is new has none before the sample that has shown it. */
#include "runtimes/v8.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "functions/functions.h"

/* Limits of one call, and of one process. */
enum {
	READS_MAX = 1 << 17,
	PIECES_MAX = 1 << 16,
	WAITING_MAX = 4096,
	BYTECODE_BYTES_MAX = 1 << 22
};

enum { TAG = 1, LENGTH_AT = 8, FUNCTION_TYPES = 16 };

/* Words of bytecode's head behind its length: its constants and tables, in any order. What V8
 * counts there comes later (bytecode-array.tq). */
enum { TABLES_AT = 16, TABLES_END = 48 };
/* Of the bytecode itself. */
enum { PRINT_BYTES = 64 };

/* Functions that are read, and then read again, together. */
enum { TOGETHER = 256 };

/* After a change others are expected for so long. */
#define CHANGES_NS 5000000000ull
/* Functions without a name are none to readers: what is there is not known from then on. */
#define NOT_KNOWN ""

int v8_open(struct v8 **ret, pid_t pid, uint64_t file, struct err *err)
{
	struct v8 *v = calloc(1, sizeof *v);
	int rc;

	if (!v)
		return err_nomem(err);
	v->fresh.pid = (uint32_t)pid;
	rc = remote_open(&v->mem, pid, err);
	if (!rc) {
		remote_renew(&v->mem, READS_MAX);
		rc = v8_read_tables(v, file, err);
	}
	if (rc) {
		v8_free(v);
		return rc;
	}
	*ret = v;
	return 0;
}

void v8_free(struct v8 *v)
{
	if (!v)
		return;
	if (v->mem.pages)
		remote_close(&v->mem);
	for (size_t i = 0; i < v->scripts.n; i++) {
		free(v->scripts.v[i]->ends);
		free(v->scripts.v[i]);
	}
	vec_done(&v->scripts);
	vec_done(&v->pieces);
	vec_done(&v->spans);
	code_log_done(&v->fresh);
	vec_done(&v->records);
	hash_done(&v->by_object);
	free(v);
}

/* ---- what is known ------------------------------------------------------------------------ */

static struct v8_piece *piece_of(struct v8 *v, uint64_t object)
{
	uint32_t i = hash_get(&v->by_object, object);

	return i == HASH_NONE || v->pieces.v[i].is_dead ? NULL : &v->pieces.v[i];
}

static int by_start(const void *a, const void *b)
{
	const struct v8_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The code of all pieces. */
static int sort_spans(struct v8 *v)
{
	v->spans.n = 0;
	for (size_t i = 0; i < v->pieces.n; i++) {
		const struct v8_piece *p = &v->pieces.v[i];

		if (!p->is_dead && !p->is_bytecode &&
		    vec_push(&v->spans, (struct v8_span){p->start, p->end}))
			return -ERR_NOMEM;
	}
	if (v->spans.n)
		qsort(v->spans.v, v->spans.n, sizeof *v->spans.v, by_start);
	return 0;
}

bool v8_knows(const struct v8 *v, uint64_t pc)
{
	size_t lo = 0, hi = v->spans.n;

	while (lo < hi) { /* the first that begins behind it */
		size_t mid = lo + (hi - lo) / 2;

		if (v->spans.v[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && pc < v->spans.v[lo - 1].end;
}

bool v8_knows_bytecode(const struct v8 *v, uint64_t bytecode)
{
	uint32_t i = hash_get(&v->by_object, bytecode);

	return i != HASH_NONE && !v->pieces.v[i].is_dead;
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* What was read of a sample's frame, and is to be read again. */
struct found {
	struct v8_piece piece;
	struct v8_function function;
	char mark;
	uint64_t time_ns; /* of the sample */
};

/* One call. */
struct pass {
	struct v8 *v;
	struct v8_counts *counts;
	bool nomem;
	VEC(struct found) found;
};

static int keep(struct pass *p, const struct v8_piece *piece)
{
	struct v8 *v = p->v;

	if (vec_push(&v->pieces, *piece) ||
	    hash_put(&v->by_object, piece->object, (uint32_t)v->pieces.n - 1)) {
		p->nomem = true;
		return -1;
	}
	p->counts->functions++;
	return 0;
}

static uint64_t print_of_code(const struct v8_code *c)
{
	return hash_mix(hash_mix(c->start ^ c->end << 1, c->shared), c->bytecode);
}

/* What tells it from other bytecode of the same length. That may get its memory, while what
 * belonged to its function is still in memory that is free. */
static bool bytecode_print(struct v8 *v, uint64_t bytecode, struct v8_piece *piece)
{
	const uint64_t n = piece->end - piece->start;
	uint8_t first[PRINT_BYTES];
	uint64_t word;

	if (!remote_read(&v->mem, piece->start, first, n < sizeof first ? n : sizeof first))
		return false;
	piece->print = hash_bytes(first, n < sizeof first ? n : sizeof first);
	for (int32_t at = TABLES_AT; at < TABLES_END && at < v->k[V8_BYTECODE_DATA]; at += 8) {
		if (!v8_word(v, bytecode, at, &word))
			return false;
		piece->print = hash_mix(piece->print, word);
	}
	return true;
}

/* The extent of bytecode, and its print. */
static bool bytecode_read(struct v8 *v, uint64_t bytecode, struct v8_piece *piece)
{
	int32_t n;

	if (!v8_is(v, bytecode, V8_TYPE_BYTECODE) || !v8_smi(v, bytecode, LENGTH_AT, &n) ||
	    n <= 0 || n > BYTECODE_BYTES_MAX)
		return false;
	piece->start = bytecode - TAG + (uint32_t)v->k[V8_BYTECODE_DATA];
	piece->end = piece->start + (uint32_t)n;
	return bytecode_print(v, bytecode, piece);
}

static uint64_t print_of_function(const struct v8_function *f)
{
	return hash_mix(hash_bytes(f->name, strlen(f->name)),
			(uint64_t)(uint32_t)f->start << 32 | (uint32_t)f->end);
}

static bool is_same_function(struct v8 *v, const struct v8_piece *p)
{
	struct v8_function f;
	bool nomem = false;

	return v8_function_read(v, p->shared, &f, &nomem) && print_of_function(&f) == p->name_print;
}

/* True if the piece is still what it was. */
static bool is_same(struct v8 *v, const struct v8_piece *p)
{
	struct v8_piece now = {0};
	struct v8_code code;
	uint64_t bytecode;

	if (!p->is_bytecode)
		return v8_code_read(v, p->object, &code) && print_of_code(&code) == p->print &&
		       is_same_function(v, p);
	return v8_is(v, p->shared, V8_TYPE_SHARED) && v8_shared_bytecode(v, p->shared, &bytecode) &&
	       bytecode == p->object && bytecode_read(v, bytecode, &now) && now.end == p->end &&
	       now.print == p->print && is_same_function(v, p);
}

static void write_piece(struct pass *p, enum v8_record_kind kind, uint64_t time_ns,
			const struct v8_piece *piece, const char *name, const struct v8_function *f)
{
	const size_t at = p->v->fresh.bytes.n;
	const struct code_log_frame frame = {.kind = JIT_FRAME_BYTECODE, .method = piece->object};
	struct v8_lines lines = {0};

	if (f && piece->is_bytecode)
		v8_lines_read(p->v, piece->object, piece->start, piece->end, f, &lines, &p->nomem);
	code_log_add(&p->v->fresh, time_ns,
		     &(struct code_log_piece){.start = piece->start,
					      .size = piece->end - piece->start,
					      .name = name,
					      .frame = piece->is_bytecode ? &frame : NULL,
					      .lines = lines.v.v,
					      .n_lines = lines.v.n,
					      .file = f && f->script ? f->script->file : NULL});
	vec_done(&lines.v);
	if (vec_push(&p->v->records,
		     (struct v8_record){time_ns, piece->same_ns, at, p->v->fresh.bytes.n, kind}))
		p->nomem = true;
}

/* What has changed while it was read is not named. */
static bool reads_same(struct pass *p, const struct found *x)
{
	struct v8_function again;

	return v8_function_read(p->v, x->piece.shared, &again, &p->nomem) &&
	       again.start == x->function.start && again.end == x->function.end &&
	       !strcmp(again.name, x->function.name) && is_same(p->v, &x->piece);
}

/* Reads again, past the cache, what was found, and names it. */
static void name_found(struct pass *p)
{
	char name[V8_NAME_MAX + 64];

	remote_forget(&p->v->mem);
	for (size_t i = 0; i < p->found.n && !p->nomem; i++) {
		struct found *x = &p->found.v[i];

		x->piece.same_ns = clock_ns();
		if (piece_of(p->v, x->piece.object))
			continue;
		if (!reads_same(p, x)) {
			p->counts->torn++;
			continue;
		}
		if (keep(p, &x->piece))
			break;
		v8_function_name(&x->function, x->mark, name, sizeof name);
		write_piece(p, V8_BEFORE, x->time_ns, &x->piece, NOT_KNOWN, NULL);
		write_piece(p, V8_NAME, x->time_ns, &x->piece, name, &x->function);
	}
	p->found.n = 0;
	remote_forget(&p->v->mem);
}

/* What a sample has shown of a function. */
static void take_piece(struct pass *p, const struct v8_piece *piece, char mark, uint64_t time_ns)
{
	struct found x = {.piece = *piece, .mark = mark, .time_ns = time_ns};

	if (p->v->pieces.n + p->found.n >= PIECES_MAX) {
		p->counts->is_cut = true;
		return;
	}
	if (!v8_function_read(p->v, piece->shared, &x.function, &p->nomem)) {
		p->counts->torn++;
		return;
	}
	x.piece.name_print = print_of_function(&x.function);
	if (vec_push(&p->found, x))
		p->nomem = true;
	else if (p->found.n == TOGETHER)
		name_found(p);
}

/* Constructors of classes and others have types of their own, which follow. */
static bool is_function(struct v8 *v, uint64_t object)
{
	uint16_t type;

	return v8_type(v, object, &type) && type >= v->k[V8_TYPE_FUNCTION] &&
	       type < v->k[V8_TYPE_FUNCTION] + FUNCTION_TYPES;
}

/* The function that a frame holds. What is none was no frame. */
static bool shared_of(struct v8 *v, const struct v8_seen *s, uint64_t *ret)
{
	return is_function(v, s->function) &&
	       v8_field(v, s->function, v->k[V8_FUNCTION_SHARED], V8_TYPE_SHARED, ret);
}

static void take_bytecode(struct pass *p, const struct v8_seen *s, uint64_t shared)
{
	struct v8_piece piece = {.object = s->bytecode, .shared = shared, .is_bytecode = true};
	uint64_t bytecode;

	if (!s->bytecode || piece_of(p->v, s->bytecode) ||
	    !v8_shared_bytecode(p->v, shared, &bytecode) || bytecode != s->bytecode ||
	    !bytecode_read(p->v, bytecode, &piece))
		return;
	take_piece(p, &piece, '~', s->time_ns);
}

static void take_code(struct pass *p, const struct v8_seen *s, uint64_t shared)
{
	struct v8_piece piece = {.shared = shared};
	struct v8_code c;
	uint64_t bytecode;

	if (!s->pc || !v8_code_find(p->v, s->pc, &c) || piece_of(p->v, c.object))
		return;
	if (c.bytecode
		    ? c.bytecode != s->bytecode || !v8_shared_bytecode(p->v, shared, &bytecode) ||
			      bytecode != c.bytecode
		    : c.shared != shared) {
		p->counts->torn++;
		return;
	}
	piece.start = c.start;
	piece.end = c.end;
	piece.object = c.object;
	piece.print = print_of_code(&c);
	take_piece(p, &piece, c.mark, s->time_ns);
}

int v8_look(struct v8 *v, const struct v8_seen *seen, size_t n, struct v8_counts *counts)
{
	struct pass p = {.v = v, .counts = counts};
	uint64_t shared;

	remote_renew(&v->mem, READS_MAX);
	for (size_t i = 0; i < n && v->mem.budget && !v->mem.is_gone && !p.nomem; i++)
		if (shared_of(v, &seen[i], &shared)) {
			take_bytecode(&p, &seen[i], shared);
			take_code(&p, &seen[i], shared);
		}
	name_found(&p);
	vec_done(&p.found);
	p.nomem |= sort_spans(v) != 0;
	counts->is_cut |= !v->mem.budget;
	counts->is_gone |= v->mem.is_gone;
	return p.nomem ? -ERR_NOMEM : 0;
}

/* ---- what has changed --------------------------------------------------------------------- */

static void check_all(struct pass *p)
{
	const uint64_t now = clock_ns();
	struct v8 *v = p->v;

	for (size_t i = 0; i < v->pieces.n; i++) {
		struct v8_piece *piece = &v->pieces.v[i];

		if (piece->is_dead)
			continue;
		if (is_same(v, piece)) {
			piece->same_ns = now;
			continue;
		}
		if (v->mem.is_gone || !v->mem.budget)
			return;
		piece->is_dead = true;
		p->counts->changed++;
		write_piece(p, V8_AFTER, piece->same_ns, piece, NOT_KNOWN, NULL);
	}
}

/* What a process did last, before it ended, is not seen. */
static bool expects_changes(const struct v8 *v, uint64_t now)
{
	return v->changed_ns && (v->mem.is_gone || now - v->changed_ns < CHANGES_NS);
}

/* The process has ended: what was moved or freed since the last look is not known. */
static void end_all(struct pass *p)
{
	for (size_t i = 0; i < p->v->pieces.n; i++) {
		struct v8_piece *piece = &p->v->pieces.v[i];

		if (!piece->is_dead)
			write_piece(p, V8_AFTER, piece->same_ns, piece, NOT_KNOWN, NULL);
		piece->is_dead = true;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct v8_record *x = a, *y = b;

	return x->time_ns != y->time_ns ? (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns)
					: (x->at > y->at) - (x->at < y->at);
}

/* Where things are moved or freed, what was read need not have been there when a sample showed its
 * place. */
static void date_by_reading(struct v8 *v)
{
	for (size_t i = 0; i < v->records.n; i++) {
		struct v8_record *r = &v->records.v[i];

		if (r->kind == V8_NAME)
			r->time_ns = r->read_ns;
		else if (r->kind == V8_BEFORE && r->time_ns > v->written_ns)
			r->time_ns = v->written_ns;
	}
}

/* Readers need times that do not fall. */
int v8_write(struct v8 *v, struct code_log *log, struct v8_counts *counts)
{
	const uint64_t changed = counts->changed, now = clock_ns();
	struct pass p = {.v = v, .counts = counts};

	remote_renew(&v->mem, READS_MAX);
	check_all(&p);
	if (counts->changed != changed)
		v->changed_ns = now;
	if (expects_changes(v, now)) {
		if (v->mem.is_gone)
			end_all(&p);
		date_by_reading(v);
	}
	if (v->records.n)
		qsort(v->records.v, v->records.n, sizeof *v->records.v, by_time);
	for (size_t i = 0; i < v->records.n; i++)
		code_log_append(log, &v->fresh, v->records.v[i].at, v->records.v[i].end,
				v->records.v[i].time_ns);
	v->records.n = 0;
	v->fresh.bytes.n = 0;
	v->written_ns = now;
	p.nomem |= sort_spans(v) != 0;
	counts->is_gone |= v->mem.is_gone;
	return p.nomem || log->failed || v->fresh.failed ? -ERR_NOMEM : 0;
}
