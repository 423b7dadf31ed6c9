/* err.h - one way to say what went wrong.
 *
 * A function that can fail returns 0 (or a count) on success and a negative `enum err_code` on
 * failure, and fills the `struct err` the caller passed. `struct err` owns nothing and may be
 * copied. Library code never prints; cmd/ turns an err into the one line "file: offset: what: why".
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

/* Name, text. The negated enumerator is what functions return. */
#define ERR_CODES(X)                       \
	X(OK, "no error")                  \
	X(NOMEM, "out of memory")          \
	X(IO, "input/output error")        \
	X(NOT_FOUND, "not found")          \
	X(PERMISSION, "not permitted")     \
	X(FORMAT, "not in a known format") \
	X(DAMAGED, "damaged")              \
	X(UNSUPPORTED, "not supported")    \
	X(LIMIT, "limit exceeded")         \
	X(USAGE, "usage")

#define X(name, text) ERR_##name,
enum err_code { ERR_CODES(X) ERR_N };
#undef X

#define ERR_SOURCE_MAX 256
#define ERR_WHAT_MAX   512

struct err {
	enum err_code code;
	bool has_offset;
	uint64_t offset;	     /* byte offset in `source`, valid if has_offset */
	char source[ERR_SOURCE_MAX]; /* file name or "" */
	char what[ERR_WHAT_MAX];     /* one line, no newline, says what and why */
};

/* Both fill *e (NULL is allowed: only the code is wanted) and return -code. */
int err_set(struct err *e, enum err_code code, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int err_at(struct err *e, enum err_code code, const char *source, uint64_t offset, const char *fmt,
	   ...) __attribute__((format(printf, 5, 6)));

/* ERR_NOMEM with the standard text. */
int err_nomem(struct err *e);

/* From errno: ENOENT -> NOT_FOUND, EACCES/EPERM -> PERMISSION, ENOMEM -> NOMEM, else IO.
 * `doing` is a verb phrase: "open", "read". */
int err_errno(struct err *e, int errnum, const char *source, const char *doing);

const char *err_code_text(enum err_code code);

/* Writes "source: offset 0x..: what" (the parts that exist), always NUL-terminated. */
void err_format(const struct err *e, char *buf, unsigned long size);

#endif
