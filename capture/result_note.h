/* result_note.h - private: adds lines to capture_result.notes. */
#ifndef CAPTURE_RESULT_NOTE_H
#define CAPTURE_RESULT_NOTE_H

#include "capture/capture.h"

/* Dropped when notes[] is full. */
void capture_note(struct capture_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
