/* dwarf_pack.h - a table as a file that is looked at where it is mapped. Private to
 * symbolize/dwarf*.
 *
 * The file is for the machine that wrote it. It begins with a header; then come
 *
 *	pages    of equally many bytes of code: where in `segs` each stands
 *	segs     per page a struct pack_page and the segments that are in it
 *	nodes    functions, and functions inlined into others; parents come first
 *	funcs    names, lines
 *	files    paths
 *	text     strings, NUL-terminated
 *	records  strings put together from pieces of the text (dwarf_text.h)
 *	sums     one number for each block of 4096 bytes behind the header
 *
 * Where there are numbers in rows (pages, nodes, funcs, files), each column has as many bytes as
 * its largest number needs, so that a row is found by its number and read in a nanosecond or two.
 *
 * Nothing in the file is trusted. Opening it checks the header, by its hash and against the size of
 * the file, and takes the same time for all files. Behind it every offset and number is checked
 * when it is used, and every block against its sum when something in it is looked at for the first
 * time: what is damaged is noticed before it is believed, and whoever writes false numbers with
 * true sums gets false answers, but nothing worse.
 *
 * A file is complete, and then knows every address of its module, or has only the answers for
 * addresses that were once asked for, a segment of one byte each. */
#ifndef SYMBOLIZE_DWARF_PACK_H
#define SYMBOLIZE_DWARF_PACK_H

#include "symbolize/dwarf_table.h"

#define PACK_MAGIC   "unspdwrf"
#define PACK_VERSION 8
#define PACK_ORDER   0x01020304u

/* PACK_PAD bytes behind each part may be read with it. Parts begin at a multiple of PACK_ALIGN, as
 * a cache line does. */
enum {
	PACK_BLOCK = 4096,
	PACK_COLUMNS = 4,
	PACK_PAD = 64,
	PACK_ALIGN = 64,
	PACK_STRING_MAX = 1 << 20
};

enum pack_part {
	PACK_PAGES, /* off in segs */
	PACK_SEGS,
	PACK_NODES, /* distance to the parent (0: none), func, call_file, call_line */
	PACK_FUNCS, /* name, decl_line, entry (enum pack_entry) */
	PACK_FILES, /* path */
	PACK_TEXT,
	PACK_RECORDS,
	PACK_PART_N
};

/* Of a function. */
enum pack_entry {
	PACK_ENTRY_LINKAGE, /* the name is a linkage name, and where code of it begins not needed */
	PACK_ENTRY_UNKNOWN,
	PACK_ENTRY_ZIGZAG /* and greater ones: the distance from base */
};

/* What was compiled: the build id, size 0 for none, and a hash of what tells one debug file of that
 * build from another, and of who compiled it (dwarf_cache_key()). */
struct pack_key {
	struct build_id build_id;
	uint64_t identity[2];
};

/* A place that is known to have neither function nor line has this line. */
#define PACK_NOTHING 1

/* How far a table goes. */
struct pack_extent {
	uint64_t spent_bytes; /* of .debug_info that were compiled for it, in all runs */
	uint32_t complete;    /* 1: what has no segment has nothing; 0: it is not known */
	uint32_t reserved;
};

struct pack_header {
	char magic[8];
	uint32_t version, order;
	struct pack_key key;
	struct pack_extent extent;
	uint64_t base;	/* where the first page begins */
	uint64_t shift; /* a page is 1 << shift bytes of code */
	struct pack_part_at {
		uint64_t off, size; /* behind the header */
		uint32_t n;	    /* rows */
		uint8_t width[PACK_COLUMNS];
	} part[PACK_PART_N];
	uint64_t body_size; /* of all parts; then come the sums, up to the end of the file */
	uint64_t sums_hash;
	uint64_t reserved[5];
	uint64_t hash; /* of what stands before it */
};
_Static_assert(sizeof(struct pack_header) % PACK_ALIGN == 0, "parts are aligned in the file");

/* The segments that begin in a page, the first being what is at its begin. Behind this stand `n`
 * offsets from the begin of the page, and then for each its node, file and line; a number 0 stays
 * 0, others are less the smallest here and 1 more. */
struct pack_page {
	uint32_t node, file, line; /* the smallest but 0 */
	uint16_t n;
	uint16_t widths; /* four bits each: offset, node, file, line */
};

enum { PACK_PAGE_SEGS_MAX = UINT16_MAX };

struct pack_bytes {
	uint8_t *v;
	size_t n, cap;
};

struct pack_addrs {
	uint64_t *v;
	size_t n, cap;
};

/* Appends the file to *out, which is empty. 0; 1 when the table cannot be packed (too wide, too
 * long names); -ERR_NOMEM. */
int dwarf_pack(const struct dwarf_table *t, const struct pack_key *key,
	       const struct pack_extent *extent, struct pack_bytes *out);

/* ---- reading ----------------------------------------------------------------------------- */

/* A file that is looked at; the bytes must stay. One thread at a time. */
struct pack_file {
	struct pack_header h; /* checked, and cannot change any more */
	const uint8_t *data;
	size_t size;
	bool damaged; /* something that was looked at is; what is there is as if it were not */
	/* private */
	const uint8_t *body;
	const uint32_t *sums;
	uint8_t *good; /* per block: 1 when its sum was right */
	struct pack_rows {
		uint64_t off;
		uint32_t n, stride;
		uint32_t at[PACK_COLUMNS], mask[PACK_COLUMNS]; /* of the columns */
	} rows[PACK_PART_N];
	const char **names, **paths; /* of functions and files, read so far */
	VEC(char *) chunks;	     /* where strings are put together */
	char *chunk_next;
	size_t chunk_left, chunk_bytes; /* of the last one */
	uint64_t budget;		/* bytes that strings may still take */
};

/* False when the file is of another version or for another key, or damaged, or without memory; a
 * zeroed file is closed, and has nothing. */
bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size,
		     const struct pack_key *key);
void dwarf_pack_close(struct pack_file *f);

/* The places of n addresses, fastest when they rise; all zero when there is none. */
void dwarf_pack_find(struct pack_file *f, const uint64_t *addrs, size_t n, struct dwarf_place *ret);
/* All zero when there is no such node. Parents have smaller numbers. */
struct dwarf_node dwarf_pack_node(struct pack_file *f, uint32_t id);
/* As dwarf_table_chain(). */
size_t dwarf_pack_chain(struct pack_file *f, uint32_t id, struct dwarf_at at, size_t skip,
			struct dwarf_at *chain, size_t max);
/* All zero when there is none; strings live until the file is closed. */
struct dwarf_func dwarf_pack_func(struct pack_file *f, uint32_t id);
/* NULL: unknown. */
const char *dwarf_pack_path(struct pack_file *f, uint32_t id);
/* What the numbers of a level stand for. */
void dwarf_pack_frame(struct pack_file *f, const struct dwarf_at *at, struct dwarf_frame *ret);
/* Appends the addresses that a file of answers has, rising. 0 or -ERR_NOMEM. */
int dwarf_pack_addrs(struct pack_file *f, struct pack_addrs *addrs);

/* Of a block: finds damage, as fast as memory is read. */
uint32_t dwarf_pack_sum(const uint8_t *p, size_t n);

static inline uint64_t pack_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t pack_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
