/* stream_head.c - what a recording that goes into a pipe begins with. */
#include <string.h>

#include "capture/attr.h"
#include "capture/perfdata.h"
#include "capture/runtime_watch.h"
#include "reader/format.h"

static void put_header(struct bytes *out, uint32_t type, size_t size)
{
	const struct perf_event_header h = {.type = type, .size = (uint16_t)size};

	bytes_put(out, &h, sizeof h);
}

/* The attribute and the ids of an event (perf_record_header_attr of tools/lib/perf). */
static int put_attr(const struct perfdata_event *e, struct bytes *out, struct err *err)
{
	const size_t size = sizeof(struct perf_event_header) + ATTR_SIZE + e->n_ids * 8;

	if (size > UINT16_MAX)
		return err_set(
			err, ERR_UNSUPPORTED, NULL,
			"-o -: %s has %zu counters, one for each thread and processor, and "
			"a record of a pipe has room for %zu; name a file, or record with -a",
			e->name, e->n_ids, (size_t)(UINT16_MAX - ATTR_SIZE) / 8 - 1);
	put_header(out, RECORD_HEADER_ATTR, size);
	bytes_put(out, e->attr, ATTR_SIZE);
	bytes_put(out, e->ids, e->n_ids * 8);
	return 0;
}

/* Its name (perf_record_event_update). */
static void put_name(const struct perfdata_event *e, struct bytes *out)
{
	const size_t n = strlen(e->name) + 1, padded = (n + 7) & ~(size_t)7;

	if (!e->n_ids)
		return;
	put_header(out, RECORD_EVENT_UPDATE, sizeof(struct perf_event_header) + 16 + padded);
	bytes_u64(out, EVENT_UPDATE_NAME);
	bytes_u64(out, e->ids[0]);
	bytes_put(out, e->name, n);
	bytes_zeros(out, padded - n);
}

/* The record is 12 bytes long, and the data behind it are not counted in its size. */
static void put_tracing_data(const struct perfdata_facts *facts, struct bytes *out)
{
	const size_t n = facts->n_tracing_data, padded = (n + 7) & ~(size_t)7;

	if (!n)
		return;
	put_header(out, RECORD_TRACING_DATA, sizeof(struct perf_event_header) + 4);
	bytes_u32(out, (uint32_t)padded);
	bytes_put(out, facts->tracing_data, n);
	bytes_zeros(out, padded - n);
}

int perfdata_stream_head(const struct perfdata_facts *facts, struct bytes *out, struct err *err)
{
	struct perfdata_pipe_header h = {.size = sizeof h};
	int rc = 0;

	memcpy(h.magic, PERFDATA_MAGIC, sizeof h.magic);
	bytes_put(out, &h, sizeof h);
	if (facts->may_hold_code)
		recorded_code_put_mark(out, 0); /* code comes behind what needs it */
	for (size_t i = 0; i < facts->n_events && !rc; i++)
		rc = put_attr(&facts->events[i], out, err);
	for (size_t i = 0; i < facts->n_events; i++)
		put_name(&facts->events[i], out);
	perfdata_feature_records(facts, false, out);
	put_tracing_data(facts, out);
	return rc;
}
