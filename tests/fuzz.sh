#!/bin/sh
# fuzz.sh STAGE/NAME [libFuzzer options..] - builds tests/STAGE/fuzz_NAME.c with clang and runs it.
# Findings (crash-*, timeout-*) and the growing corpus stay in build/fuzz. The first seeds are made by
# tests/STAGE/fuzz_seeds.sh; what was found before is in testdata/fuzz.
#	tests/fuzz.sh reader/pipe -max_total_time=600
set -e
top=$(cd "$(dirname "$0")/.." && pwd)
stage=${1%/*}
name=${1#*/}
shift
out=$top/build/fuzz/$stage-$name
mkdir -p "$out/corpus"
sources=
for s in base reader bundle modules functions runtimes dwarf cut demangle symbolize unwind values stitch profile input output load report regress browse probe; do
	sources="$sources $top/$s/*.c"
	[ $s = "$stage" ] && break
done
# shellcheck disable=SC2086 # the patterns are to be expanded
clang -std=gnu11 -g -O1 -D_GNU_SOURCE -DUNSPOOL_VERSION='"fuzz"' -I"$top" \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-o "$out/target" "$top/tests/$stage/fuzz_$name.c" $sources \
	-ldw -lelf -lz -llzma -lzstd -liberty -lncursesw -ltinfo -ldl -lm -pthread
cd "$out"
if [ -z "$(ls corpus)" ]; then
	# Elsewhere first: half of the seeds of a script that failed would do for ever.
	rm -rf seeds
	mkdir seeds
	(cd seeds && TOP=$top PYTHONPATH=$top/tests sh "$top/tests/$stage/fuzz_seeds.sh" "$name")
	[ -d "$top/testdata/fuzz/$stage-$name" ] && cp "$top/testdata/fuzz/$stage-$name"/* seeds
	rmdir corpus
	mv seeds corpus
fi
exec ./target -timeout=10 -rss_limit_mb=1024 -max_len=65536 "$@" corpus
