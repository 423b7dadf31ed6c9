/* cfi_module.c - address -> row -> rule of one module: its sections in order of preference, and
 * what can be known without them (known_code.h for what the bytes of the code tell). */
#include "unwind/cfi_module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/threads.h"
#include "base/vec.h"
#include "functions/functions.h"
#include "unwind/known_code.h"
#include "unwind/native_image.h"
#include "unwind/rule_table.h"
#include "unwind/unwind.h"

/* The code at the ELF entry is a few dozen bytes that call the first C function; no CPU and no libc
 * needs nearly this many. */
#define ENTRY_CODE_BYTES 128

/* See is_small_gap(). */
#define GAP_BYTES 512

/* Maximum cost of finding the rows of a module, in steps: instructions of call frame information,
 * and steps through Go's tables. This is some seconds. Of 5 million functions in 800 files the most
 * expensive one, in libcufft, needs 25,000 for its last address. But a file can be crafted in which
 * every address needs far more. */
#define STEPS_MAX (1u << 30)

/* Maximum for one address without the lock. An address that needs more starts again with the lock
 * held. */
#define STEPS_ALONE 4096

/* To find a method of native-image takes a step for about so many bytes of it. */
#define NATIVE_BYTES_A_STEP 16

struct cfi_module {
	struct module_state state; /* first: modules/ frees through it */
	struct modules *modules;
	struct module *mod;
	const struct arch *arch;
	struct rule_table rules;
	struct cfi_index eh;
	_Atomic uint64_t steps; /* steps left of STEPS_MAX */
	/* Guards additions to `rules`, changes of the fields above, and the fields below. */
	pthread_mutex_t lock;
	struct cfi_index debug;
	struct go_table go;
	struct native_image native;
	struct code_index code;
	struct code_index bare; /* of functions whose bounds an FDE or a runtime's table gives */
	bool debug_opened, code_opened, calls_opened, stub_looked_for, native_opened;
	int stub_prefix;		 /* see cfi_module_stub_prefix() */
	struct hash_table full_by_vaddr; /* vaddr -> index in full_rules */
	VEC(const struct full_rule *) full_rules;
	struct arena arena;
};

static void module_done(struct module_state *state)
{
	struct cfi_module *cm = (struct cfi_module *)state;

	cfi_index_done(&cm->eh);
	cfi_index_done(&cm->debug);
	code_index_done(&cm->code);
	code_index_done(&cm->bare);
	hash_done(&cm->full_by_vaddr);
	rule_table_done(&cm->rules);
	vec_done(&cm->full_rules);
	arena_done(&cm->arena);
	pthread_mutex_destroy(&cm->lock);
	free(cm);
}

/* The debug file is searched for only if the image has no .debug_frame of its own. */
static void debug_frame_open(struct cfi_module *cm)
{
	cm->debug_opened = true;
	if (cm->mod->image)
		cfi_index_open_debug(&cm->debug, cm->mod->image);
	if (cm->debug.sec.size)
		return;
	module_debug(cm->modules, cm->mod);
	if (cm->mod->debug && cm->mod->debug != cm->mod->image)
		cfi_index_open_debug(&cm->debug, cm->mod->debug);
}

/* True if the debug file alone, without the image, has usable rules. Go's .debug_frame does not
 * mention the switching of stacks, which Go's own table (in the image) does. */
static bool debug_has_rules(struct modules *modules, struct module *mod)
{
	struct elf_section s;

	return module_debug(modules, mod) && mod->debug &&
	       elf_image_section(mod->debug, ".debug_frame", &s, NULL) && s.data &&
	       !elf_image_section(mod->debug, ".go.buildinfo", &s, NULL);
}

struct cfi_module *cfi_module_get(struct modules *modules, struct module *mod)
{
	struct module_state *state = atomic_load(&mod->unwind_state);
	struct elf_image *file;
	struct cfi_module *cm;

