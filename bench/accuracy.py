#!/usr/bin/env python3
"""accuracy.py --bin DIR [--only NAME,..] - how far stacks reach, for programs of many kinds: the table of doc/accuracy.md.

Each program is recorded by `capture` for some seconds, with the largest copies of stacks, and resolved with --stats=json. What is not installed is
left out; nothing is installed. Sources are made in a scratch folder."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = {
    "work.js": """function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function sort() { const a = []; for (let i = 0; i < 20000; i++) a.push((i * 7919) % 20011); a.sort((x, y) => x - y); return a[5] }
const end = Date.now() + 2500; let s = 0
while (Date.now() < end) { s += fib(16) + sort() + JSON.parse(JSON.stringify({a: [1, {b: 3}], c: "x".repeat(100)})).c.length }
""",
    "Work.java": """import java.util.*;
public class Work {
	static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] a) {
		long end = System.nanoTime() + 3000000000L, s = 0;
		while (System.nanoTime() < end) {
			s += fib(18);
			List<Integer> l = new ArrayList<>();
			for (int i = 0; i < 20000; i++) l.add((i * 7919) % 20011);
			l.sort((x, y) -> x - y);
			s += l.get(3);
		}
	}
}
""",
    "work.py": """import time, json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.process_time() + 2
while time.process_time() < end:
    fib(16); json.loads(json.dumps({"a": list(range(200))})); sorted((i * 7919) % 20011 for i in range(5000)); re.sub(r"a(b|c)*", "x", "abcbc" * 50)
""",
    "work.lua": """local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local e = os.clock() + 2
while os.clock() < e do fib(20); local t = {} for i = 1, 5000 do t[i] = (i * 7919) % 20011 end table.sort(t, function(a, b) return a < b end)
  for i = 1, 200 do string.gsub("abcbc", "b", function(c) return c .. c end) end end
""",
    "work.rb": """def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
e = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 2
while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < e do fib(18); (1..5000).map { |i| (i * 7919) % 20011 }.sort_by { |x| -x } end
""",
    "work.php": """<?php function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
$e = microtime(true) + 2; while (microtime(true) < $e) { fib(18); $a = range(1, 5000); usort($a, fn($x, $y) => ($x * 7919) % 20011 - $y); }
""",
    "work.cs": """using System; using System.Linq; class W { static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
static void Main() { var e = DateTime.Now.AddSeconds(2.5); long s = 0; while (DateTime.Now < e) { s += Fib(20);
s += Enumerable.Range(0, 5000).Select(i => (i * 7919) % 20011).OrderBy(x => x).First(); } } }
""",
    "work.hs": """import Data.List (sort)
import System.CPUTime
fib :: Int -> Integer
fib n = if n < 2 then toInteger n else fib (n - 1) + fib (n - 2)
loop :: Integer -> Integer -> IO ()
loop e s = do { t <- getCPUTime; if t > e then print s else loop e $! (s + fib 18 + sum (take 5 (sort [(i * 7919) `mod` 20011 | i <- [1 .. 3000]]))) }
main :: IO ()
main = loop 2000000000000 0
""",
    "work.ml": """let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () = let s = ref 0 in while Sys.time () < 2. do s := !s + fib 18 +
  List.hd (List.sort compare (List.init 3000 (fun i -> (i * 7919) mod 20011))) done; print_int !s
