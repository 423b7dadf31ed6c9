#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/reader/fuzz_NAME.c, into the working directory: small recordings
# from beside the checkout, or at least the start of one, and some made by hand; tracing: descriptions of tracepoints.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"
if [ "$1" = tracing ]; then
	exec python3 "$TOP/tests/reader/tracing_seeds.py"
fi
python3 "$TOP/tests/reader/switch_seeds.py"
if [ -d "$TOP/../shared/corpus" ]; then
	find "$TOP/../shared/corpus" -type f -size "-${SEED_KIB:-64}k" ! -name '*.txt' ! -name '*.md' \
		-exec cp {} . \;
fi
printf 'PERFILE2\20\0\0\0\0\0\0\0' >start
