/* v8_lines.c - the lines of bytecode.
 *
 * Source of truth: codegen/source-position-table.cc: pairs of differences, of the place in the
 * bytecode and in the source; numbers of seven bits a byte, the sign in the lowest bit; a negative
 * place is that of an expression. codegen/source-position.h: bit 0 says that it is in no script,
 * then 1 + the place in the source. A table is that of the function if all of its places are. */
#include <stdlib.h>

#include "runtimes/v8.h"

enum { TAG = 1, WORD = 8, LENGTH_AT = 8, DATA_AT = 16, TABLE_MAX = 1 << 20, LINES_MAX = 1 << 16 };

/* The objects of a BytecodeArray, of which the order varies. */
enum { FIRST_OBJECT = 16, LAST_OBJECT = 40 };

struct table {
	const uint8_t *p, *end;
	bool bad;
};

static int64_t next_number(struct table *t)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 63; shift += 7) {
		if (t->p == t->end)
			break;
		n |= (uint64_t)(*t->p & 0x7f) << shift;
		if (!(*t->p++ & 0x80))
			return (int64_t)(n >> 1 ^ -(n & 1));
	}
	t->bad = true;
	return 0;
}

/* Adds the lines; false: the table is another one. */
static bool decode(struct table t, uint64_t start, uint64_t end, const struct v8_function *f,
		   struct v8_lines *ret, bool *nomem)
{
	int64_t at = 0, place = 0;

	while (t.p < t.end && ret->v.n < LINES_MAX) {
		const int64_t step = next_number(&t);
		uint32_t line, column;
		int64_t source;

		if (__builtin_add_overflow(place, next_number(&t), &place))
			return false;
		at += step < 0 ? -step - 1 : step;
		source = (place >> 1 & 0x3fffffff) - 1;
		if (t.bad || at < 0 || (uint64_t)at >= end - start || place & 1 || source < 0 ||
		    source < f->start || source > f->end)
			return false;
		if (!v8_position(f->script, (uint32_t)source, &line, &column))
			return false;
		if (vec_push(&ret->v, (struct code_log_line){start + (uint64_t)at, line})) {
			*nomem = true;
			return false;
		}
	}
	return ret->v.n;
}

void v8_lines_read(struct v8 *v, uint64_t bytecode, uint64_t start, uint64_t end,
		   const struct v8_function *f, struct v8_lines *ret, bool *nomem)
{
	uint64_t table;
	int32_t n;

	*ret = (struct v8_lines){0};
	for (int32_t off = FIRST_OBJECT; f->script && off <= LAST_OBJECT && !ret->v.n;
	     off += WORD) {
		uint8_t *bytes;
		bool ok;

		if (!v8_word(v, bytecode, off, &table) ||
		    (!v8_is(v, table, V8_TYPE_BYTES) && !v8_is(v, table, V8_TYPE_TRUSTED_BYTES)) ||
		    !v8_smi(v, table, LENGTH_AT, &n) || n <= 0 || n > TABLE_MAX)
			continue;
		bytes = malloc((size_t)n);
		*nomem |= !bytes;
		ok = bytes && remote_read(&v->mem, table - TAG + DATA_AT, bytes, (size_t)n) &&
		     decode((struct table){bytes, bytes + n, false}, start, end, f, ret, nomem);
		if (!ok)
			ret->v.n = 0;
		free(bytes);
	}
}
