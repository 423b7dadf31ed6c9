/* plugin.c - the shared object that host.c loads. */
static volatile unsigned long sink;

void plugin_entry(void (*callback)(unsigned), unsigned n);

static __attribute__((noinline)) void plugin_inner(void (*callback)(unsigned), unsigned n)
{
	unsigned i;

	callback(n);
	for (i = 0; i < n; i++)
		sink += i * 5;
}

void plugin_entry(void (*callback)(unsigned), unsigned n)
{
	plugin_inner(callback, n);
	sink++;
}
