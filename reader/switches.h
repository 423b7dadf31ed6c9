/* switches.h - context switches become the time that threads do not run. Private to reader/.
 *
 * PERF_RECORD_SWITCH says when a thread got and gave up a processor
 * (include/uapi/linux/perf_event.h), a sample of sched:sched_switch with which stack it gave it up.
 * Where switches come too fast for all to have a sample, those that have one stand for others that
 * were about as long, of the same thread: a sample waits here until the next such one, and is then
 * delivered with its own wait and those since, so that the sum of each thread is exact. What there
 * was before the first one counts with that. Which of two waits was sampled does not depend on how
 * long it became, but what it was for does: a thousand short ones say nothing of a long one. Waits
 * of a length of which the thread has no sample are delivered without a stack.
 *
 * What is preempted could run, and counts as another event.
 *
 * FORK and COMM are of more threads than switches where those are of a cgroup or of one thread:
 * what begins so counts from there on, once it has a switch or a sample.
 *
 * Where samples of a clock are in one event with waits, they are weighed by the time that the
 * thread was on a processor, so that the sums of a thread are the whole time, within half a period:
 * the clock's own periods are too long by what each switch costs.
 *
 * A sample of sched:sched_waking is of the thread that ends a wait, and stands for that wait. */
#ifndef READER_SWITCHES_H
#define READER_SWITCHES_H

#include "base/hash.h"
#include "base/vec.h"
#include "reader/deferred_samples.h"

struct perf_file;

/* What capture --off-cpu and --wall call the event whose samples are weighed so. */
#define SWITCHES_OFF_CPU "off-cpu"
#define SWITCHES_WALL	 "wall"
#define SWITCHES_READY	 "runnable"
#define SWITCHES_WAKER	 "waker"

enum switch_kind { SWITCH_WAITS, SWITCH_READY, SWITCH_KINDS };
/* LOST: it ran in between, and when is not known. */
enum switch_state { SWITCH_UNKNOWN, SWITCH_ON, SWITCH_OFF, SWITCH_LOST };

/* Lengths within a factor of four, from below 4 us to above 4 s. */
enum { SWITCH_LENGTHS = 12 };

/* Times of one kind and length. */
struct switch_share {
	struct held *held; /* the last sample; NULL: none yet */
	uint64_t ns;	   /* that it stands for so far */
	uint64_t own_ns;   /* of that: its own */
	bool counts;	   /* there are some that are not below the least that counts */
};

struct switch_thread {
	uint32_t pid, tid;
	uint8_t state;	/* enum switch_state */
	uint8_t kind;	/* of the time that it is off */
	bool is_woken;	/* this wait has counted with who ended it */
	bool is_member; /* of what is recorded, from the time since_ns or before */
	bool is_seen;	/* has a switch or a sample: not only some FORK or exec of the sideband */
	uint64_t since_ns;
	uint64_t on_ns, clock_ns; /* on a processor until then; weights of samples of clocks */
	struct held *fresh;	  /* its switch record has not come yet */
	struct held *own;	  /* what this time began with; NULL: that was not sampled */
	struct switch_share shares[SWITCH_KINDS][SWITCH_LENGTHS];
	uint64_t unwoken_ns;		       /* of waits that no recorded thread ended */
	uint64_t unclaimed_ns[SWITCH_LENGTHS]; /* of waits that were left out since one was not
						*/
};

/* Zeroed: nothing is weighed. */
struct switches {
	bool on;
	bool wanted;	/* sched:sched_switch is to be weighed, whatever it is called */
	bool wall;	/* all is one event, with the samples of clocks */
	bool paused;	/* nothing of switches is recorded (capture -D) */
	bool some_come; /* of a cgroup: what is no member may become one later */
	bool all_count; /* every thread of which there is a FORK or an exec: those of a command */
	uint64_t least_ns;
	bool foreign_pids; /* the kernel's own, not those of this container */
	const struct perf_event *events[SWITCH_KINDS]; /* that are delivered */
	const struct perf_event *waker;		       /* and this; NULL: not recorded */
	struct hash_table by_tid;		       /* -> threads */
	struct hash_table ended; /* tids: what still comes of them is their end */
	VEC(struct switch_thread) threads;
	uint64_t first_ns, last_ns; /* of what says something about switches */
	size_t held_bytes;
	size_t refresh; /* the thread whose samples are looked at next */
};

/* The event's samples are of switches: looks for such events when names are settled. */
int switches_settle(struct perf_file *f);
/* Takes a sample of such an event, which was decoded and placed. */
struct sample_record;
int switches_sample(struct perf_file *f, const struct perf_sample *s, struct held *h);
void switches_begin_thread(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
			   enum switch_state state);
/* A thread that another one has begun is where that is. */
void switches_note_parent(struct perf_file *f, uint32_t tid, uint32_t parent_tid);
/* Weighs a placed sample of a clock. Returns 0, or negative. */
int switches_clock(struct perf_file *f, struct perf_sample *s);
/* Makes a placed sample of sched:sched_waking one of the wait that it ends. Returns 1, 0 if it ends
 * none that is known, or negative. */
int switches_waking(struct perf_file *f, struct perf_sample *s);
/* The processor of a record, or what capture marks (reader/switch_marks.h); 0: not known. */
struct record_view;
int switches_cpu_or_mark(const struct perf_file *f, const struct record_view *v);
/* In which state a sample of sched:sched_switch gave up its processor; NULL: not known. */
const char *switches_state(const struct perf_file *f, const struct perf_sample *s);
/* The thread has ended: delivers what is held. */
int switches_end_thread(struct perf_file *f, uint32_t tid, uint64_t time_ns);
/* The recording has ended: delivers what is held of some thread. Returns 1 if there was one. */
int switches_end_some(struct perf_file *f);
/* The oldest epoch of a sample that is held, not before `least`: older ones get the present maps of
 * their process. */
uint64_t switches_oldest_epoch(struct perf_file *f, uint64_t now);
void switches_done(struct switches *w);

#endif
