/* test_cfi_walk.c - frames that need more than sp, fp and pc, and frames without call frame
 * information: functions written in assembly, whose callers libgcc's unwinder names
 * (tests/unwind/snapshot.h), or which follow from how the stack was laid out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__x86_64__)

#include "tests/unwind/snapshot.h"

static struct snapshot snap; /* too large for a stack that is copied */

/* Called by the assembly below. */
void walk_take(void);
void walk_take(void)
{
	/* By a pointer: the call names no function, and aligns the stack as for any. */
	void (*volatile call)(struct snapshot *, uint64_t) = take;

	call(&snap, stack_top());
	call = NULL; /* no tail call */
}

#define FUNCTION(name, body)                                                                  \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name                 \
		":\n.cfi_startproc\n" body "\n.cfi_endproc\n.size " #name ", .-" #name "\n"); \
	void name(void)

/* CFA by rbx, which nothing below saves before it is needed: as _dl_runtime_resolve does. */
FUNCTION(cfa_by_rbx, "push %rbx\n"
		     ".cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
		     "mov %rsp, %rbx\n"
		     ".cfi_def_cfa_register %rbx\n"
		     "sub $64, %rsp\n and $-64, %rsp\n"
		     "call walk_take\n"
		     "mov %rbx, %rsp\n"
		     ".cfi_def_cfa_register %rsp\n"
		     "pop %rbx\n"
		     ".cfi_def_cfa_offset 8\n.cfi_restore %rbx\n"
		     "ret");

/* gcc's realigned frame: CFA = *(rbp - 8), rbp saved at rbp. */
FUNCTION(realigned, "lea 8(%rsp), %r10\n"
		    ".cfi_def_cfa %r10, 0\n"
		    "and $-64, %rsp\n"
		    "push -8(%r10)\n"
		    "push %rbp\n"
		    "mov %rsp, %rbp\n"
		    ".cfi_escape 0x10, 6, 2, 0x76, 0\n" /* rbp: expression breg6 0 */
		    "push %r10\n"
		    ".cfi_escape 0x0f, 3, 0x76, 0x78, 6\n" /* CFA: breg6 -8; deref */
		    "sub $56, %rsp\n"
		    "call walk_take\n"
		    "mov -8(%rbp), %r10\n"
		    ".cfi_def_cfa %r10, 0\n"
		    "leave\n"
		    "lea -8(%r10), %rsp\n"
		    ".cfi_def_cfa %rsp, 8\n"
		    "ret");

/* perlasm: the old stack pointer is stored in the frame. CFA: breg7 24; deref; plus_uconst 8 */
FUNCTION(stored_sp, "mov %rsp, %rax\n"
		    ".cfi_def_cfa_register %rax\n"
		    "sub $64, %rsp\n and $-64, %rsp\n"
		    "mov %rax, 24(%rsp)\n"
		    ".cfi_escape 0x0f, 5, 0x77, 24, 6, 0x23, 8\n"
		    "call walk_take\n"
		    "mov 24(%rsp), %rsp\n"
		    ".cfi_def_cfa %rsp, 8\n"
		    "ret");

/* More than a packed rule can say: CFA = *(rsp + 8 + 2 * 8) + 8, with the 2 in memory. */
FUNCTION(indexed_sp, "mov %rsp, %rax\n"
		     ".cfi_def_cfa_register %rax\n"
		     "sub $64, %rsp\n and $-64, %rsp\n"
		     "mov %rax, 24(%rsp)\n"
		     "movq $2, (%rsp)\n"
		     /* breg7 8; breg7 0; deref; lit8; mul; plus; deref; plus_uconst 8 */
		     ".cfi_escape 0x0f, 11, 0x77, 8, 0x77, 0, 6, 0x38, 0x1e, 0x22, 6, 0x23, 8\n"
		     "call walk_take\n"
		     "mov 24(%rsp), %rsp\n"
		     ".cfi_def_cfa %rsp, 8\n"
		     "ret");

/* rbx lives in r12 while r12 is saved, and rbp is CFA - 16 itself (val_offset). */
FUNCTION(in_registers, "push %rbp\n"
		       ".cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
		       "push %r12\n"
		       ".cfi_adjust_cfa_offset 8\n.cfi_offset %r12, -24\n"
		       "mov %rbx, %r12\n"
		       ".cfi_register %rbx, %r12\n"
		       "xor %ebx, %ebx\n xor %ebp, %ebp\n"
		       "sub $8, %rsp\n"
		       ".cfi_adjust_cfa_offset 8\n"
		       "call walk_take\n"
		       "add $8, %rsp\n"
		       ".cfi_adjust_cfa_offset -8\n"
		       "mov %r12, %rbx\n"
		       ".cfi_restore %rbx\n"
		       "pop %r12\n"
		       ".cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
		       "pop %rbp\n"
		       ".cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
		       "ret");

