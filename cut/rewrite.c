/* rewrite.c - a recording with other feature sections.
 *
 * The data stays as it is, or gets call chains in place of stack copies (strip.c). Behind it come
 * the table of sections, one row for each bit that is set, and the sections
 * (tools/perf/Documentation/perf.data-file-format.txt). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "cut/strip.h"
#include "reader/format.h"
#include "reader/reader.h"

enum { CHUNK = 1 << 20 };

struct file {
	int fd;
	const char *path;
	uint64_t size;
	struct perfdata_header h;
	struct perfdata_section old[FEATURE_N];
};

static int read_at(const struct file *f, uint64_t off, void *to, size_t n, struct err *err)
{
	size_t done = 0;
	ssize_t got;

	for (; done < n; done += (size_t)got) {
		got = pread(f->fd, (char *)to + done, n - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got < 0)
			return err_errno(err, errno, f->path, "read");
		else if (!got)
			return err_at(err, ERR_DAMAGED, f->path, off + done, "the file ends here");
	}
	return 0;
}

static bool has(const struct perfdata_header *h, unsigned bit)
{
	return h->features[bit / 64] >> bit % 64 & 1;
}

static int open_recording(struct file *f, const char *path, bool strips, struct err *err)
{
	struct stat st;

	*f = (struct file){.fd = open(path, O_RDONLY | O_CLOEXEC), .path = path};
	if (f->fd < 0 || fstat(f->fd, &st))
		return err_errno(err, errno, path, "open");
	f->size = (uint64_t)st.st_size;
	if (!S_ISREG(st.st_mode) || f->size < sizeof f->h ||
	    read_at(f, 0, &f->h, sizeof f->h, err) ||
	    memcmp(f->h.magic, PERFDATA_MAGIC, sizeof f->h.magic) || f->h.size != sizeof f->h)
		return err_set(err, ERR_UNSUPPORTED, path,
			       "%s needs a perf.data file of this byte order, not the stream of a "
			       "pipe (perf record -o -), nor a folder: record with -o FILE",
			       strips ? "--strip-stacks" : "--bundle");
	if (f->h.data.offset > f->size)
		return err_set(err, ERR_DAMAGED, path, "its data lies outside of the file");
	/* The recorder was killed before it knew the size, or the file was cut. */
	if (!f->h.data.size || f->h.data.size > f->size - f->h.data.offset) {
		f->h.data.size = f->size - f->h.data.offset;
		memset(f->h.features, 0, sizeof f->h.features);
	}
	return 0;
}

/* Where the old sections are, by a table at `off` with a row for each bit that is set; those
 * outside of the file are dropped. */
static int read_table(struct file *f, uint64_t off, struct err *err)
{
	unsigned bit;
	int rc = 0;

	for (bit = 0; bit < FEATURE_N && !rc; bit++) {
		struct perfdata_section *s = &f->old[bit];

		if (!has(&f->h, bit))
			continue;
		rc = read_at(f, off, s, sizeof *s, err);
		off += sizeof *s;
		if (!rc && (s->offset > f->size || s->size > f->size - s->offset))
			f->h.features[bit / 64] &= ~(1ull << bit % 64);
	}
	return rc;
}

/* Of a recorder that was killed: what capture wrote before the data. */
static int read_early_table(struct file *f, struct err *err)
{
	const uint64_t off = f->h.attrs.offset + f->h.attrs.size;
	struct perfdata_early early;

	if (off > f->h.data.offset || f->h.data.offset - off < sizeof early)
		return 0;
	if (read_at(f, off, &early, sizeof early, err))
		return -(int)err->code;
	if (memcmp(early.magic, PERFDATA_EARLY_MAGIC, sizeof early.magic))
		return 0;
	memcpy(f->h.features, early.features, sizeof f->h.features);
	return read_table(f, off + sizeof early, err);
}

static int find_sections(struct file *f, struct err *err)
{
	static const uint64_t none[sizeof f->h.features / sizeof *f->h.features];

	if (!memcmp(f->h.features, none, sizeof none))
		return read_early_table(f, err);
	return read_table(f, f->h.data.offset + f->h.data.size, err);
}

static int copy(const struct file *f, uint64_t off, uint64_t n, FILE *out, struct err *err)
{
	char *buf = malloc(CHUNK);
	int rc = buf ? 0 : err_nomem(err);

	while (!rc && n) {
		size_t k = n < CHUNK ? (size_t)n : CHUNK;

		rc = read_at(f, off, buf, k, err);
		if (!rc)
			fwrite(buf, 1, k, out);
		off += k;
		n -= k;
	}
	free(buf);
	return rc;
}

