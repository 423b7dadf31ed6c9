#!/usr/bin/env bash
# The sources compile for 32-bit processors, which have no 128-bit type, other sizes and other signs of comparisons.
cd "$TOP" || exit 1
if ! echo '#include <stdio.h>' | gcc -m32 -fsyntax-only -xc - 2>/dev/null; then
	echo "ok - 32 bits # SKIP no headers for gcc -m32"
	exit 0
fi
# The kernel's headers are those of the 64-bit one: they know both.
multiarch=$(gcc -print-multiarch)
said=$(printf '%s\n' base/*.c reader/*.c modules/*.c functions/*.c dwarf/*.c demangle/*.c symbolize/*.c unwind/*.c stitch/*.c profile/*.c \
	input/*.c output/*.c load/*.c report/*.c regress/*.c capture/*.c cmd/*.c | xargs -n 40 -P 2 gcc -m32 -fsyntax-only -std=gnu11 -Wall -Wextra -Werror -Wno-psabi \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DUNSPOOL_VERSION='"0"' -I. ${multiarch:+-isystem /usr/include/$multiarch} 2>&1 | grep -E 'error|warning')
if [ -z "$said" ]; then
	echo "ok - all sources compile for 32 bits"
else
	echo "not ok - all sources compile for 32 bits"
	printf '#   %s\n' "$said" | head -n 20
	exit 1
fi
