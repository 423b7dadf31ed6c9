#!/usr/bin/env python3
"""A function has one name, inlined or not, where DWARF has no linkage name for it.

gcc writes none for C++ functions of internal linkage, clang -gmlt none at all; their symbols have. Every instruction of
the program below is looked up. Each frame of an answer says at which line it is, so the source says which function that
is: the one whose body the line is in. Its name must be the one that stands behind "//@" there, in every frame. Copies
that are not inlined are left because keep() takes their addresses. Where there is none, or DWARF does not tell where it
begins (clang -gmlt does so only for functions that inline others), inlined frames have the name that DWARF has.
"""
import collections
import os
import re
import shutil

from symtool import *

SOURCE = """
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <vector>
volatile unsigned sink;
#ifndef INLINE
#define INLINE __attribute__((always_inline)) inline
#define INLINE_LAMBDA __attribute__((always_inline))
#endif
template <class F> static void keep(F f) { asm volatile("" : : "r"(&f) : "memory"); }
namespace work {
namespace {
INLINE unsigned spin(unsigned n)
{ //@ work::(anonymous namespace)::spin(unsigned int)
	for (unsigned i = 0; i < n; i++)
		sink = sink + i * 3;
	return sink;
} //.
INLINE unsigned spin(unsigned short n)
{ //@ work::(anonymous namespace)::spin(unsigned short)
	sink = sink * 7 + n;
	return sink;
} //.
/* No copy of this is left. */
INLINE unsigned spin(unsigned char n)
{ //@ work::(anonymous namespace)::spin(unsigned char)
	sink = sink * 5 + n;
	return sink;
} //.
struct Box {
	unsigned n;
	INLINE unsigned get(unsigned x) const
	{ //@ work::(anonymous namespace)::Box::get(unsigned int) const
		sink = sink + n * 9 + x;
		return sink;
	} //.
};
template <class T> INLINE unsigned of(T x)
{ //@ unsigned int work::(anonymous namespace)::of<long>(long)
	sink = sink + (unsigned)x * 11;
	return sink;
} //.
/* Nor of these. */
typedef std::map<std::string, std::vector<const long *>> Map;
typedef struct { int x; } Named;
enum Kind { ONE, TWO };
struct Gone {
	unsigned n;
	template <class T> INLINE Gone(T t, Kind)
	{ //@ work::(anonymous namespace)::Gone::Gone<unsigned int>(unsigned int, work::(anonymous namespace)::Kind)
		n = t + sink;
	} //.
	INLINE ~Gone()
	{ //@ work::(anonymous namespace)::Gone::~Gone()
		sink = sink * 3 + n;
	} //.
	INLINE operator unsigned() const
	{ //@ work::(anonymous namespace)::Gone::operator unsigned int() const
		return sink += n * 5;
	} //.
	INLINE bool operator<(const Gone &o) const &
	{ //@ work::(anonymous namespace)::Gone::operator<(work::(anonymous namespace)::Gone const&) const &
		return (sink += n) < o.n;
	} //.
	static INLINE unsigned many(const Map &m, std::ostream *, Named, unsigned (*f)(char, ...), int Gone::*, void (Gone::*)(int) const)
	{ //@ work::(anonymous namespace)::Gone::many(std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::vector<long const*, std::allocator<long const*> >, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, std::allocator<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, std::vector<long const*, std::allocator<long const*> > > > > const&, std::ostream*, work::(anonymous namespace)::Named, unsigned int (*)(char, ...), int work::(anonymous namespace)::Gone::*, void (work::(anonymous namespace)::Gone::*)(int) const)
		return sink += m.size() + (f != nullptr);
	} //.
};
template <class T, std::size_t N, Kind K, class... R> INLINE T chosen(const std::array<T, N> &a, int (&b)[4], char *const volatile p, R... r)
{ //@ long work::(anonymous namespace)::chosen<long, 3ul, (work::(anonymous namespace)::Kind)1, unsigned int, short>(std::array<long, 3ul> const&, int (&) [4], char*, unsigned int, short)
	sink = sink + a[1] + b[2] + sizeof...(r) + !p;
	return sink;
} //.
template <class F> INLINE unsigned call(F f)
{ //@ unsigned int work::(anonymous namespace)::call<work::go(unsigned int)::{lambda(short)#1}>(work::go(unsigned int)::{lambda(short)#1})
	sink = sink * 17;
	return f(sink);
} //.
template <class F> struct Holder {
	INLINE unsigned hold(F &f)
	{ //@ work::(anonymous namespace)::Holder<work::go(unsigned int)::{lambda(short)#1}>::hold(work::go(unsigned int)::{lambda(short)#1}&)
		sink = sink * 23;
		return f(sink);
	} //.
};
} // namespace
static INLINE unsigned still(unsigned n)
{ //@ work::still(unsigned int)
	sink = sink * 13 + spin((unsigned short)n);
	return sink;
} //.
unsigned go(unsigned n)
{ //@ work::go(unsigned int)
	Box b = {n};
	keep((unsigned (*)(unsigned))spin);
	keep((unsigned (*)(unsigned short))spin);
	keep(&Box::get);
	keep((unsigned (*)(long))of<long>);
	keep(still);
	auto lambda = [=](short s) INLINE_LAMBDA
	{ //@ work::go(unsigned int)::{lambda(short)#1}::operator()(short) const
		sink = sink * 19 + n;
		return sink + s;
	}; //.
	Gone g(n, TWO), h(n + 1, ONE);
	Map map;
	std::array<long, 3> three = {n, n, n};
	int four[4] = {(int)n};
	struct Local {
		INLINE unsigned f(const char *s)
		{ //@ work::go(unsigned int)::Local::f(char const*)
			return sink += *s;
		} //.
	} local;
	unsigned sum = (g < h) + (unsigned)g + Gone::many(map, nullptr, {1}, nullptr, nullptr, nullptr);
	sum += chosen<long, 3, TWO>(three, four, nullptr, n, (short)n) + call(lambda) + local.f("x");
	sum += Holder<decltype(lambda)>().hold(lambda);
	return sum + spin(n) + spin((unsigned short)n) + spin((unsigned char)n) + b.get(n) + of((long)n) + still(n);
} //.
} // namespace work
int main(int argc, char **)
{ //@ main
	return work::go((unsigned)argc) & 1;
} //.
"""


