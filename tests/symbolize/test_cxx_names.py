#!/usr/bin/env python3
"""Names put together from the scopes, template arguments and parameters in DWARF, against linkage names.

	test_cxx_names.py [FILE...]

Such names are for inlined functions that DWARF has no linkage name for (test_inline_names.py). Here they are made for
all functions that do have one: both must demangle to the same text. What may differ is in CLASSES, with the reason.
Without FILE a program is built with gcc; clang gives every C++ function a linkage name.
"""
import collections
import os
import re
import sys

from symtool import *

TOOL = os.path.join(os.environ["BUILD"], "tests/symbolize/tool_cxx_names")
SRC = os.path.join(os.environ["TOP"], "tests/dwarf/sources")

CLASSES = {
    "same": "",
    "none": "too long, or a value that DWARF does not have: the name keeps scopes only",
    "not C++": "linkage names of C functions",
    "abi tag": "[abi:cxx11] is in no DWARF",
    "lambda": "nor are the numbers of lambdas; of generic ones `auto` is an instance's type",
    "inherited": "constructors inherited with `using` go by the class's name, in linkage names by that of its base",
    "stream": "std::ostream and the like: DWARF does not say whether the source spelled them out",
    "number": "the type of a number in template arguments that are only a text: array<int, 3> for array<int, 3ul>",
    "default": "gcc leaves out template arguments of functions that are defaulted and have no name",
    "evaluated": "expressions that depend on template arguments are linkage names' own: iterator_traits<int*>::difference_type "
                 "for long, and decltype, auto and pack expansions",
    }
STREAM = re.compile(r"std::basic_(\w*stream|string)<char, std::char_traits<char>(, std::allocator<char>)? >")
DEPENDS = re.compile(r">::\w+|decltype|\bauto\b|\.\.\.|::\w*_t<|\(\w+\{|\(sizeof|&&\)|enable_if|::type\b")


def plain(name):
    """Without parameters, template arguments and return type"""
    depth, out = 0, ""
    for c in re.sub(r"operator(<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\))", "operator@", name.replace("(anonymous namespace)", "@")):
        depth += (c in "<([{") - (c in ">)]}")
        out += c if not depth and c not in ">)]}" else ""
    return re.sub(r"\s*const$| &+$", "", out).strip().split(" ")[-1]


def classify(linkage, want, got):
    if got == "-":
        return "none"
    if got == want:
        return "same"
    if not linkage.startswith("_Z"):
        return "not C++"
    want = re.sub(r"\[abi:\w+\]", "", want)
    if got == want:
        return "abi tag"
    want, got = STREAM.sub(r"std::\1", want), STREAM.sub(r"std::\1", got)
    if got == want:
        return "stream"
    want, got = (re.sub(r"(\b\d+)[ul]+\b", r"\1", n) for n in (want, got))
    if got == want:
        return "number"
    if re.sub(r"(lambda\([^#]*\)|unnamed type)#\d+\}", r"\1}", want) == got:
        return "lambda"
    if re.search(r"CI\d", linkage):
        return "inherited"
    if plain(got) != plain(want):
        return "lambda" if "lambda" in want + got else "differs"
    if "lambda" in want or "lambda" in got:
        return "lambda"
    if DEPENDS.search(want):
        return "evaluated"
    left = re.sub(r"(, (void|true|false|\(void\*\)0|0))+>", " >", want).replace("> >", ">>").replace(" >", ">")
    return "default" if left == got.replace("> >", ">>").replace(" >", ">") else "differs"


def compare(exe):
    counts, examples = collections.Counter(), []
    for line in run(TOOL, exe).splitlines():
        linkage, want, got = line.split("\t")
        kind = classify(linkage, want, got)
        counts[kind] += 1
        if kind == "differs" and len(examples) < 20:
            examples.append(f"{want}\n#     {got}")
    n = sum(counts.values())
    check(n and counts["differs"] <= n // 200 and counts["same"] > n * 0.8,
          f"{os.path.basename(exe)}: {n} functions, {dict(counts)}", "\n".join(examples))


def build():
    run("g++", "-std=c++17", "-O2", "-g", "-o", "words", os.path.join(SRC, "words.cc"))
    return ["words"]


def respelled():
    """What gcc writes as const X and X const in the names of class templates"""
    write("const.cc", """#include <utility>
template <class... T> struct V { __attribute__((noinline)) void f() { asm(""); } };
struct A {};
int main()
{
	V<const char (&)[5], const A *, int (*)(const A &)>().f();
	V<std::pair<const std::pair<int, V<int>>, int>, const V<const A>>().f();
}
""")
    run("g++", "-std=c++17", "-O1", "-g", "-o", "const", "const.cc")
    lines = [l.split("\t") for l in run(TOOL, "const").splitlines()]
    check(len(lines) >= 2 and all(w == g for _, w, g in lines), "const in the arguments of class templates", lines)


respelled()
for program in sys.argv[1:] or build():
    compare(program)
end()
