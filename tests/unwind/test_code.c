/* test_code.c - following machine code ends, whatever the code is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/code.h"

enum { PUSH_RAX = 0x50, NOP = 0x90, RET = 0xc3 };

static const struct code_frame entry = {.sp = 8, .saved_ra = 8};

static struct code_rows rows_of(const uint8_t *code, size_t n, uint64_t *steps)
{
	const struct code_of of = {code, n, CODE_OF_FILE, NULL, 0};
	struct code_rows rows;

	assert_int_equal(code_rows_find(code_step_x86_64, &of, &entry, steps, &rows), 0);
	return rows;
}

static void finds_where_the_frame_is(void **state)
{
	static const uint8_t code[] = {PUSH_RAX, NOP, 0x58 /* pop */, RET};
	uint64_t steps = 1000;
	struct code_rows rows = rows_of(code, sizeof code, &steps);

	(void)state;
	assert_int_equal(code_rows_at(&rows, 0)->sp, 8);
	assert_int_equal(code_rows_at(&rows, 1)->sp, 16);
	assert_int_equal(code_rows_at(&rows, 3)->sp, 8);
	assert_null(code_rows_at(&rows, 4));
	assert_in_range(steps, 1000 - sizeof code * CODE_STEPS_PER_BYTE, 1000 - sizeof code);
	code_rows_done(&rows);
	steps = 3;
	rows = rows_of(code, sizeof code, &steps);
	assert_null(code_rows_at(&rows, 0));
	assert_int_equal(steps, 0);
	code_rows_done(&rows);
}

/* As V8's builtins return: pop %rcx; lea 8(%r15),%rsp; push %rcx; ret */
static void follows_the_return_address(void **state)
{
	static const uint8_t code[] = {0x59, 0x49, 0x8d, 0x67, 8, 0x51, RET};
	uint64_t steps = 1000;
	struct code_rows rows = rows_of(code, sizeof code, &steps);

	(void)state;
	assert_int_equal(code_rows_at(&rows, 0)->ra_reg, 0);
	assert_int_equal(code_rows_at(&rows, 1)->ra_reg, 2 + 1); /* DWARF's number of rcx */
	assert_int_equal(code_rows_at(&rows, 5)->ra_reg, 2 + 1);
	assert_int_equal(code_rows_at(&rows, 6)->ra_reg, 0);
	assert_int_equal(code_rows_at(&rows, 6)->sp, 8);
	assert_int_equal(code_rows_at(&rows, 6)->saved_ra, 8);
	code_rows_done(&rows);
}

/* What takes the return address off the stack and does not return to it has been come to behind a
 * call that does not return, or is no function. */
