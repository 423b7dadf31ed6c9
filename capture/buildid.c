/* buildid.c - build ids from ELF notes. */
#include "capture/buildid.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/sysfile.h"

#define PHDRS_MAX      64
#define NOTES_READ_MAX 4096

/* gABI "Note Section": three words, then name and descriptor, each padded to 4 bytes. */
struct buildid buildid_from_notes(const void *notes, size_t size)
{
	struct buf b = buf_make(notes, size, 0, false);
	struct buildid id = {0};

	while (buf_left(&b) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = buf_u32(&b), desc_size = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, ((uint64_t)name_size + 3) & ~3ull);
		const uint8_t *desc = buf_take(&b, desc_size);

		if (!buf_ok(&b))
			break;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) &&
		    desc_size && desc_size <= BUILDID_MAX) {
			id.size = (uint8_t)desc_size;
			memcpy(id.bytes, desc, desc_size);
			break;
		}
		/* The last descriptor may come without its padding. */
		desc_size = (4 - desc_size % 4) % 4;
		buf_skip(&b, desc_size < buf_left(&b) ? desc_size : buf_left(&b));
	}
	return id;
}

static struct buildid notes_at(int fd, uint64_t off, uint64_t size)
{
	uint8_t notes[NOTES_READ_MAX];
	ssize_t n = pread(fd, notes, size < sizeof notes ? size : sizeof notes, (off_t)off);

	return n > 0 ? buildid_from_notes(notes, (size_t)n) : (struct buildid){0};
}

struct buildid buildid_from_fd(int fd)
{
	Elf64_Phdr phdrs[PHDRS_MAX]; /* also room for the 32-bit ones */
	struct buildid id = {0};
	Elf64_Ehdr eh;
	bool is_64;
	size_t size, n;
	ssize_t got = pread(fd, &eh, sizeof eh, 0);
	struct buf b;

	if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return id;
	is_64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
	if (is_64 && got < (ssize_t)sizeof eh)
		return id;
	b = buf_make(&eh, sizeof eh, 0, false);
	buf_seek(&b, is_64 ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum));
	n = buf_u16(&b);
	buf_seek(&b, is_64 ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
	size = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	got = pread(fd, phdrs, size * (n < PHDRS_MAX ? n : PHDRS_MAX),
		    (off_t)(is_64 ? buf_u64(&b) : buf_u32(&b)));
	b = buf_make(phdrs, got > 0 ? (size_t)got : 0, 0, false);
	while (!id.size && buf_left(&b) >= size) {
		struct buf p = buf_sub(&b, size);
		uint32_t type = buf_u32(&p);
		uint64_t off, filesz;

		buf_seek(&p,
			 is_64 ? offsetof(Elf64_Phdr, p_offset) : offsetof(Elf32_Phdr, p_offset));
		off = is_64 ? buf_u64(&p) : buf_u32(&p);
		buf_seek(&p,
			 is_64 ? offsetof(Elf64_Phdr, p_filesz) : offsetof(Elf32_Phdr, p_filesz));
		filesz = is_64 ? buf_u64(&p) : buf_u32(&p);
		if (type == PT_NOTE)
			id = notes_at(fd, off, filesz);
	}
	return id;
}

struct buildid buildid_from_note_file(const char *path)
{
	char notes[NOTES_READ_MAX];
	ssize_t n = sysfile_read(path, notes, sizeof notes);

	return n > 0 ? buildid_from_notes(notes, (size_t)n) : (struct buildid){0};
}