	if (state)
		return (struct cfi_module *)state;
	if (!mod->image && !debug_has_rules(modules, mod))
		return NULL;
	file = mod->image ? mod->image : mod->debug;
	cm = calloc(1, sizeof *cm);
	if (!cm)
		return NULL;
	cm->state.done = module_done;
	cm->modules = modules;
	cm->mod = mod;
	if (!elf_image_swapped(file)) /* all processors of the table are little-endian */
		cm->arch = arch_find_elf(elf_image_machine(file), elf_image_is_64(file));
	cm->steps = STEPS_MAX;
	mutex_init_short(&cm->lock);
	if (mod->image)
		cfi_index_open_eh(&cm->eh, mod->image);
	else
		debug_frame_open(cm);
	if (mod->image && cm->arch)
		go_table_open(&cm->go, mod->image);
	if (atomic_compare_exchange_strong(&mod->unwind_state, &state, &cm->state))
		return cm;
	module_done(&cm->state); /* another worker was faster */
	return (struct cfi_module *)state;
}

const struct arch *cfi_module_arch(const struct cfi_module *cm)
{
	return cm->arch;
}

const uint8_t *cfi_module_code_before(const struct cfi_module *cm, uint64_t vaddr, size_t *n)
{
	const uint8_t *p;
	size_t left;

	for (; *n; --*n) {
		p = elf_image_at_vaddr(cm->mod->image, vaddr - *n, &left);
		if (p && left >= *n)
			return p + *n;
	}
	return NULL;
}

const uint8_t *cfi_module_code(const struct cfi_module *cm, uint64_t vaddr, size_t *n)
{
	size_t left;
	const uint8_t *p = elf_image_at_vaddr(cm->mod->image, vaddr, &left);

	if (p && left < *n)
		*n = left;
	return p;
}

/* True if vaddr is in the code at the ELF entry, and no FDE covers anything between the two. */
static bool is_entry_code(struct cfi_module *cm, uint64_t vaddr)
{
	const struct module *m = cm->mod;
	uint64_t entry = elf_image_entry(m->image ? m->image : m->debug), at;
	struct cfi_fde fde;

	if (!entry || vaddr < entry || vaddr - entry >= ENTRY_CODE_BYTES)
		return false;
	for (at = entry; at < vaddr; at++) /* a function that follows has an FDE of its own */
		if (cfi_index_find(m->image ? &cm->eh : &cm->debug, at, &fde) > 0)
			return false;
	return true;
}

bool cfi_module_is_before_exit(const struct cfi_module *cm, uint64_t vaddr)
{
	return known_exit(cm->mod->image, cm->arch, vaddr + 1);
}

/* True if the function of a context returns to vaddr + 1, where a function begins that has not
 * called it. */
static bool is_before_root(const struct cfi_module *cm, uint64_t vaddr)
{
	struct elf_image *img = cm->mod->image;
	const struct arch_exit *x = img ? known_exit(img, cm->arch, vaddr + 1) : NULL;

	return x && x->is_function;
}

/* The call frame information of glibc's __start_context describes it as a called function whose
 * frame is only the return address. Code is compared only for functions with such a row: touching
 * the code of all functions costs a few percent on a recording of a compiler. */
static bool is_root(const struct cfi_module *cm, const struct cfi_fde *fde,
		    const struct cfi_row *row)
{
	const struct arch_exit *x;

	if (!cm->mod->image || row->cfa_how != CFI_CFA_REG || row->cfa_off != cm->arch->word_bytes)
		return false;
	x = known_exit(cm->mod->image, cm->arch, fde->start);
	return x && x->is_function;
}

/* Makes a row from the size of a Go frame. Functions preserve no registers of their caller except
 * the frame pointer, which on x86-64 is saved next to the return address if there is a frame at
 * all. */
static void go_row(const struct arch *arch, uint64_t size, struct cfi_row *row)
{
	bool pushes_ra = arch->ra == arch->pc;

	*row = (struct cfi_row){.cfa_how = CFI_CFA_REG,
				.cfa_reg = arch->sp,
				.cfa_off = (int64_t)size + (pushes_ra ? arch->word_bytes : 0),
				.ra_reg = arch->ra,
				.n_regs = arch->n_regs};
	/* With a link register the return address is at the bottom of the frame. */
	if (pushes_ra || size)
		row->regs[arch->ra] = (struct cfi_reg_rule){
			.how = CFI_OFFSET,
			.off = pushes_ra ? -(int64_t)arch->word_bytes : -(int64_t)size};
	if (arch->go_fp_off && size)
		row->regs[arch->fp] =
			(struct cfi_reg_rule){.how = CFI_OFFSET, .off = arch->go_fp_off};
}

