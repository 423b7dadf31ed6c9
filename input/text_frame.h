/* text_frame.h - frames as bpftrace and bcc print them. Private to input/.
 *
 *	main+20		 main+0x17	   main+0x17 [libc.so.6]
 *	55c9c5a101c9 main+9 (/usr/bin/x)   0x7f12ab340000   [unknown]   b'main' */
#ifndef INPUT_TEXT_FRAME_H
#define INPUT_TEXT_FRAME_H

#include "input/input.h"

/* Points into the text. */
struct text_frame {
	const char *name, *module; /* n 0: none */
	size_t n, n_module;
	uint64_t ip;
	/* A function with which the kernel is entered, or with which its threads begin. */
	bool is_kernel_entry;
};

void text_frame_parse(const char *s, size_t n, struct text_frame *f);
/* Returns 0, or negative with *err. */
int text_frame_add(struct profile *p, const struct text_frame *f, bool is_kernel,
		   uint32_t *location, struct err *err);

#endif
