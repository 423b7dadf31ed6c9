/* page_data.h - the profile in the form that the page reads (output/page/data.js). Private to
 * output/.
 *
 * One deflated stream of unsigned numbers (LEB128; signed ones as zigzag) and UTF-8 strings, each
 * table by columns, because columns compress best:
 *
 *	strings   n, their lengths, their bytes
 *	facts     the string that is a JSON object: samples, lost, shares, machine, time
 *	frames    n; name, module, file (strings); line; kind (enum name_kind, +8 guessed,
 *	          +16 stitched)
 *	nodes     n; how many levels up from the node before; frame. In preorder; node 0 is the root
 *	changes   only if facts.diff: by frame: 100 * diff_limits(). If facts.diff.judged, by frame
 *	          (rows, not columns): verdict, details (strings), 1 if significant
 *	events    n; each: name (string), 1 if its weights are nanoseconds
 *	tasks     n; each: command (string), pid, tid (signed)
 *	samples   n; node; event; task; count; weight. Of a difference: weight of base, of new
 *	log       n; time since the sample before in ns (signed); sample; weight; of a difference, 1
 *	          if it is of the new side. Times are since the beginning of each run there
 *	spans     how many calls were left out; n; entry of the log (as the difference to the one
 *	          before); duration in ns; depth; enum span_end; words (string)
 *
 * Equal recordings give equal bytes: everything is in the order of its content. */
#ifndef OUTPUT_PAGE_DATA_H
#define OUTPUT_PAGE_DATA_H

#include "base/text.h"
#include "output/output.h"

/* Appends the stream before deflation. Returns 0 or -ERR_NOMEM. */
int page_data(struct text *out, const struct profile *p, const struct output_options *opt,
	      const struct event_set *events, struct err *err);

#endif
