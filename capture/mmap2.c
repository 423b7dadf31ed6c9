/* mmap2.c - reads MMAP2 records. */
#include "capture/mmap2.h"

#include <string.h>

#include "base/buf.h"

/* Does the field hold a build id? The flag alone is not enough: the kernel (seen in 6.18) may set
 * it over device and inode numbers. A build id has zeros after its size and after its end. Linkers
 * make sizes of 16 and 20; an id of another size is taken for device and inode, which then match no
 * file. */
static bool is_build_id(uint16_t misc, const uint8_t field[24])
{
	return misc & PERF_RECORD_MISC_MMAP_BUILD_ID && (field[0] == 16 || field[0] == 20) &&
	       !memcmp(field + 1, "\0\0\0", 3) &&
	       (field[0] == 20 || !memcmp(field + 20, "\0\0\0\0", 4));
}

bool mmap2_parse(const uint8_t *rec, size_t n, struct mmap2 *ret)
{
	struct buf b = buf_make(rec, n, 0, false), field;
	struct perf_event_header h;
	struct mmap2 m = {0};

	if (n < sizeof h)
		return false;
	memcpy(&h, rec, sizeof h);
	if (h.type != PERF_RECORD_MMAP2)
		return false;
	buf_skip(&b, sizeof h);
	m.misc = h.misc;
	m.pid = buf_u32(&b);
	m.tid = buf_u32(&b);
	m.start = buf_u64(&b);
	m.bytes = buf_u64(&b);
	m.pgoff = buf_u64(&b);
	field = buf_sub(&b, 24);
	if (!buf_ok(&b))
		return false;
	m.has_build_id = is_build_id(h.misc, field.p);
	if (!m.has_build_id) {
		m.maj = buf_u32(&field);
		m.min = buf_u32(&field);
		m.ino = buf_u64(&field);
		m.ino_generation = buf_u64(&field);
	}
	m.prot = buf_u32(&b);
	m.flags = buf_u32(&b);
	m.path = buf_cstr(&b);
	if (!m.path)
		return false;
	*ret = m;
	return true;
}
