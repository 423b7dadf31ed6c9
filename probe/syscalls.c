/* syscalls.c - instructions of a file that make a system call: of a number that is wanted, or of
 * any.
 *
 * Sources: Intel SDM volume 2 (SYSCALL: 0F 05; MOV EAX, imm32: B8), Arm ARM (SVC #0; MOVZ X8,
 * #imm), psABI AMD64 A.2.1: the number is in eax, in x8. Between the number and the call stand at
 * most a few instructions that move arguments. glibc's syscall(), and since 2.41 all calls at which
 * a thread can be cancelled (sysdeps/unix/sysv/linux/x86_64/syscall_cancel.S), take the number as
 * an argument. */
#include <string.h>

#include "base/err.h"
#include "base/insn_x86_64.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "probe/places.h"

/* How far the number may be before the call. */
enum { DISTANCE_MAX = 40, SYSCALL_BYTES = 2, MOV_BYTES = 5 };

struct scan {
	struct elf_image *img;
	probe_wants_syscall *wants;
	void *arg;
	struct probe_places *ret;
};

static int add(struct scan *s, uint64_t vaddr)
{
	uint64_t off;

	return elf_image_vaddr_to_off(s->img, vaddr, &off)
		       ? places_add(s->ret, off, 0, "system call")
		       : 0;
}

static bool is_syscall(const uint8_t *p)
{
	return p[0] == 0x0f && p[1] == 0x05;
}

/* From a MOV EAX at `at` straight to the call: its offset, or 0. */
static size_t call_behind(const uint8_t *code, size_t at, size_t n)
{
	const size_t end = n - at < DISTANCE_MAX ? n : at + DISTANCE_MAX;
	struct insn_x86_64 in;

	for (size_t i = at; i + SYSCALL_BYTES <= end; i += in.bytes) {
		if (is_syscall(code + i))
			return i;
		if (!insn_x86_64_read(code + i, end - i, &in) ||
		    (in.map == MAP_ONE_BYTE && (in.op == 0xe8 || in.op == 0xe9 || in.op == 0xeb ||
						in.op == 0xc3 || in.op >> 4 == 7)))
			return 0;
		if (i > at && in.map == MAP_ONE_BYTE && in.op == 0xb8)
			return 0; /* another number */
	}
	return 0;
}

static int scan_x86(struct scan *s, const struct elf_section *sec)
{
	const uint8_t *code = sec->data, *at = code;
	const size_t n = (size_t)sec->size;

	for (; n >= 8 && (at = memchr(at, 0xb8, n - 7 - (size_t)(at - code))); at++) {
		const uint32_t nr = at[1] | (uint32_t)at[2] << 8 | (uint32_t)at[3] << 16 |
				    (uint32_t)at[4] << 24;
		size_t call;

		if (at[3] || at[4] || !s->wants(s->arg, nr))
			continue;
		call = call_behind(code, (size_t)(at - code), n);
		if (!call)
			continue;
		/* At the number, if that is the last thing before the call: an instruction as any
		 * other, also where the call replaces the program. */
		if (call == (size_t)(at - code) + MOV_BYTES)
			call -= MOV_BYTES;
		else if (s->wants(s->arg, nr | PROBE_AT_CALL) == false)
			continue;
		if (add(s, sec->vaddr + call))
			return -1;
	}
	return 0;
}

/* Bytes of an instruction that takes a number from an argument into rax, 64 bits wide, as no
 * constant is; 0: another. */
static size_t takes_argument(const uint8_t *p)
{
	static const uint8_t from_rdi[] = {0x48, 0x89, 0xf8}, from_rsi[] = {0x48, 0x89, 0xf0};
	static const uint8_t from_stack[] = {0x48, 0x8b, 0x44, 0x24}; /* and its offset */

	if (!memcmp(p, from_rdi, sizeof from_rdi) || !memcmp(p, from_rsi, sizeof from_rsi))
		return sizeof from_rdi;
	return memcmp(p, from_stack, sizeof from_stack) ? 0 : sizeof from_stack + 1;
}

/* The last instruction before the call at `call`, if it sets none of the first four arguments; 0:
 * it does. A thread may stay in such a call for long, and signals end it: to run the call itself
 * elsewhere, as the kernel does with a probed instruction, would be no good place for that. */