static void keeps_the_return_address(void **state)
{
	static const uint8_t code[][8] = {
		{0x59, RET},		       /* pop %rcx; ret */
		{0x59, 0x58, 0x51, 0x59, RET}, /* pop %rcx; pop %rax; push %rcx; pop %rcx */
		{0x59, 0x31, 0xc9, 0x51, RET}, /* pop %rcx; xor %ecx,%ecx; push %rcx */
		{0x59, 0xff, 0xd0, 0x51, RET}, /* pop %rcx; call *%rax; push %rcx */
		{0x59, 0xff, 0xe0},	       /* pop %rcx; jmp *%rax */
		{0x59, 0xe9, 0x10, 0, 0, 0},   /* pop %rcx; jmp to elsewhere */
		{0x41, 0x5b, 0x5b, 0x53, RET}, /* pop %r11; pop %rbx; push %rbx */
		{0x48, 0x83, 0xec, 8, 0x59, 0x59, RET}, /* sub $8,%rsp; pop %rcx; pop %rcx */
	};
	/* What is between pop and push overwrites the address. */
	static const uint8_t overwritten[][6] = {
		{0x59, 0xb1, 0, 0x51, RET},	     /* pop %rcx; mov $0,%cl */
		{0x59, 0xb5, 0, 0x51, RET},	     /* mov $0,%ch */
		{0x59, 0x0f, 0x95, 0xc1, 0x51, RET}, /* setne %cl */
		{0x59, 0x88, 0xc5, 0x51, RET},	     /* mov %al,%ch */
		{0x59, 0xf3, 0xa4, 0x51, RET},	     /* rep movsb */
		{0x59, 0x48, 0x91, 0x51, RET},	     /* xchg %rax,%rcx */
		{0x59, 0x0f, 0x05, 0x51, RET},	     /* syscall */
		{0x59, 0xe2, 0, 0x51, RET},	     /* loop */
		{0x58, 0x48, 0x91, 0x50, RET},	     /* pop %rax; xchg %rax,%rcx */
		{0x58, 0x49, 0x90, 0x50, RET},	     /* xchg %rax,%r8 */
		{0x58, 0x04, 1, 0x50, RET},	     /* add $1,%al */
		{0x58, 0x48, 0x98, 0x50, RET},	     /* cltq */
		{0x58, 0xf7, 0xe1, 0x50, RET},	     /* mul %ecx */
		{0x58, 0x0f, 0xa2, 0x50, RET},	     /* cpuid */
		{0x58, 0x0f, 0x31, 0x50, RET},	     /* rdtsc */
		{0x5a, 0x48, 0x99, 0x52, RET},	     /* pop %rdx; cqto */
	};
	static const uint8_t kept[][7] = {
		{0x59, 0xb2, 0, 0xb6, 0, 0x51, RET},	   /* mov $0,%dl; mov $0,%dh */
		{0x59, 0x38, 0xc8, 0x84, 0xc9, 0x51, RET}, /* cmp %cl,%al; test %cl,%cl */
		{0x58, NOP, 0x3c, 1, 0x50, RET},	   /* pop %rax; nop; cmp $1,%al */
		{0x59, 0xf7, 0xe2, 0x48, 0x98, 0x51, RET}, /* mul %edx; cltq */
	};
	/* Where it is pushed again is not where it was: lea 8(%rsp),%rbp, or push %rbp; add
	 * $8,%rsp; then pop %rcx; push $1; push %rcx; nop; hlt */
	static const uint8_t pushed[][12] = {
		{0x48, 0x8d, 0x6c, 0x24, 8, 0x59, 0x6a, 1, 0x51, NOP, NOP, 0xf4},
		{0x55, 0x48, 0x83, 0xc4, 8, 0x59, 0x6a, 1, 0x51, NOP, NOP, 0xf4},
	};
	static const uint8_t behind_call[] = {0xff, 0xd0, 0x59, RET}, jump[] = {0x59, 0xff, 0xe1};
	uint64_t steps = UINT64_MAX;
	struct code_rows rows;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof code / sizeof *code; i++) {
		rows = rows_of(code[i], sizeof code[i], &steps);
		assert_null(code_rows_at(&rows, 0));
		code_rows_done(&rows);
	}
	for (i = 0; i < sizeof overwritten / sizeof *overwritten; i++) {
		rows = rows_of(overwritten[i], sizeof overwritten[i], &steps);
		assert_null(code_rows_at(&rows, 0));
		code_rows_done(&rows);
	}
	for (i = 0; i < sizeof kept / sizeof *kept; i++) {
		rows = rows_of(kept[i], sizeof kept[i], &steps);
		assert_non_null(code_rows_at(&rows, 1));
		assert_int_not_equal(code_rows_at(&rows, 1)->ra_reg, 0);
		code_rows_done(&rows);
	}
	rows = rows_of(behind_call, sizeof behind_call, &steps);
	assert_non_null(code_rows_at(&rows, 0));
	assert_null(code_rows_at(&rows, 2));
	code_rows_done(&rows);
	for (i = 0; i < sizeof pushed / sizeof *pushed; i++) {
		rows = rows_of(pushed[i], sizeof pushed[i], &steps);
		assert_non_null(code_rows_at(&rows, 10));
		assert_int_equal(code_rows_at(&rows, 10)->sp, 8);
		assert_int_equal(code_rows_at(&rows, 10)->saved_fp, 0);
		assert_int_not_equal(code_rows_at(&rows, 10)->fp_holds, CODE_FP_FRAME);
		code_rows_done(&rows);
	}
	rows = rows_of(jump, sizeof jump, &steps); /* jmp *%rcx: a return */
	assert_int_equal(code_rows_at(&rows, 1)->ra_reg, 2 + 1);
	code_rows_done(&rows);
}

