/* task_ends.h - when threads ended or became another program. Private to reader/. */
#ifndef READER_TASK_ENDS_H
#define READER_TASK_ENDS_H

#include "reader/file.h"
#include "reader/record.h"

/* When a FORK, an EXIT or a COMM was written, by the clock of samples; 0: not known. */
uint64_t task_record_time(const struct perf_file *f, const struct record_view *v);
/* Keep what EXIT and COMM records say in their turn, for perf_file_task_ends(). Return 0 or
 * -ERR_NOMEM. */
int task_ends_note_exit(struct perf_file *f, const struct record_view *v, uint32_t pid,
			uint32_t tid);
int task_ends_note_exec(struct perf_file *f, const struct record_view *v, uint32_t pid);

#endif
