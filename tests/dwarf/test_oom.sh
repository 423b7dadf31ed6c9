#!/bin/bash
# Out of memory is an error like others: each of the first allocations fails once (LONG=1: hundred), then every
# ninth (third); tool_dwarf ends with status 2, or answers when it was not needed; it never crashes.
case $BUILD in *-san*) echo "ok - oom # SKIP sanitizers have their own malloc"; exit 0 ;; esac
cat >fail.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_long left;
static long at(void) { const char *s = getenv("FAIL_AT"); return s ? atol(s) : -1; }
static int fails(void) { static long n; if (!n) n = at(); return atomic_fetch_add(&left, 1) + 1 == n; }
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *malloc(size_t n) { if (fails()) { errno = ENOMEM; return 0; } return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { if (fails()) { errno = ENOMEM; return 0; } return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { if (fails()) { errno = ENOMEM; return 0; } return __libc_realloc(p, n); }
C
src=$TOP/tests/dwarf/sources
gcc -shared -fPIC -O2 fail.c -o fail.so || exit 1
g++ -O2 -g -gz=none "$src/chain.cc" "$src/other.cc" -o chain || exit 1
g++ -O2 -g -gsplit-dwarf "$src/chain.cc" "$src/other.cc" -o split || exit 1
gcc -O2 -g -c "$src/other.c" -o relocatable.o || exit 1

try() { # FILE [before every run] [OPTION...]
	local addresses n failed=0 good rc before=$2 options=${*:3}
	addresses=$(nm "$1" | awk '/ [tT] /{print $1}')
	# shellcheck disable=SC2086
	good=$("$BUILD/tests/dwarf/tool_dwarf" $options "$1" $addresses)
	# Of loops over many units a few are enough.
	for n in $(if [ "$LONG" ]; then seq 1 100; seq 101 3 2000; else seq 1 40; seq 41 9 2000; fi); do
		$before
		# shellcheck disable=SC2086
		out=$(FAIL_AT=$n LD_PRELOAD=./fail.so "$BUILD/tests/dwarf/tool_dwarf" $options "$1" $addresses 2>&1)
		rc=$?
		if [ $rc -gt 2 ]; then
			echo "  allocation $n of $1: status $rc"; failed=1
		fi
		[ $rc = 2 ] && failures=$((failures + 1))
		[ "$out" = "$good" ] && same=$((same + 1)) || same=0
		[ "$same" -gt "$enough" ] && break # no more allocations that matter
	done
	[ $failed = 0 ] && [ $failures -gt $least ] && echo "ok - $* $n allocations, $failures errors" && return
	echo "not ok - $* $failures errors"; status=1
}
status=0 least=20 enough=20
[ "$LONG" ] && enough=60
for f in chain split relocatable.o; do
	failures=0 same=0
	try $f
done
failures=0 same=0
try chain "rm -rf cache" -c cache
failures=0 same=0
least=3
try chain "" -c cache # filled by the last run: not much is read, and where it stands
exit $status
