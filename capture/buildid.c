/* buildid.c - build ids from ELF notes. */
#include "capture/buildid.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/sysfile.h"

#define ENTRIES_MAX    64
#define NOTES_READ_MAX 4096

/* gABI "Note Section": three words, then name and descriptor, each padded to 4 bytes. */
struct build_id buildid_from_notes(const void *notes, size_t size)
{
	struct buf b = buf_make(notes, size, 0, false);
	struct build_id id = {0};

	while (buf_left(&b) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = buf_u32(&b), desc_size = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, ((uint64_t)name_size + 3) & ~3ull);
		const uint8_t *desc = buf_take(&b, desc_size);

		if (!buf_ok(&b))
			break;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) &&
		    desc_size && desc_size <= BUILD_ID_MAX) {
			id.size = (uint8_t)desc_size;
			memcpy(id.bytes, desc, desc_size);
			break;
		}
		/* The last descriptor may lack its padding. */
		desc_size = (4 - desc_size % 4) % 4;
		buf_skip(&b, desc_size < buf_left(&b) ? desc_size : buf_left(&b));
	}
	return id;
}

static struct build_id notes_at(int fd, uint64_t off, uint64_t size)
{
	uint8_t notes[NOTES_READ_MAX];
	ssize_t n = pread(fd, notes, size < sizeof notes ? size : sizeof notes, (off_t)off);

	return n > 0 ? buildid_from_notes(notes, (size_t)n) : (struct build_id){0};
}

/* Layout of the program or section headers, for both classes: where the ELF header has their offset
 * and number; the size of an entry, and where its fields are; the type of entries with notes. */
struct table {
	size_t off_at, n_at; /* in the ELF header */
	size_t entry, type, off, size;
	uint32_t note;
};

#define PHDRS(n)                                                                              \
	{                                                                                     \
		offsetof(Elf##n##_Ehdr, e_phoff), offsetof(Elf##n##_Ehdr, e_phnum),           \
			sizeof(Elf##n##_Phdr), offsetof(Elf##n##_Phdr, p_type),               \
			offsetof(Elf##n##_Phdr, p_offset), offsetof(Elf##n##_Phdr, p_filesz), \
			PT_NOTE                                                               \
	}
#define SHDRS(n)                                                                              \
	{                                                                                     \
		offsetof(Elf##n##_Ehdr, e_shoff), offsetof(Elf##n##_Ehdr, e_shnum),           \
			sizeof(Elf##n##_Shdr), offsetof(Elf##n##_Shdr, sh_type),              \
			offsetof(Elf##n##_Shdr, sh_offset), offsetof(Elf##n##_Shdr, sh_size), \
			SHT_NOTE                                                              \
	}

static uint64_t word_at(struct buf *b, size_t at, bool is_64)
{
	buf_seek(b, at);
	return is_64 ? buf_u64(b) : buf_u32(b);
}

static struct build_id id_in_table(int fd, struct buf *eh, const struct table *t, bool is_64)
{
	Elf64_Shdr entries[ENTRIES_MAX]; /* the largest of the four */
	struct build_id id = {0};
	uint64_t table = word_at(eh, t->off_at, is_64);
	ssize_t got;
	struct buf b;
	size_t n;

	buf_seek(eh, t->n_at);
	n = buf_u16(eh);
	got = pread(fd, entries, t->entry * (n < ENTRIES_MAX ? n : ENTRIES_MAX), (off_t)table);
	b = buf_make(entries, got > 0 ? (size_t)got : 0, 0, false);
	while (!id.size && buf_left(&b) >= t->entry) {
		struct buf e = buf_sub(&b, t->entry);
		uint64_t off;

		buf_seek(&e, t->type);
		if (buf_u32(&e) != t->note)
			continue;
		off = word_at(&e, t->off, is_64);
		id = notes_at(fd, off, word_at(&e, t->size, is_64));
	}
	return id;
}

struct build_id buildid_from_fd(int fd)
{
	/* Go 1.24 has no PT_NOTE for its note, so it is found by the section headers. */
	static const struct table tables[2][2] = {{PHDRS(32), SHDRS(32)}, {PHDRS(64), SHDRS(64)}};
	struct build_id id = {0};
	Elf64_Ehdr eh;
	bool is_64;
	ssize_t got = pread(fd, &eh, sizeof eh, 0);
	struct buf b;
	unsigned i;

	if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return id;
	is_64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
	if (is_64 && got < (ssize_t)sizeof eh)
		return id;
	b = buf_make(&eh, sizeof eh, 0, false);
	for (i = 0; i < 2 && !id.size; i++)
		id = id_in_table(fd, &b, &tables[is_64][i], is_64);
	return id;
}

struct build_id buildid_from_note_file(const char *path)
{
	char notes[NOTES_READ_MAX];
	ssize_t n = sysfile_read(path, notes, sizeof notes);

	return n > 0 ? buildid_from_notes(notes, (size_t)n) : (struct build_id){0};
}
