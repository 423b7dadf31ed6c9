/* json.h - reads a JSON text from left to right.
 *
 * A visitor is called for every value with the path of that value: "findings[].key". No tree is
 * built, so memory is bounded by the nesting and the longest string. Source of truth: RFC 8259. */
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
	JSON_END, /* the end of an array or object, after all its members */
};

struct json_value {
	enum json_kind kind;
	/* Keys joined by '.', each array adds "[]"; "" is the whole text. */
	const char *path;
	/* Of strings: UTF-8, NUL-terminated, n bytes; live until the next value. */
	const char *string;
	size_t n;
	double number;
};

enum { JSON_DEPTH_MAX = 64 };

/* visit() returns 0 to go on; any other value ends the reading and is returned. Otherwise returns
 * 0, -ERR_FORMAT with the offset of the error in *err, or -ERR_NOMEM. `name` is used in messages.
 */
int json_read(const char *text, size_t n, const char *name,
	      int (*visit)(void *arg, const struct json_value *v), void *arg, struct err *err);

#endif
