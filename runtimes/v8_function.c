/* v8_function.c - names and places of functions.
 *
 * Sources of truth: objects/shared-function-info.tq, objects/scope-info.tq (which parts a ScopeInfo
 * has, its flags say; a module or a script itself has no name), objects/script.tq, logging/log.cc
 * (LinuxPerfBasicLogger: how names are written). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/v8.h"

enum { WORD = 8, ARRAY_DATA_AT = 16 };

/* SharedFunctionInfo: function_data; InterpreterData and Code: the first objects. */
enum { DATA_AT = 8, SECOND_AT = 16 };

/* ScopeInfo, in words; flags (scope-info.tq: ScopeFlags). */
enum { SCOPE_FLAGS = 1, SCOPE_LOCALS = 3, SCOPE_LOCALS_INLINE = 75, SCOPE_LOCALS_MAX = 1 << 16 };
enum {
	HAS_SAVED_CLASS_VARIABLE = 1 << 10,
	HAS_FUNCTION_NAME = 3 << 12,
	HAS_INFERRED_NAME = 1 << 14,
};

/* Script: line_offset and column_offset. */
enum { LINE_OFF_AT = 24, COLUMN_OFF_AT = 32 };

/* Limits, of one process. */
enum { SCRIPTS_MAX = 4096, LINE_ENDS_MAX = 8 << 20, CHARS_MAX = 1 << 28, TRIES_MAX = 4 };

/* ---- scripts ------------------------------------------------------------------------------ */

static bool is_number(int32_t n)
{
	return n >= 0 && n < 1 << 24;
}

static bool script_read(struct v8 *v, uint64_t at, struct v8_script *s)
{
	*s = (struct v8_script){.at = at};
	if (!v8_word(v, at, v->k[V8_SCRIPT_SOURCE], &s->source) ||
	    !v8_word(v, at, v->k[V8_SCRIPT_NAME], &s->name) ||
	    !v8_smi(v, at, LINE_OFF_AT, &s->line_off) ||
	    !v8_smi(v, at, COLUMN_OFF_AT, &s->column_off) || !is_number(s->line_off) ||
	    !is_number(s->column_off))
		return false;
	(void)v8_text(v, s->name, s->file, sizeof s->file);
	return true;
}

/* The source may be moved while it is read: it is tried again. */
static void read_line_ends(struct v8 *v, struct v8_script *s, bool *nomem)
{
	if (s->ends || s->tries >= TRIES_MAX || v->n_line_ends >= LINE_ENDS_MAX ||
	    v->n_chars >= CHARS_MAX)
		return;
	s->tries++;
	if (v8_line_ends(v, s->source, &s->ends, &s->n_ends, &s->chars, nomem))
		v->n_line_ends += s->n_ends;
	v->n_chars += s->chars; /* read in vain, too */
}

/* A script is read once; where it is, another one may come. */
static const struct v8_script *script_at(struct v8 *v, uint64_t at, bool *nomem)
{
	uint64_t source, name;
	struct v8_script *s;

	if (!v8_word(v, at, v->k[V8_SCRIPT_SOURCE], &source) ||
	    !v8_word(v, at, v->k[V8_SCRIPT_NAME], &name))
		return NULL;
	for (size_t i = v->scripts.n; i--;) {
		struct v8_script *known = v->scripts.v[i];

		if (known->at != at || known->source != source || known->name != name)
			continue;
		read_line_ends(v, known, nomem);
		return known;
	}
	if (v->scripts.n >= SCRIPTS_MAX)
		return NULL;
	s = calloc(1, sizeof *s);
	*nomem |= !s;
	if (!s || !script_read(v, at, s) || vec_push(&v->scripts, s)) {
		free(s);
		return NULL;
	}
	read_line_ends(v, s, nomem);
	return s;
}