""",
    "work.lisp": """(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(compile 'fib)
(let ((e (+ (get-internal-run-time) (* 2 internal-time-units-per-second))))
  (loop while (< (get-internal-run-time) e) do (fib 18) (sort (loop for i below 3000 collect (mod (* i 7919) 20011)) #'<)))
""",
    "work.erl": """-module(work). -export([main/0]).
fib(N) when N < 2 -> N; fib(N) -> fib(N - 1) + fib(N - 2).
loop(E) -> {T, _} = statistics(runtime), if T > E -> ok; true -> fib(18), lists:sort([(I * 7919) rem 20011 || I <- lists:seq(1, 3000)]), loop(E) end.
main() -> loop(2000), halt().
""",
    "work.cc": """#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, int> m; std::regex r("(a|b)+c[0-9]*"); clock_t e = clock() + 2 * CLOCKS_PER_SEC;
while (clock() < e) { for (int i = 0; i < 500; i++) m[std::to_string(i * 7919 % 501)]++; std::vector<int> v(5000);
for (int i = 0; i < 5000; i++) v[i] = i * 7919 % 20011; std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
std::regex_search(std::string("xxabababc123yy"), r); } return m.size() == 0; }
""",
    "musl.c": """#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) { clock_t e = clock() + 2 * CLOCKS_PER_SEC; int v[3000]; char t[64]; while (clock() < e) {
for (int i = 0; i < 3000; i++) v[i] = i * 7919 % 20011; qsort(v, 3000, sizeof *v, cmp);
for (int i = 0; i < 200; i++) snprintf(t, sizeof t, "%g %s", i * 1.5, "x"); } return v[0] + t[0] == 0; }
""",
    "go.go": """package main
import ("encoding/json"; "fmt"; "net/http"; "net/http/httptest"; "io"; "sort"; "time")
func main() { s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { v := make([]int, 3000)
for i := range v { v[i] = i * 7919 % 20011 }; sort.Ints(v); json.NewEncoder(w).Encode(map[string]interface{}{"a": v[:50]}) }))
n := 0; for e := time.Now().Add(3 * time.Second); time.Now().Before(e); n++ { r, _ := http.Get(s.URL); io.ReadAll(r.Body); r.Body.Close() }; fmt.Println(n > 0) }
""",
    "fiber.cc": """#include <boost/context/fiber.hpp>
#include <ctime>
#include <unistd.h>
namespace ctx = boost::context;
volatile unsigned long sink;
__attribute__((noinline)) void busy() { for (int i = 0; i < 20000; i++) sink += i; }
__attribute__((noinline)) void deep(int n) { if (n) deep(n - 1); else busy(); sink++; }
int main() { ctx::fiber f{[](ctx::fiber &&m) { for (;;) { deep(3); m = std::move(m).resume(); } return std::move(m); }};
clock_t e = clock() + 2 * CLOCKS_PER_SEC; while (clock() < e) f = std::move(f).resume(); _exit(0); }
""",
    "work.rs": """use std::collections::BTreeMap;
