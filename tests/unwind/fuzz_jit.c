/* fuzz_jit.c - libFuzzer target: call frame information that a jitdump has of one function. The
 * first byte says: byte order, processor; the second how long the code is. */
#include "tests/fuzz.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct arch *const archs[] = {&arch_x86_64, &arch_i386, &arch_aarch64};
	struct jit_unwind_info info = {.start = 0x10000};
	const struct arch *arch;
	struct rule rule;
	uint64_t ip;

	if (size < 2)
		return 0;
	arch = archs[(data[0] >> 1) % 3];
	info.swap = data[0] & 1;
	info.end = info.start + data[1];
	info.eh_frame = data + 2;
	info.size = size - 2;
	for (ip = info.start - 1; ip <= info.end; ip++)
		if (jit_rule(&info, arch, ip, &rule)) {
			FUZZ_CHECK(ip >= info.start && ip < info.end);
			FUZZ_CHECK(rule.kind < RULE_NO_BINARY);
		}
	return 0;
}
