#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/stitch/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

byte() { # NUMBER..
	for n; do
		# shellcheck disable=SC2059 # an octal escape
		printf "\\$(printf %03o "$n")"
	done
}

# Stacks of one thread: whole, then cut ones that are completed from it, then one that contradicts.
stitch() {
	{
		byte 2 16 0 5 1 2 3 4 5
		byte 1 40 0 2 1 2
		byte 2 40 1 3 6 4 5
		byte 17 40 0 2 1 2
		byte 1 16 0 3 1 2 3
		byte 2 16 2 3 3 4 5
		byte 1 16 0 2 1 2
	} >whole-and-cut
	byte 1 16 0 2 1 2 1 20 1 2 2 3 2 20 2 2 3 4 1 20 0 2 1 2 >chained
}

$1