def truth():
    """line -> name of the function"""
    names, name = {}, None
    for no, line in enumerate(SOURCE.splitlines(), 1):
        m = re.search(r"//@ (.*)$", line)
        name = m.group(1) if m else name
        if name:
            names[no] = name
        if line.rstrip().endswith("//."):
            name = None
    return names


def no_copies():
    """{line: name} of those that keep() does not keep"""
    kept = ("spin(unsigned int)", "spin(unsigned short)", "Box::get(unsigned int) const", "of<long>(long)", "still(unsigned int)")
    return {n for n in set(truth().values()) if not n.endswith(kept) and not n.endswith(("go(unsigned int)", "main"))}


def place():
    """LINE:COLUMN of names.cc's lambda, as gcc has it: of the end of its captures"""
    for i, line in enumerate(SOURCE.split("\n"), 1):
        if "auto lambda = [" in line:
            return f"{i}:{line.index(']') + 1}"


# Lambdas that no symbol has in its name have no number, but a place.
GCC = {n: n.replace("{lambda(short)#1}", f"{{lambda(short)@{place()}}}") for n in no_copies()}
CLANG = {n: n.replace("{lambda(short)#1}", "$_0") for n in no_copies()}
GCC_G1 = dict.fromkeys(no_copies())  # any: only DW_AT_name
GMLT = {**GCC_G1, "work::(anonymous namespace)::spin(unsigned int)": "spin",
        "work::(anonymous namespace)::spin(unsigned short)": "spin",
        "work::(anonymous namespace)::Box::get(unsigned int) const": "get",
        "unsigned int work::(anonymous namespace)::of<long>(long)": "of<long>"}