/* With the lock held: only its holder changes the count. */
static uint64_t steps_begin(const struct cfi_module *cm)
{
	return atomic_load_explicit(&cm->steps, memory_order_relaxed);
}

static void steps_end(struct cfi_module *cm, uint64_t left)
{
	atomic_store_explicit(&cm->steps, left, memory_order_relaxed);
}

/* row_find() for Go functions. */
static enum rule_kind go_row_find(struct cfi_module *cm, uint64_t vaddr, struct cfi_row *row)
{
	uint64_t size, steps = steps_begin(cm);
	enum go_frame frame;

	frame = go_table_find(&cm->go, vaddr, &steps, &size);
	steps_end(cm, steps);
	switch (frame) {
	case GO_FRAME_NONE:
		break;
	case GO_FRAME_SIZE:
		go_row(cm->arch, size, row);
		return RULE_FULL;
	case GO_FRAME_CALLBACK:
		go_row(cm->arch, size, row);
		return RULE_GO_CALLBACK;
	case GO_FRAME_ROOT:
		return RULE_END;
	case GO_FRAME_THREAD:
		return RULE_GO_THREAD;
	case GO_FRAME_SWITCH:
		return RULE_STACK_SWITCH;
	}
	return RULE_NO_CFI;
}

/* True if vaddr + 1 is a return address in code of native-image. */
static bool is_before_native_return(struct cfi_module *cm, uint64_t vaddr)
{
	size_t n = UNWIND_CALL_BYTES_MAX;
	const uint8_t *end = cfi_module_code_before(cm, vaddr + 1, &n);

	return native_image_has_references(&cm->native, vaddr + 1) && end &&
	       cm->arch->ends_in_call(end, n);
}

/* row_find() for methods of native-image. */
static enum rule_kind native_row_find(struct cfi_module *cm, uint64_t vaddr, struct cfi_row *row,
				      enum frame_how *how)
{
	struct elf_image *img = cm->mod->image;
	uint64_t steps = steps_begin(cm);
	struct native_method m;
	bool found;

	if (!cm->native_opened)
		native_image_open(&cm->native, img);
	cm->native_opened = true;
	if (!steps || !native_image_method(&cm->native, vaddr, &m))
		return RULE_NO_CFI;
	steps -= steps < m.end - m.start ? steps : (m.end - m.start) / NATIVE_BYTES_A_STEP;
	*how = FRAME_RUNTIME_TABLE;
	if (is_before_native_return(cm, vaddr))
		found = native_image_row_at_return(&m, img, cm->arch, row);
	else
		found = native_image_row_at(&m, img, cm->arch, vaddr, &steps, row);
	steps_end(cm, steps);
	return found ? RULE_FULL : RULE_NO_CFI;
}

/* glibc's _dl_runtime_resolve for aarch64 does not count the 16 bytes that the PLT pushed before
 * it: its rows put the saved return address above the CFA, in the caller's frame (AAPCS64
 * 6.4.5). */
static void row_correct(const struct arch *arch, struct cfi_row *row)
{
	unsigned i;

	if (!arch->untold_plt_bytes || row->is_signal_frame || row->cfa_how != CFI_CFA_REG ||
	    row->regs[row->ra_reg].how != CFI_OFFSET || row->regs[row->ra_reg].off != 8)
		return;
	row->cfa_off += arch->untold_plt_bytes;
	for (i = 0; i < row->n_regs; i++)
		if (row->regs[i].how == CFI_OFFSET || row->regs[i].how == CFI_VAL_OFFSET)
			row->regs[i].off -= arch->untold_plt_bytes;
}

/* Finds the row of an FDE: RULE_FULL and *row, or the kind that says why there is no row. */
static enum rule_kind entry_row(struct cfi_module *cm, const struct cfi_fde *fde, uint64_t vaddr,
				struct cfi_row *row)
{
	uint64_t steps = steps_begin(cm);
	bool found = cfi_row_find(fde, cm->arch, vaddr, &steps, row);

