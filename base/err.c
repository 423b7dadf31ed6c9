/* err.c - filling and formatting struct err. */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct err *e, enum err_code code, const char *source, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

static void fill(struct err *e, enum err_code code, const char *source, const char *fmt, va_list ap)
{
	e->code = code;
	e->has_offset = false;
	e->offset = 0;
	snprintf(e->source, sizeof e->source, "%s", source ? source : "");
	vsnprintf(e->what, sizeof e->what, fmt, ap);
}

int err_set(struct err *e, enum err_code code, const char *source, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -(int)code;
	va_start(ap, fmt);
	fill(e, code, source, fmt, ap);
	va_end(ap);
	return -(int)code;
}

int err_at(struct err *e, enum err_code code, const char *source, uint64_t offset, const char *fmt,
	   ...)
{
	va_list ap;

	if (!e)
		return -(int)code;
	va_start(ap, fmt);
	fill(e, code, source, fmt, ap);
	va_end(ap);
	e->has_offset = true;
	e->offset = offset;
	return -(int)code;
}

int err_nomem(struct err *e)
{
	return err_set(e, ERR_NOMEM, NULL, "out of memory");
}

int err_errno(struct err *e, int errnum, const char *source, const char *doing)
{
	enum err_code code = ERR_IO;

	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		code = ERR_NOT_FOUND;
		break;
	case EACCES:
	case EPERM:
		code = ERR_PERMISSION;
		break;
	case ENOMEM:
		code = ERR_NOMEM;
		break;
	}
	return err_set(e, code, source, "cannot %s: %s", doing, strerror(errnum));
}

const char *err_code_text(enum err_code code)
{
#define X(name, text) [ERR_##name] = text,
	static const char *const texts[] = {ERR_CODES(X)};
#undef X
	return (unsigned)code < ERR_N ? texts[code] : "unknown error";
}

void err_format(const struct err *e, char *buf, unsigned long size)
{
	const char *what = e->what[0] ? e->what : err_code_text(e->code);

	if (e->source[0] && e->has_offset)
		snprintf(buf, size, "%s: offset 0x%" PRIx64 ": %s", e->source, e->offset, what);
	else if (e->source[0])
		snprintf(buf, size, "%s: %s", e->source, what);
	else
		snprintf(buf, size, "%s", what);
	/* Always one line: file names may contain newlines. */
	for (; *buf; buf++)
		if (*buf == '\n' || *buf == '\r')
			*buf = '_';
}