/* As V8's builtins call C: the stack pointer is aligned, and what it was is on the stack meanwhile.
 */
static void follows_a_copy_of_the_stack_pointer(void **state)
{
	static const uint8_t code[] = {
		0x49, 0x89, 0xe2,	/* mov %rsp,%r10 */
		0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
		0x48, 0x83, 0xe4, 0xf0, /* and $-16,%rsp */
		0x4c, 0x89, 0x14, 0x24, /* mov %r10,(%rsp) */
		0xff, 0xd0,		/* call *%rax */
		0x48, 0x8b, 0x24, 0x24, /* mov (%rsp),%rsp */
		0x55, RET,		/* push %rbp, to see that it is followed */
	};
	enum { AND = 7, STORE = 11, CALL = 15, LOAD = 17, PUSH = 21 };
	uint8_t other[sizeof code + 1];
	uint64_t steps = UINT64_MAX;
	struct code_rows rows = rows_of(code, sizeof code - 2, &steps);

	(void)state;
	assert_int_equal(code_rows_at(&rows, AND)->sp, 16);
	assert_int_equal(code_rows_at(&rows, STORE)->sp, -1);
	assert_int_equal(code_rows_at(&rows, LOAD)->sp, -1);
	code_rows_done(&rows);
	rows = rows_of(code, sizeof code, &steps); /* so it must not return */
	assert_null(code_rows_at(&rows, PUSH));
	code_rows_done(&rows);
	memcpy(other, code, sizeof code);
	other[PUSH] = NOP;
	rows = rows_of(other, sizeof code, &steps);
	assert_int_equal(code_rows_at(&rows, PUSH)->sp, 8);
	code_rows_done(&rows);
	other[LOAD + 2] = 0x64; /* mov 8(%rsp),%rsp: another word */
	other[LOAD + 4] = 8;
	other[PUSH + 1] = RET;
	rows = rows_of(other, PUSH + 2, &steps);
	assert_int_equal(code_rows_at(&rows, PUSH + 1)->sp, -1);
	code_rows_done(&rows);
	memcpy(other, code, sizeof code);
	other[CALL] = 0x90; /* nop; push %rax: the copy is elsewhere */
	other[CALL + 1] = PUSH_RAX;
	other[PUSH] = NOP;
	rows = rows_of(other, sizeof code, &steps);
	assert_int_equal(code_rows_at(&rows, PUSH)->sp, -1);
	code_rows_done(&rows);
	memcpy(other, code, sizeof code);
	memcpy(other + STORE, (uint8_t[]){0x90, 0x90, 0x90, 0x90}, 4); /* not stored */
	other[PUSH] = NOP;
	rows = rows_of(other, sizeof code, &steps);
	assert_int_equal(code_rows_at(&rows, PUSH)->sp, -1);
	code_rows_done(&rows);
}

/* Whether a word holds the stack pointer or not is no reason to believe that a call does not
 * return. */
