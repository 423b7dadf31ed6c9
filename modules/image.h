/* image.h - inside of an ELF image. Private to modules/. */
#ifndef MODULES_IMAGE_H
#define MODULES_IMAGE_H

#include <pthread.h>
#include <sys/types.h>

#include "modules/modules.h"

/* A section as the file has it, and what was made of it. */
struct image_section {
	const char *name; /* "" when the name is outside of the string table */
	struct elf_section
		s;	   /* size: as in the file; data: NULL when outside of the file or NOBITS */
	bool zdebug;	   /* old GNU way: name .zdebug_*, contents start with "ZLIB" */
	uint8_t *inflated; /* owned; guarded by elf_image.lock, like what follows. With
			      decompress_failed: what a watcher has seen, no contents */
	uint64_t inflated_size;
	enum err_code decompress_failed;
	bool inflating; /* a thread is at it, without the lock */
	bool whole;	/* it was inflated, or is being, and nothing of it was let go since */
};

/* Which one is mapped; ino 0: it is in memory only, or was unpacked. */
struct image_file {
	dev_t dev;
	ino_t ino;
};

struct elf_image {
	char *path, *root; /* root: that it was opened below, as in base/rooted.h, or NULL */
	struct image_file file;
	const uint8_t *bytes;
	size_t size;
	size_t stored_bytes; /* of the file or section that it was unpacked from; else size */
	bool mapped;	     /* bytes: munmap, else free */
	bool is_64, swapped;
	bool is_partial; /* made of single sections that were fetched */
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
	pthread_cond_t inflated; /* some section is */
};

/* As elf_image_open(), of a path below a root: base/rooted.h. */
int image_open_below(struct elf_image **ret, const char *root, const char *path, struct err *err);
/* As elf_image_open(), from a descriptor, which the caller closes. `name` is for messages. */
int elf_image_open_fd(struct elf_image **ret, int fd, const char *name, struct err *err);
/* The section table comes last in files as linkers and strip write them; so a file that has been
 * cut has none, or sections that reach over its end. */
bool image_is_whole(const struct elf_image *img);
/* A file that was cut before its section table, or whose header is damaged. */
bool image_is_cut(const struct elf_image *img);
/* False for what objcopy --only-keep-debug leaves: sections of code that are not in the file. */
bool image_has_code(const struct elf_image *img);
/* What decompress_stream() made of `stored_bytes`. Takes over the malloc'ed bytes, also on failure.
 */
int elf_image_open_unpacked(struct elf_image **ret, uint8_t *bytes, size_t size,
			    size_t stored_bytes, const char *name, struct err *err);
/* Section headers from the file; a table that lies outside of it counts as no sections. */
int image_read_sections(struct elf_image *img, struct err *err);
/* A file without section headers: .dynsym, .dynstr, .gnu.hash, .eh_frame_hdr and .dynamic are made
 * from the program headers and the dynamic table. */
int image_sections_from_dynamic(struct elf_image *img, struct err *err);
/* As elf_image_off_to_vaddr(), but only through segments that have all of `flags` (PF_X ...). */
bool image_off_to_vaddr(const struct elf_image *img, uint64_t off, uint32_t flags, uint64_t *ret);
/* Whether a section has contents in this file (a debug file has .text without). Inflates nothing.
 */
bool image_has(const struct elf_image *img, const char *name);
/* The first GNU build id among notes, size 0 when there is none. */
struct build_id image_note_build_id(const struct elf_image *img);
/* [off, off + size) of the file, NULL when not all of it is there. */
const uint8_t *image_bytes_at(const struct elf_image *img, uint64_t off, uint64_t size);

#endif
