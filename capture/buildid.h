/* buildid.h - private: build ids from ELF notes, for what the kernel reports without them. */
#ifndef CAPTURE_BUILDID_H
#define CAPTURE_BUILDID_H

#include <stddef.h>

#include "reader/reader.h"

/* From a sequence of ELF notes (the contents of PT_NOTE, /sys/kernel/notes,
 * /sys/module/NAME/notes/...). */
struct build_id buildid_from_notes(const void *notes, size_t size);
/* From the program headers, else the section headers, of an open ELF file, 64-bit or 32-bit, in
 * this machine's byte order. Reads at most a few KiB, with pread. */
struct build_id buildid_from_fd(int fd);
/* From a file that consists of notes. */
struct build_id buildid_from_note_file(const char *path);

#endif