/* Its caller's CFA is by rbx, which only in_registers() knows to be in r12. */
FUNCTION(through_registers, "push %rbx\n"
			    ".cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
			    "mov %rsp, %rbx\n"
			    ".cfi_def_cfa_register %rbx\n"
			    "sub $64, %rsp\n and $-64, %rsp\n"
			    "call in_registers\n"
			    "mov %rbx, %rsp\n"
			    ".cfi_def_cfa_register %rsp\n"
			    "pop %rbx\n"
			    ".cfi_def_cfa_offset 8\n.cfi_restore %rbx\n"
			    "ret");

/* The return address in a register, as in vfork: the CFA is then the stack pointer. */
FUNCTION(address_in_register,
	 "push %r13\n"
	 ".cfi_adjust_cfa_offset 8\n.cfi_offset %r13, -16\n"
	 "pop %rax\n pop %rdx\n" /* r13 and the return address */
	 ".cfi_def_cfa_offset 0\n"
	 "mov %rdx, %r13\n"
	 ".cfi_register %rip, %r13\n"
	 /* r13: val_expression breg0, which is not kept: unspecified is enough */
	 ".cfi_undefined %r13\n"
	 "sub $16, %rsp\n"
	 ".cfi_def_cfa_offset 16\n"
	 "mov %rax, (%rsp)\n"
	 "call walk_take\n"
	 "mov (%rsp), %rax\n"
	 "add $16, %rsp\n"
	 ".cfi_def_cfa_offset 0\n"
	 "mov %r13, %rdx\n"
	 "mov %rax, %r13\n"
	 "push %rdx\n"
	 ".cfi_def_cfa_offset 8\n.cfi_offset %rip, -8\n"
	 "ret");

static void check(void (*function)(void), const char *name)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i;

	function();
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_AUTO, true);
	unwind_sample(u, &w.sample, &t);
	if (t.n != snap.n_truth || t.stop != UNWIND_STOP_END)
		fail_msg("%s: %zu frames of %zu, %s", name, t.n, snap.n_truth,
			 unwind_stop_text(t.stop));
	assert_truth(&snap, &t, t.n);
	for (i = 1; i < t.n; i++)
		assert_int_equal(t.frames[i].how, FRAME_CFI);
	unwinder_free(u);
	world_done(&w);
}
#define CHECK(f) check(f, #f)

static void walks_special_frames(void **state)
{
	(void)state;
	CHECK(cfa_by_rbx);
	CHECK(realigned);
	CHECK(stored_sp);
	CHECK(indexed_sp);
	CHECK(through_registers);
	CHECK(address_in_register);
}

/* ---- the sample's own frame, and code without call frame information ------------------------ */

/* A function that is at its end: rbp is restored, its row still says that it is saved. What the
 * compiler has put in front could look like a call together with its first bytes. */
