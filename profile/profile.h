/* profile.h - the profile: a calling-context tree, and the samples of its stacks.
 *
 * struct profile uses the terms of pprof: mappings, functions, locations, samples. Call stacks are
 * nodes of a calling-context tree, root first: a node is (parent node, location), and equal stacks
 * are one node. All ids are dense integers. Strings are interned in one table and used only by
 * writers. Source of truth for the terms: github.com/google/pprof/proto/profile.proto.
 *
 * Every input is converted to a profile, and every output is made from one. fill.h adds samples
 * with addresses; the functions here add stacks that already have names, from other formats:
 *
 *	p = profile_new(0);
 *	rc = profile_add_event(p, name_of_event, 0, &event, &err);
 *	rc = profile_add_function(p, &function, &line.function, &err);
 *	rc = profile_add_location(p, &location, &line, 1, &path[0], &err);
 *	rc = profile_add_stack(p, path, 1, &sample.node, &err);
 *	rc = profile_add_sample(p, &sample, &err);
 *	use(p->samples), up the stack by p->nodes.v[node].parent
 *	profile_free(p); */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "demangle/demangle.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

/* The code that a location belongs to: a dso, or, with PROFILE_KEEP_IPS, one place where the dso
 * was mapped. */
struct profile_mapping {
	/* NULL for the [unknown] mapping (id 0), and in profiles that were read from text */
	const struct dso *dso;
	struct map map; /* a copy; without PROFILE_KEEP_IPS all 0 */
	uint32_t path;	/* string id */
	uint32_t name;	/* string id of perf's name: "[kernel.kallsyms]", "[nf_nat]", or a path */
	uint32_t short_name; /* string id of the result of profile_mapping_short_name() */
	enum dso_kind kind;
	struct build_id build_id;
	/* The file that was mapped, of a text that tells it; 0: unknown. Not what identifies it. */
	uint32_t maj, min;
	uint64_t ino;
	bool symbolized; /* some location in it got a name */
};

struct profile_function {
	/* String ids. Functions with equal name, file and start line are one, which keeps the
	 * alphabetically first of their system names. */
	uint32_t name, system_name, file;
	uint32_t start_line;
	bool is_folded;	 /* the name is spelled as flame graph tools do already */
	bool is_foreign; /* another tool's name: not shortened to what another function is called */
};

struct profile_line {
	uint32_t function; /* index into functions */
	uint32_t line;
};

struct profile_location {
	uint32_t mapping;
	/* Runtime address of the first frame (with PROFILE_KEEP_IPS: of all frames). */
	uint64_t ip;
	uint64_t off; /* as in struct sym_query, of the lookup address */
	/* JIT code: the time at which it was made (struct jit_span); 0: unknown. */
	uint64_t made_ns;
	bool is_return_address, is_kernel;
	/* Enum frame_how; ways of equal reliability (CFI, Go's tables ..) are one. */
	uint8_t how;
	uint8_t miss;		      /* enum sym_miss */
	uint32_t symbol;	      /* string id of the enclosing symbol; 0: none */
	uint64_t symbol_offset;	      /* lookup address - symbol start */
	uint32_t first_line, n_lines; /* in lines[], innermost first */
};

/* Node 0 is the root (the empty stack). */
struct profile_node {
	uint32_t parent;
	uint32_t location;
	uint32_t depth; /* number of frames; 0 for the root */
};

/* The process of a thread in text formats that give only the thread's id. */
#define PROFILE_NO_PID (1u << 31)

/* An aggregate: all samples with equal key. */
struct profile_sample {
	uint32_t node;
	uint32_t event;	   /* index into events */
	uint32_t comm;	   /* string id; 0: not known */
	uint32_t pid, tid; /* 0 unless PROFILE_KEEP_TIDS / _PIDS; PROFILE_NO_PID */
	uint8_t stop;	   /* enum unwind_stop of the user part */
	uint16_t cpu;	   /* and 1; 0: not known, as without PROFILE_KEEP_CPUS */
	/* String id of the labels that another tool gave it, for profile_label(); 0: none, as
	 * without PROFILE_KEEP_LABELS. */
	uint32_t labels;
	uint64_t count, period;
};

