#!/bin/sh
# fuzz.sh file|pipe|inflate [libFuzzer options..] - builds a fuzz target with clang and runs it.
# Findings (crash-*, timeout-*) and the growing corpus stay in build/fuzz; seeds are the hostile and
# the small real files beside the checkout.
#	tests/reader/fuzz.sh pipe -max_total_time=600
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
target=$1
shift
out=$top/build/fuzz
mkdir -p "$out/corpus-$target"
clang -std=gnu11 -g -O1 -D_GNU_SOURCE -DUNSPOOL_VERSION='"fuzz"' -I"$top" \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-o "$out/$target" "$top/tests/reader/fuzz_$target.c" "$top"/base/*.c "$top"/reader/*.c \
	-lelf -lz -llzma -lzstd -ldeflate -ldl -lm -pthread
if [ -z "$(ls "$out/corpus-$target")" ] && [ -d "$top/../shared/corpus" ]; then
	find "$top/../shared/corpus" -type f -size -64k ! -name '*.txt' ! -name '*.md' \
		-exec cp {} "$out/corpus-$target" \;
fi
cd "$out"
exec "./$target" -timeout=10 -rss_limit_mb=1024 -max_len=65536 "$@" "corpus-$target"