static void copies_contradict_nothing(void **state)
{
	static const uint8_t loop[] = {
		0x48, 0x83, 0xec, 0x18, /* sub $24,%rsp */
		0x48, 0x89, 0xe0,	/* mov %rsp,%rax */
		0x48, 0x89, 0x44, 0x24, /* mov %rax,8(%rsp) */
		0x08, 0xff, 0xd3,	/* call *%rbx */
		0x56,			/* 1: push %rsi */
		0xff, 0xd3,		/* call *%rbx */
		0x5e,			/* pop %rsi */
		0x85, 0xc0,		/* test %eax,%eax */
		0x75, 0xf8,		/* jne 1b */
		0x48, 0x83, 0xc4, 0x18, /* add $24,%rsp */
		RET,
	};
	static const uint8_t table[] = {
		0x48, 0x89, 0xe2,	/* mov %rsp,%rdx */
		0x48, 0x8b, 0x34, 0x24, /* mov (%rsp),%rsi */
		0xff, 0x24, 0xc7,	/* jmp *(%rdi,%rax,8) */
		0x31, 0xc0,		/* xor %eax,%eax */
		RET,
	};
	enum { BEHIND = 14, LAST = 26, CASE = 10 };
	uint64_t steps = UINT64_MAX;
	struct code_rows rows = rows_of(loop, sizeof loop, &steps);

	(void)state;
	assert_non_null(code_rows_at(&rows, BEHIND));
	assert_int_equal(code_rows_at(&rows, BEHIND)->sp, 32);
	assert_non_null(code_rows_at(&rows, LAST));
	assert_int_equal(code_rows_at(&rows, LAST)->sp, 8);
	code_rows_done(&rows);
	rows = rows_of(table, sizeof table, &steps);
	assert_non_null(code_rows_at(&rows, CASE));
	assert_int_equal(code_rows_at(&rows, CASE)->sp, 8);
	code_rows_done(&rows);
}

/* HotSpot's adapters: mov (%rsp),%rax; mov %rsp,%r11; sub $16,%rsp; and $-16,%rsp; push %rax; mov
 * %r11,%rax; jmp *%r11 */
static void follows_a_copy_of_the_return_address(void **state)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x04, 0x24, 0x49, 0x89, 0xe3, 0x48,
				       0x83, 0xec, 16,	 0x48, 0x83, 0xe4, 0xf0, 0x50,
				       0x4c, 0x89, 0xd8, 0x41, 0xff, 0xe3};
	enum { AND = 11, PUSH = 15, MOV = 16 };
	uint8_t other[sizeof code];
	uint64_t steps = UINT64_MAX;
	struct code_rows rows = rows_of(code, sizeof code, &steps);

	(void)state;
	assert_int_equal(code_rows_at(&rows, AND)->sp, 24);
	assert_int_equal(code_rows_at(&rows, PUSH)->ra_reg, 0 + 1);
	assert_int_equal(code_rows_at(&rows, MOV)->sp, 8);
	assert_int_equal(code_rows_at(&rows, MOV)->saved_ra, 8);
	code_rows_done(&rows);
	memcpy(other, code, sizeof code);
	other[PUSH] = 0x51; /* push %rcx: another word; then the jump leaves with the address */
	rows = rows_of(other, sizeof other, &steps);
	assert_null(code_rows_at(&rows, 0));
	code_rows_done(&rows);
	other[2] = 0x0c; /* mov (%rsp),%rcx */
	rows = rows_of(other, sizeof other, &steps);
	assert_int_equal(code_rows_at(&rows, MOV)->sp, 8);
	code_rows_done(&rows);
	memcpy(other, code, sizeof code);
	other[4] = 0x48; /* mov %rsp,%rax, which overwrites the copy */
	other[6] = 0xe0;
	rows = rows_of(other, sizeof other, &steps);
	assert_int_equal(code_rows_at(&rows, MOV)->sp, -1);
	code_rows_done(&rows);
}

/* HotSpot's code for a loop that runs already: call; nop; push %rbp; sub $16,%rsp; nop; add; pop;
 * ret */
static void begins_behind_a_call(void **state)
{
	static const uint8_t code[] = {0xe8, 0,	   1,  0,   0,	  0x0f, 0x1f, 0x00, 0x55, 0x48,
				       0x83, 0xec, 16, NOP, 0x48, 0x83, 0xc4, 16,   0x5d, RET};
	const struct code_of of_jit = {code, sizeof code, CODE_OF_JIT, NULL, 0};
	enum { BODY = 13 };
	uint64_t steps = UINT64_MAX;
	struct code_rows rows = rows_of(code, sizeof code, &steps);

	(void)state;
	assert_null(code_rows_at(&rows, BODY)); /* elsewhere such a call does not return */
	code_rows_done(&rows);
	assert_int_equal(code_rows_find(code_step_x86_64, &of_jit, &entry, &steps, &rows), 0);
	assert_non_null(code_rows_at(&rows, BODY));
	assert_int_equal(code_rows_at(&rows, BODY)->sp, 32);
	code_rows_done(&rows);
}