static inline uint16_t profile_cpu(uint32_t cpu)
{
	return cpu < UINT16_MAX ? (uint16_t)(cpu + 1) : 0;
}

/* One recorded sample, stored with PROFILE_KEEP_LOG, in time order. */
struct profile_log_entry {
	uint64_t time_ns, period, ip, addr;
	uint32_t node, event, comm, pid, tid, cpu;
	/* String id: the fields of a tracepoint as text; 0: not kept, or unknown. */
	uint32_t trace;
	uint32_t detail;  /* for profile_detail(); 0: none */
	uint32_t values;  /* string id: parameters by frame (values/values.h); 0: none */
	uint32_t labels;  /* as in struct profile_sample */
	uint64_t wait_ns; /* of a wait: how long this one was, from time_ns on; 0: not known */
	uint64_t sp;	  /* the user stack pointer; 0: not recorded */
	uint8_t stop;
	uint16_t misc;	  /* of the record's header */
	bool is_wait;	  /* its period is that of waits, also of others */
	bool is_left_out; /* until profile_drop_left_out(): no sample, but may say when a call ends
			   */
	bool has_stack;	  /* the event records call chains or stacks (script then prints a block) */
};

/* Registers of a sample, as struct perf_regs of reader/reader.h has them. */
struct profile_registers {
	uint64_t abi, mask; /* 0: none */
	const char *values; /* a u64 for each bit of mask, not aligned */
};

/* With PROFILE_KEEP_DETAILS, for samples that have at least one of these. */
struct profile_detail {
	uint64_t weight, data_src; /* as the kernel wrote them; 0: none */
	size_t n_branches;
	const char *branches; /* array of struct perf_branch, latest first, not aligned */
	/* With PROFILE_KEEP_REGISTERS. */
	uint64_t phys_addr, data_page_size, code_page_size;
	struct profile_registers user, intr;
};

struct profile_event {
	uint32_t name;	       /* string id */
	struct perf_attr attr; /* all 0 for events that have names only */
	uint32_t unit;	       /* string id: what periods are; 0: by attr */
	bool is_sum;	       /* only the sum of the weights is known, not the number of samples */
	bool is_ns;	       /* the unit is nanoseconds */
	bool no_period;	       /* samples have no weight of their own; their number is known */
	bool is_default;       /* its producer wants it shown first */
	bool is_unnamed;       /* of a text of numbers alone: any event's */
	uint64_t samples, period;
	uint64_t side_samples[2]; /* of a difference: numbers of samples of base and new */
};

enum profile_keep {
	PROFILE_KEEP_IPS = 1, /* locations differ by mapping, so that runtime addresses are exact */
	PROFILE_KEEP_LOG = 2,
	PROFILE_KEEP_PIDS = 4,	   /* aggregate per process */
	PROFILE_KEEP_TIDS = 8,	   /* aggregate per thread */
	PROFILE_KEEP_TRACE = 16,   /* the fields of tracepoints, in the log */
	PROFILE_KEEP_DETAILS = 64, /* weights and branches, in the log */
	PROFILE_KEEP_CPUS = 32,	   /* aggregate per processor */
	PROFILE_KEEP_LABELS = 128, /* aggregate per set of labels of another tool */
	/* Beside details: registers, physical addresses, sizes of pages, in the log. */
	PROFILE_KEEP_REGISTERS = 256,
};

struct profile {
	struct strtab strings;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_function) functions;
	VEC(struct profile_location) locations;
	VEC(struct profile_line) lines;
	VEC(struct profile_node) nodes;
	VEC(struct profile_sample) samples;
	VEC(struct profile_log_entry) log;
	VEC(struct profile_event) events;
	const struct perf_file_info *info; /* NULL for profiles from other formats */
	uint64_t first_ns, last_ns;	   /* over all samples */
	/* With PROFILE_KEEP_TRACE: when recording ended (0: not known), and threads of it. */
	uint64_t end_ns;
	VEC(struct perf_task_end) task_ends;
	/* Wall clock time of first_ns, since 1970, if `info` is NULL; 0: unknown. */
	uint64_t wall_ns;
	/* String ids: comments that another tool stored in the profile. */
	VEC(uint32_t) comments;
	bool has_marks;	       /* names came with marks: _[k] .. */
	bool has_folded_roots; /* commands are spelled as folded text has them: spaces stay */
	uint64_t input_bytes;  /* of the files that it was read from, as they are stored */
	struct profile_bounded {
		uint64_t stacks, frames;
	} bounded;		      /* left out while it was filled; for profile_bound() */
	struct profile_index *index_; /* private to profile/ */
};

