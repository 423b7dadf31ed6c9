/* bundle_pins.h - private: keeps the files that are mapped as code open, for the bundle at the end.
 *
 * By then the process may have ended, its file may be deleted or replaced, and the mount namespace
 * that it was in may be gone. /proc/PID/map_files leads to the very file while it is mapped. */
#ifndef CAPTURE_BUNDLE_PINS_H
#define CAPTURE_BUNDLE_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "reader/reader.h"

/* A process that runs code without a file: where its JIT compiler's files are. */
struct pinned_root {
	uint32_t pid;
	uint32_t inner;	  /* its number in its own PID namespace */
	int root, mounts; /* its root folder and mount namespace; -1: gone */
};

/* Zeroed: pins nothing. */
struct pins {
	bool on;
	struct hash_table by_file; /* -> index of fds */
	VEC(int) fds;
	struct hash_table by_pid; /* -> index of roots */
	VEC(struct pinned_root) roots;
	size_t room;	 /* descriptors that may still be opened */
	size_t left_out; /* files for which there was none */
};

void pins_begin(struct pins *p);
/* Takes a record; ignores all but MMAP2 of code. Without memory nothing more is pinned. */
void pins_note(struct pins *p, const uint8_t *rec, size_t n);
/* For modules_options.pinned: the descriptor of the file of a dso, or -1. `pins` is a struct pins
 * that nothing is added to any more. */
int pins_find(void *pins, const struct dso *dso);
/* The file of a JIT compiler as its process saw it; for cut_options.read_file. */
void *pins_read(void *pins, const struct dso *dso, uint32_t pid, size_t *size);
void pins_done(struct pins *p);

#endif
