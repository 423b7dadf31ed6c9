/* v8_code.c - which code object has an address, and of which function it is.
 *
 * Sources of truth: objects/code.h, objects/instruction-stream.h (until release 10 both are one
 * object), objects/deoptimization-data.h. Machine code that looks like the head of such an object
 * is none: the Code that the head names must name the same instructions. */
#include "runtimes/v8.h"

/* Instructions are aligned to this much at least. How many a function has; how far down its
 * beginning is looked for. */
enum { ALIGN = 32, CODE_BYTES_MAX = 4 << 20, SCAN_BYTES_MAX = 256 << 10 };

enum { TAG = 1, WORD = 8, LENGTH_AT = 8, DATA_AT = 16, KIND_MASK = 15, MARKS = 3 };

/* The Code of an object with instructions: among the words of its head. */
static bool code_of(struct v8 *v, uint64_t object, uint64_t start, uint64_t *ret)
{
	uint64_t to;

	if (!v8_has(v, V8_TYPE_STREAM)) {
		*ret = object;
		return v8_is(v, object, V8_TYPE_CODE);
	}
	for (int32_t off = WORD; off < v->k[V8_STREAM_INSTRUCTIONS]; off += WORD)
		if (v8_field(v, object, off, V8_TYPE_CODE, ret) &&
		    v8_word(v, *ret, v->k[V8_CODE_INSTRUCTIONS], &to) && to == start)
			return true;
	return false;
}

static bool is_array(struct v8 *v, uint64_t object)
{
	return v8_is(v, object, V8_TYPE_ARRAY) || v8_is(v, object, V8_TYPE_TRUSTED_ARRAY) ||
	       v8_is(v, object, V8_TYPE_PROTECTED_ARRAY);
}

/* The function, by what is needed to leave optimized code. */
static bool shared_of(struct v8 *v, uint64_t deopt, uint64_t *ret)
{
	const bool wrapped = v8_has(v, V8_DEOPT_SHARED_WRAPPER);
	const int32_t i = v->k[wrapped ? V8_DEOPT_SHARED_WRAPPER : V8_DEOPT_SHARED];
	uint64_t wrapper;
	int32_t n;

	if (!v8_smi(v, deopt, LENGTH_AT, &n) || i < 0 || i >= n)
		return false;
	if (!wrapped)
		return v8_field(v, deopt, DATA_AT + WORD * i, V8_TYPE_SHARED, ret);
	return v8_field(v, deopt, DATA_AT + WORD * i, V8_TYPE_SHARED_WRAPPER, &wrapper) &&
	       v8_field(v, wrapper, WORD, V8_TYPE_SHARED, ret);
}

/* Optimized code has the one, baseline code the other; what is of no function neither. */
static bool function_of(struct v8 *v, uint64_t code, struct v8_code *ret)
{
	static const char marks[MARKS + 1] = "^+*";
	uint64_t data, flags;
	uint32_t kind;

	if (!v8_word(v, code, v->k[V8_CODE_FLAGS] & ~7, &flags))
		return false;
	kind = (uint32_t)(v->k[V8_CODE_FLAGS] & 7 ? flags >> 32 : flags) & KIND_MASK;
	if (kind < (uint32_t)v->k[V8_CODE_BASELINE] ||
	    kind - (uint32_t)v->k[V8_CODE_BASELINE] >= MARKS)
		return false;
	ret->mark = marks[kind - (uint32_t)v->k[V8_CODE_BASELINE]];
	for (int32_t off = WORD; off <= 2 * WORD; off += WORD) {
		if (!v8_word(v, code, off, &data))
			return false;
		if (ret->mark != '^' && is_array(v, data) && shared_of(v, data, &ret->shared))
			return true;
		if (ret->mark != '^')
			continue;
		if (v8_is(v, data, V8_TYPE_BYTECODE)) {
			ret->bytecode = data;
			return true;
		}
		if (v8_is(v, data, V8_TYPE_INTERPRETER_DATA) &&
		    (v8_field(v, data, WORD, V8_TYPE_BYTECODE, &ret->bytecode) ||
		     v8_field(v, data, 2 * WORD, V8_TYPE_BYTECODE, &ret->bytecode)))
			return true;
	}
	return false;
}

/* Where the instructions of an object are. */
static bool bounds_of(struct v8 *v, uint64_t object, struct v8_code *ret, uint64_t *code)
{
	const uint64_t start = object - TAG + (uint32_t)v->k[V8_STREAM_INSTRUCTIONS];
	uint32_t size;

	*ret = (struct v8_code){.object = object, .start = start};
	if (!code_of(v, object, start, code) ||
	    !remote_u32(&v->mem, *code - TAG + (uint32_t)v->k[V8_CODE_SIZE], &size) || !size ||
	    size > CODE_BYTES_MAX)
		return false;
	ret->end = start + size;
	return true;
}

bool v8_code_read(struct v8 *v, uint64_t object, struct v8_code *ret)
{
	uint64_t code;

	return bounds_of(v, object, ret, &code) && function_of(v, code, ret);
}

/* The object whose instructions begin at `start`, if any does; `map`: what is the first word of the
 * head. Returns true if nothing before needs to be looked at; the code need not have the address.
 */
static bool begins_at(struct v8 *v, uint64_t start, uint64_t map, struct v8_code *ret)
{
	const enum v8_number type = v8_has(v, V8_TYPE_STREAM) ? V8_TYPE_STREAM : V8_TYPE_CODE;
	const uint64_t object = start - (uint32_t)v->k[V8_STREAM_INSTRUCTIONS] + TAG;
	uint64_t code;

	if (v->stream_map ? map != v->stream_map : !v8_is(v, object, type))
		return false;
	if (!bounds_of(v, object, ret, &code))
		return false;
	v->stream_map = map;
	return true;
}

/* From the address down to where an object begins. */
bool v8_code_find(struct v8 *v, uint64_t pc, struct v8_code *ret)
{
	const uint64_t head = (uint32_t)v->k[V8_STREAM_INSTRUCTIONS];
	uint64_t words[REMOTE_PAGE / WORD], page = 0;
	uint64_t at = pc - pc % ALIGN - head;

	for (; at + head + SCAN_BYTES_MAX > pc; at -= ALIGN) {
		uint64_t map;

		if (!page || at < page) {
			page = at - at % REMOTE_PAGE;
			if (!page || !remote_read(&v->mem, page, words, sizeof words))
				return false; /* the range's beginning */
		}
		map = words[(at - page) / WORD];
		if (v8_is_object(map) && begins_at(v, at + head, map, ret))
			return pc < ret->end && v8_code_read(v, ret->object, ret);
	}
	return false;
}