/* keep: bits of enum profile_keep. Returns NULL when out of memory. Everything reached from a
 * profile lives until profile_free(), except `info`, which is borrowed. */
struct profile *profile_new(unsigned keep);
void profile_free(struct profile *p);

/* ---- filling by names ------------------------------------------------------------------------
 *
 * For inputs that have names already: events, mappings, functions and locations are identified by
 * what they are called, equal ones get one id. Not to be mixed with fill.h in one profile. All: 0,
 * or negative with *err (-ERR_NOMEM; -ERR_LIMIT where ids end). Strings are string ids of the
 * profile; profile_string() makes them (STRTAB_FAILED when out of memory). Of what is longer than 4
 * KiB it keeps the beginning, the length and a hash: one name of 60,000 bytes in a deep recursion
 * would make gigabytes of text. */

uint32_t profile_string(struct profile *p, const char *s, size_t n);

/* unit: string id of "nanoseconds", "bytes" ..; 0: unknown. */
int profile_add_event(struct profile *p, uint32_t name, uint32_t unit, uint32_t *ret,
		      struct err *err);
/* Of `m` only path, name (0: that of the path), kind, build_id, maj, min, ino, and the map's start,
 * end and pgoff are used. Without a path the result is id 0. */
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret,
			struct err *err);
/* One of the two names is enough; the other is then 0. If a name is STRTAB_FAILED, returns
 * -ERR_NOMEM. */
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret,
			 struct err *err);
/* From now on functions that are added with a mangled name alone get the readable one in this
 * style; with SYM_DEMANGLE_NONE, as before the first call, they keep it. */
void profile_demangle(struct profile *p, const struct name_style *style);
/* Of `l` all members except the lines are used; the lines are given innermost first. */
int profile_add_location(struct profile *p, const struct profile_location *l,
			 const struct profile_line *lines, size_t n, uint32_t *ret,
			 struct err *err);
/* Finds the node of a stack of n locations, root first. */
int profile_add_stack(struct profile *p, const uint32_t *locations, size_t n, uint32_t *ret,
		      struct err *err);
/* Adds s->count samples with a total weight of s->period. */
int profile_add_sample(struct profile *p, const struct profile_sample *s, struct err *err);
/* The same for one sample whose time is known; adds it to the log if that is kept. */
int profile_add_entry(struct profile *p, const struct profile_sample *s,
		      const struct profile_log_entry *when, struct err *err);

/* Gives threads whose names differ only in numbers one name, in which numbers are <N>: worker-1 and
 * worker-2 become worker-<N>. Names that no other differs from in this way stay. Nothing can be
 * added to the profile afterwards. Returns 0 or -ERR_NOMEM. */
int profile_merge_threads(struct profile *p, struct err *err);

/* Makes one entry of the log of each sum, for formats that show samples in a sequence. */
int profile_log_sums(struct profile *p, struct err *err);

/* Adds everything but the log of any other profile. Things are matched by name; dst does not refer
 * to src afterwards. */
int profile_absorb(struct profile *dst, const struct profile *src, struct err *err);
/* The same into a profile of two sides: weights of the base are stored as counts, those of the new
 * side as periods. The main event of the set (event_set_main()) is the first of dst, whatever it is
 * called on each side. With PROFILE_KEEP_TIDS a sample's tid is `run`, the number of src among the
 * runs of its side. With PROFILE_KEEP_PIDS the set's other events are kept too, by their names, and
 * the commands of samples (not the processes, which are others in each run); with PROFILE_KEEP_LOG
 * the log, with times since the beginning of each run, and the side as `cpu`. */
struct event_set;
int profile_absorb_side(struct profile *dst, const struct profile *src,
			const struct event_set *events, bool is_new, uint32_t run, struct err *err);

