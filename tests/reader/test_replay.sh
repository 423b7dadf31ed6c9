#!/bin/bash
# The fuzz targets' properties over files, as a file and as a pipe: inputs that fuzzers found against other readers,
# and every real recording. Without the corpus: this script and a program, which are no recordings.
corpus=$TOP/../shared/corpus

check() { # name, files
	if timeout 120 "$BUILD/tests/reader/fuzz_file" "${@:2}" >out 2>err &&
		timeout 120 "$BUILD/tests/reader/fuzz_pipe" "${@:2}" >out 2>err; then
		echo "ok - $1 ($(wc -l <out) files)"
	else
		echo "not ok - $1: $(tail -n 1 out): $(tail -n 1 err)"
		failed=1
	fi
}

failed=0
: >empty
check "no recordings" "$TOP/tests/reader/test_replay.sh" "$BUILD/tests/reader/fuzz_file" empty
if [ -d "$corpus" ]; then
	mapfile -t hostile < <(find "$corpus/hostile" -type f)
	mapfile -t real < <(find "$corpus" -type f -size -3M ! -path '*/hostile/*' ! -path '*/script-text/*')
	check "hostile files" "${hostile[@]}"
	check "real recordings" "${real[@]}"
else
	echo "ok - hostile and real files # SKIP no ../shared/corpus here"
fi
exit $failed
