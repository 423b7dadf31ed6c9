#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/bundle/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}"

bundle() {
	"${BUILD:-$TOP/build/gcc}"/tests/bundle/tool_bundle >all
	head -c 16 all >head
}

$1
