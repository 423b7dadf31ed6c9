/* pack.h - the parts of all units in one table, which is looked at where it stands: in memory
 * or in a mapped file. Private to dwarf/.
 *
 * The file is for the machine that wrote it. It begins with a header; then come
 *
 *	segs     per page a struct pack_page and the segments that are in it
 *	pages    of equally many bytes of code: where in `segs` each stands
 *	nodes    functions, and functions inlined into others; parents come first
 *	odd      nodes with a number that is too large for that
 *	funcs    names, lines, files
 *	files    paths
 *	text     strings, NUL-terminated
 *	records  strings put together from pieces of the text (pack_strings.h)
 *	sums     one number for each block of 4096 bytes behind the header
 *
 * A table that was just compiled has the first four of them; functions and paths are then found by
 * the same numbers in a struct dwarf_table.
 *
 * Where there are numbers in rows (pages, odd, funcs, files), each column has as many bytes as its
 * largest number needs, so that a row is found by its number and read in a nanosecond or two. Nodes
 * and segments have as many bits. Of most of them the numbers are small: lines are counted from
 * where the function is declared, and files are said only where they are not the function's own
 * (its row in `funcs` has the one that most of its code is in). So they are all the way to
 * dwarf_pack_frame(), in struct dwarf_place, dwarf_node and dwarf_at:
 *
 *	line  less the line where the function is declared, modulo 1 << 32
 *	file  0: the function's; others are numbers of files and 1 more
 *
 * the function being that of the segment's node, of the call's parent and of the level. Function 0
 * has neither.
 *
 * Nothing in a file is trusted. Opening it checks the header, by its hash and against the size of
 * the file, and takes the same time for all files. Behind it every offset and number is checked
 * when it is used, and every block against its sum when something in it is looked at for the first
 * time: what is damaged is noticed before it is believed, and who writes false numbers with
 * true sums gets false answers, but nothing worse.
 *
 * A file is complete, and then knows every address of its module, or has only the answers for
 * addresses that were once asked for, a segment of one byte each. */
#ifndef DWARF_PACK_H
#define DWARF_PACK_H

#include "dwarf/dwarf.h"
#include "dwarf/compiled_unit.h"

#define PACK_MAGIC   "unspdwrf"
#define PACK_VERSION 12
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
	PACK_SEGS,
	PACK_PAGES, /* off in segs */
	PACK_NODES, /* widths in bits: distance to the parent (0: none), func, call_line */
	PACK_ODD,   /* distance to the parent, func, call_file, call_line (zigzag) */
	PACK_FUNCS, /* name, decl_line, entry (enum pack_entry), file */
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

/* What was compiled: the build id, size 0 for none, and a hash of what distinguishes one debug file
 * of that build from another, and of who compiled it (dwarf_cache_key()). */
struct pack_key {
	struct build_id build_id;
	uint64_t identity[2];
};

/* What is at a segment. Nodes count from 1; all zero: unknown. */
struct dwarf_place {
	uint32_t node, file, line;
};

static inline bool dwarf_place_is_empty(struct dwarf_place p)
{
	return !p.node && !p.file && !p.line;
}

/* A place that is known to have neither function nor line says so: its file is none. */
#define PACK_NOTHING ((struct dwarf_place){.file = 1})

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
	uint64_t reserved[2];
	uint64_t hash; /* of what stands before it */
};
_Static_assert(sizeof(struct pack_header) % PACK_ALIGN == 0, "parts are aligned in the file");

/* The segments that begin in a page, the first being what is at its begin. Behind this stand
 *
 *	if n is PACK_PAGE_MANY, how many there are, in four bytes
 *	offsets from the begin of the page but of the first, in as many bytes as the largest needs
 *	rows of `bits` bits: node less `node` here; line; file
 *	odd rows, of `odd_bytes` bytes each
 *
 * Where the node of a row is the largest number that there can be in its bits, line and file
 * together are the number of an odd row. That has zigzag numbers: node less `node` and 1 more, 0
 * for none; line; file. */
struct pack_page {
	uint32_t node;
	uint16_t n;
	uint16_t bits;	    /* of node, line (5 each), file (4) */
	uint16_t odd_bytes; /* the same, three bits each */
} __attribute__((packed));

#define PACK_PAGE_MANY UINT16_MAX

/* As many bits are read at once, from any bit on. */
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

/* A file that is looked at, or a table in memory; the bytes must stay. One thread at a time. */
struct pack_file {
	struct pack_header h; /* checked, and cannot change any more */
	const uint8_t *data;  /* NULL in memory */
	size_t size;
	bool damaged; /* something that was looked at is; what is there is as if it were not */
	/* private */
	const uint8_t *body;
	const uint32_t *sums;
	uint8_t *good; /* per block: 1 when its sum was right */
	struct pack_rows {
		uint64_t off;
		uint32_t n, stride;			       /* bytes; of nodes: bits */
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
/* A table in memory: the body and, of the header, what says where in it the parts stand. 0 or
 * -ERR_NOMEM. */
int dwarf_pack_wrap(struct pack_file *f, const struct pack_header *h, const uint8_t *body);
void dwarf_pack_close(struct pack_file *f);

/* The places of n addresses, fastest when they rise; all zero when there is none. */
void dwarf_pack_find(struct pack_file *f, const uint64_t *addrs, size_t n, struct dwarf_place *ret);
/* All zero when there is no such node. Parents have smaller numbers. */
struct dwarf_node dwarf_pack_node(struct pack_file *f, uint32_t id);
/* Writes the levels [skip, skip + max) of the chain from a node on; how many levels it has. `at` is
 * where the innermost is executing. */
size_t dwarf_pack_chain(struct pack_file *f, uint32_t id, struct dwarf_at at, size_t skip,
			struct dwarf_at *chain, size_t max);
/* All zero when there is none; strings live until the file is closed. */
struct dwarf_func dwarf_pack_func(struct pack_file *f, uint32_t id);
/* NULL: unknown. */
const char *dwarf_pack_path(struct pack_file *f, uint32_t id);
/* What the numbers of a level stand for. Not for tables in memory, as the two before. */
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
