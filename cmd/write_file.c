/* write_file.c - outputs of all commands. */
#include "cmd/write_file.h"

#include <errno.h>
#include <stddef.h>

#include "base/outfile.h"
#include "cmd/args.h"

/* The temporary file that exists at the moment; NULL: none. */
static const struct outfile *volatile unfinished;

void write_abort(void)
{
	if (unfinished)
		outfile_remove(unfinished);
}

static int write_to(FILE *out, const char *path, write_fn *write, void *what, struct err *err)
{
	int rc;

	errno = 0;
	rc = write(what, out, err);
	return rc ? rc : args_flush(out, path, err);
}

/* Compresses, if the name of the file asks for it. */
static int write_packed(FILE *out, const char *path, enum pack pack, write_fn *write, void *what,
			struct err *err)
{
	FILE *packed = pack ? pack_open(out, pack) : NULL;
	int rc;

	if (!pack)
		return write_to(out, path, write, what, err);
	if (!packed)
		return err_nomem(err);
	rc = write_to(packed, path, write, what, err);
	if (fclose(packed) && !rc)
		rc = err_errno(err, errno, path, "write");
	return rc ? rc : args_flush(out, path, err);
}

/* Takes f->fd. */
static int write_stream(struct outfile *f, enum pack pack, write_fn *write, void *what,
			struct err *err)
{
	FILE *out = fdopen(f->fd, "w");
	int rc;

	if (!out)
		return err_nomem(err);
	f->fd = -1;
	rc = write_packed(out, f->path, pack, write, what, err);
	if (fclose(out) && !rc)
		rc = err_errno(err, errno, f->path, "write");
	return rc;
}

int write_file(const char *path, enum pack pack, write_fn *write, void *what, struct err *err)
{
	static struct outfile f;
	int rc, end;

	/* Before it is there: a signal may come as soon as it is. */
	f.temp[0] = '\0';
	unfinished = &f;
	rc = outfile_create(&f, path, err);
	if (rc) {
		unfinished = NULL;
		return rc;
	}
	rc = write_stream(&f, pack, write, what, err);
	end = outfile_finish(&f, !rc, rc ? NULL : err);
	unfinished = NULL;
	return rc ? rc : end;
}

int append_to_file(const char *path, write_fn *write, void *what, struct err *err)
{
	struct outfile f;
	int rc = outfile_append(&f, path, err), end;

	if (rc)
		return rc;
	rc = write_stream(&f, PACK_NONE, write, what, err);
	end = outfile_finish(&f, !rc, rc ? NULL : err);
	return rc ? rc : end;
}