bool v8_position(const struct v8_script *s, uint32_t at, uint32_t *line, uint32_t *column)
{
	uint32_t lo = 0, hi = s->n_ends, begin;

	if (!s->ends || at > s->chars)
		return false;
	while (lo < hi) { /* the first that ends there or later */
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->ends[mid] < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	begin = lo ? s->ends[lo - 1] + 1 : 0;
	*line = lo + 1 + (uint32_t)s->line_off;
	*column = at - begin + 1 + (lo ? 0 : (uint32_t)s->column_off);
	return true;
}

/* ---- functions ---------------------------------------------------------------------------- */

/* Small integers until release 12, then a plain number. */
static bool scope_flags(struct v8 *v, uint64_t scope, uint32_t *ret)
{
	uint64_t word;

	if (!v8_word(v, scope, WORD * SCOPE_FLAGS, &word))
		return false;
	*ret = (uint32_t)word ? (uint32_t)word : (uint32_t)(word >> 32);
	return true;
}

/* Reads a name: a string, or none. */
static bool name_at(struct v8 *v, uint64_t scope, int32_t word, char *to, size_t size)
{
	uint64_t string;
	int32_t none;

	*to = 0;
	if (v8_smi(v, scope, WORD * word, &none))
		return true;
	return v8_word(v, scope, WORD * word, &string) &&
	       (v8_is(v, string, V8_TYPE_ODDBALL) || v8_text(v, string, to, size));
}

/* The name that the source gives, or the one that V8 has inferred. */
static bool scope_read(struct v8 *v, uint64_t scope, struct v8_function *f)
{
	int32_t n, slot, start, end, at = v->k[V8_SCOPE_FIRST] + 1;
	char inferred[V8_TEXT_MAX] = "";
	uint32_t flags;

	if (!scope_flags(v, scope, &flags) || !v8_smi(v, scope, WORD * SCOPE_LOCALS, &n) || n < 0 ||
	    n > SCOPE_LOCALS_MAX)
		return false;
	at += (n < SCOPE_LOCALS_INLINE ? n : 1) + n + !!(flags & HAS_SAVED_CLASS_VARIABLE);
	if (flags & HAS_FUNCTION_NAME) {
		if (!name_at(v, scope, at, f->name, sizeof f->name) ||
		    !v8_smi(v, scope, WORD * (at + 1), &slot))
			return false;
		at += 2;
	}
	if (flags & HAS_INFERRED_NAME && !name_at(v, scope, at++, inferred, sizeof inferred))
		return false;
	if (!*f->name)
		memcpy(f->name, inferred, sizeof inferred);
	/* Where places come first, two more words stand before the locals. */
	if (v->k[V8_SCOPE_FIRST] > SCOPE_LOCALS)
		at = SCOPE_LOCALS + 1;
	if (!v8_smi(v, scope, WORD * at, &start) || !v8_smi(v, scope, WORD * (at + 1), &end) ||
	    start < 0 || end < start)
		return false;
	f->start = (uint32_t)start;
	f->end = (uint32_t)end;
	return true;
}

bool v8_function_read(struct v8 *v, uint64_t shared, struct v8_function *f, bool *nomem)
{
	uint64_t scope, script;

	*f = (struct v8_function){0};
	if (!v8_is(v, shared, V8_TYPE_SHARED) ||
	    !v8_field(v, shared, v->k[V8_SHARED_NAME], V8_TYPE_SCOPE, &scope) ||
	    !scope_read(v, scope, f))
		return false;
	if (v8_field(v, shared, v->k[V8_SHARED_SCRIPT], V8_TYPE_SCRIPT, &script))
		f->script = script_at(v, script, nomem);
	/* Else what was read is not of this function. */
	return !f->script || !f->script->ends || f->end <= f->script->chars;
}

void v8_function_name(const struct v8_function *f, char mark, char *to, size_t size)
{
	const char *file = f->script && *f->script->file ? f->script->file : NULL;
	uint32_t line, column;

	if (f->script && v8_position(f->script, f->start, &line, &column))
		snprintf(to, size, "JS:%c%s %s:%u:%u", mark, f->name, file ? file : "", line,
			 column);
	else
		snprintf(to, size, "JS:%c%s %s", mark, f->name, file ? file : "");
}

/* InterpreterData stands between where each function has its own copy of the interpreter's entry;
 * baseline code where there is such. */
static bool bytecode_behind(struct v8 *v, uint64_t object, uint64_t *ret)
{
	return v8_field(v, object, DATA_AT, V8_TYPE_BYTECODE, ret) ||
	       v8_field(v, object, SECOND_AT, V8_TYPE_BYTECODE, ret);
}

bool v8_shared_bytecode(struct v8 *v, uint64_t shared, uint64_t *ret)
{
	uint64_t data, between;

	if (!v8_word(v, shared, DATA_AT, &data))
		return false;
	if (v8_is(v, data, V8_TYPE_BYTECODE)) {
		*ret = data;
		return true;
	}
	if (v8_is(v, data, V8_TYPE_CODE) &&
	    (v8_field(v, data, DATA_AT, V8_TYPE_INTERPRETER_DATA, &between) ||
	     v8_field(v, data, SECOND_AT, V8_TYPE_INTERPRETER_DATA, &between)))
		data = between;
	return (v8_is(v, data, V8_TYPE_CODE) || v8_is(v, data, V8_TYPE_INTERPRETER_DATA)) &&
	       bytecode_behind(v, data, ret);
}
