/* capabilities.c - capset(2) without libcap. */
#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_keep(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct v[2];
	int i;

	if (syscall(SYS_capget, &head, v))
		return -1;
	for (i = 0; i < 2; i++) {
		v[i].permitted &= (uint32_t)(keep >> 32 * i);
		v[i].effective &= v[i].permitted;
		v[i].inheritable = 0;
	}
	return (int)syscall(SYS_capset, &head, v);
}
