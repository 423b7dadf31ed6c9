#!/usr/bin/env python3
"""capture --bundle: programs whose files are gone when the recording is read - deleted, replaced, in memory only, in a mount namespace that
has ended, a perf map in a container - and what must not be in a recording: the environment."""
import glob
import re
import signal
import subprocess
import sys

from common import *
from nowhere import RESOLVE_NOWHERE, elsewhere

tap = Tap()
need_events()
THREADS = build("g++", "threads.cc", "threads", "-O2", "-g", "-pthread")
SAMPLE = ["-e", "cpu-clock:u", "-F", "997"]


def record(*args, check=True):
    return run([CAPTURE, *SAMPLE, "-o", "x.data", *args], check=check)


def share(text, *names):
    """Percentage of the weight whose stack has one of these functions."""
    stacks = folded(text)
    good = sum(n for s, n in stacks.items() if any(f.startswith(names) for f in s))
    return 100 * good / max(sum(stacks.values()), 1)


def share_of(stacks, function):
    return 100 * sum(n for s, n in stacks.items() if function in s) / max(sum(stacks.values()), 1)


def beside():
    p = record("--bundle", "--", THREADS, "1", "2000")
    tap.check("bundle of" in p.stderr and "made in" in p.stderr, "the summary says what the bundle cost", p.stderr)
    a, b = run([RESOLVE, "-q", "x.data"]).stdout, elsewhere("x.data", check=False).stdout
    tap.check(a == b and "main" in a, "as beside the files", a[:300], b[:300])
    full = os.path.getsize("x.data")
    for what in "ids", "unwind", "full", "none":
        record(f"--bundle={what}", "--", THREADS, "1", "300")
        p = elsewhere("x.data", check=False)
        want = {"ids": None, "none": False, "unwind": None, "full": True}[what]
        names = "main" in p.stdout
        tap.check(want is None or names == want, f"--bundle={what}", p.stdout[:200], p.stderr[-300:])
    p = record("--bundle", "--bundle-max", "2K", "--", THREADS, "1", "300")
    tap.check(re.search(r"too large \(all of it takes --bundle-max \d+K\)", p.stderr), "--bundle-max says what it left out, and what would do", p.stderr, str(full))
    record("--bundle=ids", "--", THREADS, "1", "300")
    p = elsewhere("x.data", "--stats", check=False)
    tap.check("most of these: binary not found" in p.stderr and "code without names in threads" in p.stderr and p.stderr.count("--symfs") > 1,
              "where there are only ids the cure is the files", p.stderr[:1500])
    p = run([CAPTURE, "--bundle=full", "-o", "-", "--", "true"], check=False)
    tap.check(p.returncode == 2 and "carries no bundle" in p.stderr, "--bundle to standard output", p.stderr)


def by_id():
    """Ids decide: a file here of the same build id adds what the bundle lacks, here lines; another one at its path adds nothing."""
    prog = shutil.copy(THREADS, "prog")
    record("--bundle=unwind", "--", os.path.abspath(prog), "0.3")
    form = "-q", "-f", "script", "-F", "comm,ip,sym,srcline"
    here, there = run([RESOLVE, *form, "x.data"]).stdout, elsewhere("x.data", *form, check=False).stdout
    tap.check("threads.cc:" in here and "threads.cc:" not in there, "the file of the same build id adds lines", here[:300], there[:300])
    run(["g++", "-O1", "-g", "-pthread", os.path.join(PROGRAMS, "threads.cc"), "-o", "other"])
    os.rename("other", prog)
    now = run([RESOLVE, *form, "x.data"], check=False).stdout
    tap.check("threads.cc:" not in now and now.count("work::") == there.count("work::"), "another one at its path adds nothing", now[:300], there[:300])


def hybrid():
    """v1 and v2 side by side: a service's path is that of v2, whatever a controller of v1 says."""
    mount = next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
    group = f"{mount}/unspool-{os.getpid()}.slice"
    try:
        os.makedirs(f"{group}/web.service")
        run([CAPTURE, *SAMPLE, "-q", "--bundle", "-o", "g.data", "--", "sh", "-c", f"echo $$ > {group}/web.service/cgroup.procs && exec {THREADS} 0.3"])
        os.rmdir(f"{group}/web.service")
        os.rmdir(group)
    except (OSError, RuntimeError) as e:
        return tap.skip("cgroups of v1 and v2", f"no cgroup can be made here: {e}")
    p = run([RESOLVE, "-q", "--cgroup", "web", "--by", "cgroup", "g.data"], check=False)
    roots = {l.split(";")[0] for l in p.stdout.splitlines()}
    tap.check(roots == {f"/unspool-{os.getpid()}.slice/web.service"}, "the cgroup of a service where v1 is there, too", p.stdout[:300], p.stderr)


