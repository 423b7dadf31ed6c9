#!/usr/bin/env python3
"""Simple names of the real world: every symbol that the large C++ and Rust libraries of this machine export.

Oracle for C++: `c++filt -p` (no parameters), brought to our form here by another method: innermost brackets are replaced first, by
regular expressions, where simplify.c scans from the left. What must hold without an oracle: never empty, brackets balanced, simple
names do not change when they are simplified again, and no level of template arguments below the one that was asked for.

Arguments: files with one mangled name per line, to be used instead of the libraries.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

BUILD = os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/demangle/tool_demangle")
ENOUGH = 3000  # names of one library
failed = 0


def check(good, name, examples=()):
    global failed
    print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
    if not good:
        failed = 1
        for e in list(examples)[:8]:
            print("#   " + " | ".join(str(x)[:400] for x in (e if isinstance(e, tuple) else (e,))))


def pipe(cmd, lines):
    p = subprocess.run(cmd, input="\n".join(lines) + "\n", capture_output=True, text=True, errors="surrogateescape")
    out = p.stdout.splitlines()
    if p.returncode or len(out) != len(lines):
        raise RuntimeError(f"{cmd}: status {p.returncode}, {len(out)} lines for {len(lines)} {p.stderr[-500:]}")
    return out


def exported(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True).stdout
    return sorted({line.split()[-1].split("@")[0] for line in out.splitlines() if re.search(r" _(Z|R)", line)})


# ---- the form of simple names, computed from c++filt -p ----------------------------------------

# Symbols of operators become letters, so that all brackets that are left are brackets.
OPERATORS = {"operator()": "operator\x01", "operator[]": "operator\x02", "operator->*": "operator\x03", "operator->": "operator\x04",
             "operator<=>": "operator\x05", "operator<<=": "operator\x06", "operator>>=": "operator\x07", "operator<<": "operator\x08",
             "operator>>": "operator\x0e", "operator<=": "operator\x0f", "operator>=": "operator\x10", "operator<": "operator\x11",
             "operator>": "operator\x12", "(anonymous namespace)": "\x13", "->": "\x14"}


def hide(text):
    for a, b in OPERATORS.items():
        text = text.replace(a, b)
    return text


def show(text):
    for a, b in OPERATORS.items():
        text = text.replace(b, a)
    return text


def innermost(pattern, by, text):
    last = None
    while last != text:
        last, text = text, re.sub(pattern, by, text)
    return text


def simple_of(text):
    """c++filt -p's text in our form; None where its shape says too little (types in data symbols)."""
    text = hide(text)
    if re.match(r"typeinfo", text) or re.search(r"operator [^<]*\(", text):
        return None
    text = innermost(r"\([^()]*\)", "", text)
    text = re.sub(r"\[abi:\w+\]", "", text)
    text = innermost(r"<[^<>]*>", "\x15", text)
    text = re.sub(r"\{[^{}]*\}", lambda m: m.group(0).replace("\x15", ""), text)
    text = re.sub(r"(?: const| volatile| &&?)+(?=::|$)", "", text)
    text = text.replace("std::__cxx11::", "std::")
    return show(re.sub("\x15+", "<...>", text))


def balanced(text):
    text = re.sub(r"operator[^\w\s]*", "", show(hide(text)).replace("->", ""))
    stack = []
    for c in re.findall(r"[<>(){}\[\]]", text):
        if c in "<({[":
            stack.append(c)
        elif not stack or stack.pop() + c not in ("<>", "()", "{}", "[]"):
            return False
    return not stack


def depth(text):
    """Levels of template arguments, "<...>" not counted, nor Rust's <Type as Trait>."""
    text = innermost(r"\([^()]*\)", "", hide(text)).replace("<...>", "")
    most, stack = 0, []
    for i, c in enumerate(text):
        if c == "<":
            stack.append(bool(re.match(r"[\w:\]$\x01-\x15]", text[i - 1:i]) or re.search(r"[\x01-\x15] $", text[:i])))
            most = max(most, sum(stack))
        elif c == ">" and stack:
            stack.pop()
    return most


# ---- corpora --------------------------------------------------------------------------------------


def corpora():
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            yield os.path.basename(path), open(path, errors="surrogateescape").read().splitlines()
        return
    rust = glob.glob(os.path.expanduser("~/.rustup/toolchains/*/lib/librustc_driver-*.so")) + glob.glob("/usr/lib/*/librustc_driver-*.so")
    for name, paths in (("libLLVM", sorted(glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*"))), ("libclang", glob.glob("/usr/lib/llvm-*/lib/libclang-cpp*.so*")),
                        ("libstdc++", glob.glob("/usr/lib/*/libstdc++.so.6")), ("librustc_driver", rust),
                        ("node", [p for p in [shutil.which("node")] if p] + glob.glob("/usr/lib/*/libnode.so*"))):
        names = exported(paths[0]) if paths else []
        if not names:
            print(f"ok - {name} # SKIP not here, or without symbols")
            continue
        yield name, names[::len(names) // ENOUGH + 1]


for library, names in corpora():
    full, none = pipe([TOOL], names), pipe([TOOL, "-d", "none"], names)
    simple = pipe([TOOL, "-d", "simple", "-c"], names)
    plain = pipe(["c++filt", "-p"], names)
    check(none == names, f"{library}: {len(names)} symbols; none leaves them alone")
    check(all(simple), f"{library}: no name is empty")
    check(all(map(balanced, simple)), f"{library}: brackets are balanced", [s for s in simple if not balanced(s)])
    # What converts to a pointer to a function ends with that one's arguments, which look like its own.
    stable = [s for s in simple if not re.search(r"\boperator .*\*\)\(\)$", s)]
    again = pipe([TOOL, "-d", "simple", "-c"], stable)
    text = pipe([TOOL, "-d", "simple", "-r"], stable)
    check(again == stable and text == stable, f"{library}: simple names stay as they are when simplified again",
          [x for x in zip(stable, again, text) if len(set(x)) > 1])
    deep = [(n, s) for n, s in zip(full, simple) if depth(s)]
    check(not deep, f"{library}: simple names show no template arguments", deep)
    cut = {d: pipe([TOOL, "-t", str(d)], names) for d in (0, 1, 2, 1000)}
    check(cut[1000] == full, f"{library}: full names of any depth are full names", [x for x in zip(cut[1000], full) if x[0] != x[1]])
    wrong = [(d, c) for d in (0, 1, 2) for c in cut[d] if depth(c) > d]
    check(not wrong, f"{library}: no more levels than asked for in full names", wrong)
    some = {d: pipe([TOOL, "-d", "simple", "-c", "-t", str(d)], names) for d in (0, 1)}
    check(some[0] == simple and not [c for c in some[1] if depth(c) > 1], f"{library}: no more levels than asked for in simple names",
          [c for c in some[1] if depth(c) > 1])
    # c++filt writes std::istream out; what it does not demangle without -p is no name for us either
    pairs = [(n, re.sub(r"std::(istream|ostream|iostream|string)(?=::|$)", lambda m: "std::basic_" + m.group(1) + "<...>", s), simple_of(p))
             for n, f, s, p in zip(names, full, simple, plain)
             if n.startswith("_Z") and p != n and f != n and not re.search("17h[0-9a-f]{16}E", n)]
    differ = [x for x in pairs if x[2] is not None and x[1] != x[2]]
    if pairs:
        check(not differ, f"{library}: {len(pairs)} simple names are those of c++filt -p", differ)
sys.exit(failed)