fn main() { let t = std::time::Instant::now(); let mut n = 0usize; while t.elapsed().as_secs() < 2 { let mut m = BTreeMap::new();
for i in 0..3000u64 { m.insert(format!("{}", i * 7919 % 20011), i); } let mut v: Vec<_> = m.values().collect(); v.sort_by(|a, b| b.cmp(a)); n += v.len(); }
println!("{}", n > 0); }
""",
}
# kind, what must be installed, what builds it, the command
KINDS = [
    ("C++ (g++ -O2)", "g++", "g++ -O2 work.cc -o cxx", "./cxx"),
    ("compiler (g++ of that)", "g++", "", "g++ -O2 -c work.cc -o work.o"),
    ("clang", "clang++", "", "clang++ -O2 -c work.cc -o work2.o"),
    ("C, static musl, no tables in libc", "musl-gcc", "musl-gcc -O2 -static musl.c -o musl", "./musl"),
    ("Rust", "rustc", "rustc -A warnings -O work.rs -o rust", "./rust"),
    ("Go, HTTP server and client", "go", "go build -o gohttp go.go", "./gohttp"),
    ("Go, `go build -a` of that", "go", "", "env GOCACHE=$PWD/fresh go build -a -o again go.go"),
    ("Go and C (cgo, callbacks)", "go gcc", "python3 -c 'import sys; sys.path.insert(0, \"{top}/tests/unwind/truth\"); import gen_go; print(gen_go.with_c())' > cgo.go "
     "&& go build -o cgo cgo.go", "./cgo 3"),
    ("Boost fibers", "g++", "g++ -O2 fiber.cc -o fiber -lboost_context", "./fiber"),
    ("Java (OpenJDK)", "javac", "javac Work.java", "java -cp . Work"),
    ("Java, -XX:+PreserveFramePointer", "javac", "", "java -XX:+PreserveFramePointer -cp . Work"),
    ("node", "node", "", "node work.js"),
    ("python3", "python3", "", "python3 work.py"),
    ("LuaJIT", "luajit", "", "luajit work.lua"),
    ("Ruby", "ruby", "", "ruby work.rb"),
    ("PHP", "php", "", "php work.php"),
    ("Mono", "mono mcs", "mcs work.cs", "mono work.exe"),
    ("Erlang", "erl", "erlc work.erl", "erl -noshell -s work main"),
    ("Haskell (GHC -O)", "ghc", "ghc -v0 -O work.hs -o hs", "./hs"),
    ("OCaml", "ocamlfind ocamlopt", "ocamlopt work.ml -o ocaml", "./ocaml"),
    ("SBCL", "sbcl", "", "sbcl --script work.lisp"),
    ("qemu-user", "qemu-x86_64", "", "qemu-x86_64 ./musl"),
    ("x264", "x264 ffmpeg", "ffmpeg -v error -y -f lavfi -i testsrc2=size=640x360:rate=25 -t 6 -pix_fmt yuv420p in.y4m", "x264 --quiet -o out.264 in.y4m"),
    ("ffmpeg (decoding)", "x264 ffmpeg", "", "ffmpeg -v error -y -i out.264 -f null -"),
    ("git log -p", "git", "", "git -C {top} --no-pager log -p --stat -60 > /dev/null"),
    ("sqlite3", "sqlite3", "", "sqlite3 :memory: \"with recursive c(x) as (select 1 union all select x+1 from c where x<1500000) select count(distinct x*7919%20011), sum(x) from c\""),
    ("openssl speed", "openssl", "", "openssl speed -seconds 1 sha256 aes-128-cbc rsa2048"),
]


def build(what, where):
    return not what or subprocess.run(what.replace("{top}", TOP), shell=True, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      env=dict(os.environ, GOFLAGS="-mod=mod", GO111MODULE="off")).returncode == 0


def row(name, stats):
    n, frames = stats["user_stacks"], stats["frames"]
    shares = [100 * stats[k] / n for k in ("root", "switched", "truncated", "no_cfi")]
    other = 100 * (stats["no_file"] + stats["no_map"] + stats["broken"]) / n
    return f"| {name} | {n} | " + " | ".join(f"{x:.1f}" for x in (*shares, other, 100 * stats["guessed"] / frames)) + " |"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", required=True)
    p.add_argument("--only", default="")
    a = p.parse_args()
    capture, resolve = (os.path.join(os.path.abspath(a.bin), x) for x in ("capture", "resolve"))
    print("| program | stacks | root | switched | cut | no tables | other | frames guessed |\n|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="unspool-accuracy-") as where:
        for name, text in FILES.items():
            with open(os.path.join(where, name), "w") as f:
                f.write(text)
        for name, needs, make, command in KINDS:
            missing = [t for t in needs.split() if not shutil.which(t) and t != "ocamlfind"]
            if not any(o in name for o in a.only.split(",")) or missing:
                if missing:
                    print(f"{name}: needs {' '.join(missing)}", file=sys.stderr)
                continue
            if not build(make, where):
                print(f"{name}: cannot be built", file=sys.stderr)
                continue
            data = os.path.join(where, "accuracy.data")
            r = subprocess.run([capture, "-q", "-F", "499", "--call-graph", "dwarf,65528", "-o", data, "--", "sh", "-c", command.replace("{top}", TOP)],
                               cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ, GO111MODULE="off"))
            r = subprocess.run([resolve, "-q", "--stats=json", "--no-inline", "--no-stitch", "-f", "folded", "-o", "/dev/null", data], stderr=subprocess.PIPE,
                               text=True)
            lines = [x for x in r.stderr.splitlines() if x.startswith("{")]
            if lines and json.loads(lines[-1])["user_stacks"]:
                print(row(name, json.loads(lines[-1])), flush=True)
            else:
                print(f"{name}: nothing was recorded: {r.stderr[-200:]}", file=sys.stderr)


main()