/* Bytes of the old file that are changed before they are written. NULL with *err. */
static uint8_t *load(const struct file *f, uint64_t off, uint64_t n, struct err *err)
{
	uint8_t *v = n <= f->size ? malloc(n ? (size_t)n : 1) : NULL;

	if (!v)
		err_nomem(err);
	if (v && read_at(f, off, v, (size_t)n, err)) {
		free(v);
		return NULL;
	}
	return v;
}

static int copy_event_desc(const struct file *f, const struct perfdata_section *s, FILE *out,
			   struct err *err)
{
	uint8_t *v = load(f, s->offset, s->size, err);

	if (!v)
		return -(int)err->code;
	strip_event_desc(v, (size_t)s->size);
	fwrite(v, 1, (size_t)s->size, out);
	free(v);
	return 0;
}

/* What stands before the data, with the attributes of events. */
static int write_front(const struct file *f, const struct perfdata_header *h, FILE *out,
		       struct err *err)
{
	const uint64_t n = f->h.data.offset, end = f->h.attrs.offset + f->h.attrs.size;
	uint8_t *v = load(f, 0, n, err);
	uint64_t off;

	if (!v)
		return -(int)err->code;
	memcpy(v, h, sizeof *h);
	for (off = f->h.attrs.offset; off < end && f->h.attr_size <= end - off && end <= n &&
				      f->h.attr_size > sizeof(struct perfdata_section);
	     off += f->h.attr_size)
		strip_attr(v + off, (size_t)f->h.attr_size - sizeof(struct perfdata_section));
	fwrite(v, 1, (size_t)n, out);
	free(v);
	return 0;
}

static int write_sections(const struct file *f, uint64_t data_bytes,
			  const struct bundle_blob *section, bool strips, FILE *out,
			  struct err *err)
{
	uint64_t at = f->h.data.offset + data_bytes;
	unsigned bit;
	int rc = 0;

	for (bit = 0; bit < FEATURE_N; bit++)
		at += has(&f->h, bit) ? sizeof(struct perfdata_section) : 0;
	for (bit = 0; bit < FEATURE_N; bit++) {
		struct perfdata_section s = {at, f->old[bit].size};

		if (!has(&f->h, bit))
			continue;
		if (bit == FEATURE_BUNDLE)
			s.size = section->n;
		fwrite(&s, sizeof s, 1, out);
		at += s.size;
	}
	for (bit = 0; bit < FEATURE_N && !rc; bit++) {
		if (!has(&f->h, bit))
			continue;
		if (bit == FEATURE_BUNDLE)
			fwrite(section->v, 1, section->n, out);
		else if (strips && bit == FEATURE_EVENT_DESC)
			rc = copy_event_desc(f, &f->old[bit], out, err);
		else
			rc = copy(f, f->old[bit].offset, f->old[bit].size, out, err);
	}
	return rc;
}

/* The header and the data. */
static int write_stripped(const struct file *f, struct cut_chains *chains, uint64_t *data_bytes,
			  FILE *out, struct err *err)
{
	const struct strip_input in = {f->fd, f->path, f->h.data.offset, f->h.data.size};
	struct perfdata_header h = f->h;
	struct bundle_blob data = {0};
	int rc = f->h.attrs.offset + f->h.attrs.size > f->h.data.offset
			 ? err_set(err, ERR_UNSUPPORTED, f->path,
				   "--strip-stacks: its events are not described before its data")
			 : strip_data(&in, chains, &data, err);

	h.data.size = *data_bytes = data.n;
	if (!rc)
		rc = write_front(f, &h, out, err);
	if (!rc)
		fwrite(data.v, 1, data.n, out);
	vec_done(&data);
	return rc;
}

int cut_rewrite(const char *path, const struct bundle_blob *section, struct cut_chains *chains,
		bool cmdline, FILE *out, struct err *err)
{
	uint64_t data_bytes;
	struct file f;
	int rc = open_recording(&f, path, chains != NULL, err);

	if (!rc)
		rc = find_sections(&f, err);
	if (!rc) {
		if (!cmdline)
			f.h.features[FEATURE_CMDLINE / 64] &= ~(1ull << FEATURE_CMDLINE % 64);
		f.h.features[FEATURE_BUNDLE / 64] |= 1ull << FEATURE_BUNDLE % 64;
		data_bytes = f.h.data.size;
		if (chains)
			rc = write_stripped(&f, chains, &data_bytes, out, err);
		else if (fwrite(&f.h, sizeof f.h, 1, out))
			rc = copy(&f, sizeof f.h, f.h.data.offset + data_bytes - sizeof f.h, out,
				  err);
	}
	if (!rc)
		rc = write_sections(&f, data_bytes, section, chains, out, err);
	if (f.fd >= 0)
		close(f.fd);
	return rc;
}
