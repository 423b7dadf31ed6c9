#!/bin/sh
# fuzz.sh elf|text|jitdump|demangle [libFuzzer options..] - builds a fuzz target with clang and runs it.
# Findings (crash-*, timeout-*) and the growing corpus stay in build/fuzz; seeds are made here.
#	tests/symbolize/fuzz.sh elf -max_total_time=600
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
target=$1
shift
out=$top/build/fuzz
seeds=$out/corpus-$target
mkdir -p "$seeds"
clang -std=gnu11 -g -O1 -D_GNU_SOURCE -I"$top" -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -o "$out/$target" "$top/tests/symbolize/fuzz_$target.c" \
	"$top"/base/*.c "$top"/reader/*.c "$top"/modules/*.c "$top"/symbolize/*.c \
	-lelf -lz -llzma -lzstd -ldeflate -liberty -ldl -lm -pthread
if [ -z "$(ls "$seeds")" ]; then
	case $target in
	elf)
		printf 'int f(int x) { return x; }\nint puts(const char *);\nint main(void) { return puts("") + f(1); }\n' |
			cc -s -xc - -rdynamic -Wl,-z,noseparate-code -o "$seeds/stripped"
		printf 'int puts(const char *);\nvoid _start(void) { puts(""); }\n' |
			cc -xc - -shared -fPIC -nostdlib -fcf-protection -Wl,-z,ibtplt,-z,noseparate-code -o "$seeds/ibt"
		# tables of Go programs, as test_go.py makes them
		(cd "$seeds" && TOP=$top BUILD=/nowhere GO_SEEDS=1 python3 "$top/tests/symbolize/test_go.py" && rm -f ./*.bin ./*.s)
		;;
	text)
		printf 'ffffffff81000000 T _text\nffffffffc0001000 t f\t[mod]\n' >"$seeds/kallsyms"
		printf '7f0000001000 20 f\n7f0000001010 20 g h\n' >"$seeds/map"
		;;
	jitdump)
		printf 'DTiJ\1\0\0\0\50\0\0\0\76\0\0\0' >"$seeds/head"
		;;
	demangle)
		for n in _ZN2ns1WIiE3runEi.isra.0 _ZZ4mainENKUliE_clEi _RINvNtC3std3mem8align_ofdE \
			_ZN4core3fmt9Formatter3pad17h0123456789abcdefE _D3foo3barFiZv; do
			printf %s $n >"$seeds/$n"
		done
		;;
	esac
fi
cd "$out"
exec "./$target" -timeout=10 -rss_limit_mb=1024 "$@" "corpus-$target"
