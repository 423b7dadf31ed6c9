#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/values/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

values() {
	cat >s.c <<-'C'
		enum e { ONE = 1, TWO };
		struct s { int a; const char *t; unsigned k : 3; };
		typedef struct { double d; char c; } f;
		volatile int sink;
		void *memset(void *p, int c, unsigned long n) { volatile char *q = p; while (n--) *q++ = (char)c; return p; }
		#define N __attribute__((noinline))
		N int g(int x, struct s *p, enum e e) { sink = x; return p->a + e + sink; }
		static inline int inl(int y) { return g(y + 1, &(struct s){y, "t", 2}, TWO) + y; }
		N int h(struct s s, f v, long z, char c) { int r = inl((int)z); sink = r; return r + s.a + (int)v.d + c; }
		void _start(void) { h((struct s){1, "text", 3}, (f){2.5, 'x'}, sink, 'c'); g(sink, 0, ONE); }
	C
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for o in 0 2; do
			$cc -O$o -g -gdwarf-5 -fno-stack-protector -nostdlib -static -Wl,--build-id=none -Wl,-Ttext=0x1000,-z,max-page-size=16 s.c -o e
			python3 - $cc$o <<-'END'
				import sys
				# breg7 8; fbreg -20; bregx, deref_size; pieces; entry_value; convert; implicit_value; call_frame_cfa, stack_value
				exprs = ("7708", "916c", "92070094049f", "55930493045293", "a3015509f89f", "730030a81f9f", "9e0401020304", "9c", "30312f010034129f", "a00000000000")
				elf = open("e", "rb").read()
				for i, e in enumerate(exprs if sys.argv[1].endswith("2") else exprs[:2]):
				    e = bytes.fromhex(e)
				    open(f"{sys.argv[1]}-{i}", "wb").write(len(e).to_bytes(2, "little") + e + elf)
			END
		done
	done
	rm s.c e
}

$1
