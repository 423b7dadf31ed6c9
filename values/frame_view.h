/* frame_view.h - the frames of a sample as expressions see them. Private to values/. */
#ifndef VALUES_FRAME_VIEW_H
#define VALUES_FRAME_VIEW_H

#include "base/hash.h"
#include "base/text.h"
#include "dwarf/dwarf.h"
#include "functions/functions.h"
#include "values/values.h"

/* A frame of the sample that is unwound. */
struct frame_view {
	const struct frame *frame;
	const struct frame_registers *regs; /* NULL: not known */
	struct dwarf_params *params;	    /* of its module; NULL: no debug information */
	const struct dwarf_site *site;	    /* NULL: nothing is known */
	struct elf_image *image;
	bool is_part; /* as in known_module */
	const uint8_t *constants;
	size_t n_constants;
	uint64_t vaddr; /* that was looked up */
	uint64_t bias;	/* runtime address minus vaddr */
	uint64_t cfa;
	bool has_cfa;
	uint16_t machine;
};

struct known_module {
	const struct dso *dso;
	const struct module *mod;
	struct dwarf_params *params;
	bool is_part;		  /* it has holes, and only these constants: */
	const uint8_t *constants; /* pairs of vaddr and size */
	size_t n_constants;
	struct functab *symbols; /* of result.c; NULL: not read yet */
};

struct values {
	struct modules *modules;
	const struct unwinder *unwinder;
	const struct values_options *opt;
	VEC(struct known_module) known;
	struct hash_table by_dso; /* -> index in known */
	/* Of the sample at hand. */
	const struct perf_sample *sample;
	VEC(struct frame_view) views; /* of the user frames, innermost first */
	uint64_t steps;		      /* operations of expressions that it has left */
	unsigned depth;		      /* of values that are computed from others */
	struct text texts[UNWIND_BATCH], labels[UNWIND_BATCH];
	bool failed; /* out of memory */
};

/* Reads memory that is known at the sample. */
bool view_memory(struct values *v, uint64_t addr, void *to, size_t n);
/* The value of a register in a frame; is_kept: also of one that calls overwrite. */
bool view_register(const struct frame_view *f, uint64_t reg, bool is_kept, uint64_t *ret);
/* Is the frame just at the beginning of its function? */
bool view_is_at_entry(const struct frame_view *f);
/* The numbers of the stack pointer and of the frame pointer; false: unknown processor. */
bool view_special_registers(const struct frame_view *f, uint64_t *sp, uint64_t *fp);

/* ---- eval.c --------------------------------------------------------------------------------- */

enum { VALUE_BYTES_MAX = 256 };

/* A value as bytes. */
struct value_bytes {
	uint8_t v[VALUE_BYTES_MAX];
	bool known[VALUE_BYTES_MAX];
	size_t n;
	uint64_t address; /* where it is in memory; 0: not there */
};

static inline bool value_is_known(const struct value_bytes *b, size_t off, size_t n)
{
	for (size_t i = off; i < off + n; i++)
		if (i >= b->n || !b->known[i])
			return false;
	return true;
}

/* Evaluates an expression that says where a value of n bytes is, in the frame number `view`. */
void eval_value(struct values *v, size_t view, const struct dwarf_expr *e, bool is_kept, size_t n,
		struct value_bytes *ret);
/* The value of a parameter on entry: what the caller says that it passed in `reg`. */
bool eval_entry_register(struct values *v, size_t view, uint64_t reg, uint64_t *ret);

/* ---- param_value.c -------------------------------------------------------------------------- */

/* The value of parameter i of a level of the site of a frame. *is_entry: it is what was passed. */
void param_value(struct values *v, size_t view, size_t level, size_t i, struct value_bytes *ret,
		 bool *is_entry);

/* ---- result.c ------------------------------------------------------------------------------- */

/* Appends '\r' and the type of what the function of a frame returns (values_find()). */
void result_add(struct values *v, struct text *t, const struct frame_view *f);

/* ---- print.c -------------------------------------------------------------------------------- */

/* Appends a value of a type as gdb spells it; "?" where it is not known. `bare`: a text without its
 * address. */
void value_print(struct values *v, struct text *t, const struct dwarf_type *type,
		 const struct value_bytes *b, bool bare);
/* Appends a type as values_find() tells it of results. */
void value_print_type(struct text *t, const struct dwarf_type *type);
/* The integer that a value of this type is. */
bool value_integer(const struct dwarf_type *type, const struct value_bytes *b, uint64_t *ret);
/* The text that a pointer points to, up to `max` bytes; *cut: there is more. False: not known. */
bool value_text(struct values *v, uint64_t addr, char *to, size_t max, size_t *n, bool *cut);

#endif
