/* test_unwind_steps.c - a child of this test runs OpenSSL's assembly one instruction at a time.
 *
 * The truth is the list of its calls: what a call pushed is on it until the stack pointer is above
 * it. Where a function was not at this pc before, the stack is unwound from what a profiler would
 * have: the registers, and a copy of the stack from the stack pointer upwards. Every frame must be
 * the list's; without guesses fewer may be found. What is guessed is the CFA of SHA-2 for AVX2 (see
 * red_zone.c), and the caller of x25519's multiplication at its return, where its call frame
 * information is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__x86_64__)

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unwind/snapshot.h"

/* ---- what the child runs ------------------------------------------------------------------- */

static void *libcrypto;
static uint8_t input[4096];

/* Nothing that it gives is used, but what it has read of itself must be true. */
static void *symbol(const char *name)
{
	void *s = dlsym(libcrypto, name);

	if (!s)
		_exit(3);
	return s;
}

static void digest(const char *name)
{
	uint8_t *(*run)(const uint8_t *, size_t, uint8_t *) = symbol(name), out[64];

	run(input, 1, out); /* finds and starts providers */
	raise(SIGSTOP);
	run(input, 1500, out);
}

static void run_sha512(void)
{
	digest("SHA512");
}

static void run_sha256(void)
{
	digest("SHA256");
}

static void run_sha1(void)
{
	digest("SHA1");
}

static void run_md5(void)
{
	digest("MD5");
}

static void encrypt(const char *name)
{
	static uint8_t out[sizeof input + 64];
	void *(*fetch)(void *, const char *, const char *) = symbol("EVP_CIPHER_fetch");
	void *(*ctx_new)(void) = symbol("EVP_CIPHER_CTX_new");
	int (*init)(void *, const void *, const uint8_t *, const uint8_t *, const void *) =
		symbol("EVP_EncryptInit_ex2");
	int (*update)(void *, uint8_t *, int *, const uint8_t *, int) = symbol("EVP_EncryptUpdate");
	void *cipher = fetch(NULL, name, NULL), *ctx = ctx_new();
	int n;

	if (!cipher || !init(ctx, cipher, input, input, NULL))
		return;
	raise(SIGSTOP);
	update(ctx, out, &n, input, 2048);
}

static void run_cbc_sha256(void)
{
	encrypt("AES-128-CBC-HMAC-SHA256");
}

static void run_gcm(void)
{
	encrypt("AES-128-GCM");
}

static void run_chacha(void)
{
	encrypt("ChaCha20-Poly1305");
}

/* What the linker made of all .init sections, and what it calls. */
static void run_init(void)
{
	struct link_map *map;
	ElfW(Dyn) * d;

	if (dlinfo(libcrypto, RTLD_DI_LINKMAP, &map))
		_exit(3);
	for (d = map->l_ld; d->d_tag != DT_NULL && d->d_tag != DT_INIT; d++)
		;
	raise(SIGSTOP);
	if (d->d_tag == DT_INIT)
		((void (*)(void))(map->l_addr + d->d_un.d_ptr))();
}

static void run_x25519(void)
{
	void *(*gen)(void *, const char *, const char *, ...) = symbol("EVP_PKEY_Q_keygen");
	void *(*ctx_new)(void *, void *) = symbol("EVP_PKEY_CTX_new");
	int (*init)(void *) = symbol("EVP_PKEY_derive_init");
	int (*set_peer)(void *, void *) = symbol("EVP_PKEY_derive_set_peer");
	int (*derive)(void *, uint8_t *, size_t *) = symbol("EVP_PKEY_derive");
	void *key = gen(NULL, NULL, "X25519"), *ctx = ctx_new(key, NULL);
	uint8_t out[32];
	size_t n = sizeof out;

	if (init(ctx) <= 0 || set_peer(ctx, key) <= 0)
		_exit(3);
	raise(SIGSTOP);
	derive(ctx, out, &n);
}

static void run_p256(void)
{
	void *(*gen)(void *, const char *, const char *, ...) = symbol("EVP_PKEY_Q_keygen");

	gen(NULL, NULL, "EC", "P-256");
	raise(SIGSTOP);
	gen(NULL, NULL, "EC", "P-256");
}

