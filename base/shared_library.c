/* shared_library.c - loads a library, and looks up its functions. */
#include "base/shared_library.h"

#include <dlfcn.h>
#include <string.h>

bool shared_library_load(const char *name, const struct shared_symbol *symbols, size_t n)
{
	void *so = dlopen(name, RTLD_NOW | RTLD_LOCAL), *f;
	bool has_all = so != NULL;

	for (size_t i = 0; so && i < n; i++) {
		f = dlsym(so, symbols[i].name);
		has_all &= f != NULL;
		/* ISO C knows no conversion between the two kinds of pointer; POSIX dlsym() does.
		 */
		memcpy(symbols[i].to, &f, sizeof f);
	}
	return has_all;
}
