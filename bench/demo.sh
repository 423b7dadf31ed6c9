#!/bin/sh
# demo.sh BINDIR - captures a real C++ program without frame pointers, and shows in a dozen lines where its time
# goes, what a tool that follows frame pointers sees of it, and what to type next.
set -eu
bin=$1
dir=build/demo
mkdir -p "$dir"

g++ -O2 -g -fomit-frame-pointer -pthread tests/programs/threads.cc -o "$dir/threads"
"$bin/capture" -q -F 999 -o "$dir/perf.data" -- "$dir/threads" 2

# NAME of a number in the JSON object that --stats=json prints.
number() { grep -o "\"$1\":[0-9]*" "$2" | head -n 1 | cut -d : -f 2; }
share() { awk "BEGIN { printf \"%.0f\", $2 ? 100 * $1 / $2 : 0 }"; }

"$bin/resolve" -q --unwinder=fp --no-inline --no-stitch --stats=json "$dir/perf.data" >/dev/null 2>"$dir/fp.json"
start=$(date +%s%N)
"$bin/resolve" -q --stats=json -o "$dir/out.folded" "$dir/perf.data" 2>"$dir/cfi.json"
took=$((($(date +%s%N) - start) / 1000000))
stacks=$(number user_stacks "$dir/cfi.json")

cat <<EOT
A C++ program with threads and templates, built by g++ -O2 without frame pointers, ran for 2 s of CPU time.

  recorded   $(number samples "$dir/cfi.json") stacks at 999 Hz in $(du -h "$dir/perf.data" | cut -f 1)
  whole      $(share "$(number root "$dir/fp.json")" "$(number user_stacks "$dir/fp.json")") % of them by frame pointers, as eBPF and perf -g walk;  $(share "$(number root "$dir/cfi.json")" "$stacks") % by unspool
  took       $took ms to unwind and to name functions, inlined ones too

Where the time goes (share of all samples; a line goes on while there is one way):
EOT
# The tree of the folded stacks, heaviest first, what is below 8 % left out.
awk '
	{ w = $NF; sub(/ [0-9]+$/, ""); total += w; n = split($0, f, ";"); path = ""
	  for (i = 1; i <= n; i++) {
		up = path; path = path (i > 1 ? ";" : "") f[i]
		if (!(path in sum)) { kids[up] = kids[up] "\n" path; name[path] = f[i] }
		sum[path] += w } }
	function short(s) { gsub(/<[^<>]*>/, "<>", s); while (sub(/<[^<>]*<>[^<>]*>/, "<>", s)); sub(/^std::__/, "std::", s); return length(s) > 44 ? substr(s, 1, 43) "~" : s }
	function heavy(path,    k, i, m, best) { # children of at least 8 %, heaviest first, in list[]
		m = split(kids[path], k, "\n"); count = 0; delete list
		for (i = 2; i <= m; i++) if (sum[k[i]] >= total * 0.08) list[++count] = k[i]
		for (i = 2; i <= count; i++) for (m = i; m > 1 && sum[list[m]] > sum[list[m - 1]]; m--) { best = list[m]; list[m] = list[m - 1]; list[m - 1] = best }
		return count }
	function show(path, depth,    line, mine, i, c, steps) {
		if (++lines > 12) return
		line = short(name[path]); steps = 0
		while (heavy(path) == 1 && sum[list[1]] > sum[path] * 0.9) { path = list[1]; steps++; last = name[path] }
		if (steps) line = line (steps > 1 ? " > .. > " : " > ") short(last)
		printf "%6.1f %%  %*s%s\n", 100 * sum[path] / total, 2 * depth, "", line
		c = heavy(path); for (i = 1; i <= c; i++) mine[i] = list[i]
		for (i = 1; i <= c; i++) show(mine[i], depth + 1) }
	END { c = heavy(""); for (i = 1; i <= c; i++) top[i] = list[i]; for (i = 1; i <= c; i++) show(top[i], 0) }' "$dir/out.folded"

echo
if "$bin/resolve" --help | grep -q '^  html '; then
	"$bin/resolve" -q -o "$dir/threads.html" "$dir/perf.data"
	echo "The whole picture, to search and to click through: $dir/threads.html"
else
	"$bin/resolve" -q -o "$dir/threads.svg" "$dir/perf.data"
	echo "The whole picture, to search and to click through: $dir/threads.svg"
fi
echo "Next, a program of yours:  $bin/capture -F 99 -- PROGRAM && $bin/resolve -o out.svg"
