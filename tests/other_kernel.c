/* other_kernel.c - preloaded into a command, lets it see another kernel than the running one:
 * another release, and a vDSO of another build. What is said of a stored recording must not depend
 * on the machine that reads it. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

static uint8_t vdso[1 << 16] __attribute__((aligned(4096)));

/* Changes each build id of the copy, wherever its notes are. */
static void change_build_ids(uint8_t *image, size_t size)
{
	static const uint8_t gnu[] = {4, 0, 0, 0,   20,	 0,   0, 0, NT_GNU_BUILD_ID,
				      0, 0, 0, 'G', 'N', 'U', 0};
	size_t i;

	for (i = 0; i + sizeof gnu + 20 <= size; i += 4)
		if (!memcmp(image + i, gnu, sizeof gnu))
			image[i + sizeof gnu] ^= 0xff;
}

unsigned long getauxval(unsigned long type)
{
	unsigned long (*next)(unsigned long) =
		(unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
	unsigned long value = next(type);
	const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)value;

	if (type != AT_SYSINFO_EHDR || !value)
		return value;
	size_t size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	if (size > sizeof vdso)
		return 0;
	memcpy(vdso, h, size);
	change_build_ids(vdso, size);
	return (unsigned long)vdso;
}

int uname(struct utsname *un)
{
	int (*next)(struct utsname *) = (int (*)(struct utsname *))dlsym(RTLD_NEXT, "uname");
	int rc = next(un);

	if (!rc)
		snprintf(un->release, sizeof un->release, "5.0.0-other");
	return rc;
}