static size_t before_call(const uint8_t *code, size_t at, size_t call)
{
	static const uint8_t keeps_r11[] = {0x4c, 0x89, 0x5c, 0x24}; /* mov %r11,8(%rsp) */
	static const uint8_t takes_r9[] = {0x4c, 0x8b, 0x4c, 0x24};  /* mov 8(%rsp),%r9 */
	const uint8_t *last = code + call - 5;

	if (at + takes_argument(code + at) == call)
		return at;
	return call - at >= 5 && (!memcmp(last, keeps_r11, sizeof keeps_r11) ||
				  !memcmp(last, takes_r9, sizeof takes_r9))
		       ? call - 5
		       : 0;
}

/* Calls of any number. */
static int scan_any(struct scan *s, const struct elf_section *sec)
{
	const uint8_t *code = sec->data, *at = code;
	const size_t n = (size_t)sec->size;

	for (; n >= 8 && (at = memchr(at, 0x48, n - 7 - (size_t)(at - code))); at++) {
		const size_t first = (size_t)(at - code);
		const size_t call = takes_argument(at) ? call_behind(code, first, n) : 0;
		const size_t place = call ? before_call(code, first, call) : 0;

		if (place && add(s, sec->vaddr + place))
			return -1;
	}
	return 0;
}

static int scan_a64(struct scan *s, const struct elf_section *sec)
{
	const uint8_t *code = sec->data;
	/* No probe can be put on the call itself. */
	for (size_t i = 0; i + 8 <= sec->size; i += 4) {
		const uint32_t insn = code[i] | (uint32_t)code[i + 1] << 8 |
				      (uint32_t)code[i + 2] << 16 | (uint32_t)code[i + 3] << 24;
		static const uint8_t call[] = {0x01, 0x00, 0x00, 0xd4};

		if ((insn & 0xffe0001f) == 0xd2800008 && !memcmp(code + i + 4, call, 4) &&
		    s->wants(s->arg, insn >> 5 & 0xffff) && add(s, sec->vaddr + i))
			return -1;
	}
	return 0;
}

/* Go's programs have one function for all calls but those that start processes. */
static int scan_go(struct scan *s)
{
	static const char *const names[] = {"internal/runtime/syscall.Syscall6",
					    "runtime/internal/syscall.Syscall6",
					    "internal/runtime/syscall/linux.Syscall6"};
	struct functab tab = {0};
	struct go_table go;
	int rc = 0;

	if (!go_table_open(&go, s->img))
		return 0;
	rc = go_table_functions(&go, &tab);
	for (size_t i = 0; !rc && i < tab.funcs.n; i++) {
		const struct func *f = &tab.funcs.v[i];
		size_t left = 0;
		const uint8_t *code;
		bool is_meant = false;

		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			is_meant |= !strcmp(f->name, names[k]);
		code = is_meant ? elf_image_at_vaddr(s->img, f->start, &left) : NULL;
		for (size_t k = 0;
		     code && !rc && k + SYSCALL_BYTES <= left && k < f->end - f->start; k++)
			if (is_syscall(code + k))
				rc = add(s, f->start + k);
	}
	functab_done(&tab);
	return rc;
}

int probe_find_syscalls(const char *path, probe_wants_syscall *wants, void *arg,
			struct probe_places *ret, struct err *err)
{
	struct scan s = {.wants = wants, .arg = arg, .ret = ret};
	struct elf_section sec;
	enum insn_set set;
	const char *name;
	int rc;

	memset(ret, 0, sizeof *ret);
	if (strlen(path) >= sizeof ret->path)
		return err_set(err, ERR_USAGE, path, "too long");
	memcpy(ret->path, path, strlen(path) + 1);
	rc = elf_image_open(&s.img, path, err);
	if (rc)
		return rc;
	set = processor_insn_set(elf_image_machine(s.img));
	for (size_t i = 0; !rc && i < elf_image_section_count(s.img); i++) {
		if (!elf_image_section_at(s.img, i, &name, &sec) || !(sec.flags & SHF_EXECINSTR) ||
		    !sec.data)
			continue;
		if (set == INSN_SET_X86)
			rc = scan_x86(&s, &sec) ? -1 : scan_any(&s, &sec);
		else if (set == INSN_SET_A64)
			rc = scan_a64(&s, &sec);
	}
	if (!rc && set == INSN_SET_X86)
		rc = scan_go(&s);
	elf_image_close(s.img);
	places_finish(ret);
	return rc ? err_nomem(err) : 0;
}
