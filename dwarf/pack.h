/* pack.h - the parts of all units in one table, which is read in place: in memory or in a mapped
 * file. Private to dwarf/.
 *
 * The file is for the machine that wrote it. It begins with a header; then come
 *
 *	segs     per page a struct pack_page and the segments of the page
 *	pages    of equally many bytes of code: the offset of each in `segs`
 *	nodes    functions, and functions inlined into others; parents come first
 *	odd      nodes with a number that is too large for `nodes`
 *	funcs    names, lines, files
 *	files    paths
 *	text     strings, NUL-terminated
 *	records  strings put together from pieces of the text (pack_strings.h)
 *	sums     one checksum for each block of 4096 bytes after the header
 *
 * A table that was just compiled has only the first four of them; functions and paths are then in a
 * struct dwarf_table, by the same numbers.
 *
 * Pages, odd, funcs and files are rows of numbers. Each column is as many bytes wide as its largest
 * number needs, so that a row is found by its number and read in a nanosecond or two. The columns
 * of nodes and segments are as many bits wide. Their numbers are small: lines are relative to the
 * declaration of the function, and files are given only if they are not the function's own (the one
 * of most of its code, which is in its row in `funcs`). They stay in this form up to
 * dwarf_pack_frame(), in struct dwarf_place, dwarf_node and dwarf_at:
 *
 *	line  less the line where the function is declared, modulo 1 << 32
 *	file  0: the function's; others are numbers of files plus 1
 *
 * where the function is that of the segment's node, of the call's parent, or of the level. Function
 * 0 has neither line nor file.
 *
 * Nothing in a file is trusted. Opening it checks the header, by its hash and against the size of
 * the file, which takes the same time for all files. After that every offset and number is checked
 * when it is used, and every block against its sum when something in it is first read. So damage is
 * noticed before damaged data is used; wrong numbers with correct sums give wrong answers, but do
 * no other harm.
 *
 * The file is $XDG_CACHE_HOME/unspool/BUILDID-IDENTITY.dwarf (cache.c). It begins with struct
 * pack_header: magic "unspdwrf", version, `order` (a file of the other byte order has it
 * reversed, and is refused), the key of what was compiled, how much is covered, and for each
 * part its offset from the header's end, bytes, rows and the widths of its columns. Then the
 * parts, each at a multiple of PACK_ALIGN and followed by PACK_PAD bytes; then four bytes of
 * checksum per block. Numbers in the header have the machine's byte order, those in rows are
 * little-endian; zigzag numbers are 2 * v for v >= 0, else -2 * v - 1. A change of any
 * of this adds 1 to PACK_VERSION: files of other versions are not read, and are removed when
 * the cache is full.
 *
 * A file is either complete, and then knows every address of its module, or has only the answers
 * for addresses that were asked for before, a segment of one byte each. */
#ifndef DWARF_PACK_H
#define DWARF_PACK_H

#include "dwarf/compiled_unit.h"
#include "dwarf/dwarf.h"
#include "reader/reader.h"

#define PACK_MAGIC   "unspdwrf"
#define PACK_VERSION 14
#define PACK_ORDER   0x01020304u

/* PACK_PAD bytes after each part may be read with it. Parts begin at a multiple of PACK_ALIGN, the
 * size of a cache line. */
enum {
	PACK_BLOCK = 4096,
	PACK_COLUMNS = 4,
	PACK_PAD = 64,
	PACK_ALIGN = 64,
	PACK_STRING_MAX = 1 << 20
};

enum pack_part {
	PACK_SEGS,
	PACK_PAGES, /* offset in segs */
	PACK_NODES, /* widths in bits: distance to the parent (0: none), func, call_line */
	PACK_ODD,   /* distance to the parent, func, call_file, call_line (zigzag) */
	PACK_FUNCS, /* name, decl_line, entry (enum pack_entry), file */
	PACK_FILES, /* path */
	PACK_TEXT,
	PACK_RECORDS,
	PACK_PART_N
};

/* Column `entry` of a function. */
enum pack_entry {
	PACK_ENTRY_LINKAGE, /* the name is a linkage name; the address is not needed */
	PACK_ENTRY_UNKNOWN,
	PACK_ENTRY_ZIGZAG /* and above: this plus the zigzag distance from header.base */
};

/* Identifies what was compiled: the build id (size 0: none), and a hash that distinguishes debug
 * files with this build id, and the versions of this program (dwarf_cache_key()). */
struct pack_key {
	struct build_id build_id;
	uint64_t identity[2];
};

/* What is at a segment. Nodes are numbered from 1; all zero: unknown. */
struct dwarf_place {
	uint32_t node, file, line;
};

static inline bool dwarf_place_is_empty(struct dwarf_place p)
{
	return !p.node && !p.file && !p.line;
}

/* A place that is known to have neither function nor line: its file code 1 stands for file 0, none.
 */
#define PACK_NOTHING ((struct dwarf_place){.file = 1})

/* How much a table covers. */
struct pack_extent {
	uint64_t spent_bytes; /* of .debug_info that were compiled for it, in all runs */
	uint32_t complete;    /* 1: an address without segment has nothing; 0: it is unknown */
	uint32_t reserved;
};

