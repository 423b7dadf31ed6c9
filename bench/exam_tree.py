"""exam_tree.py - generated programs, and what people do to a program's call tree without making it slower. Of `make exam-regress`.

A seed is a program: 22 to 34 functions in three files, which work by themselves, call each other, or both. Each kind of change is one that a
commit or a build makes at a place that the seed picks; the work is the same or less. KINDS has those, SLOWER the same with a function that is
really slower, for a gate must still see it. Work is a chain of multiplications, which compilers cannot shorten: another compiler or -O3
leaves its time alone."""
import copy
import os
import random
import subprocess

ROUND = 20000  # steps of work in a round


class Function:
    def __init__(self, name, work, calls=()):
        self.name, self.work, self.calls = name, work, list(calls)
        self.tail = False    # does its last call end it?
        self.inline = False  # is it part of its callers?
        self.static = False
        self.alone = True    # not inlined


def generate(seed):
    """{name: Function}; "serve" is the first and calls all others, each once a round."""
    rng = random.Random(seed)
    names = [f"{verb}_{noun}" for verb in ("parse", "check", "hash", "find", "copy", "emit", "load") for noun in ("node", "name", "list", "key", "page", "block")]
    rng.shuffle(names)
    out = {"serve": Function("serve", 0)}
    leaves = rng.randint(14, 22)
    weights = [1 / (i + 1) ** rng.uniform(.6, 1) for i in range(leaves)]
    for weight in weights:
        f = Function(names.pop(), int(ROUND * weight / sum(weights)))
        out[f.name] = f
    inner = []
    for _ in range(rng.randint(6, 10)):
        f = Function(names.pop(), rng.choice((0, 0, rng.randint(20, 900))))
        f.tail = rng.random() < .3
        out[f.name] = f
        inner.append(f)
    # Each inner function is called by an earlier one, each leaf by any: a tree.
    for i, f in enumerate(inner):
        rng.choice([out["serve"], *inner[:i]]).calls.append(f.name)
    callers = [out["serve"], *inner]
    for f in list(out.values()):
        if f not in callers:
            f.static = rng.random() < .3
            f.alone = rng.random() < .8
            rng.choice(callers).calls.append(f.name)
    for f in inner:
        if not f.calls:
            f.work = max(f.work, 300)
            f.tail = False
    return out


def below(program, name):
    """The names of what a function calls, with itself."""
    found = [name]
    for f in found:
        found += program[f].calls
    return set(found)


def time_of(program, name):
    return sum(program[f].work for f in below(program, name))


def caller_of(program, name):
    return next(f for f in program.values() if name in f.calls)


# ---- changes: each gets a copy of the program, and returns what it names ---------------------------------------------------------


def pick_leaf(program, rng, least=.03, most=1):
    leaves = [f for f in program.values() if not f.calls and least * ROUND <= f.work <= most * ROUND and not f.inline]
    return rng.choice(leaves) if leaves else max((f for f in program.values() if not f.calls), key=lambda f: f.work)


def pick_any(program, rng, least=.03, most=.5):
    some = [f for f in program.values() if f.name != "serve" and least * ROUND <= time_of(program, f.name) <= most * ROUND]
    return rng.choice(some) if some else pick_leaf(program, rng)


def move(program, rng, f):
    """Another function calls it."""
    old = caller_of(program, f.name)
    others = [g for g in program.values() if g.name not in below(program, f.name) and g is not old and (g.calls or g.work > 200)]
    new = rng.choice(others)
    old.calls.remove(f.name)
    if not old.calls:
        old.tail = False
    new.calls.insert(rng.randint(0, len(new.calls)), f.name)
    return new


def moved_call(program, rng):
    f = pick_any(program, rng)
    return [f.name, move(program, rng, f).name]


