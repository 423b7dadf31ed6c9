/* record_simpleperf.c - the additional records of simpleperf. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "reader/reader.h"
#include "reader/record.h"

/* u32 size, then the text of /proc/kallsyms. */
int apply_kernel_symbol(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	uint32_t n = buf_u32(&v->b);
	const uint8_t *text = buf_take(&v->b, n);
	char *copy;

	if (!text) {
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
		return 0;
	}
	if (!n)
		return 0;
	copy = malloc(n);
	if (!copy)
		return err_nomem(&f->err);
	free(sp->kallsyms);
	sp->kallsyms = memcpy(copy, text, n);
	sp->kallsyms_bytes = n;
	return 0;
}

/* From versions before the FILE section: type, id, min_vaddr, path. */
int apply_dso(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	uint64_t type = buf_u64(&v->b), id = buf_u64(&v->b), min_vaddr = buf_u64(&v->b);
	const char *path = buf_cstr(&v->b);
	struct symbol_file *sf = simpleperf_add_file(sp, path, strlen(path));

	if (!sf || sp->files.n >= HASH_NONE ||
	    hash_put(&sp->by_dso_id, id, (uint32_t)sp->files.n - 1))
		return err_nomem(&f->err);
	symbol_file_set_type(sf, type, min_vaddr, NULL);
	return 0;
}

/* start, len, id of the dso, name. */
int apply_symbol(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	uint64_t start = buf_u64(&v->b), len = buf_u64(&v->b);
	uint32_t file = hash_get(&sp->by_dso_id, buf_u64(&v->b));
	const char *name = buf_cstr(&v->b);

	if (file == HASH_NONE)
		return 0;
	return symbol_file_add(sp, sp->files.v[file], start, len, name, strlen(name))
		       ? err_nomem(&f->err)
		       : 0;
}

/* A record larger than perf allows: a piece in each SPLIT record, until SPLIT_END. */
int apply_split(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	size_t n = buf_left(&v->b);

	if (sp->pieces.n + n > SIMPLEPERF_BIG_MAX)
		sp->pieces_dropped = true;
	if (sp->pieces_dropped || !n)
		return 0;
	if (vec_reserve(&sp->pieces, sp->pieces.n + n))
		return err_nomem(&f->err);
	memcpy(sp->pieces.v + sp->pieces.n, v->b.p, n);
	sp->pieces.n += n;
	return 0;
}

int apply_split_end(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	int rc = 0;

	if (sp->pieces_dropped || sp->pieces.n < sizeof(struct perf_event_header))
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
	else
		rc = simpleperf_take_big(f, sp->pieces.v, sp->pieces.n);
	sp->pieces.n = 0;
	sp->pieces_dropped = false;
	return rc;
}

int simpleperf_take_big(struct perf_file *f, const uint8_t *record, size_t n)
{
	struct record_view v = record_view(f, record, n, 0);
	const struct record_row *row = record_row(v.type);
	enum perf_skip skip;
	size_t payload;

	/* Assembled records do not consist of pieces again. */
	if (!is_simpleperf_record(v.type) || v.type == RECORD_SIMPLEPERF_SPLIT ||
	    v.type == RECORD_SIMPLEPERF_SPLIT_END) {
		file_skip(f, PERF_SKIP_UNKNOWN_TYPE, v.type);
		return 0;
	}
	if (row->when != RECORD_NOW) {
		f->simpleperf.n_unused[v.type - RECORD_SIMPLEPERF]++;
		return 0;
	}
	skip = record_check(row, &v, &payload);
	if (skip == PERF_SKIP_N)
		return row->apply(f, &v);
	file_skip(f, skip, v.type);
	return 0;
}

/* u64 n, then for each {index of an event, id}: ids that were added after the header was written.
 */
