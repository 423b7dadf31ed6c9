#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/base/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}"

json() {
	printf '{"schema":"x/1","a":[1,-2.5e3,true,false,null,{"b":"\\u00e9\\ud83d\\ude00\\n"}],"":{}}\n' >all
	printf '[[[[[[[["deep"]]]]]]]]' >deep
	printf '"\\ud800\\u12"' >half
}

$1