def tail_call(program, rng):
    able = [f for f in program.values() if f.calls and f.name != "serve"]
    chosen = rng.sample(able, min(3, len(able)))
    for f in chosen:
        f.tail = not f.tail
    return [f.name for f in chosen]


def rename(program, f, name):
    caller = caller_of(program, f.name)
    caller.calls[caller.calls.index(f.name)] = name
    del program[f.name]
    f.name = name
    program[name] = f


def replaced(program, rng):
    f = pick_leaf(program, rng)
    f.work = int(f.work * rng.uniform(.3, .8))
    rename(program, f, f.name + "_fast")
    return [f.name]


def merged(program, rng):
    """Two leaves of one caller become one."""
    able = [(f, a, b) for f in program.values() for a in f.calls for b in f.calls if a < b and not program[a].calls and not program[b].calls
            and program[a].work + program[b].work > .03 * ROUND]
    if not able:
        return replaced(program, rng)
    f, a, b = rng.choice(able)
    both = Function(f"{a}_and_{b}", int((program[a].work + program[b].work) * rng.uniform(.8, 1)))
    f.calls[f.calls.index(a)] = both.name
    f.calls.remove(b)
    del program[a], program[b]
    program[both.name] = both
    return [both.name]


def split(program, rng):
    """A leaf becomes two, or keeps its name and calls two new ones."""
    f = pick_leaf(program, rng)
    first = Function(f.name + "_first", int(f.work * rng.uniform(.2, .7)))
    second = Function(f.name + "_second", f.work - first.work)
    program.update({first.name: first, second.name: second})
    if rng.random() < .5:
        f.work, f.calls = 0, [first.name, second.name]
        f.tail = rng.random() < .5
    else:
        caller = caller_of(program, f.name)
        at = caller.calls.index(f.name)
        caller.calls[at:at + 1] = [first.name, second.name]
        del program[f.name]
    return [first.name, second.name]


def renamed(program, rng):
    f = pick_leaf(program, rng)
    new = move(program, rng, f)
    rename(program, f, "do_" + f.name)
    return [f.name, new.name]


def wrapper(program, rng):
    f = pick_any(program, rng)
    caller = caller_of(program, f.name)
    g = Function("with_" + f.name, 0, [f.name])
    g.tail = rng.random() < .3
    caller.calls[caller.calls.index(f.name)] = g.name
    program[g.name] = g
    return [g.name]


def inlined(program, rng):
    f = pick_any(program, rng)
    f.inline = True
    return [f.name]


def outlined(program, rng):
    f = pick_leaf(program, rng)
    g = Function(f.name + "_slowpath", int(f.work * rng.uniform(.3, 1)))
    f.work -= g.work
    f.calls = [g.name]
    f.tail = rng.random() < .5
    program[g.name] = g
    return [g.name]


def same(_program, _rng):
    return []


def slower(program, rng, f, least, most):
    f.work = int(f.work * rng.uniform(least, most)) + 1
    return [f.name]


def replaced_by_slower(program, rng):
    f = pick_leaf(program, rng, .08, .3)
    slower(program, rng, f, 1.6, 2)
    rename(program, f, f.name + "_safe")
    return [f.name]


def moved_and_slower(program, rng):
    f = pick_leaf(program, rng, .08, .3)
    move(program, rng, f)
    return slower(program, rng, f, 1.6, 2)


def one_slower_one_faster(program, rng):
    """The whole is not faster by more than what became slower costs."""
    f = pick_leaf(program, rng, .08, .3)
    slower(program, rng, f, 1.6, 2)
    others = [g for g in program.values() if g is not f and not g.calls and g.work >= .06 * ROUND]
    g = rng.choice(others)
    g.work = int(g.work * .3)
    return [f.name]