/* ---- limits ---------------------------------------------------------------------------------
 *
 * A file of 179 bytes can describe a stack of 120 million frames. What a profile may expand to is
 * limited: each stack (inlined frames count), all stacks and their names together, and, where each
 * sample's stack is spelled, all samples; the latter two by the size of the input, so that what
 * tools really write is far from it. The functions above obey, too: profile_add_stack() keeps 8
 * million nodes and one more for each byte of the input, profile_add_location() so many lines. */

#define PROFILE_LOCATION_LINES 4096
#define PROFILE_STACK_FRAMES   32768
#define PROFILE_STACK_BYTES    (16u << 20) /* of names */

/* Replaces what is too much by a frame "[frames left out]"; samples keep their weight. To be called
 * once names are known, before the profile is written or compared; nothing can be added afterwards.
 * *ret: of how many stacks how many frames are missing, with those that were never added. Returns 0
 * or -ERR_NOMEM. */
int profile_bound(struct profile *p, struct profile_bounded *ret, struct err *err);

/* ---- reading ------------------------------------------------------------------------------- */

/* The name shown for a location without lines: base name of its mapping, without brackets. */
const char *profile_mapping_short_name(const struct profile *p, uint32_t mapping);

/* Is code of this kind identified by its offset in the file? Other code is by its runtime address.
 */
static inline bool mapping_has_offsets(enum dso_kind kind)
{
	return kind == DSO_FILE || kind == DSO_VDSO || kind == DSO_KERNEL_MODULE;
}

/* The *n lines of a location to be shown, innermost first; NULL if there are none. */
static inline const struct profile_line *
profile_lines(const struct profile *p, const struct profile_location *l, bool no_inline, size_t *n)
{
	size_t skip = no_inline && l->n_lines ? l->n_lines - 1 : 0;

	*n = l->n_lines - skip;
	return *n ? p->lines.v + l->first_line + skip : NULL;
}

/* String id of the function that the location's machine code belongs to; 0: unknown. */
static inline uint32_t profile_symbol(const struct profile *p, const struct profile_location *l)
{
	if (l->symbol || !l->n_lines)
		return l->symbol;
	return p->functions.v[p->lines.v[l->first_line + l->n_lines - 1].function].name;
}

/* The details of an entry of the log; all 0 if it has none. Pointers are valid until the profile
 * gets another string. */
struct profile_detail profile_detail(const struct profile *p, const struct profile_log_entry *e);

/* The parameters of a frame (counted from the innermost one, those of the kernel included) in an
 * entry of the log: *n bytes; `level`: 0 is the function itself, 1 the function that was inlined in
 * it, and so on. NULL: nothing is known. *n_levels: how many functions there are. */
const char *profile_values(const struct profile *p, const struct profile_log_entry *e, size_t frame,
			   size_t level, size_t *n, size_t *n_levels);
/* The function that an event's name has ("uprobe:FILE:f"), where an inlined copy of it begins at
 * the leaf: *name is its name, and returned its level as of profile_values(). Else 0: the function
 * itself is probed; then *name is 0. */
size_t profile_probed_level(const struct profile *p, uint32_t event, uint32_t node, uint32_t *name);
/* The type of what the innermost function of an entry's stack returns, as values/values.h says; *n:
 * its length. NULL: not known. */
const char *profile_result_type(const struct profile *p, const struct profile_log_entry *e,
				size_t *n);
/* Is this parameter of that function a pointer to characters? */
bool profile_is_text_pointer(const struct profile *p, const struct profile_log_entry *e,
			     const char *name, size_t n);

/* A label of another tool's sample: a text, or a number with a unit. */
struct profile_label {
	const char *key, *text, *unit; /* NUL-terminated; text is NULL for a number */
	int64_t number;
};

/* Appends a label to a set, whose bytes become the string of profile_sample.labels. */
void profile_label_add(struct text *set, const struct profile_label *l);
/* Reads the label at *at of a sample, and moves on; *at is 0 for the first. False: there are no
 * more. */
bool profile_label(const struct profile *p, const struct profile_sample *s, size_t *at,
		   struct profile_label *ret);

