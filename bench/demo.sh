#!/bin/sh
# demo.sh BINDIR - captures a real multi-threaded C++ program that was built without frame pointers,
# resolves it, and shows where its time went.
set -eu
bin=$1
dir=build/demo
mkdir -p "$dir"

echo "== a C++ program: threads, templates, exceptions, recursion; -O2, no frame pointers"
g++ -O2 -g -fomit-frame-pointer -pthread tests/programs/threads.cc -o "$dir/threads"

echo "== $bin/capture -F 999 -o $dir/perf.data -- $dir/threads 2"
"$bin/capture" -F 999 -o "$dir/perf.data" -- "$dir/threads" 2

echo "== $bin/resolve --stats -o $dir/out.folded $dir/perf.data"
"$bin/resolve" --stats -o "$dir/out.folded" "$dir/perf.data"

echo
echo "== hottest stacks (root first) of $(wc -l < "$dir/out.folded") in $dir/out.folded"
awk '{ w = $NF; sub(/ [0-9]+$/, ""); total += w; line[NR] = $0; weight[NR] = w }
	END { for (i = 1; i <= NR; i++) printf "%6.2f %%  %s\n", 100 * weight[i] / total, line[i] }' \
	"$dir/out.folded" | sort -rn | head -8 | cut -c1-300
