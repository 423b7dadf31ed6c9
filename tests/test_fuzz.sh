#!/bin/bash
# Every fuzz target over its seeds, over some damaged copies of each (the same every time), and
# over what fuzzers found before (testdata/fuzz). More with LONG=1 or ROUNDS=100000.
rounds=${ROUNDS:-$([ "$LONG" ] && echo 200 || echo 10)}
export SEED_KIB=8 # of the recordings beside the checkout the smallest
failed=0

replay() { # NAME, arguments
	local name=$1
	shift
	if timeout 300 "$target" "$@" >out 2>err; then
		echo "ok - $name ($(wc -l <out) files)"
	else
		echo "not ok - $name: $(tail -n 1 out): $(tail -n 20 err)"
		failed=1
	fi
}

for source in "$TOP"/tests/*/fuzz_*.c; do
	stage=$(basename "$(dirname "$source")")
	name=$(basename "$source" .c)
	name=${name#fuzz_}
	target=$BUILD/tests/$stage/fuzz_$name
	mkdir -p "$stage-$name"
	(cd "$stage-$name" && sh "$TOP/tests/$stage/fuzz_seeds.sh" "$name") >log 2>&1 || {
		echo "not ok - seeds of $stage/$name: $(tail -n 5 log)"
		failed=1
		continue
	}
	hollow=$(find "$stage-$name" -type f -empty)
	[ -z "$hollow" ] || { echo "not ok - seeds of $stage/$name: empty: $hollow"; failed=1; }
	: >"$stage-$name/empty"
	replay "$stage/$name, damaged" -m "$rounds" "$stage-$name"/*
	if [ -d "$TOP/testdata/fuzz/$stage-$name" ]; then
		replay "$stage/$name, found before" "$TOP/testdata/fuzz/$stage-$name"/*
	fi
done

# Seeds that need a program of the tests, before that was built.
mkdir no-build
(cd no-build && BUILD=/nowhere sh "$TOP/tests/dwarf/fuzz_seeds.sh" cache) 2>err
if [ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && [ -z "$(ls no-build)" ]; then
	echo "ok - seeds without the build: one line, no files"
else
	echo "not ok - seeds without the build: $(cat err; ls no-build)"
	failed=1
fi
exit $failed
