#!/usr/bin/env python3
"""Names that only some compilers make: OCaml's, GHC's and gdc's, from these compilers where they are installed (each takes
hundreds of megabytes), and from assembly with such symbols everywhere. In a module that another compiler made they are names of C."""
import re
import shutil

from symtool import *

ASM = """
	.text
	.globl {0}
	.type {0}, {1}
{0}:	nop
	nop
	.size {0}, 2
"""


def named(exe, *options):
    """{symbol: name shown}"""
    where = [(a, s) for n, a, s, _ in sections(exe).values() if n == ".text"][0]
    answers, _, _ = symbolize("file", exe, range(where[0], sum(where)), *options)
    return {a.system: a.shown for a in answers if a.system}


def assembled(title, *symbols):
    write("a.s", "".join(ASM.format(s, "@function") for s in ("_start", *symbols)))
    exe = "./" + re.sub(r"\W+", "_", title)
    run("gcc", "-nostdlib", "a.s", "-o", exe)
    return named(exe)


for sign, other in (("caml_call_gc", "stg_upd_frame_info"), ("caml_plugin_header", "hs_main")):
    have = assembled(f"ocaml {sign}", "camlStdlib__List__sort_572", "Work_zdwspin_info", sign)
    check(have["camlStdlib__List__sort_572"] == "Stdlib.List.sort_572" and have["Work_zdwspin_info"] == "Work_zdwspin_info",
          f"a module with {sign}: OCaml's names", have)
    have = assembled(f"ghc {other}", "camlStdlib__List__sort_572", "Work_zdwspin_info", "resizze_info", other)
    check(have["Work_zdwspin_info"] == "Work_$wspin_info" and have["camlStdlib__List__sort_572"] == "camlStdlib__List__sort_572" and
          have["resizze_info"] == "resizze_info", f"a module with {other}: GHC's names", have)
have = assembled("c", "camlStdlib__List__sort_572", "Work_zdwspin_info")
check(all(k == v for k, v in have.items()), "neither: they are C functions", have)

if shutil.which("ocamlopt"):
    write("m.ml", """
module F (X : sig val k : int end) = struct
  let [@inline never] spin n = let s = ref 0 in for i = 1 to n do s := (!s * 31 + i * X.k) land 0xffff done; !s
end
module G = F (struct let k = 7 end)
let [@inline never] ( +++ ) a b = a * 3 + b
let () = print_int (List.length (List.sort compare (List.init (G.spin 10) (fun i -> i +++ 1))))
""")
    run("ocamlopt", "-g", "m.ml", "-o", "m")
    have = named("./m")
    shown = {re.sub(r"_\d+$", "", v) for k, v in have.items() if re.match("caml[A-Z]", k)}
    check({"M.+++", "M.spin", "M.entry", "Stdlib.List.sort"} <= shown and not any("caml" in s or "$" in s for s in shown),
          "ocamlopt: modules, functors, operators, the library", sorted(s for s in shown if s.startswith("M.")))
    check(all(k == v.split("@")[0] or re.match("caml[A-Z]", k) for k, v in have.items() if not k.startswith("_Z")), "ocamlopt: the runtime's C stays")
else:
    skip("names of OCaml's compiler", "no ocamlopt")

if shutil.which("ghc"):
    write("Main.hs", "module Main where\n{-# NOINLINE (+++) #-}\n(+++) :: Int -> Int -> Int\na +++ b = if a > 9 then b else (a + 1) +++ (b * 3)\n"
          "main :: IO ()\nmain = print (1 +++ 2)\n")
    run("ghc", "-O0", "Main.hs", "-o", "hs")
    have = named("./hs")
    check(have.get("Main_zpzpzp_info") == "Main_+++_info", "ghc: an operator", sorted(k for k in have if k.startswith("Main_")))
    left = {k for k, v in have.items() if re.match(r"([a-z]\w*?_)?[A-Z]\w*zi\w*_info$", k) and "zi" in v.split("_")[1]}
    check(len(have) > 500 and not left, "ghc: the library", sorted(left)[:5])
else:
    skip("names of GHC's compiler", "no ghc")

if shutil.which("gdc"):
    write("d.d", """
import std.algorithm, std.stdio;
void main() {
	int[] v = [3, 1, 2, 7, 5, 4, 9, 8, 6, 0];
	foreach (i; 0 .. 100) v ~= i * 7919 % 101;
	int inner(int a) { return v[0] + a; }
	v.sort!((a, b) => a < b);
	writeln(v[3], inner(2));
}
""")
    run("gdc", "-O2", "-g", "d.d", "-o", "d")
    where = [(a, s) for n, a, s, _ in sections("d").values() if n == ".text"][0]
    answers, _, _ = symbolize("file", "./d", range(where[0], sum(where)), "-i")
    at = {(name, place.rpartition(":")[0]) for a in answers for name, place in a.lines if name}
    wrong = {(n, p) for n, p in at if p.endswith("sorting.d") and re.search(r"main[.:]+(sort|shortSort|quickSort)", n)}
    check(any("sorting.d" in p for _, p in at) and not wrong, "gdc: an instance for a lambda of main is not main's", sorted(wrong))
    mangled = {n for n, _ in at if n.startswith("_D") and not n.startswith("_D3std") and re.search(r"\.(isra|part|constprop|cold)", n)}
    clones = [a.shown for a in answers if re.search(r"^_D.*\.(isra|part|constprop|cold)", a.system)]
    check(clones and all(" [clone ." in s for s in clones) and not mangled, "gdc: clones are demangled", sorted(set(clones))[:5])
else:
    skip("names of gdc", "no gdc")
end()
