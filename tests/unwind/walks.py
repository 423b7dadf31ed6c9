"""walks.py - what the comparisons with gdb share: runs of gdb_walk.py, recordings made of them, classes of frames."""
import os
import pickle
import subprocess
from collections import Counter

from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
RESOLVE = os.path.join(os.environ["BIN"], "resolve")
TOOL = os.path.join(os.environ["BUILD"], "tests/unwind/tool_unwind")
STACK_BYTES = 16384
report = Tap().check


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **kw)


def build_id(path):
    for line in run("readelf", "-nW", path).stdout.splitlines():
        if "Build ID:" in line:
            return line.split()[-1]
    return None


class Map:
    """A line of /proc/PID/maps."""

    def __init__(self, line):
        f = line.split()
        self.start, self.end = (int(x, 16) for x in f[0].split("-"))
        self.perms, self.pgoff, self.path = f[1], int(f[2], 16), f[5] if len(f) > 5 else ""
        self.is_code = "x" in self.perms


class Walk:
    """Points of one run of a program under gdb: [(registers, stack, frames)], and its maps."""

    def __init__(self, gdb, program, tag, **env):
        """What env is for stands in gdb_walk.py."""
        maps, out = os.path.abspath(tag + ".maps"), os.path.abspath(tag + ".pickle")
        env = dict(os.environ, WALK_PROGRAM=program, WALK_MAPS=maps, WALK_OUT=out, **{"WALK_" + k.upper(): v for k, v in env.items()})
        r = run(gdb, "-nx", "-q", "-batch", "-x", os.path.join(HERE, "gdb_walk.py"), env=env, timeout=200)
        if not os.path.exists(out):
            raise RuntimeError(r.stdout[-1000:] + r.stderr[-3000:])
        with open(out, "rb") as f:
            self.points = pickle.load(f)
        with open(maps) as f:
            self.maps = [Map(line) for line in f]

    def map_of(self, ip):
        return next((m for m in self.maps if m.start <= ip < m.end), None)

    def code_files(self):
        return sorted({m.path for m in self.maps if m.is_code and m.path.startswith("/")})


def resolve(data, *options, env=None):
    """[[(address, name)]] and what went to stderr."""
    r = run(RESOLVE, "-f", "script", "--no-inline", "--no-demangle", *options, data, env=env)
    samples = []
    for line in r.stdout.splitlines():
        if line.startswith("\t"):
            address, rest = line.split(None, 1)
            samples[-1].append((int(address, 16), rest.rsplit(" (", 1)[0].split("+0x")[0]))
        elif line.strip():
            samples.append([])
    return samples, r.stderr


def check_short_cuts(name, data, most, env=None, excused=lambda stack: False):
    """The walk that carries only a few registers must give what the one that carries all gives, frame by frame, with the
    same stop, and be enough for all but `most` of the stacks and those that are excused."""
    for options in ([], ["guess"]):
        fast, full = (run(TOOL, data, method, *options, env=env) for method in ("cfi", "full"))
        a, b = (r.stdout.split("S ")[1:] for r in (fast, full))
        bad = [(x, y) for x, y in zip(a, b) if x != y]
        report(len(a) > 0 and len(a) == len(b) and not bad, f"{name}: {len(a)} stacks are the same with all registers {options}",
               f"{len(a)} {len(b)} {len(bad)}\n" + "\n".join(map(str, bad[:3])))
        # "how many took all registers, of how many"
        (some, n), (every, _) = (map(int, r.stderr.split()[-2:]) for r in (fast, full))
        report(some <= most * n + sum(map(excused, a)) and every == n > 0, f"{name}: {some} of {n} stacks take all registers {options}", f"{some} {every} {n}")


def looked_up(frames):
    """gdb's frames with the address that belongs to the call."""
    exact = [i == 0 or frames[i - 1][2] or frames[i][2] for i in range(len(frames))]
    return [(pc - (not e), name) for (pc, name, _), e in zip(frames, exact)]