def one(title, compiler, *flags, instead=GCC, both=5, after=None):
    for tool in (compiler, *(after or ())):
        if not shutil.which(tool):
            return skip(title, f"no {tool}")
    exe = "./" + re.sub(r"\W+", "_", title)
    run(compiler, "-std=c++17", "-O2", *flags, "names.cc", "-o", exe)
    if after:
        run(*after, exe)
    where = [(a, s) for n, a, s, _ in sections(exe).values() if n == ".text"][0]
    answers, _, _ = symbolize("file", exe, range(where[0], sum(where)), "-i")
    names, wrong, seen = truth(), set(), set()
    for a in answers:
        for depth, (name, place) in enumerate(a.lines):
            path, _, line = place.rpartition(":")
            want = names.get(int(line or 0))
            if not name or not want or not path.endswith("names.cc"):
                continue  # padding behind a function has a line, but no function
            inlined = depth + 1 < len(a.lines)
            if inlined:
                want = instead.get(want, want)
            seen.add((name, inlined))
            if want and name != want:
                wrong.add(f"line {line}: {name} for {want}")
    found = {n for n, inlined in seen if (n, not inlined) in seen}
    check(not wrong, f"{title}: names", "\n".join(sorted(wrong)))
    check(len(found) == both, f"{title}: functions seen inlined and not: {both}", sorted(seen))


# A class's member template over a lambda of another class's function: no name may name another type.
LAMBDAS = """
#include <set>
#include <string>
volatile unsigned sink;
struct M { template <class F> __attribute__((always_inline)) inline void with(F &&f) { sink = sink * 3; f(1); } };
struct I { M m; void list(std::set<std::string> *s); };
__attribute__((noinline)) void I::list(std::set<std::string> *s)
{
	m.with([&](int x) { sink = sink * 5 + x + s->size(); });
	m.with([&](long x) { sink = sink * 7 + x + s->size(); });
}
int main() { I i; std::set<std::string> s; i.list(&s); }
"""


def lambdas():
    write("lambdas.cc", LAMBDAS)
    run("g++", "-O2", "-g", "lambdas.cc", "-o", "lambdas")
    where = [(a, s) for n, a, s, _ in sections("lambdas").values() if n == ".text"][0]
    answers, _, _ = symbolize("file", "lambdas", range(where[0], sum(where)), "-i")
    found = {re.sub(r"@(\d+):\d+\}", r"@\1}", name) for a in answers for name, place in a.lines[:-1] if "lambdas.cc" in place}
    string = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    around = f"I::list(std::set<{string}, std::less<{string} >, std::allocator<{string} > >*)"
    want = set()
    for t in ("int", "long"):
        line = next(i for i, s in enumerate(LAMBDAS.split("\n"), 1) if f"[&]({t} x)" in s)
        want.add(f"{around}::{{lambda({t})@{line}}}::operator()({t}) const")
        want.add(f"void M::with<{around}::{{lambda({t})@{line}}}>({around}::{{lambda({t})@{line}}}&&)")
    check(found == want, "a member template over lambdas of another class", "\n".join(sorted(found ^ want)))


