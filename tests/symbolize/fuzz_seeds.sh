#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/symbolize/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"
tests=$TOP/tests/symbolize

elf() {
	printf 'int f(int x) { return x; }\nint puts(const char *);\nint main(void) { return puts("") + f(1); }\n' |
		cc -s -xc - -rdynamic -Wl,-z,noseparate-code -o stripped
	printf 'int puts(const char *);\nvoid _start(void) { puts(""); }\n' |
		cc -xc - -shared -fPIC -nostdlib -fcf-protection -Wl,-z,ibtplt,-z,noseparate-code -o ibt
	# tables of Go programs, as test_go.py makes them
	BUILD=/nowhere GO_SEEDS=1 python3 "$tests/test_go.py"
	rm -f ./*.bin ./*.s
}

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
}

# What tool_dwarf keeps of a program of two units: answers when one of them is asked, else everything.
dwarf_cache() {
	tool=${BUILD:-$TOP/build/gcc}/tests/symbolize/tool_dwarf
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

text() {
	printf 'ffffffff81000000 T _text\nffffffffc0001000 t f\t[mod]\n' >kallsyms
	printf '7f0000001000 20 f\n7f0000001010 20 g h\n' >map
}

# In octal: a header, then CODE_LOAD, CODE_DEBUG_INFO, CODE_MOVE, CODE_CLOSE.
jitdump() {
	python3 - <<-'P'
		import struct
		def record(kind, t, body):
		    return struct.pack("<IIQ", kind, 16 + len(body), t) + body
		head = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 7, 1, 0)
		lines = struct.pack("<QQ", 0x1000, 2) + struct.pack("<Qii", 0x1000, 3, 0) + b"a.js\0" + \
		    struct.pack("<Qii", 0x1004, 4, 0) + b"\xff\0"
		load = struct.pack("<IIQQQQ", 7, 7, 0x1000, 0x1000, 8, 1) + b"f\0" + b"\x90" * 8
		move = struct.pack("<IIQQQQQ", 7, 7, 0x2000, 0x1000, 0x2000, 8, 1)
		open("all", "wb").write(head + record(2, 1, lines) + record(0, 2, load) + record(1, 3, move) + record(3, 4, b""))
		open("head", "wb").write(head)
	P
}

demangle() {
	for n in _ZN2ns1WIiE3runEi.isra.0 _ZZ4mainENKUliE_clEi _RINvNtC3std3mem8align_ofdE \
		_ZN4core3fmt9Formatter3pad17h0123456789abcdefE _D3foo3barFiZv; do
		printf %s $n >$n
	done
	printf %s 'Lp/C;m([[ILp/C;J)Lp/R;' >java
}

$1
