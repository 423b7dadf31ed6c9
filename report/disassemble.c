/* disassemble.c - libcapstone. Its structures differ between major versions: the version loaded is
 * that of the header that this was built with. */
#include "report/disassemble.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_library.h"

#define TEXT_OF_(x)   #x
#define TEXT_OF(x)    TEXT_OF_(x)
#define CAPSTONE_NAME "libcapstone.so." TEXT_OF(CS_API_MAJOR)

struct capstone {
	cs_err (*open)(cs_arch arch, cs_mode mode, csh *handle);
	cs_err (*close)(csh *handle);
	cs_err (*option)(csh handle, cs_opt_type type, size_t value);
	cs_insn *(*make)(csh handle);
	void (*free)(cs_insn *insn, size_t count);
	bool (*next)(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
		     cs_insn *insn);
	bool (*group)(csh handle, const cs_insn *insn, unsigned int group_id);
};

/* Global because a loaded library belongs to the process: filled once, constant afterwards. */
static struct capstone library;
static bool library_is_there;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
	static const struct shared_symbol symbols[] = {
		{"cs_open", &library.open},	   {"cs_close", &library.close},
		{"cs_option", &library.option},	   {"cs_malloc", &library.make},
		{"cs_free", &library.free},	   {"cs_disasm_iter", &library.next},
		{"cs_insn_group", &library.group},
	};

	library_is_there =
		shared_library_load(CAPSTONE_NAME, symbols, sizeof symbols / sizeof *symbols);
}

static bool find_processor(uint16_t e_machine, bool is_64, cs_arch *arch, cs_mode *mode)
{
	switch (e_machine) {
	case EM_X86_64:
	case EM_386:
		*arch = CS_ARCH_X86;
		*mode = is_64 ? CS_MODE_64 : CS_MODE_32;
		return true;
	case EM_AARCH64:
		*arch = CS_ARCH_ARM64;
		*mode = CS_MODE_ARM;
		return true;
	}
	return false;
}

/* The last number of the operands of a jump or call is where it leads, unless that is in a register
 * or in memory. */
static void find_target(struct insn_text *t)
{
	const char *number = strstr(t->operands, "0x"), *more;

	if (t->kind == INSN_OTHER || strpbrk(t->operands, "*([%"))
		return;
	while (number && (more = strstr(number + 2, "0x")))
		number = more;
	if (!number)
		return;
	t->target = strtoull(number, NULL, 16);
	t->has_target = true;
}

static void take(struct insn_text *t, const struct capstone *c, csh handle, const cs_insn *insn)
{
	t->vaddr = insn->address;
	t->size = insn->size;
	t->kind = c->group(handle, insn, CS_GRP_CALL)	? INSN_CALL
		  : c->group(handle, insn, CS_GRP_JUMP) ? INSN_JUMP
							: INSN_OTHER;
	snprintf(t->mnemonic, sizeof t->mnemonic, "%s", insn->mnemonic);
	snprintf(t->operands, sizeof t->operands, "%s", insn->op_str);
	t->has_target = false;
	find_target(t);
}

/* Bytes that are no instruction the library knows. */
static void take_bytes(struct insn_text *t, const uint8_t *code, unsigned n, uint64_t vaddr)
{
	*t = (struct insn_text){.vaddr = vaddr, .size = n};
	snprintf(t->mnemonic, sizeof t->mnemonic, ".byte");
	for (unsigned i = 0; i < n; i++)
		snprintf(t->operands + 6 * i, sizeof t->operands - 6 * i, "%s0x%02x", i ? ", " : "",
			 code[i]);
}

static int go_through(const struct capstone *c, csh handle, unsigned step, const uint8_t *code,
		      size_t n, uint64_t vaddr,
		      int (*each)(void *arg, const struct insn_text *insn), void *arg)
{
	cs_insn *insn = c->make(handle);
	struct insn_text t;
	int rc = insn ? 0 : -ERR_NOMEM;

	while (!rc && n) {
		if (c->next(handle, &code, &n, &vaddr, insn)) {
			take(&t, c, handle, insn);
		} else {
			const unsigned skip = n < step ? (unsigned)n : step;

			take_bytes(&t, code, skip, vaddr);
			code += skip;
			n -= skip;
			vaddr += skip;
		}
		rc = each(arg, &t);
	}
	if (insn)
		c->free(insn, 1);
	return rc;
}

int disassemble(uint16_t e_machine, bool is_64, const uint8_t *code, size_t n, uint64_t vaddr,
		int (*each)(void *arg, const struct insn_text *insn), void *arg, struct err *err)
{
	csh handle;
	cs_arch arch;
	cs_mode mode;
	int rc;

	if (!find_processor(e_machine, is_64, &arch, &mode))
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "machine code of this processor (ELF machine %u) is not "
			       "disassembled: only x86 and arm64",
			       e_machine);
	pthread_once(&library_once, library_load);
	if (!library_is_there)
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       CAPSTONE_NAME
			       " is needed to show machine code, and cannot be "
			       "loaded (Debian: apt install libcapstone" TEXT_OF(CS_API_MAJOR) ")");
	if (library.open(arch, mode, &handle) != CS_ERR_OK)
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       CAPSTONE_NAME " was built without this processor");
	library.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (arch == CS_ARCH_X86)
		library.option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	rc = go_through(&library, handle, arch == CS_ARCH_X86 ? 1 : 4, code, n, vaddr, each, arg);
	library.close(&handle);
	return rc;
}