/* The label with this key. Returns whether the sample has it. */
bool profile_label_named(const struct profile *p, const struct profile_sample *s, const char *key,
			 struct profile_label *ret);
/* Appends its value as it is shown; "[no KEY]" if the sample has no such label. */
void profile_label_show(struct text *t, const struct profile *p, const struct profile_sample *s,
			const char *key);

/* Do the outermost frames of this stack come from another sample (FRAME_STITCHED)? */
bool profile_is_stitched(const struct profile *p, uint32_t node);
/* Are the event's periods in nanoseconds? */
bool profile_event_is_clock(const struct profile_event *e);
/* Are the event's periods in bytes? */
static inline bool profile_event_is_bytes(const struct profile *p, const struct profile_event *e)
{
	return !strcmp(strtab_get(&p->strings, e->unit), "bytes");
}

/* ---- which events ---------------------------------------------------------------------------
 *
 * A list is names with commas between them, or "all". A name without modifiers is also that of the
 * event with any: "cycles" is "cycles:u". Commas between slashes belong to the name. */

bool event_is_listed(const char *list, const char *name);
/* Returns the first name of the list, and its length, that no event of the profile has; NULL if
 * there is none. */
const char *event_list_unknown(const char *list, const struct profile *p, size_t *n);

struct event_set {
	/* Those of the profile's events that have samples and are in the set, in order. */
	uint32_t *ids;
	size_t n;
	bool *has; /* by event */
};

/* Makes the set of the listed events; NULL: of all events. Returns 0, -ERR_NOT_FOUND if none of
 * them has samples, or -ERR_NOMEM. Must be released in all cases. */
int event_set_make(struct event_set *s, const struct profile *p, const char *list, struct err *err);
/* The event to show where only one can be shown: the default of the profile's source, else the one
 * with the largest sum of periods, the first of equals, and no ends of calls whose beginnings are
 * there. The set must not be empty. */
uint32_t event_set_main(const struct event_set *s, const struct profile *p);
/* Why it is that: "has the most weight". */
const char *event_set_why_main(const struct event_set *s, const struct profile *p);
/* Removes all events but the main one. */
void event_set_reduce(struct event_set *s, const struct profile *p);
/* Leaves only this event in has[], for output event by event. */
void event_set_pick(struct event_set *s, uint32_t event);
void event_set_done(struct event_set *s);

/* ---- spans (spans.c) -------------------------------------------------------------------------
 *
 * Calls with a beginning and an end, from pairs of events in the log: "call:X" and "return:X",
 * "uprobe:X" and "uretprobe:X", perf's "P:F" and "P:F__return", raw_syscalls:sys_enter and
 * sys_exit, syscalls:sys_enter_N and sys_exit_N. An end belongs to the beginning with the same
 * stack pointer, if the recording has that (the field sp of tracepoints, the registers of a
 * sample), else to the last one of its thread; with the field g (a goroutine) wherever that went
 * on. */

/* What an event is for the spans of capture -e call:FILE:FUNCTION. */
enum span_role { SPAN_NO_PART, SPAN_BEGINS, SPAN_ENDS };
enum span_role span_role_of(const char *event);

enum span_end {
	SPAN_RETURNED,
	/* There is no event of its end, but a later one shows that it had ended: longjmp(), an
	 * exception, a way out that was not probed, the end of the thread, exec(). end_ns is when
	 * that was seen. */
	SPAN_LEFT,
	/* There is no event of its end. A later one shows that its thread went on elsewhere: it was
	 * left, or waits on a stack of its own (a coroutine). end_ns is when that was seen. */
	SPAN_LOST,
	SPAN_OPEN, /* it went on when the recording ended; end_ns is that time */
};

#define SPAN_NONE UINT32_MAX

struct span {
	uint64_t start_ns, end_ns;
	uint64_t self_ns;     /* without the spans within it */
	uint32_t entry, exit; /* indexes in the log; exit may be SPAN_NONE */
	uint32_t parent;      /* index of the span around it; SPAN_NONE: none */
	uint32_t depth;	      /* 0: there is none around it */
	uint8_t end;	      /* enum span_end */
	bool is_callee;	      /* the chains say that `parent` is a caller: both are on one stack */
};