static void power(int bytes)
{
	void *(*new)(void) = symbol("BN_new"), *(*ctx_new)(void) = symbol("BN_CTX_new");
	void *(*from)(const uint8_t *, int, void *) = symbol("BN_bin2bn");
	int (*exp)(void *, const void *, const void *, const void *, void *, void *) =
		symbol("BN_mod_exp_mont_consttime");
	void *m = from(input, bytes, NULL), *a = from(input + 1, bytes - 1, NULL), *r = new ();
	void *ctx = ctx_new();

	raise(SIGSTOP);
	exp(r, a, a, m, ctx, NULL);
}

static void run_power_1024(void)
{
	power(128);
}

static void run_power_1536(void)
{
	power(192);
}

/* Like LuaJIT's lj_vm_call: one row for all of a function, which says where registers are saved, or
 * not. Where it leads from other places than the middle there are sixes. */
#define ONE_ROW(name, saved)                                                              \
	__asm__(".text\n.type " name "_call, @function\n" name "_call:\n.cfi_startproc\n" \
		"sub $136, %rsp\n.cfi_adjust_cfa_offset 136\nxor %ecx, %ecx\n"            \
		"1: movq $6, (%rsp, %rcx, 8)\ninc %ecx\ncmp $17, %ecx\njne 1b\n"          \
		"call " name "\nadd $136, %rsp\n.cfi_adjust_cfa_offset -136\nret\n"       \
		".cfi_endproc\n"                                                          \
		".type " name ", @function\n" name ":\n.cfi_startproc\n"                  \
		".cfi_def_cfa %rsp, 80\n" saved                                           \
		"push %rbp\npush %rbx\npush %r15\npush %r14\nsub $0x28, %rsp\nnop\n"      \
		"add $0x28, %rsp\npop %r14\npop %r15\npop %rbx\npop %rbp\nret\n"          \
		".cfi_endproc\n" name "_end:\n")
ONE_ROW("one_row", "");
ONE_ROW("told_row", ".cfi_offset %rbp, -16\n.cfi_offset %rbx, -24\n.cfi_offset %r15, -32\n"
		    ".cfi_offset %r14, -40\n");
void one_row_call(void);
void told_row_call(void);
extern const uint8_t one_row[], one_row_end[], told_row[], told_row_end[];

static void run_one_row(void)
{
	raise(SIGSTOP);
	one_row_call();
}

static void run_told_row(void)
{
	raise(SIGSTOP);
	told_row_call();
}

/* ---- the list of calls --------------------------------------------------------------------- */

#define CALLS_MAX   256
#define STEPS_MAX   30000
#define SAME_PC_MAX 2

struct stepper {
	pid_t pid;
	struct user_regs_struct regs;
	struct {
		uint64_t at, ra;
	} calls[CALLS_MAX];
	size_t n_calls;
	uint8_t *visits; /* of each byte of libcrypto's code */
	uint64_t code_start, code_end;
	uint64_t stack_end;
	struct snapshot *snap;
	size_t points, guessed;
};

static uint64_t peek(const struct stepper *st, uint64_t at)
{
	uint64_t word = 0;
	struct iovec to = {&word, sizeof word}, from = {(void *)(uintptr_t)at, sizeof word};

	process_vm_readv(st->pid, &to, 1, &from, 1, 0);
	return word;
}

/* Has the instruction at `pc`, at which the stack pointer was `sp`, called something? Then it has
 * pushed the address behind itself and is not there. */
static bool has_called(const struct stepper *st, uint64_t pc, uint64_t sp, uint64_t *ra)
{
	if (st->regs.rsp != sp - 8)
		return false;
	*ra = peek(st, sp - 8);
	return *ra > pc + 1 && *ra < pc + 16 && st->regs.rip != *ra;
}

/* One instruction. False: the child has ended or runs no more of what is looked at. */
static bool step(struct stepper *st)
{
	uint64_t pc = st->regs.rip, sp = st->regs.rsp, ra;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, st->pid, NULL, NULL) || waitpid(st->pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return false;
	ptrace(PTRACE_GETREGS, st->pid, NULL, &st->regs);
	while (st->n_calls && st->calls[st->n_calls - 1].at < st->regs.rsp)
		st->n_calls--;
	if (has_called(st, pc, sp, &ra)) {
		assert_true(st->n_calls < CALLS_MAX);
		st->calls[st->n_calls].at = sp - 8;
		st->calls[st->n_calls++].ra = ra;
	}
	return true;
}

