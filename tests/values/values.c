/* Calls with parameters of many types, for gdb to step through. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N __attribute__((noinline))
#define KEPT __asm__ volatile("" ::: "memory")
enum mode { READ = 1, WRITE = 2, BOTH = 4 };
enum colour { RED = -1, GREEN, BLUE };
struct pair {
	int x;
	long y;
	const char *name;
};
struct small {
	short a, b;
	float f;
};
struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 33;
	bool d : 1;
	enum mode m : 4;
};
struct empty {};
union either {
	int i;
	float f;
	struct small s;
};
static volatile int sink;

N int f_leaf(int depth, const char *s, enum mode m, char c, struct pair *p)
{
	for (int i = 0; i < 3; i++)
		sink += i * depth;
	return sink + depth + s[0] + m + c + p->x;
}
N int f_many(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, bool i, double j)
{
	int r = f_leaf(a, "many", READ, (char)b, &(struct pair){c, d, "x"});
	KEPT;
	return r + (int)(e + (int)f + g) + (int)h + i + (int)j;
}
N int f_rec(int depth, const char *s, struct pair *p, unsigned char flags)
{
	char buf[16];
	int r;

	snprintf(buf, sizeof buf, "d%d", depth);
	if (!depth)
		return f_leaf(depth, s, WRITE | READ, 'x', p);
	r = f_rec(depth - 1, buf, p, (unsigned char)(flags + 1)) + f_leaf(depth, buf, BOTH, '\n', p);
	KEPT;
	return r + buf[1];
}
static inline __attribute__((always_inline)) int f_inlined(long a, int b)
{
	int r = f_rec((int)a, "inline", &(struct pair){b, a, "pn"}, 7);
	KEPT;
	return r + b;
}
N int f_by_value(struct pair p, int n, struct small s)
{
	int r = f_inlined(n, p.x + 1);
	KEPT;
	return r + (int)p.y + s.a;
}
N int f_either(union either u, int n, union either *p)
{
	int r = f_leaf(n, "either", READ, 'u', &(struct pair){u.i, n, "u"});
	KEPT;
	return r + u.i + p->s.a;
}
N int f_bits(struct bits b, int n, struct empty e)
{
	int r = f_leaf(n, "bits", READ, 'b', &(struct pair){b.b, 0, 0});
	KEPT;
	(void)e;
	return r + (int)b.a;
}
N int f_lost(int first, int second, long third)
{
	/* Of the first nothing is left behind the call; what was passed is known from the caller. */
	int r = f_leaf(second, "lost", BOTH, 'l', &(struct pair){(int)third, 0, 0});
	KEPT;
	return r + 1;
	(void)first;
}
N int f_tail(int n, int m)
{
	sink++;
	return f_lost(n + 1, m, n);
}
N int f_self(int n, int m)
{
	if (!n)
		return f_leaf(m, "self", READ, 's', &(struct pair){m, m, 0});
	sink++;
	return f_self(n - 1, m + 2);
}
N int f_changes(int n, char *text)
{
	int r = 0;

	while (n > 0) {
		r += f_leaf(n, text, READ, 'c', &(struct pair){n, r, text});
		n -= 2;
		text++;
	}
	return r;
}
static int f_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
N int f_sorts(int *v, size_t n, int (*compare)(const void *, const void *), enum colour c)
{
	qsort(v, n, sizeof *v, compare);
	return v[0] + c;
}
/* Functions whose parameters optimizers leave out, split or know. */
struct wide {
	long a, b, c, d;
};
static N long f_unused(struct wide *p, int unused, long k, const char *s)
{
	KEPT;
	return p->b + k + s[0];
}
static N long f_known(long k, int c, struct wide *p)
{
	KEPT;
	return k * c + p->d;
}
static N long f_split(struct wide v, int w)
{
	KEPT;
	return v.b * w + v.c;
}
static N long f_split_pointer(struct wide *v, int w, long x)
{
	return v->b * w + v->c - x;
}
static N long f_address(int unused, long n, int w)
{
	KEPT;
	return f_unused(&(struct wide){.b = n}, 1, w, (const char *)&n) + n;
}
N long f_clones(struct wide *p, long n, const char *s)
{
	long r = f_unused(p, 1, n, s) + f_unused(p, 2, n + 1, s + 1);

	r += f_known(n, 7, p) + f_known(r, 7, p);
	r += f_split(*p, 5) + f_split(*p, 6) + f_split_pointer(p, 3, n) + f_split_pointer(p, 4, r);
	return r + f_address(1, r, 3) + f_address(2, n, 4);
}
N int everything(int argc, char **argv)
{
	char text[] = "changing";
	int v[] = {3, 1, 2}, r;

	r = f_by_value((struct pair){argc, 2L * argc, "lit"}, 3, (struct small){1, -2, .5f});
	r += f_many(-1, 200, -300, 60000, -70000, 4000000000u, -5000000000, 18000000000000000000u, true, 2.5);
	r += f_tail(4, 5) + f_self(3, 1) + f_changes(5, text) + f_sorts(v, 3, f_compare, RED);
	r += f_lost(argc + 10, r, r / 2);
	r += (int)f_clones(&(struct wide){argc, 22, 33, 44}, 100 + r, "xyz");
	r += f_either((union either){.f = 1.5f * (float)argc}, argc, &(union either){.s = {3, 4, .5f}});
	r += f_bits((struct bits){5, -7, 1ul << 32, true, BOTH}, 2, (struct empty){});
	KEPT;
	return r + argv[0][0];
}
int main(int argc, char **argv)
{
	return everything(argc, argv) == 0;
}
