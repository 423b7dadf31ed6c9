/* kept.h - what is kept of a thread's stacks until the next batch. Private to stitch/.
 *
 * The newest look at each part of its stack: the frames of the last sample with those that donors
 * showed, then of an older one that reaches farther what lies beyond, and so on. */
#ifndef STITCH_KEPT_H
#define STITCH_KEPT_H

#include "stitch/stacks.h"

struct stitch_piece {
	uint64_t time_ns;
	uint32_t first, n; /* frames */
	bool is_complete, is_cut;
};

/* Zeroed: nothing. Oldest first. */
struct stitch_kept {
	VEC(struct stitch_piece) pieces;
	VEC(struct frame) frames; /* their maps are set when they are pushed */
	VEC(struct map) maps;	  /* copies: the process may have ended, or mapped something else */
	VEC(uint32_t) map_of;	  /* by frame: in maps, + 1; 0: none */
	VEC(struct frame_place) places;
	VEC(struct stitch_words) words;
};

void stitch_kept_done(struct stitch_kept *kept);
/* Pushes the pieces, as stacks that live as long as they do, and maps in `room`. 0 or -ERR_NOMEM.
 */
int stitch_kept_push(struct stitch_kept *kept, struct stitch_stacks *s, struct scratch *room);
/* Keeps in `kept`, which must not be what the stacks point to. 0 or -ERR_NOMEM, with nothing kept.
 */
int stitch_keep(struct stitch_kept *kept, struct stitch_stacks *s);

#endif
