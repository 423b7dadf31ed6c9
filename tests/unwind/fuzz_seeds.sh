#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/unwind/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

byte() { # NUMBER..
	for n; do
		# shellcheck disable=SC2059 # an octal escape
		printf "\\$(printf %03o "$n")"
	done
}

size_of() { # FILE: two bytes
	n=$(stat -c %s "$1")
	byte $((n % 256)) $((n / 256))
}

# A program with its sections where fuzz_cfi.c puts them, packed; then a stack full of addresses in it.
pack() { # NAME FLAGS CPU [OBJCOPY]
	for s in eh_frame eh_frame_hdr debug_frame gopclntab; do
		: >"$1.$s"
		${4:-objcopy} --dump-section ".$s=$1.$s" "$1.elf" /dev/null 2>/dev/null || true # not all have it
	done
	{
		byte "$2" "$3" 0 0
		for s in eh_frame eh_frame_hdr debug_frame gopclntab; do size_of "$1.$s"; done
		cat "$1.eh_frame" "$1.eh_frame_hdr" "$1.debug_frame" "$1.gopclntab"
		for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
			byte $((i * 4 + 2)) 16 64 0 0 0 0 0    # 0x401000 + ..: its text
			byte $((i * 8 + 64)) 0 254 127 0 0 0 0 # 0x7ffe0000 + ..: the stack
		done
	} >"$1-$2-$3"
	rm -f "$1.eh_frame" "$1.eh_frame_hdr" "$1.debug_frame" "$1.gopclntab"
}

cfi() {
	cat >s.c <<-'C'
		int h(int *);
		int f(int n) { int a[4 + n]; a[0] = n; return h(a) + a[n]; }
		int g(int n) { int a[64] __attribute__((aligned(64))); return h(a) + f(n) + a[n]; }
		int h(int *a) { return a[1] ? g(a[2]) : f(a[3]); }
		void _start(void) { g(3); }
	C
	place='-nostdlib -static -no-pie -Wl,--eh-frame-hdr,-Ttext=0x1000,--section-start=.eh_frame=0x2000,--section-start=.eh_frame_hdr=0x3000'
	# shellcheck disable=SC2086 # several words
	gcc -O2 $place s.c -o eh.elf
	# shellcheck disable=SC2086
	gcc -O0 -g -fno-asynchronous-unwind-tables $place s.c -o debug.elf
	for flags in 0 1 2 4 8; do pack eh $flags 0; done
	pack eh 0 1
	pack debug 0 0
	# shellcheck disable=SC2086
	gcc -m32 -O2 -fno-pie -fno-stack-protector $place s.c -o eh.elf && pack eh 0 2
	# shellcheck disable=SC2086
	if aarch64-linux-gnu-gcc -O2 $place s.c -o arm.elf; then
		pack arm 0 1 aarch64-linux-gnu-objcopy
	fi
	rm -f s.c ./*.elf
}

expr() {
	byte 4 119 8 6 35 8 >deref     # breg7 8; deref; plus_uconst 8
	byte 4 119 8 119 0 6 56 30 34 6 35 8 >indexed
	byte 4 119 8 128 0 63 26 59 42 51 36 34 >plt # breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
	byte 0 48 47 253 255 >endless  # lit0; skip -3
}

# A frame with a loop and a call that does not return; a switch; the same for aarch64.
code() {
	byte 0 85 72 137 229 83 72 131 236 24 133 255 117 8 232 16 0 0 0 15 31 0 255 15 117 252 91 201 195 >frame
	byte 0 83 72 131 236 16 255 36 197 0 0 16 0 49 192 72 131 196 16 91 195 49 219 235 245 >switch
	byte 1 253 123 190 169 253 3 0 145 243 11 0 249 1 0 0 148 243 11 64 249 253 123 194 168 192 3 95 214 >aarch64
	byte 1 12 240 130 210 255 99 44 203 253 123 0 169 0 0 31 214 0 0 32 212 >lowered
}

# What CPython 3.13 tells of `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`, and V8 of a function with a
# frame pointer.
jit() {
	byte 0 11 20 0 0 0 0 0 0 0 1 122 82 0 1 120 16 1 27 12 7 8 144 1 0 0 \
		20 0 0 0 28 0 0 0 208 255 255 255 11 0 0 0 0 68 14 16 70 14 8 0 >cpython
	byte 0 208 24 0 0 0 0 0 0 0 3 122 76 82 0 1 120 16 2 255 27 12 7 8 144 1 0 0 0 0 \
		32 0 0 0 32 0 0 0 12 255 255 255 206 0 0 0 0 79 14 16 134 2 67 13 6 115 13 7 65 14 8 82 12 6 16 \
		0 0 0 0 0 0 >v8
}

# Code alone: functions with frames of all kinds, jumps through registers and tables.
jit_ahead() {
	cat >s.c <<-'C'
		int h(int *);
		int f(int n) { int a[4 + n]; a[0] = n; return h(a) + a[n]; }
		int g(int n) { int a[64] __attribute__((aligned(64))); return h(a) + f(n) + a[n]; }
		int k(int (*p)(int), int n) { return h(&n) ? p(n) : p(n + 1) + 1; }
		int s(int n) { switch (n) { case 1: return f(n); case 2: return g(3); case 3: return h(&n); case 4: return k(f, n); default: return 0; } }
	C
	for flags in -O2 -O0 "-O1 -mno-red-zone"; do
		# shellcheck disable=SC2086
		gcc $flags -fno-pie -c s.c -o s.o
		objcopy -O binary -j .text s.o s.text
		for first in 0 1 5; do
			{ byte $first && cat s.text; } >"code$flags-$first"
		done
	done
	rm -f s.c s.o s.text
}

$1