struct spans {
	VEC(struct span) v;	/* in the order of their beginnings */
	VEC(uint32_t) of_entry; /* by index in the log; SPAN_NONE: no beginning of a span */
	/* By index in the log: the span that it ends, or that goes on behind it: a jump within its
	 * function, as of `goto *p`, which capture cannot tell from one to another. SPAN_NONE: no
	 * end of a known span. */
	VEC(uint32_t) of_exit;
	VEC(uint8_t) is_end;   /* by index in the log: is it the end of a span, known or not? */
	VEC(uint8_t) is_round; /* likewise: another round of a loop at a function's start? */
	VEC(bool) has_event;   /* by event: is it one end of spans? */
	size_t n_left, n_lost, n_open; /* not SPAN_RETURNED */
	size_t n_without_start;	       /* ends of what began before the recording */
	size_t n_jumps_within;
};

/* Needs PROFILE_KEEP_LOG and PROFILE_KEEP_TRACE. Fills a zeroed *ret, which must be given to
 * spans_done() in any case. Returns 0 or -ERR_NOMEM. */
int spans_find(struct spans *ret, const struct profile *p, struct err *err);
void spans_done(struct spans *s);
static inline bool spans_has_event(const struct spans *s, uint32_t event)
{
	return event < s->has_event.n && s->has_event.v[event];
}
/* Puts the log in the order of time, if it has waits: these come in when they are over. Before
 * anything refers to its entries. Returns 0 or -ERR_NOMEM. */
int profile_order_log(struct profile *p, struct err *err);
/* Removes from the log what is_left_out, but for the ends of calls that stay, and hits of probes
 * at the start of functions that are no calls (is_round), of which *n_rounds is the number. Returns
 * 0 or -ERR_NOMEM. */
int profile_drop_left_out(struct profile *p, uint64_t *n_rounds, struct err *err);
/* Makes the weight of each call its self_ns; ends of calls weigh nothing and are no samples any
 * more. Returns 0, -ERR_NOT_FOUND if there are no calls, or -ERR_NOMEM. */
int profile_weigh_durations(struct profile *p, struct err *err);

struct profile_weighed {
	uint64_t samples; /* of events that have the field */
	uint64_t without; /* of these: no number, or one below zero; they weigh nothing */
};
/* Makes the weight of each sample the number in a field of its tracepoint, for all events that have
 * the field. Needs PROFILE_KEEP_LOG and PROFILE_KEEP_TRACE. Returns 0, -ERR_NOT_FOUND if there is
 * no such field, or -ERR_NOMEM. */
int profile_weigh_field(struct profile *p, const char *name, struct profile_weighed *ret,
			struct err *err);
/* The number behind " NAME=" in the fields of a log entry. */
bool trace_number(const struct profile *p, const struct profile_log_entry *e, const char *name,
		  uint64_t *ret);

/* Appends a string of the profile, cleaned (text_clean()). */
static inline void text_string(struct text *t, const struct profile *p, uint32_t id)
{
	text_clean(t, strtab_get(&p->strings, id), strtab_len(&p->strings, id));
}

/* The same as a JSON string. */
static inline void text_json_string(struct text *t, const struct profile *p, uint32_t id)
{
	text_json(t, strtab_get(&p->strings, id), strtab_len(&p->strings, id));
}

static inline void text_build_id(struct text *t, const struct build_id *id)
{
	size_t i;

	for (i = 0; i < id->size && i < BUILD_ID_MAX; i++)
		text_hex_digits(t, id->bytes[i], 2);
}

/* ---- the tree by names --------------------------------------------------------------------
 *
 * A profile's own tree is over locations: exact addresses. What a format shows is coarser (names)
 * or in another order (pprof wants the same bytes whatever the ids were), so it brings the symbols
 * of every location, root first, and gets the tree in which stacks of equal symbols are one. The
 * first level is the format's too: the command name, a set of labels. */

struct tree_node {
	uint32_t parent; /* smaller than the node's own id; node 0 is the root */
	uint32_t symbol;
	uint64_t count, period; /* of samples that end here */
};

struct tree_seen {
	uint32_t root; /* node of the first level, and 1; 0: not yet */
	uint32_t node;
};

