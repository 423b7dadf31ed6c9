/* v8_names.c - which JavaScript function V8's interpreter runs in a frame.
 *
 * Frames of the interpreter have one return address, into its entry. Below the record at the frame
 * pointer are the context, the JSFunction, the number of arguments, the bytecode and the place in
 * it (frame-constants.h: InterpreterFrameConstants). The recorder has proved whose bytecode it is
 * (runtimes/v8.c). Code that runs without a frame of its own, such as the interpreter's handlers,
 * has the same frame pointer: the frame that has left by the record is the one whose record it is.
 */
#include "reader/reader.h"
#include "unwind/walk.h"

/* Words below the record. */
enum { CONTEXT = -1, FUNCTION = -2, BYTECODE = -4, PLACE = -5 };

enum { WORD = 8, TAG_MASK = 3, TAG = 1 };

static bool word_at(const struct walk *w, uint64_t fp, int words, uint64_t *ret)
{
	return walk_word(w, fp + (uint64_t)((int64_t)words * WORD), WORD, ret);
}

static bool object_at(const struct walk *w, uint64_t fp, int words, uint64_t *ret)
{
	return word_at(w, fp, words, ret) && (*ret & TAG_MASK) == TAG;
}

/* Baseline code has the same frame, but an object for the place: its own code has a name. */
static bool place_find(struct walk *w, uint64_t fp, uint64_t *ret)
{
	uint64_t word, bytecode, start, end;

	if (!object_at(w, fp, CONTEXT, &word) || !object_at(w, fp, FUNCTION, &word) ||
	    !object_at(w, fp, BYTECODE, &bytecode) || !word_at(w, fp, PLACE, &word) ||
	    (uint32_t)word || !jit_bytecode_find(w, bytecode, &start, &end))
		return false;
	*ret = bytecode + (word >> 32);
	return *ret >= start && *ret < end && jit_is_named(w, *ret);
}

/* Names of what is in no file belong to memory without one. */
static const struct map *map_without_file(const struct walk *w)
{
	const struct address_space *space = w->s->space;
	const size_t n = address_space_count(space);

	for (size_t i = 0; i < n; i++)
		if (address_space_at(space, i)->dso->kind == DSO_ANON)
			return address_space_at(space, i);
	return NULL;
}

void v8_name_frames(struct walk *w, struct frame *frames, const struct frame_place *places,
		    size_t n)
{
	const struct map *map = NULL;
	uint64_t place;

	if (!w->is_described || !w->arch->interpreter_sp_off || !runs_v8(w))
		return;
	for (size_t i = 0; i + 1 < n; i++) {
		const uint64_t fp = places[i].fp;

		if (!fp || places[i + 1].sp != fp + 2 * WORD || !place_find(w, fp, &place))
			continue;
		map = map ? map : map_without_file(w);
		if (!map)
			return;
		frames[i].ip = place;
		frames[i].map = map;
		frames[i].is_return_address = false;
		frames[i].place_id = 0;
	}
}
