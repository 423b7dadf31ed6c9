/* page_parts.h - what is made of a profile for the page, by the parts of page_data.c: frames and
 * nodes (page_frames.c), events, tasks, samples and the log (page_samples.c), facts (page_facts.c).
 * Private to them. */
#ifndef OUTPUT_PAGE_PARTS_H
#define OUTPUT_PAGE_PARTS_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "output/diff.h"
#include "output/formats.h"
#include "output/output.h"
#include "profile/profile.h"

/* A function of a module, as shown; all its places in the code are one frame. */
struct page_frame {
	uint32_t name, module, file; /* ids in names */
	uint32_t line;
	uint32_t kind;
	const struct diff_verdict *verdict; /* of a difference that was judged; NULL */
};

struct page_task {
	uint32_t comm, pid, tid;
	uint32_t label; /* string id in names, with page.by */
};

/* All samples of one task and event in one node. */
struct page_sample {
	uint32_t node, event, task;
	uint64_t count, weight;
};

struct page {
	const struct profile *p;
	const struct output_options *opt;
	const struct event_set *events;
	const char *by; /* a label of the samples that is a level, too; NULL */
	struct strtab names;
	VEC(struct page_frame) frames;
	struct hash_table modules, places, frame_of; /* pairs of pairs */
	uint32_t *rank;				     /* by frame: place in the order of content */
	uint32_t *by_rank;
	struct tree_symbols symbols;
	struct tree tree;
	uint32_t *preorder; /* by node of the tree */
	uint32_t *event_rank;
	VEC(struct page_task) tasks;
	struct hash_table ids, comms, task_of; /* (pid, tid), (comm, label), of both */
	uint32_t last_labels, last_label;      /* set of labels -> name */
	uint32_t *task_rank;
	VEC(struct page_sample) samples;
	struct hash_table kind_of, sample_of; /* (event, task), (node, that) */
	uint32_t *sample_rank;
	struct strtab strings; /* of the page, in the order of first use */
	struct text text, columns;
};

/* ---- columns: page_data.c ------------------------------------------------------------------- */

/* Append to g->columns: a number, one with a sign, a text of the page. */
void page_add_number(struct page *g, uint64_t v);
void page_add_signed(struct page *g, int64_t v);
void page_add_string(struct page *g, const char *s, size_t n);
/* One of g->names. */
void page_add_name(struct page *g, uint32_t id);
/* Interns the text collected since the last call as a name. */
uint32_t page_take_name(struct page *g);

/* ---- frames and nodes ----------------------------------------------------------------------- */

/* page_make_*() fill what page_write_*() then write; those come in the order of the page. All ints
 * here and below: 0, or negative when out of memory or with *err. */
int page_make_frames(struct page *g);
void page_write_frames(struct page *g);
int page_write_difference(struct page *g);
int page_make_nodes(struct page *g, struct err *err);
uint32_t page_node_of(const struct page *g, uint32_t node);
/* Orders by the names of these ids. */
int page_compare_ids(const struct page *g, uint32_t a, uint32_t b);
/* Allocates both: the places of n things in the order of `compare`, and the things by place. */
int page_rank_all(struct page *g, size_t n, int (*compare)(const void *, const void *, void *),
		  uint32_t **rank, uint32_t **by_rank);

/* ---- samples -------------------------------------------------------------------------------- */

void page_write_events(struct page *g);
int page_make_samples(struct page *g);
int page_write_tasks(struct page *g);
int page_write_samples(struct page *g);
int page_write_log(struct page *g);
int page_write_spans(struct page *g, struct err *err);

/* ---- facts ---------------------------------------------------------------------------------- */

void page_write_facts(struct page *g);

#endif