	steps_end(cm, steps);
	if (!found)
		return RULE_BAD_CFI;
	if (is_root(cm, fde, row))
		return RULE_END;
	row_correct(cm->arch, row);
	known_lone_row(cm->mod->image, cm->arch, fde, vaddr, row);
	return RULE_FULL;
}

/* row_find() without the image. */
static enum rule_kind debug_row_find(struct cfi_module *cm, uint64_t vaddr, struct cfi_row *row)
{
	struct cfi_fde fde;

	if (cfi_index_find(&cm->debug, vaddr, &fde) > 0)
		return entry_row(cm, &fde, vaddr, row);
	return is_entry_code(cm, vaddr) ? RULE_END : RULE_NO_BINARY;
}

/* Returns RULE_FULL and *row, or the kind that says why there is no row. *how: the source of the
 * row. */
static enum rule_kind row_find(struct cfi_module *cm, uint64_t vaddr, struct cfi_row *row,
			       enum frame_how *how)
{
	enum rule_kind kind = RULE_NO_CFI;
	struct cfi_fde fde;
	int rc;

	*how = FRAME_CFI;
	if (!cm->mod->image)
		return debug_row_find(cm, vaddr, row);
	rc = cfi_index_find(&cm->eh, vaddr, &fde);
	if (rc > 0 && vaddr + 1 == fde.end && is_before_root(cm, vaddr))
		return RULE_END;
	/* The vDSO for aarch64 before Linux 5.8 has call frame information for its trampoline,
	 * which gives the link register of the interrupted function as its pc. */
	if ((rc == 0 || cm->arch->signal_record_off) &&
	    known_trampoline_row(cm->mod->image, cm->arch, vaddr, row)) {
		*how = FRAME_SIGNAL_FRAME;
		return RULE_FULL;
	}
	if (rc == 0) {
		if (is_entry_code(cm, vaddr) || cfi_module_is_before_exit(cm, vaddr))
			return RULE_END;
		if (known_after_clone(cm->mod->image, cm->arch, vaddr))
			return RULE_CLONE;
		kind = go_row_find(cm, vaddr, row);
	}
	if (kind != RULE_NO_CFI) {
		*how = FRAME_RUNTIME_TABLE;
		return kind;
	}
	if (rc == 0 && native_row_find(cm, vaddr, row, how) == RULE_FULL)
		return RULE_FULL;
	*how = FRAME_CFI;
	if (rc == 0 && !cm->debug_opened)
		debug_frame_open(cm);
	if (rc == 0)
		rc = cfi_index_find(&cm->debug, vaddr, &fde);
	return rc > 0 ? entry_row(cm, &fde, vaddr, row) : RULE_NO_CFI;
}

/* Makes the rule without the lock, on which all threads that start with the same file at the same
 * time would wait. Works for most rows: those listed in the linker's table. *steps: steps used,
 * also if it returns false. */
static bool rule_make_alone(const struct cfi_module *cm, uint64_t vaddr, struct rule *ret,
			    uint64_t *steps)
{
	uint64_t left = STEPS_ALONE;
	struct cfi_fde fde;
	struct cfi_row row;
	bool found;

	*steps = 0;
	if (atomic_load_explicit(&cm->steps, memory_order_relaxed) < STEPS_ALONE ||
	    !cfi_index_listed(&cm->eh, vaddr, &fde) || vaddr + 1 == fde.end ||
	    (cm->arch->signal_record_off &&
	     known_trampoline_row(cm->mod->image, cm->arch, vaddr, &row)))
		return false;
	found = cfi_row_find(&fde, cm->arch, vaddr, &left, &row);
	*steps = STEPS_ALONE - left;
	if (!found || is_root(cm, &fde, &row))
		return false;
	row_correct(cm->arch, &row);
	known_lone_row(cm->mod->image, cm->arch, &fde, vaddr, &row);
	rule_pack(&row, cm->arch, vaddr, ret);
	ret->how = FRAME_CFI;
	return true;
}

/* With the lock held. Makes the rule, but does not store it. */
static struct rule rule_make(struct cfi_module *cm, uint64_t vaddr)
{
	struct rule rule;
	enum frame_how how;
	struct cfi_row row;
	enum rule_kind kind = row_find(cm, vaddr, &row, &how);

