#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/runtimes/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

v8() {
	python3 "$TOP/tests/runtimes/v8_heap.py"
}

$1