struct tree {
	VEC(struct tree_node) nodes;
	struct hash_index children; /* (parent, symbol) -> node, unless the node is parent + 1 */
	uint64_t secret;	    /* key of the hashes: a hostile recording chooses the stacks */
	struct tree_seen *seen;	    /* by profile node: where it was found last */
	VEC(uint32_t) todo;
};

#define TREE_NO_ROOT UINT32_MAX /* there is no first level */

struct tree_symbols {
	VEC(uint32_t) first; /* by location, and one more: index of its first symbol */
	VEC(uint32_t) ids;
	VEC(uint32_t) roots; /* by sample: symbol of the first level */
	/* By sample: symbol of a level above `roots`, or TREE_NO_ROOT; empty: there is none. */
	VEC(uint32_t) owners;
	VEC(uint32_t)
	tops; /* by event: symbol of the level above those; empty: there is no such level */
	VEC(uint8_t) omit; /* by sample: whether it is left out; empty: none is */
};

/* Fills an empty (zeroed) tree with all samples of some events. Returns 0 or -ERR_NOMEM. */
int tree_fill(struct tree *t, const struct profile *p, const bool *has_event,
	      const struct tree_symbols *symbols, struct err *err);
void tree_done(struct tree *t);
void tree_symbols_done(struct tree_symbols *s);

/* What of stacks is left out. By symbol. */
struct tree_shape {
	/* Stacks begin with their innermost frame that is set here; NULL: with all frames. */
	const bool *is_start;
	const bool *is_root; /* the levels above stacks, which stay */
	bool collapse;	     /* a frame that calls itself is one */
};

/* Rebuilds the tree with fewer frames. n_seen: number of nodes of the profile from which it was
 * filled. Returns 0 or -ERR_NOMEM. */
int tree_reshape(struct tree *t, const struct tree_shape *shape, size_t n_seen, struct err *err);

/* Fills an empty (zeroed) tree with the reversed stacks (leaf first) of another. Returns 0 or
 * -ERR_NOMEM. */
int tree_reverse(struct tree *t, const struct tree *from, struct err *err);

/* What is summed up: numbers of samples (of a difference: the base), periods (the new side), or
 * periods where there are some. */
enum tree_weigh { TREE_BY_WEIGHT, TREE_BY_COUNT, TREE_BY_PERIOD };

/* Of the samples that end at a node. */
uint64_t tree_weight(const struct tree_node *n, enum tree_weigh by);

struct tree_sums {
	uint64_t *node;	 /* by node: with all below it; of node 0: all */
	uint64_t *own;	 /* by symbol: of stacks that end there */
	uint64_t *total; /* by symbol: with callees; a recursion counts once */
};

/* Fills a zeroed *s. Symbols are < n_symbols. Returns 0 or -ERR_NOMEM. Release it with
 * tree_sums_done() in both cases. */
int tree_sums(struct tree_sums *s, const struct tree *t, size_t n_symbols, enum tree_weigh by,
	      struct err *err);
void tree_sums_done(struct tree_sums *s);

/* The children of each node in an order that the caller defines. */
struct tree_order {
	uint32_t *first; /* by node, and one more */
	uint32_t *ids;
};

/* rank: by symbol, < n_ranks; NULL: the symbol's number is its rank. Returns 0 or -ERR_NOMEM. */
int tree_order_make(struct tree_order *o, const struct tree *t, const uint32_t *rank,
		    size_t n_ranks, struct err *err);
void tree_order_done(struct tree_order *o);

/* Sorts ids by key[id] < n_keys; stable. Returns 0 or -ERR_NOMEM. */
int order_by_key(uint32_t *ids, size_t n, const uint32_t *key, size_t n_keys, struct err *err);

/* How frames and tasks are named in formats that have only names. */
struct stack_style {
	bool with_cpu;		 /* pprof: a label, where the profile keeps it */
	bool with_pid, with_tid; /* root is comm-PID or comm-PID/TID, if the profile has these */
	/* A level above the root: the value of the label of this name; NULL: there is none. */
	const char *by;
	bool mark_kernel, mark_jit, mark_inline; /* _[k] _[j] _[i] */
	bool mark_stitched;			 /* _[s] */
	bool addrs;	/* [module <file offset or address>] for unknown symbols */
	bool no_inline; /* inlined functions are left out */
	/* Stacks begin with their innermost frame of this name; NULL: with all frames. */
	const char *skip_after;
	bool collapse; /* a function that calls itself is one frame */
	/* Functions whose names differ only by what is left out keep it: f(int), f(long). For names
	 * of other tools this is always so. */
	bool keep_apart;
	/* Not even the inlined callees that a JIT compiler's symbol names get a mark. */
	bool unmarked;
};