	if (kind == RULE_GO_CALLBACK)
		return (struct rule){.kind = (uint8_t)kind, .cfa_off = (int32_t)row.cfa_off};
	if (kind == RULE_END && is_before_root(cm, vaddr))
		return (struct rule){.kind = RULE_END, .flags = RULE_SIGNAL};
	if (kind != RULE_FULL)
		return (struct rule){.kind = (uint8_t)kind};
	rule_pack(&row, cm->arch, vaddr, &rule);
	rule.how = (uint8_t)how;
	return rule;
}

struct rule cfi_module_rule(struct cfi_module *cm, uint64_t vaddr, uint32_t *number)
{
	struct rule rule, known;
	uint64_t steps, left;
	bool is_made;

	if (rule_table_get(&cm->rules, vaddr, &rule, number))
		return rule;
	is_made = rule_make_alone(cm, vaddr, &rule, &steps);
	pthread_mutex_lock(&cm->lock);
	left = steps_begin(cm);
	steps_end(cm, left > steps ? left - steps : 0);
	if (rule_table_get(&cm->rules, vaddr, &known, number)) { /* another thread was faster */
		rule = known;
	} else {
		if (!is_made)
			rule = rule_make(cm, vaddr);
		/* If there is no memory to store it, it will be found again next time. */
		*number = rule_table_put(&cm->rules, vaddr, rule);
	}
	pthread_mutex_unlock(&cm->lock);
	return rule;
}

const struct full_rule *cfi_module_full_rule(struct cfi_module *cm, uint64_t vaddr)
{
	const struct full_rule *full = NULL;
	enum frame_how how;
	struct cfi_row row;
	uint32_t i;

	pthread_mutex_lock(&cm->lock);
	i = hash_get(&cm->full_by_vaddr, vaddr);
	if (i != HASH_NONE) {
		full = cm->full_rules.v[i];
	} else if (row_find(cm, vaddr, &row, &how) == RULE_FULL) {
		full = rule_full(&row, cm->arch, how, &cm->arena);
		if (full && !vec_push(&cm->full_rules, full) &&
		    hash_put(&cm->full_by_vaddr, vaddr, (uint32_t)cm->full_rules.n - 1))
			cm->full_rules.n--;
	}
	pthread_mutex_unlock(&cm->lock);
	return full;
}

static void code_open(struct cfi_module *cm)
{
	if (!cm->code_opened)
		code_index_open(&cm->code, cm->mod);
	cm->code_opened = true;
}

/* With the lock held. Does not read the symbols. */
static const struct code_frame *bounded_frame(struct cfi_module *cm, struct code_function *fn,
					      uint64_t vaddr)
{
	if (!cm->bare.steps && !cm->bare.rows.n)
		code_index_open_bare(&cm->bare, cm->mod->image);
	return code_index_frame(&cm->bare, cm->mod->image, cm->arch, fn, vaddr);
}

/* True if the FDE begins at the entry of a function, not at a part that was moved elsewhere. */
static bool begins_as_entered(const struct cfi_module *cm, const struct cfi_fde *fde)
{
	uint64_t steps = STEPS_ALONE;
	struct cfi_row row;

	return cfi_row_find(fde, cm->arch, fde->start, &steps, &row) &&
	       row.cfa_how == CFI_CFA_REG && row.cfa_reg == cm->arch->sp &&
	       row.cfa_off == arch_entry_frame(cm->arch).sp;
}

bool cfi_module_fde_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret)
{
	const struct code_frame *f = NULL;
	struct code_function fn = {.is_named = true};
	struct cfi_fde fde;

	pthread_mutex_lock(&cm->lock);
	if (cfi_index_find(&cm->eh, vaddr, &fde) > 0 && begins_as_entered(cm, &fde)) {
		fn.start = fde.start;
		fn.end = fde.end;
		f = bounded_frame(cm, &fn, vaddr);
	}
	if (f)
		*ret = *f;
	pthread_mutex_unlock(&cm->lock);
	return f;
}

