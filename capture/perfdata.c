/* perfdata.c - creates, begins and finishes the file around its data section. */
#include "capture/perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"
#include "capture/attr.h"
#include "capture/record_writer.h"
#include "reader/format.h"

/* Room for the end of the file, in addition to the feature sections. */
#define RESERVE_BYTES ((size_t)4 << 10)

/* An entry of the attrs section: the attribute, and where its ids are. */
struct attr_entry {
	uint8_t attr[ATTR_SIZE];
	struct perfdata_section ids;
};

/* Renames the older recording, unless another user may have put it there. */
static int keep_old(struct perfdata *f, struct err *err)
{
	const struct outplace *p = &f->place;

	f->is_named = !p->exists || S_ISREG(p->st.st_mode);
	if (!f->is_named || !p->exists)
		return 0;
	if (snprintf(f->old, sizeof f->old, "%s.old", p->name) >= (int)sizeof f->old) {
		f->old[0] = '\0';
		return err_errno(err, ENAMETOOLONG, f->path, "rename to .old");
	}
	if (!renameat(p->dir, p->name, p->dir, f->old))
		return 0;
	f->old[0] = '\0';
	return errno == ENOENT ? 0 : err_errno(err, errno, f->path, "rename to .old");
}

static int open_file(struct perfdata *f, struct err *err)
{
	const struct outplace *p = &f->place;
	/* A file that another user has created meanwhile must not get the stacks. */
	const int mine = f->is_named ? O_EXCL : O_TRUNC;

	f->fd = openat(p->dir, p->name, O_RDWR | O_CREAT | mine | O_CLOEXEC, 0600);
	if (f->fd >= 0)
		return 0;
	if (f->is_named && errno == EEXIST)
		f->old[0] = '\0'; /* its place is taken */
	return err_errno(err, errno, f->path, "create");
}

/* The descriptor is another one, so that nothing else closes it. */
static int open_stdout(struct perfdata *f, struct err *err)
{
	f->is_pipe = true;
	f->place.dir = -1;
	f->path = "standard output";
	if (isatty(STDOUT_FILENO))
		return err_set(err, ERR_USAGE, NULL,
			       "-o -: standard output is a terminal; `| resolve -` reads it");
	f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return f->fd < 0 ? err_errno(err, errno, f->path, "open") : 0;
}

int perfdata_create(struct perfdata *f, const char *path, struct err *err)
{
	struct stat st;
	int rc;

	*f = (struct perfdata){.fd = -1, .path = path};
	if (!strcmp(path, "-"))
		return open_stdout(f, err);
	rc = outplace_find(&f->place, path, err);
	if (!rc)
		rc = keep_old(f, err);
	if (!rc)
		rc = open_file(f, err);
	if (rc) {
		perfdata_discard(f);
		return rc;
	}
	f->is_pipe = lseek(f->fd, 0, SEEK_CUR) < 0;
	f->is_regular = !fstat(f->fd, &st) && S_ISREG(st.st_mode);
	return 0;
}

static int write_at(struct perfdata *f, const void *p, size_t n, uint64_t off, struct err *err)
{
	int errnum = write_all_at(f->fd, p, n, off);

	return errnum ? err_errno(err, errnum, f->path, "write") : 0;
}

static uint64_t attrs_offset(const struct perfdata_facts *facts)
{
	uint64_t off = sizeof(struct perfdata_header);

	for (size_t i = 0; i < facts->n_events; i++)
		off += facts->events[i].n_ids * sizeof(uint64_t);
	return off;
}

/* The header without feature bits. */
static struct perfdata_header make_header(const struct perfdata *f,
					  const struct perfdata_facts *facts, uint64_t data_bytes)
{
	struct perfdata_header h = {
		.size = sizeof h,
		.attr_size = sizeof(struct attr_entry),
		.attrs = {attrs_offset(facts), facts->n_events * sizeof(struct attr_entry)},
		.data = {f->data_off, data_bytes},
	};

	memcpy(h.magic, PERFDATA_MAGIC, sizeof h.magic);
	return h;
}