int apply_event_id(struct perf_file *f, struct record_view *v)
{
	uint64_t n = buf_u64(&v->b);

	for (; n && buf_left(&v->b) >= 16; n--) {
		uint64_t event = buf_u64(&v->b), id = buf_u64(&v->b);

		if (event < f->events.v.n && events_add_id(&f->events, event, id))
			return err_nomem(&f->err);
	}
	if (n)
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
	return 0;
}

/* u32 size, then the same contents as the header section TRACING_DATA of perf. */
int apply_tracing_data(struct perf_file *f, struct record_view *v)
{
	uint32_t n = buf_u32(&v->b);
	const uint8_t *p = buf_take(&v->b, n);

	if (!p) {
		file_skip(f, PERF_SKIP_BAD_COUNT, v->type);
		return 0;
	}
	return features_give(f->features, FEATURE_TRACING_DATA, p, n) ? err_nomem(&f->err) : 0;
}

/* ---- chains ------------------------------------------------------------------------------ */

/* pid, tid, kind, time, n, ips[n], sps[n]: the callers that simpleperf has unwound. The record
 * comes before its sample, and again if other samples of the thread made a longer chain possible.
 * The last one counts. */
int apply_callchain(struct perf_file *f, struct record_view *v)
{
	struct simpleperf *sp = &f->simpleperf;
	uint64_t n;

	buf_skip(&v->b, 4); /* pid */
	sp->chain_tid = buf_u32(&v->b);
	buf_skip(&v->b, 8); /* kind */
	sp->chain_time = buf_u64(&v->b);
	n = buf_u64(&v->b); /* checked by record_check() */
	sp->chain.n = 0;
	if (vec_reserve(&sp->chain, n))
		return err_nomem(&f->err);
	while (sp->chain.n < n)
		sp->chain.v[sp->chain.n++] = buf_u64(&v->b);
	return 0;
}

int simpleperf_chain(const struct simpleperf *sp, struct perf_sample *s, struct scratch *sc)
{
	size_t user = 0, own;
	uint64_t *ips, moved;

	if (!sp->chain.n || sp->chain_time != s->time_ns || sp->chain_tid != s->tid ||
	    !s->has_callchain)
		return 0;
	while (user < s->n_ips && s->ips[user] != PERF_CHAIN_USER)
		user++;
	own = user < s->n_ips ? s->n_ips - user - 1 : 0;
	if (own >= sp->chain.n)
		return 0;
	ips = scratch_alloc(sc, (user + 1 + sp->chain.n) * sizeof *ips);
	if (!ips)
		return -1;
	if (s->n_ips)
		memcpy(ips, s->ips, s->n_ips * sizeof *ips);
	ips[user] = PERF_CHAIN_USER;
	/* In the sample, return addresses were moved back into the call instruction. */
	moved = own ? sp->chain.v[own - 1] - s->ips[user + own] : 0;
	for (size_t i = own; i < sp->chain.n; i++)
		ips[user + 1 + i] = sp->chain.v[i] - moved;
	s->ips = ips;
	s->n_ips = user + 1 + sp->chain.n;
	return 0;
}

bool simpleperf_unused(const struct simpleperf *sp, char *out, size_t size)
{
	static const char *const names[] = {
		"record 32768", "KERNEL_SYMBOL", "DSO",	      "SYMBOL",		  "SPLIT",
		"SPLIT_END",	"EVENT_ID",	 "CALLCHAIN", "UNWINDING_RESULT", "TRACING_DATA",
		"DEBUG",
	};
	size_t at = 0;

	_Static_assert(sizeof names / sizeof *names == RECORD_SIMPLEPERF_END - RECORD_SIMPLEPERF,
		       "all of them");
	for (size_t i = 0; i < sizeof names / sizeof *names && at < size; i++)
		if (sp->n_unused[i])
			at += (size_t)snprintf(out + at, size - at, "%s%" PRIu64 " %s",
					       at ? ", " : "", sp->n_unused[i], names[i]);
	return at;
}
