/* vector.c - leaves out places at which a probe would make the program compute something else.
 *
 * The kernel executes some instructions below a probe itself, by their opcode's byte alone
 * (uprobes.c of arch/x86/kernel: 70 to 7f are conditional jumps, 50 to 57 push, c3 returns ..).
 * Instructions that are encoded with VEX, EVEX or XOP have the same bytes for something else:
 * vpbroadcastb, with which many of glibc's string functions begin, is taken for a jump, and does
 * nothing (Linux 6.18; also with perf's probes). */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "probe/places.h"

enum { INSN_MAX = 15, HEADER_BYTES = 20 };

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67};

	return memchr(prefixes, byte, sizeof prefixes);
}

bool is_vector_insn(const uint8_t *insn, size_t n, bool is_64_bit)
{
	size_t i = 0;

	while (i < n && is_prefix(insn[i]))
		i++;
	if (i + 1 >= n)
		return false;
	switch (insn[i]) {
	case 0xc4:
	case 0xc5:
	case 0x62: /* in 32-bit code LES, LDS and BOUND, if that is of memory */
		return is_64_bit || insn[i + 1] >> 6 == 3;
	case 0x8f: /* POP has 0 there */
		return (insn[i + 1] & 0x38) != 0;
	default:
		return false;
	}
}

void places_drop_vector(struct probe_places *p)
{
	uint8_t head[HEADER_BYTES], insn[INSN_MAX];
	const int fd = open(p->path, O_RDONLY | O_CLOEXEC);
	uint16_t machine = EM_NONE;
	size_t n = 0;

	if (fd >= 0 && pread(fd, head, sizeof head, 0) == sizeof head)
		memcpy(&machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
	if (machine == EM_X86_64 || machine == EM_386) {
		for (size_t i = 0; i < p->places.n; i++) {
			const struct probe_place *place = &p->places.v[i];
			const ssize_t got = pread(fd, insn, sizeof insn, (off_t)place->off);

			if (!is_vector_insn(insn, got > 0 ? (size_t)got : 0, machine == EM_X86_64))
				p->places.v[n++] = *place;
		}
		p->n_vector = p->places.n - n;
		p->places.n = n;
	}
	if (fd >= 0)
		close(fd);
}
