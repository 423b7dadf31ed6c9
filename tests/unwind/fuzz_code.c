/* fuzz_code.c - libFuzzer target: machine code. The first byte says of which processor, and whether
 * a JIT compiler made it; the rest is a function. */
#include "tests/fuzz.h"
#include "functions/functions.h"
#include "unwind/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct arch *arch = size && data[0] & 1 ? &arch_aarch64 : &arch_x86_64;
	struct code_frame entry = {0};
	struct code_rows rows;
	struct code_of of;
	size_t i, off = 0, calls = 0;
	int64_t target;

	uint64_t steps = UINT64_MAX;

	if (!size)
		return 0;
	if (arch == &arch_x86_64)
		entry.sp = entry.saved_ra = 8;
	data++;
	size--;
	of = (struct code_of){data, size, data[-1] & 2 ? CODE_OF_JIT : CODE_OF_FILE, NULL, 0};
	if (code_rows_find(arch->code_step, &of, &entry, &steps, &rows))
		return 0;
	FUZZ_CHECK(rows.n <= size + 1 && rows.next <= size);
	FUZZ_CHECK(UINT64_MAX - steps <= size * CODE_STEPS_PER_BYTE);
	for (i = 0; i < rows.n; i++) {
		FUZZ_CHECK(rows.v[i].start <= size);
		FUZZ_CHECK(!i || rows.v[i].start > rows.v[i - 1].start);
		FUZZ_CHECK(!rows.v[i].is_known || rows.v[i].frame.sp >= -1);
	}
	for (i = 0; i <= size; i++)
		code_rows_at(&rows, i);
	code_rows_done(&rows);
	while (next_call(processor_insn_set(arch->e_machine), data, size, &off, &target))
		FUZZ_CHECK(++calls <= size);
	return 0;
}
