/* image.h - the internals of an ELF image. Private to modules/. */
#ifndef MODULES_IMAGE_H
#define MODULES_IMAGE_H

#include <pthread.h>
#include <sys/types.h>

#include "modules/modules.h"

/* A section as the file has it, and its inflated contents. */
struct image_section {
	const char *name; /* "" if the name is outside of the string table */
	struct elf_section
		s; /* size: as in the file; data: NULL if outside of the file, or NOBITS */
	/* Compressed in the old GNU form: name .zdebug_*, contents start with "ZLIB". */
	bool zdebug;
	/* Owned; guarded by elf_image.lock, like the fields after it. If decompress_failed, only
	 * what a watcher was shown, not contents. */
	uint8_t *inflated;
	uint64_t inflated_size;
	enum err_code decompress_failed;
	bool inflating; /* a thread is inflating it, without the lock */
	bool whole;	/* all of it is or will be inflated, and none was released since */
};

/* Identifies the mapped file; ino 0: the image is only in memory, or was unpacked. */
struct image_file {
	dev_t dev;
	ino_t ino;
};

struct elf_image {
	/* root: the directory that it was opened below, as in base/rooted.h, or NULL */
	char *path, *root;
	struct image_file file;
	const uint8_t *bytes;
	size_t size;
	size_t stored_bytes; /* of the file or section that it was unpacked from, else size */
	size_t mapped_bytes; /* `bytes` must be unmapped; 0: freed */
	bool is_64, swapped;
	bool is_partial; /* made of single sections that were fetched from servers */
	Elf64_Ehdr ehdr; /* native byte order, widened */
	Elf64_Phdr *phdrs;
	size_t n_phdrs;
	struct elf_segment *segments; /* the PT_LOADs */
	size_t n_segments;
	struct image_section *sections;
	size_t n_sections;
	struct build_id build_id;
	uint64_t mtime_ns;
	pthread_mutex_t lock;
	pthread_cond_t inflated; /* signalled after a section was inflated */
};

/* Like elf_image_open(), for a path below a root (base/rooted.h). */
int image_open_below(struct elf_image **ret, const char *root, const char *path, struct err *err);
/* Opens bytes of a bundle. Takes ownership of them, also on failure. */
int image_open_mapped(struct elf_image **ret, struct bundle_bytes *bytes, const char *name,
		      struct err *err);
/* Like elf_image_open(), from a descriptor, which the caller closes. `name` is for messages. */
int elf_image_open_fd(struct elf_image **ret, int fd, const char *name, struct err *err);
/* Does the file have all its contents? Linkers and strip write the section table last; so a file
 * that was cut off has none, or has sections that extend beyond its end. */
bool image_is_whole(const struct elf_image *img);
/* Was the file cut off before its section table, or is its header damaged? */
bool image_is_cut(const struct elf_image *img);
/* Does the file contain machine code? In the output of objcopy --only-keep-debug the sections of
 * code have no contents. */
bool image_has_code(const struct elf_image *img);
/* Opens what decompress_stream() made of `stored_bytes`. Takes ownership of `bytes` (malloc'ed),
 * also on failure. */
int elf_image_open_unpacked(struct elf_image **ret, uint8_t *bytes, size_t size,
			    size_t stored_bytes, const char *name, struct err *err);
/* Reads the section headers; a table that lies outside of the file counts as no sections. */
int image_read_sections(struct elf_image *img, struct err *err);
/* For a file without section headers: makes .dynsym, .dynstr, .gnu.hash, .eh_frame_hdr and .dynamic
 * from the program headers and the dynamic table. */
int image_sections_from_dynamic(struct elf_image *img, struct err *err);
/* Like elf_image_off_to_vaddr(), but only through segments that have all of `flags` (PF_X ...). */
bool image_off_to_vaddr(const struct elf_image *img, uint64_t off, uint32_t flags, uint64_t *ret);
/* Does a section have contents in this file (a debug file has .text without)? Inflates nothing. */
bool image_has(const struct elf_image *img, const char *name);
/* The first GNU build id among the notes; size 0 if there is none. */
struct build_id image_note_build_id(const struct elf_image *img);
/* same_code.c: is the code of which the recording has parts that of a file? What is no code may
 * have been made anew for the recording. */
bool image_is_same_code(const struct elf_image *file, const struct elf_image *recorded);
/* The bytes [off, off + size) of the file; NULL if not all of them are there. */
const uint8_t *image_bytes_at(const struct elf_image *img, uint64_t off, uint64_t size);

#endif
