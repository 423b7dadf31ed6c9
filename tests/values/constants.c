/* Functions that are always called with the same arguments, 7, 8, 9, over stacks and registers full of others, so that a place that
 * is read before the argument is there shows something else. */
#define N __attribute__((noipa))
static volatile long sink;
N long f_other(long a, long b, long c) { volatile long z[8] = {a, b, c, a, b, c, a, b}; sink += z[1]; return z[2] + sink; }
N int f_line(int a, long b, short c) { sink += a + b + c; return a; }
N int f_address(int a, long b, short c) { sink += b; f_other((long)&a, (long)&b, (long)&c); sink += c; return a; }
N int f_register(register int a, register long b, register short c) { sink += a; f_other(1, 2, 3); sink += b; return c; }
N int f_loop(int a, long b, short c)
{
	int r = 0;
	for (int i = 0; i < 3; i++) { r += a; f_other(-i, i, r); sink += b + c; }
	return r;
}
static inline __attribute__((always_inline)) int f_inlined(int a, long b, short c) { sink += a; f_other(4, 5, 6); return (int)b + c; }
N int everything(int argc)
{
	int r = argc;
	for (int i = 0; i < 3; i++) {
		f_other(-1 - i, -2, -3); r += f_line(7, 8, 9);
		f_other(-4 - i, -5, -6); r += f_address(7, 8, 9);
		f_other(-7 - i, -8, -9); r += f_register(7, 8, 9);
		f_other(-1 - i, -2, -3); r += f_loop(7, 8, 9);
		f_other(-4 - i, -5, -6); r += f_inlined(7, 8, 9);
	}
	return r;
}
int main(int argc, char **argv) { (void)argv; return everything(argc) == 0; }
