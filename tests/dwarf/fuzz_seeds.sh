#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/dwarf/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

# Linked, so that no relocations stand between the fuzzer and the sections.
dwarf() {
	cat >s.c <<-'C'
		static inline int g(int x) { for (int i = 0; i < x; i++) x ^= i; return x; }
		struct s { int a, b; };
		int f(struct s *s) { if (s->a) return g(s->b); return g(s->a) + g(2); }
		void _start(void) { struct s s = {1, 2}; f(&s); }
	C
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		for v in 4 5; do
			$cc -O2 -g -gdwarf-$v -nostdlib -static -Wl,-Ttext=0x1000,-z,max-page-size=16 s.c -o $cc$v
		done
	done
	gcc -O2 -g -c s.c -o object
	rm s.c
	# names that are put together from types
	cat >s.cc <<-'C'
		#define INLINE __attribute__((always_inline)) inline
		volatile unsigned sink;
		namespace std { template <class T, unsigned long N> struct array { T t; }; }
		namespace {
		typedef struct { int x; } Named;
		enum Kind { ONE, TWO };
		struct Box {
			unsigned n;
			template <class T> INLINE Box(T t) : n(t) { sink = sink + 1; }
			INLINE operator int() const & { return sink += n; }
			static INLINE int f(int (*)(char, ...), int (&)[4], int Box::*, std::array<void (*)(int), 3> *, Named) { return sink = 3; }
		};
		template <class T, int N, Kind K, class... R> INLINE T of(T x, R... r) { sink = sink + N; return x; }
		template <class F> INLINE void call(F f) { f(3); }
		}
		extern "C" void _start(void)
		{
			Box b(1);
			int a[4];
			call([&](const int x) { sink = sink + x + b; });
			of<const long *, 3, TWO>(nullptr, Box::f(nullptr, a, nullptr, nullptr, Named()), "");
		}
	C
	g++ -O2 -g -nostdlib -static -fno-exceptions -Wl,-Ttext=0x1000,-z,max-page-size=16 s.cc -o cxx
	rm s.cc
	recorded_params
}

# The form of parameters in what a recording carries (dwarf/param_pack.h): int, an enumeration, a structure of them and one that
# has it as its base; a function at 0x1000 with one that was inlined.
recorded_params() {
	{
		printf '\1\4'
		printf '\1\1\4\1int\0\0\0'
		printf '\7\0\4\1kind\0\2\1ONE\0\1\1TWO\0\176\0'
		printf '\10\0\10\1s\0\0\2\1a\0\0\1\0\0\0\1b\0\4\2\0\3\41'
		printf '\10\0\10\1t\0\0\1\1s\0\0\3\1\0\0'
		printf '\1\200\40\10\200\40\204\40\1f\0\13\1\2\234\2'
		printf '\1\1k\0\2\0\10\3\0'
		printf '\2\1x\0\1\2\125\21\0\5\1y\0\4\3\221\150\0\0\0'
	} >section
	echo 'what no stack went through is zeros' >mark
	gcc -O2 -g -nostdlib -static -Wl,-Ttext=0x1000,-z,max-page-size=16 -x c - -o program <<-'C'
		int f(int x) { return x + 1; }
		void _start(void) { f(2); }
	C
	objcopy --add-section .recorded_params=section --add-section .from_recording=mark program recorded
	rm section mark program
}

# A program and its package (see fuzz_dwp.c): by gcc with dwp of binutils, by clang with llvm-dwp.
dwp() {
	cat >s.c <<-'C'
		static inline int g(int x) { for (int i = 0; i < x; i++) x ^= i; return x; }
		struct s { int a, b; };
		int f(struct s *s) { if (s->a) return g(s->b); return g(s->a) + g(2); }
	C
	cat >t.c <<-'C'
		struct s; int f(struct s *s);
		static inline int k(int x) { return f((struct s *)(long)x) + x; }
		void _start(void) { k(1); k(2); }
	C
	split="-O2 -gsplit-dwarf -nostdlib -static -Wl,-Ttext=0x1000,-z,max-page-size=16"
	# shellcheck disable=SC2086 # options
	{
		if [ -x /usr/bin/dwp ]; then # not in Debian 13
			gcc $split -gdwarf-4 s.c t.c -o gcc4 && command dwp -e gcc4 -o gcc4.dwp
		fi
		if command -v clang && command -v llvm-dwp; then
			for v in 4 5; do
				clang $split -gdwarf-$v s.c t.c -o clang$v && llvm-dwp -e clang$v -o clang$v.dwp
			done
		fi
	} >/dev/null
	python3 - <<-'PY'
		import glob, struct
		for package in glob.glob("*.dwp"):
		    program = open(package[:-4], "rb").read()
		    open(package[:-4], "wb").write(struct.pack(">I", len(program)) + program + open(package, "rb").read())
	PY
	rm -f -- *.c *.dwo *.dwp
}

# What tool_dwarf keeps of a program of two units: answers when one of them is asked, else everything.
cache() {
	tool=${BUILD:-$TOP/build/gcc}/tests/dwarf/tool_dwarf
	[ -x "$tool" ] || { echo "$0: no $tool: run \`make tests-built\`, or set BUILD" >&2; exit 1; }
	cat >s.c <<-'C'
		static inline int g(int x) { for (int i = 0; i < x; i++) x ^= i; return x; }
		int f(int *s) { if (*s) return g(s[1]); return g(s[2]) + g(2); }
	C
	{ echo 'int f(int *s);'; seq 9 | sed 's/.*/int h&(int x) { return x * &; }/'; echo 'int main(void) { return f(&(int[3]){0}[0]); }'; } >t.c
	for v in 4 5; do
		gcc -O2 -g -gdwarf-$v s.c t.c -o program
		at=$(nm program | awk '$3 == "f" {print $1}')
		"$tool" -c cache program "$at" >/dev/null
		mv cache/*.dwarf answers$v
		nm program | awk '{print $1}' | "$tool" -c cache program >/dev/null
		mv cache/*.dwarf complete$v
	done
	rm -r s.c t.c program cache
}

$1
