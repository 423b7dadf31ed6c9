/* fuzz_expr.c - libFuzzer target: DWARF expressions. The first byte says how: address size, byte
 * order, whether something is on the stack; the rest is the expression. */
#include "tests/fuzz.h"
#include "unwind/arch.h"
#include "unwind/expr.h"

/* Memory in which most addresses can be read, so that expressions go on. */
static bool read_memory(void *arg, uint64_t addr, unsigned size, uint64_t *ret)
{
	uint64_t *reads = arg;

	FUZZ_CHECK(size >= 1 && size <= 8);
	++*reads;
	*ret = (addr * 0x9e3779b97f4a7c15u) >> (64 - 8 * size);
	return addr % 16 != 15;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t regs[ARCH_REGS_MAX], initial = 0x7ffe0000, result, reads = 0;
	struct expr_machine m = {
		.regs = regs, .n_regs = 17, .read = read_memory, .arg = &reads, .bias = 0x1000};
	enum expr_status status;

	if (!size)
		return 0;
	for (unsigned i = 0; i < ARCH_REGS_MAX; i++)
		regs[i] = 0x1000u * i;
	m.address_bytes = data[0] & 1 ? 4 : 8;
	m.swap = data[0] & 2;
	m.known = data[0] & 8 ? 0x100c0 : 0x1ffff;
	status = expr_evaluate(&m, data + 1, size - 1, data[0] & 4 ? &initial : NULL, &result);
	FUZZ_CHECK(status == EXPR_OK || status == EXPR_BAD || status == EXPR_NO_REGISTER ||
		   status == EXPR_NO_MEMORY);
	FUZZ_CHECK(reads <= 65536); /* steps are bounded */
	return 0;
}
