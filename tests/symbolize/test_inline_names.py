#!/usr/bin/env python3
"""A function has one name, inlined or not, where DWARF has no linkage name for it.

gcc writes none for C++ functions of internal linkage, clang -gmlt none at all; their symbols have. Every instruction of
the program below is looked up. Each frame of an answer says at which line it is, so the source says which function that
is: the one whose body the line is in. Its name must be the one that stands behind "//@" there, in every frame. Copies
that are not inlined are left because keep() takes their addresses. Where there is none, or DWARF does not tell where it
begins (clang -gmlt does so only for functions that inline others), inlined frames have the name that DWARF has.
"""
import re
import shutil

from symtool import *

SOURCE = """
volatile unsigned sink;
#define INLINE __attribute__((always_inline)) inline
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
	return spin(n) + spin((unsigned short)n) + spin((unsigned char)n) + b.get(n) + of((long)n) + still(n);
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


NO_COPY = "work::(anonymous namespace)::spin(unsigned char)"
GCC = {NO_COPY: "work::(anonymous namespace)::spin"}  # what inlined frames have instead
GCC_G1 = {NO_COPY: "spin"}
GMLT = {NO_COPY: "spin", "work::(anonymous namespace)::spin(unsigned int)": "spin",
        "work::(anonymous namespace)::spin(unsigned short)": "spin",
        "work::(anonymous namespace)::Box::get(unsigned int) const": "get",
        "unsigned int work::(anonymous namespace)::of<long>(long)": "of<long>"}


def one(title, compiler, *flags, instead=GCC, both=5, after=None):
    for tool in (compiler, *(after or ())):
        if not shutil.which(tool):
            return skip(title, f"no {tool}")
    exe = "./" + re.sub(r"\W+", "_", title)
    run(compiler, "-O2", *flags, "names.cc", "-o", exe)
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
            if name != want:
                wrong.add(f"line {line}: {name} for {want}")
    found = {n for n, inlined in seen if (n, not inlined) in seen}
    check(not wrong, f"{title}: names", "\n".join(sorted(wrong)))
    check(len(found) == both, f"{title}: functions seen inlined and not: {both}", sorted(seen))


write("names.cc", SOURCE)
one("gcc", "g++", "-g")
one("gcc DWARF 4", "g++", "-g", "-gdwarf-4")
one("gcc split", "g++", "-g", "-gsplit-dwarf")
one("gcc -g1", "g++", "-g1", instead=GCC_G1)
one("gcc LTO", "g++", "-g", "-flto")
one("gcc dwz", "g++", "-g", after=["dwz"])
one("clang", "clang++", "-g", instead={})
one("clang -gmlt", "clang++", "-gmlt", instead=GMLT, both=1)
end()
