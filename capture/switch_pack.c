/* switch_pack.c - records of context switches become one record of the file. */
#include "capture/switch_pack.h"

#include <string.h>

#include "capture/attr.h"
#include "capture/switch_event.h"

enum { VARINT_MAX = 10, PLACE_MAX = 2 };

/* A row is looked for in so many places, so that what threads are called cannot make it slow; one
 * that is not found is added again. */
enum { PROBES = 8 };

_Static_assert(SWITCH_ROWS_MAX < 1 << 14, "a place takes two bytes");

static size_t time_at(size_t record_bytes)
{
	return record_bytes - ATTR_SAMPLE_ID_BYTES + 8; /* attr.h: pid and tid are before it */
}

static size_t put_varint(uint8_t *dst, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		dst[n++] = (uint8_t)(v | 0x80);
	dst[n++] = (uint8_t)v;
	return n;
}

static bool has_row(const struct switch_pack *p, uint16_t row, const uint64_t *rec)
{
	return !memcmp(p->rows[row], rec, p->record_bytes);
}

/* The slot of the row, or of where it is to be put. NULL: none is left nearby. */
static uint16_t *find_slot(struct switch_pack *p, const uint64_t *rec)
{
	uint64_t h = 0;

	for (size_t i = 0; i < p->record_bytes / 8u; i++)
		h = (h ^ rec[i]) * 0x9e3779b97f4a7c15u;
	h = hash_u64(h);
	for (size_t i = 0; i < PROBES; i++) {
		uint16_t *slot = &p->slots[(h + i) % SWITCH_SLOTS];

		if (!*slot || has_row(p, (uint16_t)(*slot - 1), rec))
			return slot;
	}
	return NULL;
}

/* The row of a record without its time; -1: there is no room for it. */
static int find_row(struct switch_pack *p, const uint64_t *rec)
{
	uint16_t *slot = find_slot(p, rec);

	if (slot && *slot)
		return *slot - 1;
	if (p->n_rows == SWITCH_ROWS_MAX)
		return -1;
	memcpy(p->rows[p->n_rows], rec, p->record_bytes);
	p->follower[p->n_rows] = 0;
	if (slot)
		*slot = (uint16_t)(p->n_rows + 1);
	return p->n_rows++;
}

static void begin(struct switch_pack *p, size_t n, uint64_t time_ns)
{
	p->record_bytes = (uint16_t)n;
	p->before_ns = p->last_ns = time_ns;
}

bool switch_pack_add(struct switch_pack *p, const uint8_t *rec, size_t n)
{
	uint64_t row[SWITCH_RECORD_MAX / 8], time_ns;
	uint16_t expected;
	int found;

	if (n > sizeof row || n < sizeof(struct perf_event_header) + ATTR_SAMPLE_ID_BYTES || n % 8)
		return false;
	memcpy(row, rec, n);
	time_ns = row[time_at(n) / 8];
	row[time_at(n) / 8] = 0;
	if (!p->n)
		begin(p, n, time_ns);
	if (n != p->record_bytes || p->n == SWITCH_PACK_RECORDS ||
	    p->deltas_bytes + VARINT_MAX > sizeof p->deltas)
		return false;
	expected = p->n ? p->follower[p->last_row] : 0;
	found = p->n_rows && has_row(p, expected, row) ? expected : find_row(p, row);
	if (found < 0)
		return false;
	p->places_bytes += put_varint(p->places + p->places_bytes,
				      p->n && found == expected ? 0 : (uint64_t)found + 1);
	p->deltas_bytes += put_varint(p->deltas + p->deltas_bytes, time_ns - p->last_ns);
	if (p->n)
		p->follower[p->last_row] = (uint16_t)found;
	p->last_row = (uint16_t)found;
	p->last_ns = p->row_last_ns[found] = time_ns;
	p->n++;
	return true;
}

size_t switch_pack_write(const struct switch_pack *p, uint8_t *dst)
{
	struct packed_switches h = {
		.header.type = RECORD_EVENT_TYPE,
		.version = PACKED_SWITCHES_VERSION,
		.record_bytes = p->record_bytes,
		.n_rows = p->n_rows,
		.n = p->n,
		.places_bytes = (uint32_t)p->places_bytes,
		.before_ns = p->before_ns,
	};
	uint8_t *to = dst + sizeof h;
	size_t at;

	if (!p->n)
		return 0;
	at = time_at(p->record_bytes);
	for (size_t i = 0; i < p->n_rows; i++, to += p->record_bytes - 8) {
		const uint8_t *row = (const uint8_t *)p->rows[i];

		memcpy(to, row, at);
		memcpy(to + at, row + at + 8, p->record_bytes - 8 - at);
	}
	memcpy(to, p->places, p->places_bytes);
	to += p->places_bytes;
	memcpy(to, p->deltas, p->deltas_bytes);
	to += p->deltas_bytes;
	for (; (to - dst) % 8 || to - dst < PACKED_SWITCHES_BYTES_MIN; to++)
		*to = 0;
	h.header.size = (uint16_t)(to - dst);
	h.time_at = (uint16_t)at;
	memcpy(h.magic, PACKED_SWITCHES_MAGIC, sizeof h.magic);
	memcpy(dst, &h, sizeof h);
	return h.header.size;
}

int switch_pack_note(const struct switch_pack *p, struct hash_table *seen)
{
	int rc = 0;

	for (size_t i = 0; i < p->n_rows && !rc; i++) {
		uint64_t row[SWITCH_RECORD_MAX / 8];

		memcpy(row, p->rows[i], sizeof row);
		row[time_at(p->record_bytes) / 8] = p->row_last_ns[i];
		rc = switch_note_record(seen, (const uint8_t *)row, p->record_bytes);
	}
	return rc;
}

void switch_pack_clear(struct switch_pack *p)
{
	p->n = p->n_rows = 0;
	p->places_bytes = p->deltas_bytes = 0;
	memset(p->slots, 0, sizeof p->slots);
}

uint64_t switch_pack_first_ns(const uint8_t *rec, size_t n)
{
	struct packed_switches h;

	if (n < sizeof h)
		return 0;
	memcpy(&h, rec, sizeof h);
	if (h.header.type != RECORD_EVENT_TYPE ||
	    memcmp(h.magic, PACKED_SWITCHES_MAGIC, sizeof h.magic))
		return 0;
	return h.before_ns;
}