__asm__(".text\n.globl stale_epilogue\n.fill 16, 1, 0x90\nstale_start:\n.cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"stale_epilogue: ret\n.cfi_endproc\n");
/* The same without any call frame information, before and after it has set up a frame. */
__asm__(".text\n.globl no_cfi, no_cfi_in_frame\n.p2align 4\n nop\n"
	"no_cfi: push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n"
	"call walk_take\n"
	"no_cfi_in_frame: leave\n ret\n nop\n");
extern const char stale_epilogue[], no_cfi_in_frame[];
void no_cfi(void);

/* Makes the snapshot one of `pc`, entered by the call that entered take(): built with frame
 * pointers, rbp points to the caller's rbp and the return address. */
static void pretend_leaf_at(struct world *w, uint64_t pc)
{
	uint64_t skip = snap.regs[6] + 8 - snap.regs[7];

	memcpy(&w->packed[6], snap.stack + skip - 8, 8);
	w->packed[7] = snap.regs[6] + 8;
	w->packed[8] = w->sample.ip = pc;
	w->sample.user_stack += skip;
	w->sample.user_stack_bytes -= (uint32_t)skip;
}

static void assert_callers(const struct stack_trace *t, enum frame_how first_how)
{
	size_t i;

	assert_int_equal(t->n, snap.n_truth);
	assert_int_equal(t->stop, UNWIND_STOP_END);
	for (i = 1; i < t->n; i++) {
		assert_true(t->frames[i].ip == snap.truth[i]);
		assert_int_equal(t->frames[i].how, i == 1 ? first_how : FRAME_CFI);
		assert_true(t->frames[i].is_return_address);
	}
}

/* The slot below the stack pointer is not in the copy; rbp has its value already. */
static void keeps_what_an_epilogue_restored(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;

	(void)state;
	walk_take();
	world_init(&w, &snap, NULL);
	pretend_leaf_at(&w, (uintptr_t)stale_epilogue);
	u = make(&w, UNWIND_AUTO, true);
	unwind_sample(u, &w.sample, &t);
	assert_callers(&t, FRAME_CFI);
	unwinder_free(u);
	world_done(&w);
}

static void takes_the_address_at_the_stack_pointer(void **state)
{
	/* On entry to a function; after a call of a null pointer. */
	const uint64_t pcs[] = {(uintptr_t)no_cfi, 0};
	const enum frame_how how[] = {FRAME_CODE, FRAME_STACK_TOP};
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		walk_take();
		world_init(&w, &snap, NULL);
		pretend_leaf_at(&w, pcs[i]);
		u = make(&w, UNWIND_AUTO, false);
		unwind_sample(u, &w.sample, &t);
		assert_callers(&t, how[i]);
		unwinder_free(u);
		u = make(&w, UNWIND_AUTO, true);
		unwind_sample(u, &w.sample, &t);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.stop, i ? UNWIND_STOP_NO_MAP : UNWIND_STOP_NO_CFI);
		unwinder_free(u);
		world_done(&w);
	}
}

/* glibc's vfork, and its child: the return address is in rdi, and the CFA is the stack pointer. */
__asm__(".text\n.globl in_vfork\n.cfi_startproc\n"
	"pop %rdi\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip, %rdi\n"
	"in_vfork: push %rdi\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rip, -8\n"
	"ret\n.cfi_endproc\n");
extern const char in_vfork[];

static void takes_the_address_from_a_register(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;

	(void)state;
	walk_take();
	world_init(&w, &snap, NULL);
	pretend_leaf_at(&w, (uintptr_t)in_vfork);
	memcpy(&w.packed[5], w.sample.user_stack, 8);
	w.packed[7] += 8;
	w.sample.user_stack += 8;
	w.sample.user_stack_bytes -= 8;
	u = make(&w, UNWIND_AUTO, true);
	unwind_sample(u, &w.sample, &t);
	assert_callers(&t, FRAME_CFI);
	unwinder_free(u);
	world_done(&w);
}

/* Something that is not a return address must not be taken for one. */
static void believes_only_return_addresses(void **state)
{
	const uint64_t fakes[] = {
		0,
		1,
		UINT64_MAX,
		(uintptr_t)&snap,	   /* not code */
		(uintptr_t)stale_epilogue, /* code, not behind a call */
	};
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof fakes / sizeof *fakes; i++) {
		walk_take();
		world_init(&w, &snap, NULL);
		pretend_leaf_at(&w, (uintptr_t)no_cfi);
		memcpy(snap.stack + (w.sample.user_stack - snap.stack), &fakes[i], 8);
		w.packed[6] = 12345; /* no frame pointer either */
		u = make(&w, UNWIND_AUTO, false);
		unwind_sample(u, &w.sample, &t);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.stop, UNWIND_STOP_NO_CFI);
		assert_non_null(t.stop_module);
		unwinder_free(u);
		world_done(&w);
	}
}

/* A caller without call frame information that keeps a frame pointer. libgcc stops there, so the
 * truth is where walk_take() was called from and what main()'s part of another snapshot says. */
static void follows_code(void **state)
{
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i, n = 0;

	(void)state;
	no_cfi();
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_AUTO, false);
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.stop, UNWIND_STOP_END);
	assert_true(t.frames[2].ip == (uintptr_t)no_cfi_in_frame);
	assert_int_equal(t.frames[2].how, FRAME_CFI);
	/* Its symbol tells where it begins, its code where the return address is. */
	assert_int_equal(t.frames[3].how, FRAME_CODE);
	for (i = 0; i < t.n; i++)
		n += t.frames[i].how == FRAME_CODE;
	assert_int_equal(n, 1);
	unwinder_free(u);
	u = make(&w, UNWIND_AUTO, true);
	unwind_sample(u, &w.sample, &t);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.stop, UNWIND_STOP_NO_CFI);
	unwinder_free(u);
	world_done(&w);
}

