/* json.h - reads a JSON text from left to right.
 *
 * A visitor is called for every value, with the path to it: "findings[].key". Nothing is kept,
 * so memory is bounded by the nesting and the longest string. Source of truth: RFC 8259. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>

#include "base/err.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_END, /* of an array or object, after all that is in it */
};

struct json_value {
	enum json_kind kind;
	/* Keys with '.' between them, "[]" behind those of arrays; "": the whole. */
	const char *path;
	/* Of strings: UTF-8, NUL-terminated, n bytes; live until the next value. */
	const char *string;
	size_t n;
	double number;
};

enum { JSON_DEPTH_MAX = 64 };

/* visit() returns 0, or what ends the reading and becomes the result. Otherwise 0, -ERR_FORMAT with
 * the offset of what is wrong in *err, or -ERR_NOMEM. `name` is for messages. */
int json_read(const char *text, size_t n, const char *name,
	      int (*visit)(void *arg, const struct json_value *v), void *arg, struct err *err);

#endif