static void put_attrs(struct bytes *b, const struct perfdata_facts *facts)
{
	uint64_t ids_off = sizeof(struct perfdata_header);

	for (size_t i = 0; i < facts->n_events; i++)
		bytes_put(b, facts->events[i].ids, facts->events[i].n_ids * sizeof(uint64_t));
	for (size_t i = 0; i < facts->n_events; i++) {
		const struct perfdata_event *e = &facts->events[i];
		struct attr_entry entry = {.ids = {ids_off, e->n_ids * sizeof(uint64_t)}};

		memcpy(entry.attr, e->attr, ATTR_SIZE);
		bytes_put(b, &entry, sizeof entry);
		ids_off += entry.ids.size;
	}
}

/* The data section begins with the COMPRESSED feature as a record, which perf accepts in files,
 * too. So perf can also decompress the file of a killed recording, which has no feature sections.
 */
static void put_first_records(struct bytes *b, const struct perfdata_facts *facts)
{
	struct perf_event_header h = {.type = RECORD_HEADER_FEATURE};
	struct bytes payload = {0};

	perfdata_compressed_feature(facts, &payload);
	if (payload.vec.n) {
		bytes_zeros(&payload, (8 - payload.vec.n % 8) % 8);
		h.size = (uint16_t)(sizeof h + 8 + payload.vec.n);
		bytes_put(b, &h, sizeof h);
		bytes_u64(b, FEATURE_COMPRESSED);
		bytes_put(b, payload.vec.v, payload.vec.n);
		b->failed |= payload.failed;
	}
	bytes_done(&payload);
}

/* The sections that the end of the file gets, as far as they are known. Where the recorder is
 * killed the file has no other ones, and they say which event is which. */
static void put_early(struct bytes *b, const struct perfdata_facts *facts, uint64_t off)
{
	struct perfdata_early early = {.magic = PERFDATA_EARLY_MAGIC};
	struct perfdata_facts known = *facts;
	struct bytes sections = {0};

	known.argc = 0; /* `resolve --no-cmdline` looks for it in one place */
	if (perfdata_features(&known, off + sizeof early, &sections, early.features))
		b->failed = true;
	bytes_put(b, &early, sizeof early);
	bytes_put(b, sections.vec.v, sections.vec.n);
	bytes_zeros(b, (8 - sections.vec.n % 8) % 8);
	bytes_done(&sections);
}

static int write_next(struct perfdata *f, const struct bytes *b, struct err *err)
{
	int errnum = b->failed ? 0 : write_all(f->fd, b->vec.v, b->vec.n);

	if (b->failed)
		return err_nomem(err);
	return errnum ? err_errno(err, errnum, f->path, "write") : 0;
}

static int begin_stream(struct perfdata *f, const struct perfdata_facts *facts, struct err *err)
{
	struct bytes b = {0};
	int rc = perfdata_stream_head(facts, &b, err);

	if (!rc)
		rc = write_next(f, &b, err);
	f->data_off = b.vec.n;
	bytes_done(&b);
	return rc;
}

static int end_stream(struct perfdata *f, const struct perfdata_facts *facts, struct err *err)
{
	struct bytes b = {0};
	int rc;

	perfdata_feature_records(facts, true, &b);
	rc = write_next(f, &b, err);
	bytes_done(&b);
	return rc;
}

