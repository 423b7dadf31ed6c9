/* rewrite.c - a recording with other feature sections.
 *
 * The data stays as it is. Behind it come the table of sections, one row for each bit that is set,
 * and the sections (tools/perf/Documentation/perf.data-file-format.txt). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cut/cut.h"
#include "reader/format.h"

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

static int open_recording(struct file *f, const char *path, struct err *err)
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
			       "--bundle needs a plain perf.data file of this byte order: not a "
			       "pipe's, not a compressed one, not a folder");
	if (f->h.data.offset > f->size)
		return err_set(err, ERR_DAMAGED, path, "its data lies outside of the file");
	/* The recorder was killed before it knew the size, or the file was cut. */
	if (!f->h.data.size || f->h.data.size > f->size - f->h.data.offset) {
		f->h.data.size = f->size - f->h.data.offset;
		memset(f->h.features, 0, sizeof f->h.features);
	}
	return 0;
}

/* Where the old sections are; those outside of the file are dropped. */
static int read_table(struct file *f, struct err *err)
{
	uint64_t off = f->h.data.offset + f->h.data.size;
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

static int write_sections(const struct file *f, const struct bundle_blob *section, FILE *out,
			  struct err *err)
{
	uint64_t at = f->h.data.offset + f->h.data.size;
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
		else
			rc = copy(f, f->old[bit].offset, f->old[bit].size, out, err);
	}
	return rc;
}

int cut_rewrite(const char *path, const struct bundle_blob *section, FILE *out, struct err *err)
{
	struct file f;
	int rc = open_recording(&f, path, err);

	if (!rc)
		rc = read_table(&f, err);
	if (!rc) {
		f.h.features[FEATURE_BUNDLE / 64] |= 1ull << FEATURE_BUNDLE % 64;
		fwrite(&f.h, sizeof f.h, 1, out);
		rc = copy(&f, sizeof f.h, f.h.data.offset + f.h.data.size - sizeof f.h, out, err);
	}
	if (!rc)
		rc = write_sections(&f, section, out, err);
	if (f.fd >= 0)
		close(f.fd);
	return rc;
}
