#!/bin/bash
# The commands are built hardened, which is what the files say: position independent, relocations read-only and done at the start,
# stacks protected, checked variants of the C library's functions, and on x86-64 each object of ours is marked for indirect branch tracking and
# shadow stacks. (The linker marks a command when all that is linked in is marked, which Debian's libiberty.a is not.)
case $CFLAGS$SAN$DEBUG in
*sanitize*|*address*|*-O0*) echo "ok - hardening # SKIP a build for debugging"; exit 0 ;;
esac
failed=0

check() { # what, condition's status, details
	if [ "$2" = 0 ]; then
		echo "ok - $1"
	else
		echo "not ok - $1: $3"
		failed=1
	fi
}

has() { # file, what, pattern, readelf's options
	local text
	text=$(readelf -W "$4" "$1")
	grep -qE "$3" <<<"$text"
	check "${1##*/}: $2" $? "readelf $4: no $3"
}

for f in "$BIN"/capture "$BIN"/resolve "$BIN"/regress; do
	if readelf -Ws "$f" | grep -q __asan_init; then
		echo "ok - ${f##*/}: hardening # SKIP it has sanitizers"
		continue
	fi
	has "$f" "position independent" 'Type: +DYN' -h
	has "$f" "relocations are read-only" 'GNU_RELRO' -l
	has "$f" "and done at the start" 'FLAGS_1.*NOW' -d
	has "$f" "no stack with code" 'GNU_STACK .* RW +0x' -l
	has "$f" "stacks are protected" '__stack_chk_fail' -s
	has "$f" "the C library checks" '__(snprintf|printf|fprintf|memcpy|read|vsnprintf)_chk' -s
done
if [ "$(uname -m)" = x86_64 ] && ! readelf -Ws "$BIN/resolve" | grep -q __asan_init; then
	find "$BUILD" -name '*.o' -not -path '*/tests/*' | sort >objects
	# /dev/null, so that each file is named
	xargs readelf -nW /dev/null <objects 2>/dev/null | awk '/^File: / { file = substr($0, 7) } /x86 feature: IBT, SHSTK/ { print file }' | sort -u >marked
	unmarked=$(comm -23 objects marked)
	[ -s objects ] && [ -z "$unmarked" ]
	check "objects are marked for CET" $? "$unmarked"
fi

# What users and distributions give adds to our options and takes none away.
lines=$(make -C "$TOP" -nB CPPFLAGS=-DGIVEN CFLAGS=-O1 BUILD="$PWD/build" "$PWD/build/base/text.o" | grep -- ' -c -o ' | tail -1)
grep -q -- ' -I\. .* -DGIVEN .*-O1' <<<"$lines"
check "CPPFLAGS and CFLAGS of the command line come after -I." $? "$lines"
exit $failed
