#!/usr/bin/env python3
"""Stacks beside what the program itself has recorded of them: a truth that is no unwinder's.

Each program writes down which functions it has entered and what they return to (truth/shadow.h), on its stack, so that each
sample has it. Of no sample may a frame be shown that was no caller, nor a caller be left out, nor "root reached" be said
before the last. How many end early, and why, is printed. The functions are generated, with frames of all kinds.

`make truth` is the long form (LONG=1): all programs, 100,000 samples and more. TRUTH_ONLY=NAME: those with that in their name."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "truth"))
import gen  # noqa: E402
import gen_go  # noqa: E402
import gen_rust  # noqa: E402
from tap import LONG, Tap, need_events  # noqa: E402

CAPTURE = os.path.join(os.environ["BIN"], "capture")
TOOL = os.path.join(os.environ["BUILD"], "tests/unwind/tool_truth")
TRUTH = os.path.join(HERE, "truth")
ONLY = os.environ.get("TRUTH_ONLY", "")
# One of each kind.
SHORT = ("code without a file, frame pointers: fp, gcc -O2 -ffixed-rbp",
         "code without a file, frame pointers: both, gcc -O2 -ffixed-rbp", "code without a file, frame pointers: none, gcc -O2 -fno-omit-frame-pointer",
         "code without a file, all kinds of callers: gcc -O2", "code without a file, signals, all kinds of callers: clang -O2 -fno-omit-frame-pointer",
         "assembly without tables, signals, all kinds of callers: gcc -O2",
         "stacks, same: gcc -O2", "stacks, alt: gcc -O2 -static", "stacks, context: gcc -O2", "stacks, fiber: gcc -O2", "Go, stripped",
         "Go and C", "exceptions being thrown: g++ -O2", "exceptions being thrown: clang++ -O2 -fno-omit-frame-pointer",
         "coroutines: g++ -O2", "coroutines: clang++ -O2", "rustc -O", "gcc -O2, hooks", "gcc -O3 -march=x86-64-v3", "gcc -O2, no unwind tables, stripped, large frames", "clang -O2, no unwind tables, stripped",
         "gcc -O2 -fno-omit-frame-pointer, stack protector, no unwind tables, stripped", "gcc -O2, two libraries", "gcc -O2, four threads", "musl-gcc -O2 -static",
         "g++ -O2, hooks", "clang++ -O2")
N = 24  # functions of a generated program
SELF = re.compile(r"(f|compare|many|thrower|tail)\d+(\..*)?$")
# What functions call before they have recorded themselves: to do that, or for a larger stack.
HOOK = re.compile(r"__cyg_profile_func_(enter|exit)$|main\.(enter|leave)$|runtime\.morestack(_noctxt)?(\.abi0)?$")
# Programs of which more stacks end early: code that nothing describes, stacks that are not in the copy, registers that libgcc
# has overwritten.
MAY_END = re.compile("exceptions|assembly|code without a file|Go and C|(?!.*-fno-omit-frame-pointer).*stripped")
# Of tool_truth; the others are reasons why stacks end.
COUNTS = ("samples", "compared", "between", "frames", "wrong", "gaps")
tap = Tap()
total, named = {}, set()


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300,
                          stdin=subprocess.DEVNULL, **kw)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def whole_of(name):
    """The function of which this is a part: gcc calls the body of a coroutine f1(..) _Z2f1PZ2f1miE13_Z2f1mi.Frame.actor, since
    version 16 _Z2f1P13_Z2f1mi.Frame.actor."""
    return re.sub(r"^(_Z2f\d)P.*", r"\1mi", name.split(".")[0])


def symbols(path, own=SELF, gap=None):
    """The lines for tool_truth of a file."""
    lines, starts = [], {}
    found = [f for f in map(str.split, run("nm", "-S", "--defined-only", path).stdout.splitlines()) if len(f) == 4 and f[2] in "tTwW"]
    for start, _, _, name in found:
        starts.setdefault(name, start)
    for start, size, _, name in found:
        kind = "h" if HOOK.match(name) else "f" if own.match(name) else "g" if gap and gap.match(name) else None
        if kind:
            lines.append(f"{kind} {start} {size} {start if name.startswith('main.') else starts.get(whole_of(name), start)} {os.path.realpath(path)}")
    return lines


def check(name, cmd, files, rate=4999, own=SELF, gap=None, least=0.8, strip=False):
    """Records and compares. `least`: this share of the samples must have a path in their copy; on a busy machine
    a tenth and more are of the loader before the program."""
    with open("symbols", "w") as f:
        f.write("\n".join(line for path in files for line in symbols(path, own, gap)) + "\n")
    if strip:
        for path in files:
            run("strip", path)
    if run(*cmd[:-1], "0").returncode:
        return tap.check(False, f"{name}: the program ends well")
    env = dict(os.environ, GODEBUG="gcshrinkstackoff=1")
    p = run(CAPTURE, "--bundle=none", "-q", "-F", str(rate), "--call-graph", "dwarf,16384", "-o", "truth.data", "--", *cmd, env=env)
    if p.returncode:
        return tap.check(False, f"{name}: it ends well when it is recorded", f"status {p.returncode}", p.stderr)
    r = run(TOOL, "truth.data", "symbols")
    n = {k: int(v) for k, v in re.findall(r"^(\w.*?):? (\d+)$", r.stdout, re.M)}
    for k, v in n.items():
        total[k] = total.get(k, 0) + v
    ends = ", ".join(f"{v} {k}" for k, v in n.items() if k not in COUNTS)
    # To end early is no wrong frame, but where the way on is known it is taken.
    rooted = 0 if LONG or "all kinds" in name else 0.4 if MAY_END.match(name) else 0.9
    # The short form's programs run for 0.2 s: of a busy machine more than half of their samples are of the loader.
    told, share = n.get("compared", 0) + n.get("between", 0), least if LONG else least / 4
    tap.check(r.returncode == 0 and told >= share * n.get("samples", 0) and told > 20 and
              n.get("root reached", 0) >= rooted * n.get("compared", 0) and (n.get("gaps", 0) > 0) == (name == "Go and C"),
              f"{name}: {n.get('compared')} of {n.get('samples')} samples, {n.get('frames')} frames: {ends}", n, r.stdout[:6000], r.stderr)
    os.remove("truth.data")


def wanted(name):
    named.add(name)
    return ONLY in name if ONLY else LONG or name in SHORT


def seconds(long=0.8, short=0.2):
    return str(long if LONG else short)


def is_built(name, cmd, empty, **kw):
    """Whether the command builds the program. A compiler that builds no `empty` one with the same flags, either, is not all there."""
    p = run(*cmd, **kw)
    if not p.returncode:
        return True
    trial = run(*empty, **kw)
    if trial.returncode:
        tap.skip(name, f"an empty program cannot be built: {trial.stderr[-300:]!r}")
    else:
        tap.check(False, f"{name}: is built", p.stderr)
    return False


def is_built_by(name, compiler, options, suffix, files):
    """As is_built(), with compilers of C and C++."""
    write(f"empty.{suffix}", "int main(void) { return 0; }\n")
    cmd = *compiler.split(), *options, "-o"
    return is_built(name, [*cmd, "program", *files], [*cmd, "empty", f"empty.{suffix}", "-lm", "-pthread"])


def generated(name, compiler, flags, seed, cxx=False, light=False, threads=0, libs=0, strip=False):
    """A generated program, in one file and `libs` shared libraries."""
    if not wanted(name):
        return
    if not shutil.which(compiler.split()[0]):
        return tap.skip(name, f"no {compiler}")
    suffix, options = "cc" if cxx else "c", [f"-I{TRUTH}", "-w", *flags]
    options += ["-DLIGHT"] if light else ["-finstrument-functions"]
    texts = gen.parts(seed, N, cxx, light, 1 + libs)
    write(f"main.{suffix}", "#define SHADOW_HOOKS\n" + gen.main_of(N, threads))
    made = []
    for k, text in enumerate(texts):
        write(f"part{k}.{suffix}", ("#define SHADOW_LIBRARY\n" if k else "") + text)
    for k in range(1, len(texts)):
        made.append(f"./libpart{k}.so")
        p = run(*compiler.split(), *options, "-shared", "-fPIC", "-o", made[-1], f"part{k}.{suffix}", "-lm")
        if p.returncode:
            return tap.check(False, f"{name}: is built", p.stderr)
    rpath = ["-Wl,-rpath," + os.getcwd(), "-rdynamic"] if libs else []
    if is_built_by(name, compiler, options, suffix, [f"main.{suffix}", f"part0.{suffix}", *made, *rpath, "-lm", "-pthread"]):
        check(name, ["./program", seconds()], ["program", *made], strip=strip)


NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions"]


def c_programs():
    seed = 0
    for compiler in "gcc", "clang":
        for flags in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-omit-frame-pointer"], ["-O2", "-static"]):
            seed += 1
            generated(f"{compiler} {' '.join(flags)}, hooks", compiler, flags, seed)
        for flags in (["-O2"], ["-O3", "-march=x86-64-v3"], ["-O2", "-fno-omit-frame-pointer"], ["-O2", "-fcf-protection=full"], ["-Os", "-static"]):
            seed += 1
            generated(f"{compiler} {' '.join(flags)}", compiler, flags, seed, light=True)
        for strip in False, True:
            seed += 1
            generated(f"{compiler} -O2, no unwind tables{', stripped' if strip else ''}", compiler, ["-O2", *NO_TABLES], seed, light=True, strip=strip)
        # Some of its functions are called by address only, or go on by tables, and have frames without a frame pointer.
        generated(f"{compiler} -O2, no unwind tables, stripped, large frames", compiler, ["-O2", *NO_TABLES], 203, light=True, strip=True)
        # As Chromium is built: many functions end in a call that does not return, and the next begins right behind it.
        lld = ["-ffunction-sections", "-fuse-ld=lld"] if compiler == "clang" else []
        for flags in (["-O2", "-fno-omit-frame-pointer"], ["-O2"], ["-O3"]):
            generated(f"{compiler} {' '.join(flags)}, stack protector, no unwind tables, stripped", compiler,
                      [*flags, "-fstack-protector-strong", *lld, *NO_TABLES], 307, strip=True)
        generated(f"{compiler} -O2, four threads", compiler, ["-O2"], seed + 100, light=True, threads=3)
        generated(f"{compiler} -O2, two libraries", compiler, ["-O2"], seed + 200, light=True, libs=2)
        generated(f"{compiler} -O2, two libraries, bound at the start", compiler, ["-O2", "-Wl,-z,now"], seed + 300, libs=2)
    generated("musl-gcc -O2 -static", "musl-gcc", ["-O2", "-static"], seed + 1, light=True)
    for compiler in "g++", "clang++":
        for flags in ["-O0"], ["-O2"], ["-O3", "-fno-omit-frame-pointer"]:
            seed += 1
            generated(f"{compiler} {' '.join(flags)}, hooks", compiler, flags, seed, cxx=True)
        generated(f"{compiler} -O2", compiler, ["-O2"], seed + 1, cxx=True, light=True)
        generated(f"{compiler} -O2, two libraries", compiler, ["-O2"], seed + 2, cxx=True, light=True, libs=2)


OWN = re.compile(r"f\d+(\..*)?$")
GO_OWN = re.compile(r"main\.f\d+$")
# What is between a function that C has called back and the one that has called C.
GO_GAP = re.compile(r"main\.(t\d+|f\d+\.func)|main\.\(\*t|runtime\.(cgocallback|cgocall|systemstack_switch|asmcgocall)|_cgoexp_|main\._Cfunc_|main\.callback$|crosscall2|_cgo_")


def source(name, compiler, flags, file, cmd, own=OWN, **kw):
    """A program that is there, in the folder truth/."""
    if not wanted(name):
        return
    if not shutil.which(compiler):
        return tap.skip(name, f"no {compiler}")
    if is_built_by(name, compiler, ["-w", f"-I{TRUTH}", *flags], "cc" if file.endswith(".cc") else "c", [os.path.join(TRUTH, file), "-pthread"]):
        check(name, ["./program", *cmd, seconds()], ["program"], own=own, **kw)


def code_without_file():
    # -ffixed-rbp: the C functions leave the frame pointer to their callers, as most of gcc 16's do.
    for flags in ["-O2"], ["-O2", "-ffixed-rbp"], ["-O2", "-fno-omit-frame-pointer"]:
        for kind in "fp", "none", "both":
            source(f"code without a file, frame pointers: {kind}, gcc {' '.join(flags)}", "gcc", flags, "jit.c", [kind])
    source("code without a file, frame pointers: both, clang -O2", "clang", ["-O2", "-fno-omit-frame-pointer"], "jit.c", ["both"])


def owners():
    """The first of "file" are of named functions; with SIGNALS, handlers do all that the program does."""
    for compiler in "gcc", "clang":
        for flags in ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-omit-frame-pointer"], ["-O2", "-ffixed-rbp"]:
            if compiler == "clang" and flags[-1] == "-ffixed-rbp":
                continue
            tails = ["-DTAILS"] if flags[0] not in ("-O0", "-O1") else []
            for where, signals in ("jit", "0"), ("file", "0"), ("jit", "1"), ("file", "1"):
                what = {"jit": "code without a file", "file": "assembly without tables"}[where] + (", signals" if signals == "1" else "")
                source(f"{what}, all kinds of callers: {compiler} {' '.join(flags)}", compiler, [*flags, *tails], "owner.c", [where, signals])


def other_stacks():
    for kind in "same", "alt", "context", "fiber":
        for flags in ["-O2"], ["-O2", "-static"], ["-O1", "-fno-omit-frame-pointer"], ["-O0"], ["-O3"], ["-Os"]:
            for compiler in "gcc", "clang":
                source(f"stacks, {kind}: {compiler} {' '.join(flags)}", compiler, flags, "signals.c", [kind])


def exceptions():
    for compiler in "g++", "clang++":
        for flags in ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-static"], ["-O2", "-fno-omit-frame-pointer"]:
            source(f"exceptions being thrown: {compiler} {' '.join(flags)}", compiler, flags, "throw.cc", [], rate=9999)


def coroutines():
    for compiler, std in ("g++", ["-std=c++20", "-fcoroutines"]), ("clang++", ["-std=c++20"]):
        for flags in ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-omit-frame-pointer"]:
            tails = ["-DTAILS"] if flags[0] not in ("-O0", "-O1") else []
            source(f"coroutines: {compiler} {' '.join(flags)}", compiler, [*std, *flags, *tails], "coro.cc", [],
                   own=re.compile(r"(_Z2f\d.*|f1\d)(\..*)?$"), least=0.5)


def go(name, text, *flags, **env):
    if not wanted(name):
        return
    if not shutil.which("go"):
        return tap.skip(name, "no go")
    uses_c = "import \"C\"" in text
    for folder, program in ("go", text), ("empty_go", "package main\n" + "import \"C\"\n" * uses_c + "func main() {}\n"):
        os.makedirs(folder, exist_ok=True)
        write(f"{folder}/main.go", program)
        write(f"{folder}/go.mod", "module truth\n")
    cmd = "go", "build", *flags, "-o"
    env = dict(os.environ, GOFLAGS="-mod=mod", **env)
    if is_built(name, ["env", "-C", "go", *cmd, "../program", "."], ["env", "-C", "empty_go", *cmd, "../empty", "."], env=env):
        # the runtime's own threads have no path
        check(name, ["./program", seconds(6)], ["program"], own=re.compile(r"main\.f\d+$|f\d+$") if uses_c else GO_OWN, gap=GO_GAP,
              least=0.6, strip=name.endswith("stripped"))


def go_programs():
    go("Go", gen_go.program(1, N))
    go("Go, stripped", gen_go.program(2, N))
    go("Go, no inlining, not optimized", gen_go.program(3, N), "-gcflags=all=-N -l")
    go("Go, linked by gcc", gen_go.program(4, N), "-buildmode=pie", "-ldflags=-linkmode=external")
    go("Go and C", gen_go.with_c())


def rust_programs():
    for flags in ["-O"], ["-O", "-Cpanic=abort", "-Cforce-unwind-tables=no"], ["-Copt-level=1"], ["-O", "-Cforce-frame-pointers=yes"]:
        name = f"rustc {' '.join(flags)}"
        if not wanted(name):
            continue
        if not shutil.which("rustc"):
            tap.skip(name, "no rustc")
            continue
        write("truth.rs", gen_rust.program(len(flags), N))
        write("empty.rs", "fn main() {}\n")
        cmd = "rustc", "-A", "warnings", *flags, "-o"
        if is_built(name, [*cmd, "program", "truth.rs"], [*cmd, "empty", "empty.rs"]):
            check(name, ["./program", seconds()], ["program"], own=OWN)


if os.uname().machine != "x86_64":
    tap.skip("truth", "the programs are for x86-64")
    tap.end()
need_events()
code_without_file()
owners()
other_stacks()
exceptions()
coroutines()
go_programs()
rust_programs()
c_programs()
tap.check(set(SHORT) <= named, "all that the short form names are there", set(SHORT) - named)
rest = ", ".join(f"{n:,} {what}" for what, n in sorted(total.items(), key=lambda x: -x[1]) if what not in COUNTS)
print(f"# figures: {total.get('samples', 0):,} samples, of which {total.get('compared', 0):,} have a path of {total.get('frames', 0):,} frames, "
      f"{total.get('wrong', 0)} wrong; {rest}")
tap.end()
