#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/input/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

inputs() {
	for f in "$TOP"/testdata/inputs/*.txt "$TOP"/testdata/inputs/*.gz; do
		{ printf '\0'; cat "$f"; } >"$(basename "$f")"
	done
	for f in "$TOP"/testdata/inputs/*.gz; do
		{ printf '\1'; gzip -dc "$f"; } >"$(basename "$f").plain"
	done
	printf '\0a;b;c_[k] 10\na;[libc.so.6];d_[i] 3 4\n' >folded
	printf '\0x y 12/13 [001] 5.000001: 10 cycles:P: \n\tff00 f+0x1 (/bin/x)\n\tff01 g(int) (inlined)\n\n' >script
	printf '\0@[\n    f+1\n\tff00 g+2 (/x)\n, \n    do_syscall_64+1\n, x, 7]: 3\n' >bpftrace
}

$1
