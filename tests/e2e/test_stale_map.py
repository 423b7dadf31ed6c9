#!/usr/bin/env python3
"""Perf maps that earlier processes, or programs, with the same number have left in /tmp. Truth by construction: LuaJIT writes no map, and the
one of its process, written before it runs, calls all addresses FAKE; node writes the map of its own."""
import signal

from common import *

tap = Tap()
need_events()
LUA = """local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
while os.clock() < tonumber(arg[1]) do local s = 0 for i = 1, 100000 do s = s + i % 7 end fib(10) end
"""
JS = """function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
while (process.cpuUsage().user < process.argv[2] * 1e6) fib(20)
"""
# "$@" has the number of the process that writes a map of everything, and of what becomes of it
LEAVE = 'map=/tmp/perf-$$.map; echo $$ > pid; cp all.map $map; if [ -n "$OLD" ]; then touch -d "2 days ago" $map; else sleep .5; fi; exec "$@"'
WORD = "last written before its process began"


def prepare():
    with open("work.lua", "w") as f:
        f.write(LUA)
    with open("work.js", "w") as f:
        f.write(JS)
    with open("all.map", "w") as f:
        f.writelines(f"{i << 31:x} {1 << 31:x} FAKE_{i}\n" for i in range(1 << 16))


def names(data, *options):
    """(is something called FAKE, does the program's map name functions, what is said)"""
    p = run([RESOLVE, "-f", "folded", *options, data])
    return "FAKE" in p.stdout, "fib" in p.stdout, p.stderr


def remove():
    with open("pid") as f:
        os.unlink(f"/tmp/perf-{f.read().strip()}.map")


def stale(what, record, old=True, forced=True):
    record(["sh", "-c", LEAVE, "sh", "luajit", "work.lua", "0.5"], {**os.environ, "OLD": "1" if old else ""})
    fake, _, said = names("x.data")
    tap.check(not fake and WORD in said, f"{what}: names nothing, and that is said", fake, said)
    if forced:
        tap.check(names("x.data", "--force")[0], f"{what}: --force uses it")
    return said


def by_capture(*options):
    def record(cmd, env):
        run([CAPTURE, "-q", "-F", "499", *(options or ["--bundle"]), "-o", "x.data", "--", *cmd], env=env)
    return record


def by_perf(*options):
    def record(cmd, env):
        run_env = dict(os.environ)
        os.environ.update(env)
        perf_record("-q", "-F", "499", "-g", *options, "-o", "x.data", "--", *cmd)
        os.environ.clear()
        os.environ.update(run_env)
    return record


def commands():
    stale("capture", by_capture())
    remove()
    stale("capture without a bundle", by_capture("--bundle=none"))
    remove()
    stale("written by what the process ran before exec", by_capture(), old=False)
    remove()
    stale("perf record -k mono", by_perf("-k", "mono"))
    remove()
    stale("perf record", by_perf())
    # a copy made an hour later: when it was recorded is not known
    later = os.stat("x.data").st_mtime + 3600
    os.utime("x.data", (later, later))
    tap.check(names("x.data")[0], "perf record, the file's time is not that of the recording: the map is used")
    remove()


def start(cmd, env={}, where="."):
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, env={**os.environ, **env}, cwd=where)
    until(lambda: cpu_seconds(p.pid) > 0.5, f"{cmd[-2]} to run")
    return p


def end(p):
    p.send_signal(signal.SIGKILL)
    p.wait()
    os.unlink(f"/tmp/perf-{p.pid}.map")


def attached():
    p = start(["sh", "-c", LEAVE, "sh", "luajit", "work.lua", "1000"], {"OLD": "1"})
    run([CAPTURE, "-q", "-F", "499", "--bundle", "-o", "x.data", "-p", str(p.pid), "--", *until_cpu(p.pid, 0.3)])
    fake, _, said = names("x.data")
    tap.check(not fake and WORD in said, "capture -p: names nothing", fake, said)
    perf_record("-q", "-k", "mono", "-F", "499", "-g", "-o", "y.data", "-p", str(p.pid), "--", *until_cpu(p.pid, 0.3))
    fake, _, said = names("y.data")
    tap.check(not fake and WORD in said, "perf record -k mono -p, the process runs still: names nothing", fake, said)
    end(p)
    fake, _, said = names("x.data")
    tap.check(not fake and WORD in said, "capture -p, the process has ended: names nothing", fake, said)


def true_maps():
    node = ["node", "--perf-basic-prof", "work.js"]
    for what, record in ("capture", by_capture()), ("perf record", by_perf()), ("perf record -k mono", by_perf("-k", "mono")):
        record(["sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *node, "0.7"], dict(os.environ))
        _, named, said = names("x.data")
        tap.check(named and WORD not in said, f"{what}: the map of the process itself is used", said)
        remove()
    p = start([*node, "1000"])
    time.sleep(1)  # the map is older than the recording
    run([CAPTURE, "-q", "-F", "499", "--bundle", "-o", "x.data", "-p", str(p.pid), "--", *until_cpu(p.pid, 0.3)])
    perf_record("-q", "-F", "499", "-g", "-o", "y.data", "-p", str(p.pid), "--", *until_cpu(p.pid, 0.3))
    for data in "x.data", "y.data":
        _, named, said = names(data)
        tap.check(named and WORD not in said, f"{data}: the map of a process that is attached to is used", said)
    end(p)


def users():
    """The map of another user's process is that user's, not what others put there."""
    if os.geteuid() or not have("setpriv"):
        return tap.skip("maps of other users' processes", "not root, or no setpriv")
    for owner, wanted in ((12345, True), (12346, False)):
        p = start(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", "luajit", "-e", "local s = 0 while true do for i = 1, 100000 do s = s + i % 7 end end"], where="/")
        with open(f"/tmp/perf-{p.pid}.map", "w") as f, open("all.map") as g:
            f.write(g.read())
        os.chown(f"/tmp/perf-{p.pid}.map", owner, owner)
        run([CAPTURE, "-q", "-F", "499", "--bundle", "-o", "x.data", "-p", str(p.pid), "--", *until_cpu(p.pid, 0.3)])
        end(p)
        fake, _, said = names("x.data")
        tap.check(fake == wanted, f"capture as root: a map of {'the process' if wanted else 'another'}'s user is {'' if wanted else 'not '}used", said)
    return 0


prepare()
if have("luajit"):
    commands()
    attached()
    users()
else:
    tap.skip("stale maps", "no LuaJIT")
if have("node"):
    true_maps()
else:
    tap.skip("true maps", "no node")
tap.end()
