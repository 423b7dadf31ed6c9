/* allocates.c - allocates known numbers of blocks of known sizes, and frees known parts of them, in
 * threads and by all functions of malloc(3); and counts them: "NAME OBJECTS BYTES IN_USE
 * IN_USE_BYTES" a line. What libraries allocate for themselves is not counted. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN __attribute__((noinline, noclone))

static struct count {
	unsigned long objects, bytes, in_use, in_use_bytes;
} small, leaks, grown, zeroed, aligned, large, in_threads;

static void report(const char *name, const struct count *c)
{
	printf("%s %lu %lu %lu %lu\n", name, c->objects, c->bytes, c->in_use, c->in_use_bytes);
}

static void *volatile last; /* so that nothing is optimized away */

static void count(struct count *c, size_t n, int stays)
{
	c->objects++;
	c->bytes += n;
	c->in_use += stays;
	c->in_use_bytes += stays ? n : 0;
}

SEEN static void make_small(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		const size_t bytes = 16 + i % 100;

		last = malloc(bytes);
		count(c, bytes, 0);
		free(last);
	}
}

SEEN static void leak(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		last = malloc(1000);
		count(c, 1000, i % 2);
		if (i % 2 == 0)
			free(last);
	}
}

SEEN static void grow(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		/* Large enough that some of so many have a stack with --alloc=16K. */
		char *p = realloc(NULL, 100);

		last = p;
		count(c, 100, 0);
		p = realloc(p, 3000);
		count(c, 3000, 0);
		p = realloc(p, 200);
		count(c, 200, i % 4 == 0);
		if (i % 4 == 1)
			p = realloc(p, 0); /* frees */
		else if (i % 4)
			free(p);
		last = p;
	}
}

SEEN static void zero(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		last = calloc(30, 7);
		count(c, 210, i % 10 == 0);
		if (i % 10)
			free(last);
	}
}

SEEN static void align(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		void *p = NULL;

		/* At 8 glibc calls malloc(): as every second one, each third call, of which there
		 * is a stack, would be that within the other. */
		if (i < n / 4)
			p = aligned_alloc(i % 5 < 2 ? 8 : 64, 640);
		else if (i < n / 2)
			p = memalign(64, 640);
		else if (i < n / 4 * 3)
			p = valloc(640);
		else if (posix_memalign(&p, 64, 640))
			abort();
		last = p;
		count(c, 640, i % 5 == 0);
		if (i % 5)
			free(last);
	}
}

SEEN static void make_large(struct count *c, int n)
{
	for (int i = 0; i < n; i++) {
		last = malloc(3 << 20);
		count(c, 3 << 20, i == 1);
		if (i != 1)
			free(last);
	}
}

static void *mails[2][1000];

/* Frees what the other thread has made. */
static void *thread(void *arg)
{
	struct count *c = arg;

	for (int i = 0; i < 1000; i++) {
		mails[1][i] = malloc(500);
		count(c, 500, 0);
		free(mails[0][i]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	static char out[1 << 12];
	pthread_t t;

	setvbuf(stdout, out, _IOFBF, sizeof out);
	make_small(&small, 50000 * n);
	leak(&leaks, 2000 * n);
	grow(&grown, 1000 * n);
	zero(&zeroed, 1000 * n);
	align(&aligned, 1000 * n);
	make_large(&large, 5);
	for (int i = 0; i < 1000; i++) {
		mails[0][i] = malloc(500);
		count(&in_threads, 500, 0);
	}
	if (pthread_create(&t, NULL, thread, &in_threads))
		return 1;
	pthread_join(t, NULL);
	for (int i = 0; i < 1000; i++)
		free(mails[1][i]);
	report("make_small", &small);
	report("leak", &leaks);
	report("grow", &grown);
	report("zero", &zeroed);
	report("align", &aligned);
	report("make_large", &large);
	report("thread", &in_threads);
	return 0;
}