def processes():
    """Which cgroup a process was in is known as long as it runs."""
    with open("/proc/self/cgroup") as f:
        lines = [l.rstrip("\n").split(":", 2)[1:] for l in f]
    # A container's; what v2 and systemd say, where it is not the root; what any other controller says.
    path = max(lines, key=lambda l: (l[1] != "/" and (4 if re.search(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", l[1]) else {"": 3, "name=systemd": 2}.get(l[0], 1)), len(l[1])))[1]
    record("--bundle", "--", THREADS, "0.3")
    p = run([RESOLVE, "-q", "--by", "cgroup", "x.data"])
    roots = {l.split(";")[0] for l in p.stdout.splitlines()}
    tap.check(roots == {path}, "--by cgroup of a recording of capture", *roots, path)
    hybrid()
    p = run([RESOLVE, "-q", "--cgroup", "nonesuch", "x.data"], check=False)
    tap.check(p.returncode == 2 and "filter" in p.stderr, "--cgroup of one", p.stderr)
    record("--", THREADS, "0.2")
    p = run([RESOLVE, "-q", "--cgroup", "nonesuch", "x.data"], check=False)
    tap.check(p.returncode == 2 and "no cgroups were recorded" in p.stderr, "--cgroup where none were recorded", p.stderr)


def stacks():
    """--stacks and --every are recordings as any other."""
    for option in ["--stacks"], ["--every", "20", "--duration", "0.5"]:
        prog = shutil.copy(THREADS, "prog")
        with subprocess.Popen([os.path.abspath(prog), "1", "100000"]) as program:
            try:
                until(lambda: cpu_seconds(program.pid) > 0.1, "the program to run")
                p = subprocess.run([CAPTURE, *option, "-p", str(program.pid), "-o", "x.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            finally:
                program.kill()
        here = run([RESOLVE, "-q", "x.data"]).stdout
        os.unlink(prog)
        there = elsewhere("x.data", check=False).stdout
        tap.check("bundle of" in p.stderr and here == there and ";main" in here, f"{option[0]}: as beside the files", p.stderr, here[:300], there[:300])
        header = run([RESOLVE, "--header", "x.data"]).stdout
        tap.check(f"exe {os.path.abspath(prog)}" in header, f"{option[0]}: its program", header)
    p = subprocess.run([CAPTURE, "--stacks", "--bundle=none", "-p", str(os.getpid()), "-o", "x.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.check(p.returncode == 0 and "bundle" not in p.stderr, "--stacks --bundle=none", p.stderr)


ARGUMENTS = """
#include <string.h>
enum kind { SMALL, LARGE };
struct pair { int a, b; };
__attribute__((noinline)) int request(int id, const char *name, void *p, enum kind k, unsigned char flag) { __asm__ volatile("" ::: "memory"); return id + (int)strlen(name) + 111 + k + flag + (p != 0); }
__attribute__((noinline)) struct pair both(struct pair in, const char *none) { in.a += !none; __asm__ volatile("" ::: "memory"); return in; }
int main(void) { int sum = 0; for (int i = 0; i < 5; i++) sum += request(i, i & 1 ? "" : "nm", 0, i & 1, 'x') + both((struct pair){i, 2}, 0).a; return sum == 1; }
"""


def arguments():
    """What was recorded of arguments is shown without the file: parameters of probed functions, their types, texts that are constants."""
    with open("arguments.c", "w") as f:
        f.write(ARGUMENTS)
    for flags in ["-g", "-O1"], ["-g", "-O0"], ["-gdwarf-4", "-O2"], ["-g", "-O1", "separate"]:
        run(["gcc", "-o", "arguments", "arguments.c", *[f for f in flags if f[0] == "-"]])
        if "separate" in flags:
            run(["objcopy", "--only-keep-debug", "arguments", "arguments.debug"])
            run(["objcopy", "--strip-all", "--keep-symbol=request", "--keep-symbol=both", "--add-gnu-debuglink=arguments.debug", "arguments"])
        p = run([CAPTURE, "-e", "call:./arguments:request", "-e", "uprobe:./arguments:both", "--args", "--bundle", "-o", "a.data", "--", "./arguments"], check=False)
        if "bundle of" not in p.stderr:
            return tap.skip("arguments of probed functions", f"no probes here: {p.stderr.strip()[-200:]}")
        run([RESOLVE, "-q", "--bundle", "-o", "b.data", "a.data"])
        forms = "timeline", "script", "perfetto"
        here = [run([RESOLVE, "-q", "--event", "all", "-f", form, "a.data"]).stdout for form in forms]
        os.makedirs("away", exist_ok=True)
        for f in glob.glob("arguments*"):
            os.rename(f, f"away/{f}")
        for data in "a.data", "b.data":
            for form, want in zip(forms, here):
                there = run([RESOLVE, "-q", "--no-cache", "--event", "all", "-f", form, data]).stdout
                differ = [l for l in zip(want.splitlines(), there.splitlines()) if l[0] != l[1]]
                tap.check(want == there and "request" in want, f"arguments, {' '.join(flags)}, {form}, {data}", *differ[:3])
        os.rename("away/arguments.c", "arguments.c")
        tap.check(re.search(r'request\(id=0, name=0x\w+ "nm", p=0x0, k=SMALL, flag=120 \'x\'\) = 233', here[0]) and ' "", p' in here[0]
                  and ("in={a = 4, b = 2}" in here[0] or "-O0" in flags), f"what they are, {' '.join(flags)}", here[0][:600])


def gone():
    """Deleted while it runs, and replaced by another file at its path."""
    for what, script in (("deleted", 'cp "$1" prog && ./prog 1 1500 & sleep 0.3; rm prog; wait'),
                         ("replaced", 'cp "$1" prog && ./prog 1 1500 & sleep 0.3; cp /bin/true new; mv new prog; wait')):
        record("--bundle", "--", "sh", "-c", script, "sh", THREADS)
        p = elsewhere("x.data", check=False)
        tap.check(share(p.stdout, "main", "start_thread", "_start", "work") > 0 and "main" in p.stdout, f"a program that was {what} while it ran", p.stdout[:300], p.stderr[-300:])


def namespace():
    """A static program below a root of its own, in a mount namespace that ends with it."""
    if os.geteuid() or run(["unshare", "-m", "true"], check=False).returncode:
        return tap.skip("a vanished mount namespace", "only root may have one here")
    static = build("g++", "threads.cc", "static", "-O2", "-g", "-pthread", "-static")
    script = 'mkdir -p box && mount -t tmpfs none box && mkdir box/app && cp "$1" box/app/inner && chroot box /app/inner 1 1000'
    record("--bundle", "--", "unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", static)
    p = elsewhere("x.data", check=False)
    lines = [l for l in p.stdout.splitlines() if l.startswith("inner;")]
    named = [l for l in lines if "[inner]" not in l]
    tap.check(lines and len(named) > len(lines) / 2, "a program in a mount namespace that has ended", p.stdout[:500], p.stderr[-300:])


# Counts in code that it makes, which its perf map names; that has the number that it sees of itself.
COMPILES = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static const unsigned char code[] = {0xb8, 0x40, 0x42, 0x0f, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* counts to 1,000,000 */
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const double seconds = argc > 1 ? atof(argv[1]) : 0;
	char name[64];
	FILE *f;

	memcpy(p, code, sizeof code);
	snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
	f = fopen(name, "w");
	fprintf(f, "%lx %zx compiled_for_number_%d\\n", (unsigned long)p, sizeof code, getpid());
	fclose(f);
	while (clock() < seconds * CLOCKS_PER_SEC)
		((void (*)(void))p)();
	return 0;
}
"""


def container():
    """A process in namespaces of its own, recorded from outside by its number there, whose root and perf map are gone with it."""
    if os.geteuid() or os.uname().machine != "x86_64" or run(["unshare", "-m", "--pid", "--fork", "true"], check=False).returncode:
        return tap.skip("a perf map in a container that has ended", "only root may have namespaces here, and this is for x86-64")
    with open("compiles.c", "w") as f:
        f.write(COMPILES)
    run(["gcc", "-O1", "-g", "-static", "compiles.c", "-o", "compiles"])
    script = "mkdir -p box && mount -t tmpfs none box && mkdir -p box/tmp && cp compiles box/compiles && exec chroot box /compiles 1.5"
    for what, target in ("-p", lambda pid: ["-p", str(pid)]), ("-a", lambda pid: ["-a", "--duration", "5"]):
        with subprocess.Popen(["unshare", "-m", "--propagation", "private", "--pid", "--fork", "sh", "-c", script]) as outer:
            inner = until(lambda: next((c for c in children(outer.pid) if os.path.basename(os.readlink(f"/proc/{c}/exe")) == "compiles"), None), "the program")
            p = run([CAPTURE, *SAMPLE, "--bundle", "-o", "x.data", *target(inner)], check=False)
        header = run([RESOLVE, "--header", "x.data"]).stdout
        q = elsewhere("x.data", "--comm", "compiles", check=False)
        tap.check(share(q.stdout, "compiled_for_number_1") > 50 and "main;compiled_for_number_1" in q.stdout, f"a perf map in a container that has ended, {what}", q.stdout[:500], q.stderr[-500:], p.stderr)
        tap.check("in its container 1," in header, f"and its number there, {what}", header[-500:])


def unmounted():
    """What was mapped keeps no file system busy when its process has ended, and is named all the same. In a private mount namespace, too."""
    if os.geteuid() or run(["unshare", "-m", "true"], check=False).returncode:
        return tap.skip("unmounting while recording", "only root may mount here")
    static = build("g++", "threads.cc", "static", "-O2", "-g", "-pthread", "-static")
    script = '''mkdir -p box && mount -t tmpfs none box && cp "$1" box/mounted && box/mounted 0.4 300; {
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do umount box 2> /dev/null && echo free && exit; sleep 0.2; done; umount box; umount -l box; }'''
    for what, command in ("a file system", ["sh", "-c", script]), ("of a private mount namespace", ["unshare", "-m", "--propagation", "private", "sh", "-c", script]):
        p = record("--bundle", "--", *command, "sh", static)
        tap.check(p.stdout.strip().endswith("free"), f"unmounting while recording: {what}", p.stdout, p.stderr)
        b = elsewhere("x.data", check=False)
        lines = [l for l in b.stdout.splitlines() if l.startswith("mounted;")]
        named = [l for l in lines if "main" in l or "work::" in l]
        tap.check(len(named) > len(lines) / 2, f"it is named, {what}", b.stdout[:500], b.stderr[-300:], p.stderr)


def overwritten():
    """Builds that were copied over each other: the inode is the same, and without a build id nothing tells them apart. None gets the names
    of another."""
    builds = []
    for i in (1, 2, 3):
        with open("over.c", "w") as f:
            f.write(f"#include <time.h>\nvolatile long x;\n__attribute__((noinline)) void func_number_{i}(void) {{ for (int k = 0; k < 100000; k++) x++; }}\n"
                    "int main(void) { while (clock() < 0.3 * CLOCKS_PER_SEC) func_number_%d(); return 0; }\n" % i)
        run(["gcc", "-O1", "-g", "-Wl,--build-id=none", "over.c", "-o", f"over{i}"])
        builds.append(f"over{i}")
    p = record("--bundle", "--", "sh", "-c", "for i in 1 2 3; do cp over$i over.out; ./over.out; done")
    here, there = run([RESOLVE, "x.data"], check=False), elsewhere("x.data", check=False)
    for what, q in ("here", here), ("elsewhere", there):
        names = set(re.findall(r"func_number_\d", q.stdout))
        tap.check(not names and "[over.out]" in q.stdout, f"builds copied over each other, {what}: no name of another", names, q.stdout[:300], q.stderr)
    tap.check("over.out" in p.stderr, "the recorder says so", p.stderr)
    p = record("--bundle", "--", "sh", "-c", "cp over2 over.out; ./over.out; ./over.out")
    here, there = run([RESOLVE, "-q", "x.data"]), elsewhere("x.data", check=False)
    tap.check(here.stdout == there.stdout and "func_number_2" in here.stdout and "over.out" not in p.stderr, "one that stays is named", here.stdout[:300], there.stdout[:300], p.stderr)


def inodes_differ(p):
    """What a script says with stat: the inodes of two programs."""
    return len(set(p.stdout.split()[:2])) != 1


def named_right(what, *data):
    """Two programs that had one inode: neither has the other's function, and the second is named. Samples are in the order of time."""
    for place, p in data:
        by_pid = {}
        for stack in p.stdout.split("\n\n"):
            head = re.match(r"reused\s+(\d+)", stack)
            if head:
                by_pid.setdefault(int(head[1]), set()).update(re.findall(r"func_number_\d", stack))
        names = list(by_pid.values())
        tap.check(len(names) == 2 and names[0] <= {"func_number_1"} and names[1] == {"func_number_2"}, f"one inode, {what}, {place}", *names, p.stdout[:300], p.stderr[-500:])
        yield names


REUSES = "kill -%s $PPID; cp over1 %s; stat -c %%i %s; %s; rm %s; %s cp over2 %s; stat -c %%i %s; kill -CONT $PPID; %s"


def reused_inode():
    """A file that gets the inode of one that ran and is gone, without build ids: the kernel's generation of inodes tells them apart. The
    recorder stands still meanwhile, as on a busy machine, so that it never sees the first one."""
    app = "./reused"
    script = REUSES % ("STOP", app, app, app, app, "", app, app, app)
    for what in "--bundle", "--bundle=none":
        for _ in range(10):  # another program may get the inode
            if os.path.exists("reused"):
                os.unlink("reused")
            p = record(what, "--", "sh", "-c", script)
            if not inodes_differ(p):
                break
        else:
            return tap.skip("a file that gets the inode of one that is gone", "inodes are not used again at once here")
        form = ["-f", "script"]
        data = [("here", run([RESOLVE, *form, "x.data"], check=False))]
        if what == "--bundle":
            data.append(("elsewhere", elsewhere("x.data", *form, check=False)))
        for names in named_right(what, *data):
            tap.check(not names[0], f"{what}: no name for what nobody opened", *names)
        stats = run([RESOLVE, "--stats", "x.data"], check=False).stderr
        tap.check("its code is not what was recorded" in stats, f"{what}: --stats says why", stats[:1500])


def reused_inode_let_go():
    """The first is on a file system that is let go when it has ended: from then on its inode is free, and what is kept is a copy."""
    if os.geteuid() or not have("mkfs.ext4"):
        return tap.skip("inodes of a file system that is let go", "only root may mount here, and mkfs.ext4 is to be there")
    run(["truncate", "-s", "4M", "small.ext4"])
    run(["mkfs.ext4", "-q", "small.ext4"])
    os.makedirs("volume", exist_ok=True)
    if run(["mount", "-o", "loop", "small.ext4", "volume"], check=False).returncode:
        return tap.skip("inodes of a file system that is let go", "no file can be mounted here")
    try:
        app = "volume/reused"
        for wait in ".5", "2", "5":  # until the recorder has let it go the inode is in use
            if os.path.exists(app):
                os.unlink(app)
            p = record("--bundle", "--", "sh", "-c", REUSES % ("CONT", app, app, app, app, f"sleep {wait};", app, app, app))
            if not inodes_differ(p):
                break
        else:
            return tap.skip("inodes of a file system that is let go", "inodes are not used again at once here")
        for names in named_right("let go", ("elsewhere", elsewhere("x.data", "-f", "script", check=False))):
            tap.check(names and names[0] == {"func_number_1"}, "the one that was let go has its own name", *names)
    finally:
        run(["umount", "volume"], check=False)


def too_late():
    """A file that nobody could open while it was mapped, and that is another one now: no fault of the one that is there."""
    script = 'cp "$1" late.out; ./late.out 0.3; rm late.out; cp /bin/true late.out'
    limit = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]  # nothing is kept open
    p = run([*limit, CAPTURE, *SAMPLE, "--bundle", "-o", "x.data", "--", "sh", "-c", script, "sh", THREADS], check=False)
    tap.check("late.out: gone; the file that is there now is of another build" in p.stderr and "1 file is not in the bundle: " in p.stderr, "a file that was gone too soon", p.stderr)


def killed():
    """What was written along the way names the files by build id: they are found, and make a bundle, also of a recording that nobody ended."""
    prog = shutil.copy(THREADS, "prog")
    p = subprocess.Popen([CAPTURE, "-q", *SAMPLE, "-o", "k.data", "--", os.path.abspath(prog), "1", "100000"])
    program = None
    try:
        program = until(lambda: next(iter(children(p.pid)), None), "the program")
        # Blocks are written when they are full, or when a second has passed.
        until(lambda: os.path.exists("k.data") and os.path.getsize("k.data") > 20000, "some of the recording")
    finally:
        p.kill()
        p.wait()
        if program:
            os.kill(program, signal.SIGKILL)
    a = run([RESOLVE, "-q", "k.data"], check=False).stdout
    q = run([RESOLVE, "-q", "--bundle", "-o", "y.data", "k.data"], check=False)
    b = elsewhere("y.data", check=False)
    tap.check("main" in a and a == b.stdout, "a recording whose recorder was killed", a[:300], b.stdout[:300], q.stderr[-300:], b.stderr[-300:])
    shutil.copy("/bin/true", "new")
    os.rename("new", prog)
    p = run([RESOLVE, "k.data"], check=False)
    tap.check(share(p.stdout, "main", "work::") == 0 and "[prog]" in p.stdout, "another file at the path of one whose build id was written", p.stdout[:300], p.stderr[-300:])


def by_default():
    """Not by run(), which leaves it out."""
    p = subprocess.run([CAPTURE, *SAMPLE, "-o", "d.data", "--", THREADS, "1", "500"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tap.check("bundle of" in p.stderr and "main" in elsewhere("d.data", check=False).stdout, "a bundle is made by default", p.stderr)
    header = run([RESOLVE, "--header", "d.data"]).stdout
    lines = [l for l in header.splitlines() if l.startswith("# process :")]
    tap.check("\n# bundle : " in header and any(l.endswith(", exe " + THREADS) for l in lines), "--header says what the recording carries, and of processes their programs", header)


def inner_pid():
    """A process has another number in its container: --header says both."""
    if os.geteuid() or run(["unshare", "--pid", "--fork", "true"], check=False).returncode:
        return tap.skip("a pid namespace", "only root may have one here")
    record("--bundle", "--", "unshare", "--pid", "--fork", THREADS, "1", "3000")  # until a busy machine has looked at it
    header = run([RESOLVE, "--header", "x.data"]).stdout
    tap.check(any(", in its container 1," in l and l.endswith(THREADS) for l in header.splitlines()), "--header of a pid namespace", header)


def secrets():
    token = "SESAME" + "0123456789" * 3
    env = {**os.environ, "PLANTED": token}
    run([CAPTURE, *SAMPLE, "--no-compress", "--bundle", "-o", "x.data", "--", THREADS, "1", "800"], env=env)
    with open("x.data", "rb") as f:
        data = f.read()
    p = run([RESOLVE, "--stats=json", "-q", "x.data"])
    stats = json.loads([l for l in p.stderr.splitlines() if l.startswith("{")][0])
    tap.check(token.encode() not in data, "the environment is not in a recording", f"{data.count(token.encode())} copies")
    tap.check(stats["root"] >= 0.95 * stats["user_stacks"] > 0, "stacks are whole without it", str(stats)[:300])
    run([CAPTURE, *SAMPLE, "--no-compress", "--keep-env", "-o", "x.data", "--", THREADS, "1", "800"], env=env)
    with open("x.data", "rb") as f:
        tap.check(token.encode() in f.read(), "--keep-env keeps it")
    copied(token, env)


def copied(token, env):
    """What the program, or the loader, has copied from there to elsewhere on its stack."""
    with open("copies.c", "w") as f:
        f.write("""#include <stdlib.h>
#include <string.h>
#include <time.h>
volatile long sink;
__attribute__((noinline)) void spin(const char *copy) { for (int i = 0; i < 20000; i++) sink += copy[i & 15]; }
int main(int argc, char **argv)
{
	char room[512];
	const double seconds = atof(argv[1]);

	memset(room, 1, sizeof room);
	strcpy(room + 3, getenv("PLANTED"));
	strcpy(room + 100, getenv("PLANTED") + 7);
	while (clock() < seconds * CLOCKS_PER_SEC)
		spin(room);
	return 0;
}
""")
    run(["gcc", "-O1", "copies.c", "-o", "copies"])
    for options, want in ([], 0), (["--keep-env"], 1), (["--wall"], 0):
        p = run([CAPTURE, *(SAMPLE if "--wall" not in options else []), "--no-compress", *options, "-o", "x.data", "--", os.path.abspath("copies"), "0.2"], env=env, check=False)
        if p.returncode and options == ["--wall"]:
            tap.skip("copies of it on the stack --wall", p.stderr.strip().splitlines()[-1])
            continue
        with open("x.data", "rb") as f:
            data = f.read()
        n = sum(token[i:i + 15].encode() in data for i in range(len(token) - 15))
        tap.check(bool(n) == bool(want), f"copies of it on the stack {' '.join(options)}", n)
        if not options:
            named = run([RESOLVE, "-q", "x.data"]).stdout
            tap.check("main;spin" in named and data.count(b"." * len(token)) > 10, "they are dots, and stacks are whole", named[:300])
    # Processes that have ended when their samples are read, with a token of their own. No shell may know it: what is a shell's text, and in
    # its vector registers, is none of its environment.
    own = token[::-1]
    with open("own", "w") as f:
        f.write(own)
    with open("with.c", "w") as f:
        f.write("""#include <fcntl.h>
#include <unistd.h>
static char own[80] = "PLANTED=", *const variables[] = {own, 0};
int main(int argc, char **argv) { return read(open("own", O_RDONLY), own + 8, 64) < 15 || execve(argv[1], argv + 1, variables); }
""")
    run(["gcc", "-O1", "with.c", "-o", "with"])
    with open("script", "w") as f:
        f.write("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ./with ./copies 0.01; done\n")
    run([CAPTURE, *SAMPLE, "--no-compress", "-o", "x.data", "--", "sh", "script"], env={k: v for k, v in env.items() if k != "PLANTED"})
    with open("x.data", "rb") as f:
        data = f.read()
    n = sum(own[i:i + 15].encode() in data for i in range(len(own) - 15))
    stacks = folded(run([RESOLVE, "-q", "--comm", "copies", "x.data"]).stdout)
    tap.check(n == 0 and share_of(stacks, "main") > 50, "copies of a token that only short processes have", n, str(stacks)[:500])


def odd_secrets():
    """What an environment is must not depend on the luck of a process: one that forks and executes, code on the stack, memory that is
    new inside of execve() at addresses that are not random, one that has overwritten its environment."""
    token = "SESAME" + "0123456789abcdef" * 2
    with open("odd.c", "w") as f:
        f.write(r"""#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) static int spin(int ms) { clock_t end = clock() + ms * 1000; volatile int k = 0; while (clock() < end) k++; return k & 1; }
static void *in_thread(void *a)
{
	char b[200];
	int n = snprintf(b, sizeof b, "Authorization: %s", getenv("PLANTED"));
	int inner(int x) { return x + n + spin(x); }
	int (*volatile f)(int) = inner;
	f(200);
	return b[3] == 1 ? a : 0;
}
int main(int argc, char **argv)
{
	static char own[80] = "PLANTED=", *const variables[] = {own, 0};
	char b[200], *all;
	if (!strcmp(argv[1], "forks")) { /* the token is not on its own stack */
		int fd = open("token", O_RDONLY);
		if (read(fd, own + 8, 64) < 15) return 2;
		for (int i = 0; i < 30; i++) {
			if (!fork()) { spin(3); execle(argv[0], argv[0], "copies", (char *)0, variables); _exit(1); }
			wait(0);
		}
		return 0;
	}
	snprintf(b, sizeof b, "Authorization: %s", getenv("PLANTED"));
	if (!strcmp(argv[1], "nested")) {
		int n = argc;
		int inner(int x) { return x + n + spin(x); }
		int (*volatile f)(int) = inner;
		f(200);
		pthread_t t;
		pthread_create(&t, 0, in_thread, 0);
		pthread_join(t, 0);
	} else if (!strcmp(argv[1], "title")) {
		size_t n = 0;
		all = argv[0];
		for (char **e = environ; *e; e++) n = *e + strlen(*e) - all;
		memset(all, 0, n);
		strcpy(all, "title");
		spin(300);
	} else {
		spin(8);
	}
	return b[3] == 1;
}
""")
    run(["gcc", "-O1", "-z", "execstack", "odd.c", "-o", "odd", "-pthread"])
    with open("token", "w") as f:
        f.write(token)
    plain, planted = {k: v for k, v in os.environ.items() if k != "PLANTED"}, {**os.environ, "PLANTED": token}
    for what, options, command, env in (("a child that executes with a variable of its own", ["-F", "1999"], ["./odd", "forks"], plain),
                                        ("no random addresses", ["-F", "4999"], ["setarch", "-R", "./odd", "forks"], plain),
                                        ("an executable stack", ["-F", "499"], ["./odd", "nested"], planted),
                                        ("an environment of 800 kB", ["-F", "1999"], ["./odd", "copies"], {**planted, **{f"BIG{i}": f"{i}" + "x" * 100000 for i in range(8)}}),
                                        ("an environment that was overwritten", ["-F", "499"], ["./odd", "title"], planted)):
        p = run([CAPTURE, *options, "--no-compress", "--bundle", "-o", "x.data", "--", *command], env=env, check=False)
        with open("x.data", "rb") as f:
            data = f.read()
        unpacked = zstd_frames(data)
        n = sum(token[i:i + 15].encode() in part for part in [data, *unpacked] for i in range(len(token) - 15))
        spins = sum(n for s, n in folded(run([RESOLVE, "-q", "x.data"]).stdout).items() if "spin" in s)
        tap.check(n == 0 and spins and p.returncode == 0, f"the environment is not in a recording: {what}", n, spins, p.stderr)


def text_in_registers():
    """A register that looks like text, of a process that cannot be asked any more: it is hidden, and what is behind it in a sample is not."""
    if os.uname().machine != "x86_64":
        return tap.skip("text in registers", "this is for x86-64")
    with open("regs.c", "w") as f:
        f.write("""int main(void) { for (int i = 0; i < 200; i++)
	__asm__ volatile("movabs $0x4142434445464748, %%r15; mov $100000, %%ecx; 1: dec %%ecx; jnz 1b" ::: "r15", "ecx"); return 0; }
""")
    run(["gcc", "-O1", "regs.c", "-o", "regs"])
    run([CAPTURE, "-e", "cpu-clock:u", "-F", "1999", "--no-compress", "-o", "x.data", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ./regs; done"])
    p = run([RESOLVE, "x.data"], check=False)
    stacks = folded(p.stdout)
    with open("x.data", "rb") as f:
        shown = f.read().count(b"HGFEDCBA")
    tap.check(p.returncode == 0 and "skipped" not in p.stderr and share_of(stacks, "main") > 30, "samples with text in a register are whole", p.stderr, shown, str(stacks)[:300])


def code_beside_executable_stacks():
    """Code that a program has made is not copied where a stack may be taken for code: that is said, and only there."""
    if os.uname().machine != "x86_64":
        return tap.skip("code beside executable stacks", "this is for x86-64")
    with open("rwx.c", "w") as f:  # mov $0x20000000, %ecx; 1: dec %ecx; jne 1b; ret
        f.write("""#include <string.h>
#include <sys/mman.h>
int main(void) { static const unsigned char code[] = {0xb9, 0, 0, 0, 0x20, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	void *p = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memcpy(p, code, sizeof code); ((void (*)(void))p)(); return 0; }
""")
    for flags in [], ["-z", "execstack"]:
        run(["gcc", "-O1", *flags, "rwx.c", "-o", "rwx"])
        p = record("--", "./rwx")
        tap.check(("its stacks are executable" in p.stderr) == bool(flags), f"code without a file, {' '.join(flags) or 'plain'}: whether it is copied is said", p.stderr)


def zstd_frames(data):
    """What is packed in a file."""
    if not have("zstd"):
        return []
    out, at = [], data.find(b"\x28\xb5\x2f\xfd")
    while at >= 0:
        p = subprocess.run(["zstd", "-dcq", "--no-check"], input=data[at:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        out.append(p.stdout)
        at = data.find(b"\x28\xb5\x2f\xfd", at + 4)
    return out


def compiled_once():
    """A module with little DWARF is compiled as a whole by its first recording: a later one finds what it needs, wherever it is."""
    with open("one.c", "w") as f:
        f.write("void other(long);\nvoid here(long n) { for (volatile long i = 0; i < n; i++) ; }\n"
                "int main(int argc, char **argv) { if (argc > 1) other(80000000); else here(80000000); return 0; }\n")
    with open("two.cc", "w") as f:
        f.write('#include <map>\n#include <string>\nstd::map<std::string, int> some;\n'
                'extern "C" void other(long n) { some["a"] = 1; for (volatile long i = 0; i < n; i++) ; }\n')
    run(["gcc", "-O1", "-g", "-c", "one.c"])
    run(["g++", "-O1", "-g", "one.o", "two.cc", "-o", "units"])
    env = {**os.environ, "XDG_CACHE_HOME": os.path.abspath("once")}
    n = run(["readelf", "-n", "units"]).stdout.split("Build ID: ")[1].split()[0]
    seen = []
    for args in [], ["other"]:
        run([CAPTURE, "-q", *SAMPLE, "--bundle", "-o", "x.data", "--", "./units", *args], env=env)
        seen.append([(f, os.stat(f"once/unspool/{f}").st_ino) for f in sorted(os.listdir("once/unspool")) if f.startswith(n)])
    named = elsewhere("x.data", "-f", "script", "-F", "ip,sym,srcline", check=False).stdout
    tap.check(seen[0] and seen[0] == seen[1] and "two.cc:4" in named, "a module with little DWARF is compiled once", *seen, named[:300])


def reused_number():
    """Two processes, one after the other, have the same number: each has its own cgroup, at its own time."""
    roots = [l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2" or (l.split()[2] == "cgroup" and "name=systemd" in l.split()[3])]
    groups = []
    try:
        for name in ("one", "two"):
            groups.append(f"{roots[0]}/unspool-test-{os.getpid()}-{name}")
            os.mkdir(groups[-1])
    except (OSError, IndexError) as e:
        for g in groups:
            if os.path.isdir(g):
                os.rmdir(g)
        return tap.skip("a number that two processes have", f"no cgroup can be made here: {e}")
    with open("reused.c", "w") as f:
        f.write(r"""
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void works(const char *group)
{
	char path[4096];
	FILE *f;
	snprintf(path, sizeof path, "%s/cgroup.procs", group);
	f = fopen(path, "w");
	if (!f || fprintf(f, "0") < 0 || fclose(f))
		_exit(1);
	/* The same work in both, whatever a machine takes for it. */
	for (unsigned long i = 0, x = 1; i < 300000000; i++) {
		x = x * 6364136223846793005UL + 1;
		__asm__ volatile("" : "+r"(x));
	}
	_exit(0);
}
int main(int argc, char **argv)
{
	pid_t pid = fork();
	struct clone_args a = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
	int status;
	if (!pid)
		works(argv[argc - 2]);
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	switch (syscall(SYS_clone3, &a, sizeof a)) {
	case -1: return 2;
	case 0: works(argv[argc - 1]);
	}
	return waitpid(pid, &status, 0) != pid || status;
}
""")
    run(["gcc", "-O1", "reused.c", "-o", "reused"])
    p = run([CAPTURE, "-F", "499", "--bundle", "-o", "x.data", "--", "./reused", *groups], check=False)
    for g in groups:
        os.rmdir(g)
    if p.returncode == 2:
        return tap.skip("a number that two processes have", "clone3 may not choose a number here")
    found = {}
    for line in run([RESOLVE, "-q", "--by", "cgroup", "x.data"], check=False).stdout.splitlines():
        who = line.split(";")[0].rsplit("-", 1)[-1]
        found[who] = found.get(who, 0) + int(line.rsplit(" ", 1)[1])
    total = sum(found.values())
    tap.check(total > 0 and all(0.3 * total < found.get(g, 0) < 0.7 * total for g in ("one", "two")), "a number that two processes have, one after the other: the cgroup of each", found, p.stderr)
    shown = [l for l in run([RESOLVE, "-q", "--header", "x.data"], check=False).stdout.splitlines() if "process : pid" in l and "unspool-test" in l]
    tap.check(len(shown) == 2 and "@" not in "".join(shown), "--header has both", shown)


if not RESOLVE_NOWHERE:
    tap.skip("recordings that carry their files", "no root of its own can be entered here")
    sys.exit(0)
beside()
by_id()
compiled_once()
processes()
stacks()
arguments()
gone()
namespace()
container()
unmounted()
overwritten()
reused_inode()
reused_inode_let_go()
too_late()
by_default()
inner_pid()
reused_number()
killed()
secrets()
odd_secrets()
text_in_registers()
code_beside_executable_stacks()