/* push %rbp; mov %rsp,%rbp; call; jmp *%rax, and behind it a case, and a function to which only
 * pointers lead: it makes a frame of its own, which shows that it is no other case, and nothing of
 * the call. */
static void ends_behind_the_last_case(void **state)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x89, 0xe5, 0xe8, 0,    1,	 0, 0, 0xff, 0xe0, /* jmp */
		0x99, 0xc9, RET,			 /* the case: cltd; leave; ret */
		0x55, 0x48, 0x89, 0xe5, NOP,  0x5d, RET, /* the other function */
	};
	enum { CALLED = 9, CASE = 11, OTHER = 14 };
	uint64_t steps = UINT64_MAX;
	struct code_rows rows = rows_of(code, sizeof code, &steps);

	(void)state;
	assert_non_null(code_rows_at(&rows, CALLED));
	assert_int_equal(code_rows_at(&rows, CALLED)->fp, 16);
	assert_non_null(code_rows_at(&rows, CASE));
	assert_int_equal(code_rows_at(&rows, CASE)->fp_holds, CODE_FP_FRAME);
	assert_null(code_rows_at(&rows, OTHER));
	assert_int_equal(rows.next, OTHER);
	code_rows_done(&rows);
}

/* Of a larger function the end is not looked at, and nothing is said of it. */
static void says_nothing_of_what_it_did_not_see(void **state)
{
	size_t n = CODE_BYTES_MAX + 1000;
	uint8_t *code = malloc(n);
	uint64_t steps = UINT64_MAX;
	struct code_rows rows;

	(void)state;
	assert_non_null(code);
	memset(code, NOP, n);
	code[n - 1] = RET;
	rows = rows_of(code, n, &steps);
	assert_int_equal(code_rows_at(&rows, CODE_BYTES_MAX - 1)->sp, 8);
	assert_null(code_rows_at(&rows, CODE_BYTES_MAX));
	assert_null(code_rows_at(&rows, n - 1));
	code_rows_done(&rows);
	free(code);
}

/* Hundreds of frames, and then only instructions with one of the first: each was compared with all.
 */
static void gives_up_what_costs_too_much(void **state)
{
	enum { PUSHES = 200, N = 200000 };
	static const uint8_t drop[] = {0x48, 0x81, 0xc4, 0xf0, 0x05, 0, 0}; /* add $1520, %rsp */
	uint8_t *code = malloc(N);
	uint64_t steps = UINT64_MAX;
	struct code_rows rows;

	(void)state;
	assert_non_null(code);
	memset(code, NOP, N);
	memset(code, PUSH_RAX, PUSHES);
	rows = rows_of(code, PUSHES + 1000, &steps);
	assert_int_equal(code_rows_at(&rows, PUSHES)->sp, 8 + 8 * PUSHES);
	code_rows_done(&rows);
	memcpy(code + PUSHES, drop, sizeof drop);
	steps = UINT64_MAX;
	rows = rows_of(code, N, &steps);
	assert_null(code_rows_at(&rows, 0));
	assert_int_equal(UINT64_MAX - steps, (uint64_t)N * CODE_STEPS_PER_BYTE);
	code_rows_done(&rows);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_where_the_frame_is),
		cmocka_unit_test(follows_the_return_address),
		cmocka_unit_test(keeps_the_return_address),
		cmocka_unit_test(follows_a_copy_of_the_stack_pointer),
		cmocka_unit_test(copies_contradict_nothing),
		cmocka_unit_test(follows_a_copy_of_the_return_address),
		cmocka_unit_test(begins_behind_a_call),
		cmocka_unit_test(ends_behind_the_last_case),
		cmocka_unit_test(says_nothing_of_what_it_did_not_see),
		cmocka_unit_test(gives_up_what_costs_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