/* Different samples in turns, some of them twice: batches do not mix anything up. */
static void walks_batches(void **state)
{
	static struct snapshot snaps[UNWIND_BATCH];
	static void (*const functions[])(void) = {
		walk_take,  cfa_by_rbx,	       realigned,	    stored_sp,
		indexed_sp, through_registers, address_in_register, walk_take};
	const struct perf_sample *samples[UNWIND_BATCH];
	struct stack_trace traces[UNWIND_BATCH];
	struct world worlds[UNWIND_BATCH];
	struct unwinder *u;
	size_t i, round;

	(void)state;
	for (i = 0; i < UNWIND_BATCH; i++) {
		functions[i % (sizeof functions / sizeof *functions)]();
		snaps[i] = snap;
		world_init(&worlds[i], &snaps[i], NULL);
		samples[i] = &worlds[i].sample;
		/* All in one space, as one process has it. */
		worlds[i].sample.space = worlds[0].sample.space;
	}
	u = make(&worlds[0], UNWIND_AUTO, true);
	for (round = 0; round < 3; round++) {
		unwind_samples(u, samples, UNWIND_BATCH, traces);
		for (i = 0; i < UNWIND_BATCH; i++) {
			assert_int_equal(traces[i].n, snaps[i].n_truth);
			assert_truth(&snaps[i], &traces[i], traces[i].n);
			assert_int_equal(traces[i].stop, UNWIND_STOP_END);
		}
	}
	unwinder_free(u);
	for (i = 0; i < UNWIND_BATCH; i++)
		world_done(&worlds[i]);
}

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

/* Registers and stacks that no program has: addresses of code where data should be, and the other
 * way round. Every walk ends, with frames in maps except for the last, and none is read out of
 * bounds. */
static void survives_random_samples(void **state)
{
	static struct snapshot good;
	uint64_t seed = 5, v;
	struct stack_trace t;
	struct unwinder *u;
	struct world w;
	size_t i, k, slot;

	(void)state;
	realigned();
	good = snap;
	world_init(&w, &snap, NULL);
	u = make(&w, UNWIND_AUTO, false);
	for (i = 0; i < 20000; i++) {
		uint8_t *exact;

		snap = good;
		for (k = 0; k < 24; k++) {
			slot = random_next(&seed) % (snap.bytes / 8);
			switch (random_next(&seed) % 4) {
			case 0:
				v = good.truth[random_next(&seed) % good.n_truth];
				break;
			case 1:
				v = (uintptr_t)realigned + random_next(&seed) % 256;
				break;
			case 2:
				v = good.regs[7] + random_next(&seed) % 8192 - 256;
				break;
			default:
				v = random_next(&seed) << (random_next(&seed) % 64);
			}
			if (k < 4)
				w.packed[random_next(&seed) % 17] = v;
			else
				memcpy(snap.stack + 8 * slot, &v, 8);
		}
		w.packed[7] = i % 8 ? good.regs[7] : w.packed[7];
		w.sample.user_stack_bytes = (uint32_t)(random_next(&seed) % snap.bytes);
		w.sample.user_stack_asked = i & 1 ? STACK_MAX : w.sample.user_stack_bytes;
		exact = malloc(w.sample.user_stack_bytes + 1);
		assert_non_null(exact);
		memcpy(exact, snap.stack, w.sample.user_stack_bytes);
		w.sample.user_stack = exact;
		unwind_sample(u, &w.sample, &t);
		assert_true(t.n >= 1);
		for (k = 0; k + 1 < t.n; k++)
			assert_true(t.frames[k].map || !k);
		free(exact);
	}
	unwinder_free(u);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(survives_random_samples),
		cmocka_unit_test(walks_special_frames),
		cmocka_unit_test(keeps_what_an_epilogue_restored),
		cmocka_unit_test(takes_the_address_at_the_stack_pointer),
		cmocka_unit_test(takes_the_address_from_a_register),
		cmocka_unit_test(believes_only_return_addresses),
		cmocka_unit_test(follows_code),
		cmocka_unit_test(walks_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	print_message("ok - hand-written frames # SKIP x86-64 only\n");
	return 0;
}

#endif
