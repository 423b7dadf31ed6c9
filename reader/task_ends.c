/* task_ends.c - when threads ended or became another program: their calls ended then, too. */
#include "reader/task_ends.h"

#include "base/vec.h"
#include "reader/reader.h"

/* EXIT and FORK have a time of their own, which is of the same clock as the trailer's only without
 * a clockid.
 */
uint64_t task_record_time(const struct perf_file *f, const struct record_view *v)
{
	const struct event *e = events_of_trailer(&f->events, &v->b);
	const size_t size = (size_t)(v->b.end - v->b.data);

	if (e && e->trailer_time_pos && e->trailer_bytes <= size - sizeof(struct perf_event_header))
		return buf_u64_at(&v->b, size - e->trailer_time_pos);
	return v->type == PERF_RECORD_EXIT || v->type == PERF_RECORD_FORK ? buf_u64_at(&v->b, 24)
									  : 0;
}

static int note(struct perf_file *f, const struct record_view *v, struct perf_task_end end)
{
	if (!f->wants_task_ends || v->stream)
		return 0;
	end.time_ns = task_record_time(f, v);
	return end.time_ns && vec_push(&f->task_ends, end) ? err_nomem(&f->err) : 0;
}

int task_ends_note_exit(struct perf_file *f, const struct record_view *v, uint32_t pid,
			uint32_t tid)
{
	return note(f, v, (struct perf_task_end){.pid = pid, .tid = tid});
}

int task_ends_note_exec(struct perf_file *f, const struct record_view *v, uint32_t pid)
{
	if (!(v->misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	return note(f, v, (struct perf_task_end){.pid = pid, .is_exec = true});
}

size_t perf_file_task_ends(const struct perf_file *f, const struct perf_task_end **ret)
{
	*ret = f->task_ends.v;
	return f->task_ends.n;
}
