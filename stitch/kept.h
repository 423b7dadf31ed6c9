/* kept.h - what is kept of a thread's stacks until the next batch. Private to stitch/.
 *
 * For each part of the stack the newest sample that showed it: the frames of the last sample with
 * those from its donors; then, from an older sample that reaches farther out, the frames beyond
 * those; and so on. */
#ifndef STITCH_KEPT_H
#define STITCH_KEPT_H

#include "stitch/stacks.h"

struct stitch_piece {
	uint64_t time_ns;
	uint32_t first, n; /* index and number of its frames */
	bool is_complete, is_cut;
};

/* A zeroed struct is empty. Pieces are in order of time, the oldest first. */
struct stitch_kept {
	VEC(struct stitch_piece) pieces;
	VEC(struct frame) frames; /* their `map` is set by stitch_kept_push() */
	VEC(struct map) maps;	  /* copies: the process may have ended, or mapped something else */
	VEC(uint32_t) map_of;	  /* by frame: 1 + index in maps; 0: none */
	VEC(struct frame_place) places;
	VEC(struct stitch_words) words;
};

void stitch_kept_done(struct stitch_kept *kept);
/* Adds the pieces to `s` as stacks, which borrow from `kept`; copies their maps to `room`. Returns
 * 0 or -ERR_NOMEM. */
int stitch_kept_push(struct stitch_kept *kept, struct stitch_stacks *s, struct scratch *room);
/* Stores in `kept` what is to be kept of the stacks, which must not borrow from `kept`. Returns 0,
 * or -ERR_NOMEM with nothing kept. */
int stitch_keep(struct stitch_kept *kept, struct stitch_stacks *s);

#endif
