/* host.c - loads plugin.so (argv[2]) while running and calls into it, which calls back.
 * Usage: host SECONDS PLUGIN */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void host_callback(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);
	void (*entry)(void (*)(unsigned), unsigned);
	void *lib;

	while (clock() < end) {
		unsigned i;

		lib = dlopen(argc > 2 ? argv[2] : "./plugin.so", RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&entry = dlsym(lib, "plugin_entry");
		for (i = 0; i < 50; i++)
			entry(host_callback, 20000);
		dlclose(lib);
	}
	return 0;
}
