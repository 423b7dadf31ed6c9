#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/cut/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}"

# A byte that says what is kept, and a file: static and shared, with tables for unwinding of both kinds, with DWARF, without symbols.
cut() {
	cat >s.c <<-'C'
		int h(int *);
		extern int other(int);
		static inline int in(int n) { int s = 0; while (n--) s += n ^ s >> 3; return s; }
		int f(int n) { int a[4 + n]; a[0] = in(n); return h(a) + a[n]; }
		int g(int n) { int a[64] __attribute__((aligned(64))); return h(a) + f(n) + a[n] + other(n); }
		int h(int *a) { return a[1] ? g(a[2]) : f(a[3]); }
		int _start(void) { return g(3); }
	C
	small='-nostdlib -Wl,--eh-frame-hdr,-z,noseparate-code,-z,max-page-size=16,--build-id'
	echo 'int other(int n) { return n + 1; }' >t.c
	# shellcheck disable=SC2086 # several words
	{
		gcc -O2 -g -gdwarf-5 $small -static -no-pie s.c t.c -o linked
		gcc -O2 -g -gdwarf-4 $small -static -no-pie s.c t.c -o linked4
		gcc -O0 -g -fno-asynchronous-unwind-tables $small -static -no-pie s.c t.c -o bare
		gcc -O2 -fPIC -shared $small s.c -o shared
		aarch64-linux-gnu-gcc -O2 -g $small -static s.c t.c -o arm || rm -f arm
		gcc -m32 -O2 -g -fno-pie -fno-stack-protector $small -static -no-pie s.c t.c -o linked32 || rm -f linked32
	}
	strip -o stripped shared
	for f in linked linked4 bare shared stripped arm linked32; do
		[ -f $f ] || continue
		for how in 002 022 013 001; do
			{
				printf '%b' "\\0$how"
				cat $f
			} >seed-$f-$how
		done
		rm $f
	done
	rm -f s.c t.c
}

$1