/* The kind of code that has a name; of several kinds, the last one in this list. */
enum name_kind {
	NAME_TASK, /* a command, or an event */
	NAME_USER,
	NAME_INLINED,
	NAME_JIT,
	NAME_KERNEL,
	NAME_UNKNOWN, /* code without a name: [module] */
	NAME_KIND_N
};

#define FRAME_NO_LINE UINT32_MAX

struct frame_name {
	uint32_t name;	     /* id in names */
	uint32_t line;	     /* index in the profile's lines; FRAME_NO_LINE: code without a name */
	enum name_kind kind; /* here; the same name may be of several kinds */
};

/* The frames of each location as they are shown, root first: the one place where names are spelled.
 * One line can be several frames, where a JIT compiler's symbol names its inlined callees. */
struct frame_names {
	struct strtab names;
	VEC(uint32_t) first; /* by location, and one more: index in frames */
	VEC(struct frame_name) frames;
};

/* Fills a zeroed *f. Returns 0 or -ERR_NOMEM. Release it with frame_names_done() in both cases. */
int frame_names(struct frame_names *f, const struct profile *p, const struct stack_style *style,
		struct err *err);
void frame_names_done(struct frame_names *f);

/* Functions as tables show them: a name, and the file (by its short name) that the code is in. The
 * ids are those of a tree without levels above the stacks; the caller may set `symbols.roots`. */
struct function_symbol {
	uint32_t name;	  /* id in frames.names */
	uint32_t mapping; /* one of them */
	uint32_t line;	  /* of one of its addresses; as in struct frame_name */
	enum name_kind kind;
};

struct function_symbols {
	struct frame_names frames;
	VEC(struct function_symbol) v;
	struct tree_symbols symbols;
};

/* Fills a zeroed *f. Returns 0 or -ERR_NOMEM. Release it with function_symbols_done() in both
 * cases. */
int function_symbols(struct function_symbols *f, const struct profile *p,
		     const struct stack_style *style, struct err *err);
void function_symbols_done(struct function_symbols *f);

/* Stacks of the names that flame graphs show, root first: the command name, then functions. */
struct named_stacks {
	struct strtab names; /* the symbols of the tree */
	VEC(uint8_t) kinds;  /* by symbol: enum name_kind */
	struct tree tree;
};

/* Fills a zeroed *s with the samples of some events. With several events, the event's name is the
 * first level. Returns 0, or negative with *err. Release it with named_done() in both cases. */
int named_stacks(struct named_stacks *s, const struct profile *p, const struct event_set *events,
		 const struct stack_style *style, struct err *err);
void named_done(struct named_stacks *s);

/* ---- names as the flame graph tools spell them ---------------------------------------------- */

/* Appends a function name without its argument lists (and anything after the last one), and without
 * the return type that demanglers write for instances of function templates. Keeps template
 * arguments, "(anonymous namespace)", "operator()" and Go's "(*T)" receivers. */
void fold_function(struct text *t, const char *name, size_t n);
/* Is this the mangled name of a Rust function? Parentheses in such names are types. */
bool fold_is_rust(const char *system_name);
/* Is it a Java name "Lcom/example/Main;::run", as perf-map-agent writes it? */
bool fold_is_java(const char *name, size_t n);
/* The name of a FRAME_OTHER_STACK. */
#define FOLD_OTHER_STACK "[other stack]"

/* Suffix, on request, of the names of frames that are FRAME_STITCHED. */
#define FOLD_STITCHED "_[s]"
/* Makes the text added since `start` a valid frame of a folded line: without ';', which separates
 * frames; without a number after a space at its end, which would be taken for the weight; never
 * empty. */
void fold_finish(struct text *t, size_t start);

#endif