int perfdata_begin(struct perfdata *f, const struct perfdata_facts *facts, struct err *err)
{
	const uint64_t attrs_end =
		attrs_offset(facts) + facts->n_events * sizeof(struct attr_entry);
	struct bytes early = {0}, first = {0}, b = {0};
	struct perfdata_header h;
	int rc;

	if (f->is_pipe)
		return begin_stream(f, facts, err);
	put_early(&early, facts, attrs_end);
	f->data_off = attrs_end + early.vec.n;
	f->size_field_off = offsetof(struct perfdata_header, data.size);
	put_first_records(&first, facts);
	f->data_bytes = first.vec.n;
	h = make_header(f, facts, f->data_bytes);
	bytes_put(&b, &h, sizeof h);
	put_attrs(&b, facts);
	bytes_put(&b, early.vec.v, early.vec.n);
	bytes_put(&b, first.vec.v, first.vec.n);
	b.failed |= early.failed | first.failed;
	rc = b.failed ? err_nomem(err) : write_at(f, b.vec.v, b.vec.n, 0, err);
	bytes_done(&b);
	bytes_done(&early);
	bytes_done(&first);
	return rc;
}

/* The size of the feature sections. Those written at the end have the same size as those of now,
 * except for the build ids. */
static int features_size(const struct perfdata_facts *facts, size_t *ret, struct err *err)
{
	struct bytes sections = {0};
	uint64_t bits[4];
	int rc = perfdata_features(facts, 0, &sections, bits);

	*ret = sections.vec.n;
	bytes_done(&sections);
	return rc ? err_nomem(err) : 0;
}

int perfdata_writer_options(const struct perfdata *f, const struct perfdata_facts *facts,
			    struct record_writer_options *o, struct err *err)
{
	size_t n;
	int rc = features_size(facts, &n, err);

	o->fd = f->fd;
	o->is_pipe = f->is_pipe;
	o->data_off = f->data_off;
	o->data_bytes = f->data_bytes;
	o->size_field_off = f->size_field_off;
	o->level = facts->compress_level;
	o->reserve_bytes = f->is_regular ? n + RESERVE_BYTES : 0;
	return rc;
}

int perfdata_append(struct perfdata *f, uint64_t data_bytes, const void *rec, size_t n,
		    struct err *err)
{
	int errnum = f->is_pipe ? write_all(f->fd, rec, n) : 0;

	if (f->is_pipe)
		return errnum ? err_errno(err, errnum, f->path, "write") : 0;
	return write_at(f, rec, n, f->data_off + data_bytes, err);
}

int perfdata_finish(struct perfdata *f, const struct perfdata_facts *facts, struct err *err)
{
	struct perfdata_header h = make_header(f, facts, facts->data_bytes);
	uint64_t end = f->data_off + facts->data_bytes, size = end;
	struct bytes sections = {0};
	int rc;

	if (f->is_pipe)
		return end_stream(f, facts, err);
	if (perfdata_features(facts, end, &sections, h.features))
		rc = err_nomem(err);
	else
		rc = write_at(f, sections.vec.v, sections.vec.n, end, err);
	if (!rc)
		rc = write_at(f, &h, sizeof h, 0, err);
	if (!rc)
		size += sections.vec.n;
	bytes_done(&sections);
	/* Releases reserved space after the end, or sections that did not fit. */
	if (f->is_regular && ftruncate(f->fd, (off_t)size) && !rc)
		rc = err_errno(err, errno, f->path, "truncate");
	return rc;
}

uint64_t perfdata_size(const struct perfdata *f, uint64_t data_bytes)
{
	struct stat st;

	return f->is_pipe || fstat(f->fd, &st) ? f->data_off + data_bytes : (uint64_t)st.st_size;
}

static void release(struct perfdata *f)
{
	outplace_done(&f->place);
	f->old[0] = '\0';
	f->fd = -1;
}

void perfdata_discard(struct perfdata *f)
{
	const struct outplace *p = &f->place;

	if (f->fd >= 0) {
		close(f->fd);
		if (f->is_named)
			unlinkat(p->dir, p->name, 0);
	}
	if (f->old[0])
		renameat(p->dir, f->old, p->dir, p->name);
	release(f);
}

int perfdata_close(struct perfdata *f, struct err *err)
{
	int rc = 0;

	if (f->fd >= 0 && close(f->fd))
		rc = err_errno(err, errno, f->path, "close");
	release(f);
	return rc;
}