class Aliases:
    """Names that the symbol tables have for one address; gdb and resolve choose differently among them."""

    def __init__(self, paths):
        self.at = {}
        for path in paths:
            for option in ("-n", "-D"):
                for line in run("nm", option, path).stdout.splitlines():
                    f = line.split(None, 2)
                    if len(f) == 3 and f[1] in "TtWwiV":
                        self.at.setdefault(self.plain(f[2]), set()).add((path, f[0]))

    @staticmethod
    def plain(name):
        """Without version, and without what the compiler adds to clones, which gdb cuts off."""
        return name.split("@")[0].split(".part")[0].split(".constprop")[0]

    def same(self, ours, gdbs):
        a, b = self.plain(ours), self.plain(gdbs)
        return a == b or bool(self.at.get(a, set()) & self.at.get(b, set()))


class Judge:
    """Sorts points into classes. `explain(ours, gdbs, same)`, for points where gdb and resolve differ: the name of a
    class, or None. `same`: how many frames are equal from the leaf on."""

    def __init__(self, walk, samples, explain):
        self.walk, self.classes, self.bad = walk, Counter(), []
        gdbs = [looked_up(p[2]) for p in walk.points]
        equal = [[a for a, _ in us] == [a for a, _ in them] and them[-1][1] == "_start" for us, them in zip(samples, gdbs)]
        # name -> [(number of the point, addresses of its callers)], where gdb agrees
        self.callers = {}
        for i, us in enumerate(samples):
            for j, (_, name) in enumerate(us if equal[i] else []):
                self.callers.setdefault(name, []).append((i, [a for a, _ in us[j + 1:]]))
        for self.point, us in enumerate(samples):
            them = gdbs[self.point]
            same = next((i for i, (a, b) in enumerate(zip(us, them)) if a[0] != b[0]), min(len(us), len(them)))
            c = "equal" if equal[self.point] else explain(self, us, them, same)
            self.classes[c] += 1
            if not c:
                self.bad.append((self.point, [(hex(a), n) for a, n in us], [(hex(a), n) for a, n in them]))

    def has_nearest_callers(self, us, i):
        """Is frame i called as at the nearest point with this function where gdb got to the root?"""
        known = self.callers.get(us[i][1], [])
        return bool(known) and min(known, key=lambda c: abs(c[0] - self.point))[1] == [a for a, _ in us[i + 1:]]


def wrong_names(walk, samples):
    """How many were compared, and the pairs that differ."""
    aliases, bad, n = Aliases(walk.code_files()), Counter(), 0
    for us, (_, _, frames) in zip(samples, walk.points):
        gdbs = looked_up(frames)
        if gdbs[-1][1] != "_start" or len(us) != len(gdbs):
            continue
        for (_, ours), (_, theirs) in zip(us, gdbs):
            # gdb has no names for stubs, and takes those of data for code that has none. binutils 2.44 takes the entries of a
            # PLT with BTI for 16 bytes long: their names are the matter of tests/symbolize/test_plt.py.
            if ours == "[unknown]" or not theirs or "@got" in theirs or ours.endswith("@plt") and theirs.endswith("@plt"):
                continue
            n += 1
            if not aliases.same(ours, theirs):
                bad[ours, theirs] += 1
    return n, bad


def check(name, walk, samples, explain, floor):
    """The two checks of every walk. Returns the classes."""
    judge = Judge(walk, samples, explain)
    print(f"# {name}: {dict(judge.classes)}")
    report(len(samples) == len(walk.points) >= floor and not judge.bad, f"{name}: frames of {len(samples)} points are gdb's",
           f"{judge.classes} {len(samples)} {len(walk.points)}\n" + "\n".join(map(str, judge.bad[:3])))
    n, bad = wrong_names(walk, samples)
    report(n > 2 * floor and not bad, f"{name}: names of {n} frames are gdb's", bad)
    return judge.classes