static void take_child(struct stepper *st)
{
	const struct user_regs_struct *r = &st->regs;
	struct snapshot *s = st->snap;
	const uint64_t regs[24] = {r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp,
				   r->rip, 0,	   0,	   0,	   0,	   0,	   0,	   0,
				   r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
	uint64_t n = st->stack_end - r->rsp;
	struct iovec to = {s->stack, n < STACK_MAX ? n : STACK_MAX - 8};
	struct iovec from = {(void *)(uintptr_t)r->rsp, to.iov_len};
	ssize_t got = process_vm_readv(st->pid, &to, 1, &from, 1, 0);

	assert_true(got > 0);
	s->bytes = (uint32_t)got;
	memcpy(s->regs, regs, sizeof regs);
}

/* ---- looking ------------------------------------------------------------------------------- */

/* Without guesses a wrong rule may lead to where no code is, which is said. */
static bool agrees(const struct stepper *st, const struct stack_trace *t, bool no_guess)
{
	size_t i;

	for (i = 1; i <= st->n_calls; i++) {
		if (i == t->n)
			return no_guess && t->stop != UNWIND_STOP_END;
		if (t->frames[i].ip != st->calls[st->n_calls - i].ra)
			return no_guess && t->stop == UNWIND_STOP_NO_MAP && i + 1 == t->n;
	}
	return t->stop == UNWIND_STOP_END;
}

static void compare(struct stepper *st, struct unwinder **unwinders, const struct perf_sample *s)
{
	struct stack_trace t;
	size_t i, k;

	for (k = 0; k < 3; k++) {
		bool no_guess = k == 1;

		unwind_sample(unwinders[k], s, &t);
		if (agrees(st, &t, no_guess)) {
			st->guessed += k == 0 && t.n > 1 && frame_how_is_guess(t.frames[1].how);
			continue;
		}
		print_error("pc %#llx, %zu frames, %zu calls, method %zu: %s\n",
			    (long long)(st->regs.rip - st->code_start), t.n, st->n_calls, k,
			    unwind_stop_text(t.stop));
		for (i = 1; i < t.n && i <= st->n_calls; i++)
			print_error("  %#llx, called %#llx\n", (long long)t.frames[i].ip,
				    (long long)st->calls[st->n_calls - i].ra);
		fail();
	}
}

static void look(struct stepper *st, struct world *w, struct unwinder **unwinders)
{
	uint64_t at = st->regs.rip - st->code_start;
	unsigned bit, n = 0;

	if (at >= st->code_end - st->code_start || st->visits[at] == SAME_PC_MAX || !st->n_calls)
		return;
	st->visits[at]++;
	take_child(st);
	for (bit = 0; bit < 24; bit++)
		if (REG_MASK >> bit & 1)
			w->packed[n++] = st->snap->regs[bit];
	w->sample.ip = st->regs.rip;
	w->sample.user_stack_bytes = st->snap->bytes;
	compare(st, unwinders, &w->sample);
	st->points++;
}

/* The executable mapping of libcrypto, and where the stack ends. */
static bool places_find(struct stepper *st)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	unsigned long start, end;

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		sscanf(line, "%lx-%lx", &start, &end);
		if (strstr(line, " r-xp ") && strstr(line, "/libcrypto.so")) {
			st->code_start = start;
			st->code_end = end;
		}
		if (strstr(line, "[stack]"))
			st->stack_end = end;
	}
	fclose(f);
	return st->stack_end;
}

/* Runs up to a SIGSTOP of the child's own. */
static bool go_on(struct stepper *st)
{
	int status;

	return !ptrace(PTRACE_CONT, st->pid, NULL, NULL) && waitpid(st->pid, &status, 0) > 0 &&
	       WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
}

