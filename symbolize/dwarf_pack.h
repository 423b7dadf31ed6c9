/* dwarf_pack.h - a table as a file: written once, read in part. Private to symbolize/dwarf*.
 *
 * The file is for the machine that wrote it: native byte order, checked. It begins with a header;
 * then come
 *
 *	segs     chunks of 64 segments, difference-coded, each checked by a hash
 *	nodes    the same for nodes
 *	funcs    struct pack_func
 *	files    offset of the path in the strings + 1
 *	strings  blocks of whole NUL-terminated strings, zstd-compressed, each with zstd's checksum
 *
 * and directories of the chunks and blocks. A reader opens it, decodes the chunks that its
 * addresses are in and the chains from there, and has a small table of its own; nothing in the file
 * is trusted.
 *
 * A file is complete, and then knows every address of its module, or has only the answers for
 * addresses that were once asked for, a segment of one byte each. */
#ifndef SYMBOLIZE_DWARF_PACK_H
#define SYMBOLIZE_DWARF_PACK_H

#include "symbolize/dwarf_table.h"

#define PACK_MAGIC   "unspdwrf"
#define PACK_VERSION 4
#define PACK_ORDER   0x01020304u

enum { PACK_CHUNK = 64, PACK_STRING_BLOCK = 64 << 10, PACK_STRING_MAX = 1 << 20 };

enum pack_part {
	PACK_SEG_DIR,
	PACK_SEGS,
	PACK_NODE_DIR,
	PACK_NODES,
	PACK_FUNCS,
	PACK_FILES,
	PACK_STRING_DIR,
	PACK_STRINGS,
	PACK_PART_N
};

/* What was compiled: the build id, size 0 for none, and a hash of what tells one debug file of that
 * build from another, and of who compiled it (dwarf_cache_key()). */
struct pack_key {
	struct build_id build_id;
	uint64_t identity[2];
};

/* Line of a place that is known to have neither function nor line. */
#define PACK_NOTHING UINT32_MAX

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
	uint64_t base; /* address of the first segment */
	uint32_t n_segs, n_nodes, n_funcs, n_files;
	struct {
		uint64_t off, size;
	} part[PACK_PART_N];
	uint64_t table_hash; /* dwarf_pack_table_hash() */
	uint64_t hash;	     /* of what stands before it */
};

struct pack_seg_chunk {
	uint32_t addr; /* of its first segment, from base */
	uint32_t off;  /* in PACK_SEGS; the last entry of a directory is the end */
	uint32_t hash;
};

struct pack_node_chunk {
	uint32_t off, hash;
};

struct pack_func {
	uint32_t linkage_name, name; /* offset in the strings + 1; 0: none */
	uint32_t decl_line;
	uint32_t entry; /* zigzag distance from the base + 1; 0: none */
};

struct pack_string_block {
	uint32_t first; /* offset of its first string in all strings */
	uint32_t off;	/* in PACK_STRINGS */
};

/* First number of a segment: the distance from the one before times 16, and what is the same as in
 * the last segment that was not empty; what is not follows as zigzag differences. */
enum { SEG_SAME_NODE = 1, SEG_SAME_FILE = 2, SEG_SAME_LINE = 4, SEG_EMPTY = 8, SEG_SHIFT = 4 };

struct pack_bytes {
	uint8_t *v;
	size_t n, cap;
};

struct pack_addrs {
	uint64_t *v;
	size_t n, cap;
};

/* Appends the file to *out. 0; 1 when the table cannot be packed (too wide, too long names);
 * -ERR_NOMEM. */
int dwarf_pack(const struct dwarf_table *t, const struct pack_key *key,
	       const struct pack_extent *extent, struct pack_bytes *out);

/* A file that was opened for reading; the bytes must stay. */
struct pack_file {
	const struct pack_header *h;
	const uint8_t *data;
	size_t n_seg_chunks, n_node_chunks, n_string_blocks;
};

/* False when the file is of another version or for another key, or damaged. */
bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size,
		     const struct pack_key *key);
/* Fills a zeroed table with what n sorted addresses need; strings go to the arena. Appends the
 * addresses of which the file knows nothing to *unknown. 0; 1 when it is damaged; -ERR_NOMEM. */
int dwarf_unpack(struct dwarf_table *t, struct arena *strings, const struct pack_file *f,
		 const uint64_t *addrs, size_t n, struct pack_addrs *unknown);
/* Appends the addresses that a file of answers has. 0; 1 when it is damaged; -ERR_NOMEM. */
int dwarf_unpack_addrs(const struct pack_file *f, struct pack_addrs *addrs);

/* Hash of the parts that are read in place. They are inside of the file. */
uint64_t dwarf_pack_table_hash(const void *data);

/* Of a chunk: finds damage, in a quarter of the time of hash_bytes(). */
static inline uint32_t dwarf_pack_chunk_hash(const uint8_t *p, size_t n)
{
	uint64_t h = n, w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, n);
	h = (h ^ w) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h ^ h >> 32);
}

static inline uint64_t pack_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t pack_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
