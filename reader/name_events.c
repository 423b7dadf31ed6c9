/* name_events.c - finds the names of events in the parts of a recording that may have them, or
 * makes names up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "reader/file.h"
#include "reader/format.h"
#include "reader/task_state.h"
#include "reader/tracing.h"

/* Limits on descriptions in hostile files; far above those of real recordings. */
#define PMUS_MAX	 4096
#define EVENTS_BY_CONFIG 1024
#define TYPES_MAX	 4096
#define SETTLES_MAX	 64

int file_add_event(struct perf_file *f, struct buf raw)
{
	struct perf_attr attr;
	bool tail = false;

	if (f->events.v.n >= EVENTS_MAX)
		return err_set(&f->err, ERR_LIMIT, f->source.name, "more than %d events",
			       EVENTS_MAX);
	attr_read(&attr, raw, f->is_big_endian, &tail);
	if (tail)
		file_note(f, NOTE_ATTR_TAIL, "an event uses features this version does not know");
	if (attr.sample_type & ~SAMPLE_KNOWN_BITS)
		file_note(f, NOTE_UNKNOWN_FIELD,
			  "samples have fields this version does not know (sample_type %#llx)",
			  (unsigned long long)attr.sample_type);
	if (attr.sample_type & PERF_SAMPLE_ADDR)
		machine_want_data(f->machine);
	return events_add(&f->events, &attr) ? err_nomem(&f->err) : 0;
}

/* Returns the event that one entry of EVENT_DESC describes: the event of its first id, or else the
 * one with the same index. */
static const struct event *described_event(const struct perf_file *f, uint32_t i, struct buf ids)
{
	const struct event *e = buf_left(&ids) ? events_find(&f->events, buf_u64(&ids)) : NULL;

	return e || i >= f->events.v.n ? e : f->events.v.v[i];
}

static struct buf feature_buf(const struct perf_file *f, unsigned bit)
{
	size_t size;
	const uint8_t *p = features_get(f->features, bit, &size);

	return buf_make(p, size, 0, f->swap);
}

/* EVENT_DESC: number of entries, size of an attr, then for each {attr, number of ids, name, ids}.
 */
static int names_from_description(struct perf_file *f)
{
	struct buf b = feature_buf(f, FEATURE_EVENT_DESC);
	uint32_t n = buf_u32(&b), attr_size = buf_u32(&b), i;

	for (i = 0; i < n && buf_left(&b); i++) {
		uint32_t n_ids, len;
		const uint8_t *name;
		const struct event *e;
		struct buf ids;

		buf_skip(&b, attr_size);
		n_ids = buf_u32(&b);
		len = buf_u32(&b);
		name = buf_take(&b, len);
		ids = buf_sub(&b, 8ull * n_ids);
		if (!name || !buf_ok(&ids))
			break;
		e = described_event(f, i, ids);
		if (e && !e->named && len && *name &&
		    events_set_name(&f->events, e->pub.index, (const char *)name, len))
			return -1;
	}
	return 0;
}

int names_by_config(struct perf_file *f, uint32_t type, uint64_t config, const char *name,
		    size_t len)
{
	if (f->events.v.n > EVENTS_BY_CONFIG)
		return 0;
	for (size_t i = 0; len && i < f->events.v.n; i++) {
		const struct event *e = f->events.v.v[i];

		if (!e->named && e->pub.attr.type == type && e->pub.attr.config == config &&
		    events_set_name(&f->events, i, name, len))
			return -1;
	}
	return 0;
}

/* A line "name,type,config". */
static int name_from_line(struct perf_file *f, const char *line, size_t len)
{
	const char *config = memrchr(line, ',', len);
	const char *type = config ? memrchr(line, ',', (size_t)(config - line)) : NULL;

	if (!type)
		return 0;
	return names_by_config(f, (uint32_t)strtoul(type + 1, NULL, 10),
			       strtoull(config + 1, NULL, 10), line, (size_t)(type - line));
}

/* simpleperf: lines "name,type,config" under a key of META_INFO, a list of pairs of strings. */
static int names_from_meta_info(struct perf_file *f)
{
	struct buf b = feature_buf(f, FEATURE_SIMPLEPERF_META_INFO);
	unsigned n = 0;

	while (buf_left(&b)) {
		const char *key = buf_cstr(&b), *line = buf_cstr(&b);

		if (!key || !line)
			return 0;
		if (strcmp(key, "event_type_info") != 0)
			continue;
		for (; *line && n < TYPES_MAX; n++) {
			size_t len = strcspn(line, "\n");

			if (name_from_line(f, line, len))
				return -1;
			line += len + (line[len] == '\n');
		}
	}
	return 0;
}

/* Takes the name from the format of one tracepoint. */
static int name_from_format(void *arg, const char *system, const char *format, size_t n)
{
	char name[256];
	const char *word;
	uint64_t id;
	size_t len;
	int full;

	if (!tracing_name(format, n, &word, &len, &id))
		return 0;
	full = snprintf(name, sizeof name, "%s:%.*s", system, (int)(len < 200 ? len : 200), word);
	return names_by_config(arg, PERF_TYPE_TRACEPOINT, id, name, (size_t)full);
}

/* In a pipe, old versions of perf write the names of tracepoints and probes only here. */
static int names_from_tracing(struct perf_file *f)
{
	struct tracing_head head;
	size_t size, i;
	const uint8_t *p;

	for (i = 0; i < f->events.v.n; i++)
		if (!f->events.v.v[i]->named &&
		    event_is_tracepoint(f->events.v.v[i]->pub.attr.type))
			break;
	p = i < f->events.v.n ? features_get(f->features, FEATURE_TRACING_DATA, &size) : NULL;
	if (p)
		/* If it is damaged the names before the damage are used. */
		tracing_walk(p, size, &head, name_from_format, f);
	return 0;
}

/* PMU_MAPPINGS: number of entries, then for each {type, name}. Returns NULL if the type is unknown.
 */
static const char *pmu_name(const struct perf_file *f, uint32_t type)
{
	struct buf b = feature_buf(f, FEATURE_PMU_MAPPINGS);
	uint32_t n = buf_u32(&b);

	for (uint32_t i = 0; i < n && i < PMUS_MAX && buf_ok(&b); i++) {
		uint32_t t = buf_u32(&b), len = buf_u32(&b);
		const uint8_t *name = buf_take(&b, len);

		if (name && t == type && memchr(name, 0, len))
			return (const char *)name;
	}
	return NULL;
}

int file_settle_names(struct perf_file *f)
{
	char name[128];

	f->names_dirty = false;
	if (f->n_settled++ < SETTLES_MAX &&
	    (names_from_description(f) || names_from_meta_info(f) || names_from_tracing(f)))
		return err_nomem(&f->err);
	for (; f->n_named < f->events.v.n; f->n_named++) {
		struct event *e = f->events.v.v[f->n_named];
		const struct perf_attr *a = &e->pub.attr;
		/* With two kinds of cores, the upper half of config says which kind the event is
		 * of. */
		const bool by_core = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE;

		if (e->named || *e->pub.name)
			continue;
		event_name_format(a, pmu_name(f, by_core ? (uint32_t)(a->config >> 32) : a->type),
				  name, sizeof name);
		e->pub.name = arena_strndup(&f->events.arena, name, strlen(name));
		if (!e->pub.name)
			return err_nomem(&f->err);
	}
	for (size_t i = 0; i < f->events.v.n; i++)
		f->events.v.v[i]->has_state = task_state_is_of(&f->events.v.v[i]->pub);
	if (heap_settle(f) || growth_settle(f))
		return -(int)f->err.code;
	return switches_settle(f);
}