# {kind: (the change, compiler and flags)}
GCC = ("gcc", "-O2")
KINDS = {"moved call": (moved_call, GCC), "tail call": (tail_call, GCC), "replaced by faster": (replaced, GCC), "merged": (merged, GCC), "split": (split, GCC),
         "renamed, other caller": (renamed, GCC), "wrapper": (wrapper, GCC), "inlined": (inlined, GCC), "outlined": (outlined, GCC),
         "other compiler": (same, ("clang", "-O2")), "-O3": (same, ("gcc", "-O3")), "LTO": (same, ("gcc", "-O2", "-flto"))}
SLOWER = {"replaced by slower": (replaced_by_slower, GCC), "moved and slower": (moved_and_slower, GCC), "one slower, one faster": (one_slower_one_faster, GCC)}


# ---- C -----------------------------------------------------------------------------------------------------------------------------


def statement(program, name):
    return f"{{ uint64_t x_ = x; {body(program, program[name])} }}" if program[name].inline else f"x += {name}(x);"


def body(program, f):
    """The statements of a function; f.tail: its last call ends it."""
    out = [f"WORK({f.work}, {2 * (len(f.name) * 131 + ord(f.name[-1])) + 1});"] if f.work else []
    calls = [statement(program, name) for name in f.calls]
    if f.tail and not f.inline and f.calls and not program[f.calls[-1]].inline:
        return " ".join([*out, *calls[:-1], f"return {f.calls[-1]}(x + 1);"])
    return " ".join([*out, *calls, "x += 3;"])


HEAD = """#include <stdint.h>
#define WORK(n, k) for (long i_ = 0; i_ < (n); i_++) x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u + (k)
#define ALONE __attribute__((noinline))
"""


def sources(program, seed):
    """Three texts of C. Static functions are in the file of their caller."""
    files = [[], [], []]
    where = {}
    for name in sorted(program):
        where[name] = random.Random(f"{seed}{name}").randrange(3)
    for _ in program:  # a static or inlined function may be called by one that was moved to its own caller's file
        for f in program.values():
            for name in f.calls:
                if program[name].static or program[name].inline:
                    where[name] = where[f.name]
    for f in program.values():
        if f.inline:
            continue
        local = "static " if f.static and not f.calls else ""
        alone = "ALONE " if f.alone or f.name == "serve" else ""
        files[where[f.name]].append(f"{local}{alone}uint64_t {f.name}(uint64_t x)\n{{ {body(program, f)} return x; }}\n")
    declared = "".join(f"{'static ' if f.static and not f.calls else ''}uint64_t {f.name}(uint64_t x);\n" for f in program.values() if not f.inline and not (f.static and not f.calls))
    texts = []
    for i, parts in enumerate(files):
        own = "".join(f"static uint64_t {f.name}(uint64_t x);\n" for f in program.values() if f.static and not f.calls and not f.inline and where[f.name] == i)
        texts.append(HEAD + declared + own + "".join(parts))
    texts[0] += "#include <stdio.h>\n#include <stdlib.h>\nint main(int c, char **v) { uint64_t x = 1; for (long r = c > 1 ? atol(v[1]) : 1000; r; r--) x = serve(x); printf(\"%lu\\n\", (unsigned long)x); return 0; }\n"
    return texts


def build(folder, seed, kind=None):
    """Builds folder/kind/prog; returns (its path, the names that the change touched)."""
    how, flags = {**KINDS, **SLOWER}.get(kind, (same, GCC))
    program = copy.deepcopy(generate(seed))
    touched = how(program, random.Random(f"{seed}{kind}"))
    debug = ["-g"] if random.Random(f"debug{seed}").random() < .7 else []
    where = os.path.join(folder, (kind or "base").replace(" ", "-"))
    os.makedirs(where, exist_ok=True)
    for i, text in enumerate(sources(program, seed)):
        with open(f"{where}/part{i}.c", "w") as f:
            f.write(text)
    subprocess.run([*flags, *debug, "-w", "-o", "prog", "part0.c", "part1.c", "part2.c"], cwd=where, check=True)
    return os.path.join(where, "prog"), touched
