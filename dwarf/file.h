/* file.h - the DWARF sections, unit headers and abbreviation tables of one ELF file. Private
 * to dwarf/. */
#ifndef DWARF_FILE_H
#define DWARF_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "modules/modules.h"

struct dwarf_abbrevs;
struct dwarf_streaming;
struct dwarf_scopes;

/* X(name, section). In .dwo files ".dwo" is appended. */
#define DWARF_SECTIONS(X)                    \
	X(INFO, ".debug_info")               \
	X(ABBREV, ".debug_abbrev")           \
	X(STR, ".debug_str")                 \
	X(LINE_STR, ".debug_line_str")       \
	X(STR_OFFSETS, ".debug_str_offsets") \
	X(ADDR, ".debug_addr")               \
	X(RANGES, ".debug_ranges")           \
	X(RNGLISTS, ".debug_rnglists")       \
	X(LINE, ".debug_line")               \
	X(ARANGES, ".debug_aranges")         \
	X(CU_INDEX, ".debug_cu_index")

#define X(name, section) DWARF_##name,
enum dwarf_section { DWARF_SECTIONS(X) DWARF_SECTION_N };
#undef X

struct dwarf_slice {
	const uint8_t *data;
	uint64_t size;
};

/* A unit header (DWARF5 7.5.1). */
struct dwarf_unit {
	uint64_t off, end;   /* of the whole unit, in .debug_info */
	uint64_t abbrev_off; /* in .debug_abbrev */
	uint64_t dwo_id;     /* DWARF 5 skeleton and split units */
	uint32_t row;	     /* of a package's .debug_cu_index, from 1; 0: none */
	uint8_t version, type, addr_size, off_size, header_size;
};

/* A slot for a decoded table: the abbreviations at `off`, as units of this version and with these
 * sizes read them. */
struct dwarf_abbrev_slot {
	uint64_t off;
	uint8_t version, addr_size, off_size;
	_Atomic(struct dwarf_abbrevs *) table;
};

struct dwarf_file {
	struct elf_image *img;
	const struct dwarf_file *alt; /* .gnu_debugaltlink, DWARF5's supplementary file */
	bool swap, is_dwo;
	bool is_bolted; /* rewritten by BOLT: units' ranges lack parts that it split off */
	struct dwarf_slice sec[DWARF_SECTION_N];
	/* Bytes of .debug_info as stored in the ELF file, perhaps compressed. */
	uint64_t stored_info;
	uint32_t sec_index[DWARF_SECTION_N]; /* in the section headers */
	bool no_memory[DWARF_SECTION_N];
	void *relocated[DWARF_SECTION_N];  /* owned; ET_REL only */
	uint64_t str_end[DWARF_SECTION_N]; /* one past the last NUL: strings start before it */
	struct dwarf_unit *units;	   /* by offset */
	size_t n_units, n_damaged;
	struct dwarf_unit
		*orphans; /* line tables without a unit; their offsets are in .debug_line */
	size_t n_orphans;
	struct dwarf_abbrev_slot *slots; /* by offset */
	size_t n_slots;
	_Atomic(struct dwarf_scopes *) *scopes; /* one per unit, made when first needed */
	struct dwarf_package *package;		/* .debug_cu_index of a .dwp; NULL */
	bool reloaded;				/* .debug_info was inflated a second time */
	/* Of a file of one unit: set when another unit is asked for; else NULL. */
	bool *looked_beyond;
};

/* Loads (and inflates) the sections and scans the unit headers. A zeroed file is closed. Sections
 * that are absent or damaged are empty. With `streaming` (else NULL), threads that have no section
 * to load compile units. Returns 0 or -ERR_NOMEM. */
int dwarf_file_open(struct dwarf_file *f, struct elf_image *img, bool is_dwo, unsigned n_threads,
		    struct dwarf_streaming *streaming);
void dwarf_file_close(struct dwarf_file *f);
/* Loads .debug_info again, after some of its memory was released. Returns 0 or -ERR_NOMEM. */
int dwarf_file_reload_info(struct dwarf_file *f);
/* Frees what only compiling needs; strings stay valid. */
void dwarf_file_forget_units(struct dwarf_file *f);

/* Sets f->str_end. */
void dwarf_file_find_string_ends(struct dwarf_file *f);

enum dwarf_header {
	DWARF_HEADER_OK,
	DWARF_HEADER_EMPTY,   /* padding that some linkers leave between units */
	DWARF_HEADER_UNKNOWN, /* no unit that we know; ret->end is set, where the next one begins */
	DWARF_HEADER_CUT,     /* cut off by the end of the section, or its length is invalid */
};

/* Bytes of a section (".debug_info") in the ELF file, also if it is compressed; 0: it has none. */
uint64_t dwarf_stored_bytes(struct elf_image *img, const char *name);

/* Reads the header of a unit of .debug_info. */
enum dwarf_header dwarf_unit_header(const struct dwarf_slice *info, uint64_t off, bool swap,
				    struct dwarf_unit *ret);

/* The unit that contains this .debug_info offset, or NULL. */
const struct dwarf_unit *dwarf_file_unit_at(const struct dwarf_file *f, uint64_t off);

/* Cursor over a slice from `off`; bad when off lies beyond its end. */
static inline struct buf dwarf_slice_at(const struct dwarf_slice *s, uint64_t off, bool swap)
{
	struct buf b = buf_make(s->data, s->data ? (size_t)s->size : 0, 0, swap);

	buf_seek(&b, off);
	return b;
}

/* String at an offset of .debug_str or .debug_line_str; NULL when there is none. */
static inline const char *dwarf_file_str(const struct dwarf_file *f, enum dwarf_section sec,
					 uint64_t off)
{
	return off < f->str_end[sec] ? (const char *)f->sec[sec].data + off : NULL;
}

#endif
