/* runtime_watch.h - private: reads the code of managed runtimes while they are recorded.
 *
 * The sideband says which processes have code without a file, or libjvm.so; samples say which of
 * them run, and what lies on their stacks. A thread of its own reads their memory (runtimes/): when
 * a process is first sampled, then again and again while it is, and at the end. So that reading
 * costs less than a hundredth of a processor, the time between is at least a hundred times what it
 * took. */
#ifndef CAPTURE_RUNTIME_WATCH_H
#define CAPTURE_RUNTIME_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/bytes.h"
#include "capture/capture.h"
#include "capture/sample_pack.h"

struct runtime_watch; /* opaque */

/* Starts the thread. `writes`: what is read becomes records at once, for runtime_watch_take().
 * Returns 0, or negative with *err. */
int runtime_watch_new(struct runtime_watch **ret, bool writes, struct err *err);
/* The next two take what the recording's thread has read; NULL is allowed, then they do nothing. */
void runtime_watch_record(struct runtime_watch *w, const uint8_t *rec, size_t n);
void runtime_watch_sample(struct runtime_watch *w, const struct sample_facts *f);
/* Appends the records (reader/recorded_code.h) that are ready; NULL is allowed. */
void runtime_watch_take(struct runtime_watch *w, struct bytes *records);
/* Appends a record that holds none, with the number of the last frame: see there. */
void recorded_code_put_mark(struct bytes *records, uint16_t frame);
/* Another file begins: it needs all that is known of the processes that run. NULL is allowed. */
void runtime_watch_begin_file(struct runtime_watch *w);
/* Reads for the last time, ends the thread, and appends the records of all that is not written yet;
 * none, if nothing was read. Adds notes for the user to *r. */
void runtime_watch_finish(struct runtime_watch *w, struct bytes *records, struct capture_result *r);
/* What was read of processes that had ended before that time, and a while ago, is needed no more: a
 * later file has no samples of them. */
void runtime_watch_forget(struct runtime_watch *w, uint64_t time_ns);
/* Between these two nothing begins to be read: a fork() meanwhile has all that was read before. */
void runtime_watch_hold(struct runtime_watch *w);
void runtime_watch_release(struct runtime_watch *w);
/* In the process that was forked meanwhile, which has no thread that reads: instead of the release.
 */
void runtime_watch_forked(struct runtime_watch *w);
void runtime_watch_free(struct runtime_watch *w); /* NULL is allowed */

#endif