struct pack_header {
	char magic[8];
	uint32_t version, order;
	struct pack_key key;
	struct pack_extent extent;
	uint64_t base;	/* address of the first page */
	uint64_t shift; /* a page is 1 << shift bytes of code */
	struct pack_part_at {
		uint64_t off, size; /* in bytes, from the end of the header */
		uint32_t n;	    /* rows */
		uint8_t width[PACK_COLUMNS];
	} part[PACK_PART_N];
	uint64_t body_size; /* of all parts; the sums follow, up to the end of the file */
	uint64_t sums_hash;
	uint64_t reserved[2];
	uint64_t hash; /* of the fields before it */
};
_Static_assert(sizeof(struct pack_header) % PACK_ALIGN == 0, "parts are aligned in the file");

/* The segments that begin in a page; the first is the one at its begin. After this struct come
 *
 *	if n is PACK_PAGE_MANY, the number of segments, in four bytes
 *	the offset of each but the first from the begin of the page, in as many bytes as an offset
 *	  in a page needs
 *	rows of `bits` bits: node less `node` here; line; file
 *	odd rows, of `odd_bytes` bytes each
 *
 * If the node of a row is the largest number that fits in its bits, line and file together are the
 * number of an odd row. An odd row has zigzag numbers: node less `node`, plus 1, or 0 for none;
 * line; file. */
struct pack_page {
	uint32_t node;
	uint16_t n;
	uint16_t bits;	    /* of node, line (5 each), file (4) */
	uint16_t odd_bytes; /* the same, three bits each */
} __attribute__((packed));

#define PACK_PAGE_MANY UINT16_MAX

/* Bits that can be read at once, from any bit on; most bits of a node's distance to its parent. */
enum { PACK_BITS_MAX = 57, PACK_NODE_UP_MAX = 16 };

struct pack_bytes {
	uint8_t *v;
	size_t n, cap;
};

struct pack_addrs {
	uint64_t *v;
	size_t n, cap;
};

/* ---- reading ----------------------------------------------------------------------------- */

/* An open file, or a table in memory; the bytes must stay valid. For one thread at a time. */
struct pack_file {
	struct pack_header h; /* checked; a copy, so it cannot change any more */
	const uint8_t *data;  /* NULL: a table in memory */
	size_t size;
	bool damaged; /* damage was found; damaged data is treated as absent */
	/* private */
	const uint8_t *body;
	const uint32_t *sums;
	uint8_t *good; /* per block: 1 if its sum was checked and matches */
	struct pack_rows {
		uint64_t off;
		uint32_t n, stride;			       /* in bytes; of nodes in bits */
		uint32_t at[PACK_COLUMNS], mask[PACK_COLUMNS]; /* of the columns */
	} rows[PACK_PART_N];
	const char **names, **paths; /* of functions and files; NULL: not read yet */
	VEC(char *) chunks;	     /* memory of strings put together */
	char *chunk_next;
	size_t chunk_left, chunk_bytes; /* of the last chunk */
	uint64_t budget;		/* bytes that strings may still take */
};

/* Opens a file in memory. Returns false if it is of another version or for another key, damaged, or
 * when out of memory. A zeroed file is closed and knows nothing. */
bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size,
		     const struct pack_key *key);
/* Opens a table in memory: its body, and the header fields that say where in it the parts are.
 * Returns 0 or -ERR_NOMEM. */
int dwarf_pack_wrap(struct pack_file *f, const struct pack_header *h, const uint8_t *body);
void dwarf_pack_close(struct pack_file *f);

/* Finds the places of n addresses; rising addresses are fastest. All zero: there is none. */
void dwarf_pack_find(struct pack_file *f, const uint64_t *addrs, size_t n, struct dwarf_place *ret);
/* A node by number; all zero if there is none. Parents have smaller numbers. */
struct dwarf_node dwarf_pack_node(struct pack_file *f, uint32_t id);
/* Writes the levels [skip, skip + max) of the chain that begins with a node, innermost first. `at`
 * is where the innermost level executes. Returns the number of levels of the whole chain. */
size_t dwarf_pack_chain(struct pack_file *f, uint32_t id, struct dwarf_at at, size_t skip,
			struct dwarf_at *chain, size_t max);
/* A function by number; all zero if there is none. Strings live until the file is closed. */
struct dwarf_func dwarf_pack_func(struct pack_file *f, uint32_t id);
/* A path by number; NULL: unknown. */
const char *dwarf_pack_path(struct pack_file *f, uint32_t id);
/* Finds the frame that the numbers of a level stand for. Like the two functions above, not for
 * tables in memory. */
void dwarf_pack_frame(struct pack_file *f, const struct dwarf_at *at, struct dwarf_frame *ret);
/* Appends the addresses that an incomplete file has answers for, rising. Returns 0 or -ERR_NOMEM.
 */
int dwarf_pack_addrs(struct pack_file *f, struct pack_addrs *addrs);

/* The checksum of a block, computed as fast as memory is read. */
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
