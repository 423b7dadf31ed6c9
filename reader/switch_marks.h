/* switch_marks.h - what capture writes among context switches and losses: records of no processor.
 * Part of format.h. */
#ifndef READER_SWITCH_MARKS_H
#define READER_SWITCH_MARKS_H

/* In the place of the processor, in PERF_RECORD_SWITCH. */
enum {
	/* Of no thread. SWITCH_OUT: nothing is recorded from here on; else: it is again, as if it
	 * began here. */
	SWITCH_MARK_PAUSE = -1,
	/* Of a cgroup. Of no thread: those that are not named were not in it when it began. Of a
	 * thread: it was; SWITCH_OUT: when it ended, it was no longer.
	 * Without a cgroup: of a thread that waited when it began. */
	SWITCH_MARK_MEMBER = -2,
};

/* In the same place, in PERF_RECORD_LOST_SAMPLES. */
enum {
	/* These were taken, but the file could not grow. */
	LOST_MARK_UNWRITTEN = -3,
};

#endif
