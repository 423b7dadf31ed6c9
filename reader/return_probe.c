/* return_probe.c - which function the sample of a return probe is of.
 *
 * Such a sample has the caller's address. The function's is a field of the tracepoint that every
 * return probe has (Documentation/trace/uprobetracer.rst; define_fields() of
 * kernel/trace/trace_uprobe.c and trace_kprobe.c). */
#include "reader/return_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "reader/event_kind.h"
#include "reader/file.h"
#include "reader/tracing.h"

static const char field_text[] = "field:unsigned long __probe_func;";

static int take_format(void *arg, const char *system, const char *format, size_t n)
{
	const char *field = memmem(format, n, field_text, sizeof field_text - 1), *name;
	struct return_probes *r = arg;
	struct return_probe one;
	unsigned off, size;
	char rest[64] = "";
	size_t len, left;

	(void)system;
	if (!field || !tracing_name(format, n, &name, &len, &one.id))
		return 0;
	field += sizeof field_text - 1;
	left = n - (size_t)(field - format);
	memcpy(rest, field, left < sizeof rest ? left : sizeof rest - 1);
	if (sscanf(rest, " offset:%5u; size:%5u;", &off, &size) != 2 || (size != 4 && size != 8))
		return 0;
	one.off = (uint16_t)off;
	one.bytes = (uint8_t)size;
	r->failed |= vec_push(&r->v, one) != 0;
	return r->failed;
}

static int by_id(const void *a, const void *b)
{
	const struct return_probe *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int return_probes_settle(struct return_probes *r, const uint8_t *formats, size_t n)
{
	struct tracing_head head;

	if (r->is_settled || !formats)
		return 0;
	r->is_settled = true;
	/* What is damaged is told where texts are made of it. */
	(void)tracing_walk(formats, n, &head, take_format, r);
	if (r->v.n)
		qsort(r->v.v, r->v.n, sizeof *r->v.v, by_id);
	return r->failed ? -1 : 0;
}

void return_probes_done(struct return_probes *r)
{
	vec_done(&r->v);
}

uint64_t perf_file_returned_from(const struct perf_file *f, const struct perf_sample *s)
{
	const struct return_probe key = {.id = s->event->attr.config}, *one;
	struct buf b;
	uint64_t ip;

	if (!f->return_probes.v.n || !event_is_tracepoint(s->event->attr.type) || !s->extra)
		return 0;
	one = bsearch(&key, f->return_probes.v.v, f->return_probes.v.n, sizeof key, by_id);
	if (!one)
		return 0;
	b = buf_make(s->extra->raw, s->extra->raw_size, 0, f->swap);
	buf_skip(&b, one->off);
	ip = one->bytes == 4 ? buf_u32(&b) : buf_u64(&b);
	return buf_ok(&b) ? ip : 0;
}
