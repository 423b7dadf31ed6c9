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

text() {
	printf 'ffffffff81000000 T _text\nffffffffc0001000 t f\t[mod]\n' >kallsyms
	printf '7f0000001000 20 f\n7f0000001010 20 g h\n' >map
}

$1
