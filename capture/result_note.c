/* result_note.c - what the user should know about a recording. */
#include "capture/result_note.h"

#include <stdarg.h>
#include <stdio.h>

void capture_note(struct capture_result *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n_notes == sizeof r->notes / sizeof *r->notes)
		return;
	va_start(ap, fmt);
	vsnprintf(r->notes[r->n_notes++], sizeof *r->notes, fmt, ap);
	va_end(ap);
}