static bool child_start(struct stepper *st, void (*run)(void))
{
	int status;

	st->n_calls = 0;
	st->pid = fork();
	if (!st->pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(2);
		raise(SIGSTOP);
		run();
		_exit(0);
	}
	if (waitpid(st->pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return false;
	return go_on(st);
}

static void walk_child(struct stepper *st, void (*run)(void), struct world *w,
		       struct unwinder **unwinders)
{
	size_t n;

	if (!child_start(st, run)) {
		waitpid(st->pid, NULL, WNOHANG);
		return;
	}
	ptrace(PTRACE_GETREGS, st->pid, NULL, &st->regs);
	for (n = 0; n < STEPS_MAX && step(st); n++)
		look(st, w, unwinders);
	kill(st->pid, SIGKILL);
	waitpid(st->pid, NULL, 0);
}

static void test_openssl(void **state)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} runs[] = {
		{"SHA512", run_sha512},
		{"SHA256", run_sha256},
		{"SHA1", run_sha1},
		{"MD5", run_md5},
		{"CBC-SHA256", run_cbc_sha256},
		{"GCM", run_gcm},
		{"ChaCha20", run_chacha},
		{"_init", run_init},
		{"X25519", run_x25519},
		{"P-256", run_p256},
		{"1024 bits", run_power_1024},
		{"1536 bits", run_power_1536},
	};
	static struct snapshot snap;
	struct stepper st = {.snap = &snap};
	struct unwinder *unwinders[3];
	struct world w;
	size_t i, before, guessed;

	(void)state;
	/* The variants for AVX2, also where there are instructions for SHA (OPENSSL_ia32cap(3)). */
	setenv("OPENSSL_ia32cap", ":~0x20000000", 1);
	libcrypto = dlopen("libcrypto.so.3", RTLD_NOW);
	if (!libcrypto || !places_find(&st) || !st.code_start)
		skip();
	for (i = 0; i < sizeof input; i++)
		input[i] = (uint8_t)(i * 7 + 1) | 1;
	st.visits = calloc(st.code_end - st.code_start, 1);
	assert_non_null(st.visits);
	world_init(&w, &snap, NULL);
	for (i = 0; i < 3; i++)
		unwinders[i] = make(&w, i == 2 ? UNWIND_FULL : UNWIND_AUTO, i == 1);
	for (i = 0; i < sizeof runs / sizeof *runs; i++) {
		before = st.points;
		guessed = st.guessed;
		walk_child(&st, runs[i].run, &w, unwinders);
		print_message("# %s: %zu points, %zu guesses\n", runs[i].name, st.points - before,
			      st.guessed - guessed);
	}
	for (i = 0; i < 3; i++)
		unwinder_free(unwinders[i]);
	world_done(&w);
	free(st.visits);
	if (!st.points) /* tracing is not allowed */
		skip();
	assert_true(st.points > 3000);
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		assert_true(st.guessed > 1000);
}

/* Walks at each instruction of the function: so many guesses are needed. */
static void one_row_walk(void (*run)(void), const uint8_t *start, const uint8_t *end,
			 size_t guesses)
{
	static struct snapshot snap;
	struct stepper st = {.snap = &snap};
	struct unwinder *unwinders[3];
	struct world w;
	size_t i;

	assert_true(places_find(&st));
	st.code_start = (uintptr_t)start;
	st.code_end = (uintptr_t)end;
	st.visits = calloc(st.code_end - st.code_start, 1);
	assert_non_null(st.visits);
	world_init(&w, &snap, NULL);
	for (i = 0; i < 3; i++)
		unwinders[i] = make(&w, i == 2 ? UNWIND_FULL : UNWIND_AUTO, i == 1);
	walk_child(&st, run, &w, unwinders);
	for (i = 0; i < 3; i++)
		unwinder_free(unwinders[i]);
	world_done(&w);
	free(st.visits);
	if (!st.points)
		skip();
	assert_int_equal(st.points, 12);
	assert_int_equal(st.guessed, guesses);
}

/* The middle needs none, nor does the return. */
static void test_one_row(void **state)
{
	(void)state;
	one_row_walk(run_one_row, one_row, one_row_end, 9);
}

static void test_told_row(void **state)
{
	(void)state;
	one_row_walk(run_told_row, told_row, told_row_end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_openssl),
					   cmocka_unit_test(test_one_row),
					   cmocka_unit_test(test_told_row)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