# Lambdas of one function with the same parameters, each inlined into a function that has a symbol: the number is that of
# the line. One has no symbol anywhere, and no number: its place is its name.
NUMBERS = """
#include <functional>
volatile int sink;
template <class F> __attribute__((noinline)) void twice(F f) { f(1); f(2); }
template <class F> __attribute__((always_inline)) inline void once(F f) { f(3); }
template <class F> __attribute__((noinline)) void generic(F f) { f(4); }
static void work(int k)
{
	auto never = [&](int x) { sink = x; };
	twice([&](int x) { for (int i = 0; i < k; i++) sink = sink + x; }); // NAME work(int)::{lambda(int)#A}
	twice([&](int x) { for (int i = 0; i < k; i++) sink = sink - x; }); // NAME work(int)::{lambda(int)#B}
	once([&](int x) { for (int i = 0; i < k; i++) sink = sink * x; }); // NAME work(int)::{lambda(int)@12:9}
	generic([&](auto x) { for (int i = 0; i < k; i++) sink = sink ^ x; }); // NAME work(int)::{lambda(auto:1)#C}
	std::function<void(int)> f = [&](int x) { for (int i = 0; i < k; i++) sink = sink | x; }; // NAME work(int)::{lambda(int)#D}
	f(5);
}
int main() { work(7); }
"""


def numbers():
    write("numbers.cc", NUMBERS)
    run("g++", "-std=c++17", "-O2", "-g", "numbers.cc", "-o", "numbers")
    twice = sorted(set(re.findall(r"twice<work\(int\)::\{lambda\(int\)#(\d+)", run("nm", "-C", "numbers"))))
    number = {"A": twice[0], "B": twice[1]}
    for letter, where in ("C", r"generic<work\(int\)::\{lambda\(auto:1\)#(\d+)"), ("D", r"_M_invoke|Function_handler<.*\{lambda\(int\)#(\d+)"):
        number[letter] = next(m[1] for m in re.finditer(where, run("nm", "-C", "numbers")) if m[1])
    where = [(a, s) for n, a, s, _ in sections("numbers").values() if n == ".text"][0]
    answers, _, _ = symbolize("file", "numbers", range(where[0], sum(where)), "-i")
    lines = NUMBERS.split("\n")
    wrong, right, leaked = set(), set(), set()
    for name, place in {f for a in answers for f in a.lines}:
        if "#@" in name:
            leaked.add(name)
        m = re.search(r"numbers\.cc:(\d+)", place)
        told = m and re.search(r"NAME (.*)", lines[int(m[1]) - 1])
        if not told or "::operator()" not in name:
            continue
        want = re.sub(r"#([A-D])", lambda n: "#" + number[n[1]], told[1])
        (right if name.split("::operator()")[0].endswith(want) else wrong).add((name, want))
    check(not wrong and not leaked and len({w for _, w in right}) == 5, "numbers of lambdas", wrong, leaked, right)


# Lambdas and local types that only their place tells apart: each marked line belongs to one function, and no two marks to
# functions of one name. After the mark: what follows operator() in DW_AT_name.
APART_H = """
template <class F, class T> static inline void rep(F f, T d) { for (int i = 0; i < 40; i++) f(d + i); }
static inline void header(int n)
{
	auto a = [&](int y) { sink = sink + y * n; }; // APART 1
	auto b = [=](int y) { sink = sink * y + n; }; // APART 2
	rep(a, n); rep(b, n);
}
"""
APART = """
volatile double sink;
#include "apart.h"
template <class T> static inline void in_template(T n)
{
	auto a = [&](auto y) { sink = sink + y * n; }; // APART 3 <T>
	auto b = [&](auto y) { sink = sink * y - n; }; // APART 4 <T>
	rep(a, n); rep(b, n);
}
struct C {
	double m;
	inline void method()
	{
		auto a = [this](double y) { sink = sink + y * m; }; // APART 5
		auto b = [this](double y) { sink = sink * y - m; }; // APART 6
		rep(a, m); rep(b, m);
	}
};
__attribute__((noinline)) void work(long n)
{
	auto a = [&](auto y) { sink = sink + y; }; // APART 7 <double>
	auto b = [&](auto y) { sink = sink * y; }; // APART 8 <double>
	auto c = [&](auto y, auto z) { sink = sink * y + z; }; // APART 9 <double, int>
	auto outer = [&](double y) {
		auto in1 = [&](double z) { sink = sink + z * y; }; // APART 10
		auto in2 = [&](double z) { sink = sink * z - y; }; // APART 11
		rep(in1, y); rep(in2, y);
	};
	auto pack = [&](auto... y) { sink = (sink + ... + y); }; // APART 12 <double, long, int>
	auto other = [&](auto... y) { sink = (sink * ... * y); }; // APART 13 <double, long, int>
	struct { double k; inline void go(double y) { sink = sink + y * k; } } s1{1}; // APART 14
	struct { double k; inline void go(double y) { sink = sink * y - k; } } s2{2}; // APART 15
	rep(a, 1.); rep(b, 2.); rep([&](double q) { c(q, 3); }, 3.); rep(outer, 4.); pack(1., n, 2); other(2., n, 3);
	s1.go(n); s2.go(n);
	header(n); in_template(n); in_template(1.5f);
	C{3}.method();
}
int main() { work(3); }
"""