bool cfi_module_go_frame(struct cfi_module *cm, uint64_t vaddr, struct code_frame *ret)
{
	const struct code_frame *f = NULL;
	struct code_function fn = {.is_named = true};

	if (!go_table_bounds(&cm->go, vaddr, &fn.start, &fn.end))
		return false;
	pthread_mutex_lock(&cm->lock);
	f = bounded_frame(cm, &fn, vaddr);
	if (f)
		*ret = *f;
	pthread_mutex_unlock(&cm->lock);
	return f;
}

bool cfi_module_has_go(const struct cfi_module *cm, uint64_t vaddr)
{
	uint64_t start, end;

	return go_table_bounds(&cm->go, vaddr, &start, &end);
}

bool cfi_module_go_starts(const struct cfi_module *cm, uint64_t vaddr)
{
	uint64_t start, end;

	return go_table_bounds(&cm->go, vaddr, &start, &end) && start == vaddr;
}

int cfi_module_stub_prefix(struct cfi_module *cm)
{
	int prefix;

	if (!cm->arch->stub)
		return -1;
	pthread_mutex_lock(&cm->lock);
	if (!cm->stub_looked_for)
		cm->stub_prefix = known_stub_prefix(cm->mod->image, cm->arch);
	cm->stub_looked_for = true;
	prefix = cm->stub_prefix;
	pthread_mutex_unlock(&cm->lock);
	return prefix;
}

bool cfi_module_fde(struct cfi_module *cm, uint64_t vaddr, struct cfi_fde *ret)
{
	int rc;

	pthread_mutex_lock(&cm->lock);
	rc = cfi_index_find(&cm->eh, vaddr, ret);
	pthread_mutex_unlock(&cm->lock);
	return rc > 0;
}

uint64_t cfi_module_pad(struct cfi_module *cm, uint64_t vaddr)
{
	struct cfi_fde fde;

	return cfi_module_fde(cm, vaddr, &fde) ? lsda_pad(cm->mod->image, &fde, vaddr) : 0;
}

bool cfi_module_is_pad(struct cfi_module *cm, uint64_t vaddr)
{
	struct cfi_fde fde;

	return cfi_module_fde(cm, vaddr, &fde) && lsda_is_pad(cm->mod->image, &fde, vaddr);
}

/* True if there is code with call frame information on both sides of vaddr. This is so for the few
 * functions of the C compiler's own that every file has and that only pointers lead to: they are
 * not worth scanning the whole file. */
static bool is_small_gap(struct cfi_module *cm, uint64_t vaddr)
{
	struct cfi_fde fde;

	return cfi_index_find(&cm->eh, vaddr - GAP_BYTES, &fde) > 0 &&
	       cfi_index_find(&cm->eh, vaddr + GAP_BYTES, &fde) > 0;
}

/* Where the last function with call frame information before vaddr ends; 0: there is none. */
static uint64_t fde_end_before(struct cfi_module *cm, uint64_t vaddr)
{
	struct cfi_fde fde;
	uint64_t start;

	return cfi_index_start(&cm->eh, vaddr, &start) > 0 &&
			       cfi_index_find(&cm->eh, start, &fde) > 0 && fde.end <= vaddr
		       ? fde.end
		       : 0;
}

/* Scans the code for calls if no symbol covers vaddr. What is found must not depend on whether it
 * was scanned before, for another place. */
static bool function_find(struct cfi_module *cm, uint64_t vaddr, struct code_function *ret)
{
	code_open(cm);
	if (code_index_symbol(&cm->code, vaddr, ret))
		return !ret->is_part;
	if (is_small_gap(cm, vaddr))
		return ret->end;
	if (!cm->calls_opened)
		code_starts_read(&cm->code.code, cm->mod->image, cm->arch);
	cm->calls_opened = true;
	code_index_called(&cm->code, vaddr, fde_end_before(cm, vaddr), ret);
	return ret->end;
}

bool cfi_module_code_frame(struct cfi_module *cm, uint64_t vaddr, struct code_function *fn,
			   struct code_frame *ret)
{
	const struct code_frame *f = NULL;

	if (!cm->arch->code_step)
		return false;
	pthread_mutex_lock(&cm->lock);
	if (function_find(cm, vaddr, fn))
		f = code_index_frame(&cm->code, cm->mod->image, cm->arch, fn, vaddr);
	if (f)
		*ret = *f;
	pthread_mutex_unlock(&cm->lock);
	return f;
}