def apart(compiler, *flags):
    title = " ".join((compiler, *flags))
    if not shutil.which(compiler):
        return skip(f"{title}: names that only places tell apart", f"no {compiler}")
    write("apart.h", APART_H)
    write("apart.cc", APART)
    run(compiler, "-std=c++17", *flags, "apart.cc", "-o", "apart")
    where = [(a, s) for n, a, s, _ in sections("apart").values() if n == ".text"][0]
    answers, _, _ = symbolize("file", "./apart", range(where[0], sum(where)), "-i")
    marks = {(f, i): (int(m[1]), m[2]) for f, text in (("apart.h", APART_H), ("apart.cc", APART)) for i, line in enumerate(text.split("\n"), 1)
             if (m := re.search(r"// APART (\d+) ?(.*)", line))}
    names, invented = collections.defaultdict(set), set()
    for name, at in {f for a in answers for f in a.lines}:
        path, _, line = at.rpartition(":")
        mark = marks.get((os.path.basename(path), int(line or 0)))
        if mark and name and re.search(r"operator\(\)|::go\b", name):
            names[mark[0]].add(name)
            given = re.search(r"operator\(\)(<.*?>)?\(", name)
            want = {mark[1]} if mark[1] != "<T>" else {"<long>", "<float>"}
            if given and (given[1] or "") not in want:
                invented.add((name, mark))
    twice = {n for k in names for n in names[k] for other in names if other != k and n in names[other]}
    check(len(names) == len(marks) and not twice, f"{title}: names that only places tell apart", twice, sorted(set(m for m, _ in marks.values()) - set(names)))
    check(not invented, f"{title}: no argument that DW_AT_name does not have", invented)


write("names.cc", SOURCE)
OUT_OF_LINE = ["-DINLINE=__attribute__((noinline))", "-DINLINE_LAMBDA=__attribute__((noinline))"]
for compiler in filter(shutil.which, ("g++", "clang++")):
    run(compiler, "-std=c++17", "-O1", *OUT_OF_LINE, "-c", "names.cc", "-o", "symbols.o")
    symbols = run("nm", "-C", "symbols.o")
    # clang calls a lambda of a function that is not inline $_0
    missing = [n for n in no_copies() if f" {n}\n" not in symbols and not (compiler == "clang++" and "{lambda" in n)]
    check(not missing, f"{compiler}: what the symbols are called", "\n".join(missing))
one("gcc", "g++", "-g")
lambdas()
numbers()
for compiler in ("g++", "clang++"):
    apart(compiler, "-g", "-O2")
    apart(compiler, "-g", "-O1")
one("gcc DWARF 4", "g++", "-g", "-gdwarf-4")
one("gcc split", "g++", "-g", "-gsplit-dwarf")
one("gcc -g1", "g++", "-g1", instead=GCC_G1)
one("gcc LTO", "g++", "-g", "-flto")
one("gcc dwz", "g++", "-g", after=["dwz"])
one("clang", "clang++", "-g", instead=CLANG)
one("clang -gmlt", "clang++", "-gmlt", instead=GMLT, both=1)
end()
