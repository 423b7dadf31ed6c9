#!/usr/bin/env python3
"""The sandbox of resolve and regress: code that misbehaves in the middle of a parser (evil.c) can neither write elsewhere, connect, execute
nor signal, with --no-sandbox it can; and everything that is not evil still works, with the same bytes."""
import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import time

from tap import NO_EVENTS, Tap

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
SAN = "asan" in subprocess.run(["ldd", f"{BIN}/resolve"], capture_output=True, text=True, check=False).stdout
tap = Tap()
os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
FORMATS = ["folded", "flamegraph", "html", "top", "script", "pprof", "speedscope", "jsonl"]


def run(*args, env=None, **kw):
    p = subprocess.run(args, stdin=kw.pop("stdin", subprocess.DEVNULL), stdout=kw.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, timeout=100, check=False, env={**os.environ, **(env or {})}, **kw)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def resolve(*args, **kw):
    return run(f"{BIN}/resolve", *args, **kw)


def lacking():
    """What this kernel lacks, as resolve says it."""
    with open("one.folded", "w", encoding="utf-8") as f:
        f.write("c;main;f 1\n")
    return resolve("-v", "one.folded")[2].strip()


LACKS = lacking()


# ---- the helper ------------------------------------------------------------------------------------------------------
def children(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as f:
                found += [name] if f.read().rsplit(")", 1)[1].split()[1] == str(pid) else []
        except OSError:
            pass
    return found


def descriptors_of_helper():
    """Those with high numbers, too, are not kept: whoever waits for the end of a pipe waits for all who have it."""
    ends = os.pipe()
    os.dup2(ends[1], 200, inheritable=True)
    p = subprocess.Popen([f"{BIN}/resolve", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[200])
    links = []
    for _ in range(1000):  # until it has closed them
        try:
            links = [[os.readlink(f"/proc/{c}/fd/{n}") for n in os.listdir(f"/proc/{c}/fd")] for c in children(p.pid)]
        except OSError:
            links = []
        if links and not any(link.startswith("pipe:") for link in links[0]):
            break
        time.sleep(0.02)
    kept = os.path.exists(f"/proc/{p.pid}/fd/200")
    p.stdin.close()
    p.wait()
    for fd in (*ends, 200):
        os.close(fd)
    tap.check(kept and len(links) == 1 and len(links[0]) == 4 and not any(link.startswith("pipe:") for link in links[0]), "the helper has none of the files of who has started resolve", links)


descriptors_of_helper()


# ---- code that misbehaves --------------------------------------------------------------------------------------------
def evil_environment(victim):
    target = subprocess.Popen([sys.executable, "-c", "import signal,time;signal.signal(signal.SIGUSR1, lambda *a: print('signalled', flush=True));print(hex(id(1)), flush=True);time.sleep(100)"],
                              stdout=subprocess.PIPE, text=True)
    address = target.stdout.readline().strip()
    tcp = socket.create_server(("127.0.0.1", 0))
    local = socket.socket(socket.AF_UNIX)
    local.bind("local.socket")
    local.listen()
    os.mkdir("elsewhere")
    return target, (tcp, local), {
        "LD_PRELOAD": os.path.abspath("evil.so"), "EVIL_VICTIM": os.path.abspath(victim), "EVIL_PID": str(target.pid), "EVIL_ADDRESS": address,
        "EVIL_PORT": str(tcp.getsockname()[1]), "EVIL_SOCKET": os.path.abspath("local.socket")}


def attempts(err):
    return dict(re.findall(r"^EVIL (.*): (.*)$", err, re.M))


def renew(victim):
    for name in os.listdir("elsewhere"):
        os.unlink(f"elsewhere/{name}") if not os.path.isdir(f"elsewhere/{name}") else os.rmdir(f"elsewhere/{name}")
    with open(victim, "w", encoding="utf-8") as f:
        f.write("precious")
    os.chmod(victim, 0o600)


VICTIM = "elsewhere/victim"
if SAN or not hasattr(signal, "SIGUSR1") or subprocess.run(["cc", "-D_GNU_SOURCE", "-w", "-shared", "-fPIC", "-o", "evil.so", f"{TOP}/tests/base/evil.c", "-ldl"], check=False).returncode:
    tap.skip("code that misbehaves", "a sanitizer's own checks need what it would be refused")
elif LACKS:
    tap.skip("code that misbehaves", LACKS)
else:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it signals the group
    target, sockets, env = evil_environment(VICTIM)
    os.mkdir("out")
    with gzip.open("in.folded.gz", "wb") as f:
        f.write(b"c;main;f 1\n" * 1000)
    COMMANDS = {
        "resolve": [f"{BIN}/resolve", "in.folded.gz", "-o", "out/o.folded"],
        "resolve to a pipe": [f"{BIN}/resolve", "in.folded.gz"],
        "resolve, which may fetch": [f"{BIN}/resolve", "--debuginfod=full", "in.folded.gz"],  # another process has the network
        "regress": [f"{BIN}/regress", "--base", "in.folded.gz", "--new", "in.folded.gz", "--json", "out/j", "-q"],
    }
    for what, command in COMMANDS.items():
        renew(VICTIM)
        code, out, err = run(*command, env=env, start_new_session=True)
        done = [name for name, result in attempts(err).items() if result == "done"]
        with open(VICTIM, encoding="utf-8") as f:
            intact = f.read() == "precious" and os.listdir("elsewhere") == ["victim"] and os.stat(VICTIM).st_mode & 0o777 == 0o600
        tap.check(code in (0, 1) and len(attempts(err)) >= 25 and not done and intact, f"{what}: of {len(attempts(err))} attempts in the middle of reading none succeeds, and the output is written",
                  f"status {code}, done: {done}\n{err}")
        renew(VICTIM)
        code, out, err = run(*command, "--no-sandbox", env=env, start_new_session=True)
        done = [name for name, result in attempts(err).items() if result == "done"]
        tap.check(len(done) >= 10 and {"write to a file", "execute", "connect by TCP", "signal another process"} <= set(done), f"{what}: --no-sandbox: {len(done)} succeed, so the attempts are real", err)
    target.kill()
    target.wait()

# ---- what is not evil ------------------------------------------------------------------------------------------------
if NO_EVENTS:
    tap.skip("recordings", NO_EVENTS)
    tap.end()
subprocess.run([f"{BIN}/capture", "--bundle=none", "-q", "-F", "999", "-o", "c.data", "--", sys.executable, "-c", "sum(i * i for i in range(1000000))"], check=True)
for name in FORMATS:
    a, b = resolve("-f", name, "-o", f"a.{name}", "c.data"), resolve("--no-sandbox", "-f", name, "-o", f"b.{name}", "c.data")
    same = a[0] == b[0] == 0 and open(f"a.{name}", "rb").read() == open(f"b.{name}", "rb").read()
    tap.check(same, f"{name}: the same bytes as without a sandbox", a[2] + b[2])
code, out, err = resolve("--verify-unwind", "c.data")
tap.check(code == 0 and "the same frames" in err, "--verify-unwind", err)
with open("c.data", "rb") as f:
    code, out, err = resolve("-", stdin=f)
tap.check(code == 0 and out == resolve("c.data")[1], "standard input", err)
with open("c.data", "rb") as data:
    feed = subprocess.Popen(["cat"], stdin=data, stdout=subprocess.PIPE)
    code, out, err = resolve("-", stdin=feed.stdout)
    tap.check(code == 0 and out == resolve("c.data")[1], "a pipe", err)
    feed.wait()
with open("to.folded", "wb") as f:
    code, _, err = resolve("-o", "/dev/stdout", "-f", "folded", "c.data", stdout=f)
tap.check(code == 0 and os.path.getsize("to.folded") == os.path.getsize("a.folded"), "-o /dev/stdout that is a file", err)
os.mkfifo("fifo")
with open("from.fifo", "wb") as f:
    reader = subprocess.Popen(["cat", "fifo"], stdout=f)
code, _, err = resolve("-o", "fifo", "-f", "folded", "c.data")
reader.wait()
tap.check(code == 0 and open("from.fifo", "rb").read() == open("a.folded", "rb").read(), "-o FIFO", err)
os.makedirs("d", exist_ok=True)
os.symlink("d/target.folded", "link.folded")
code, _, err = resolve("-o", "link.folded", "c.data")
tap.check(code == 0 and os.path.getsize("d/target.folded"), "-o LINK into another folder", err)
code, _, err = resolve("-o", "no/such/o.folded", "c.data")
tap.check(code == 2 and "no/such/o.folded" in err, "-o in a folder that is not there: as without", err)
before = set(os.listdir("cache/unspool"))
tap.check(any(n.endswith(".dwarf") for n in before) or "kernel.symbols" in before, "the cache is written", before)
if os.geteuid() == 0:
    os.mkdir("theirs")
    os.chown("theirs", 12345, 12345)
    code, _, err = resolve("-o", "theirs/o.folded", "c.data")
    tap.check(code == 0 and os.path.getsize("theirs/o.folded"), "root writes into a user's folder", err)
    os.chown("theirs/o.folded", 12345, 12345)
    code, _, err = resolve("-o", "theirs/o.folded", "c.data")
    st = os.stat("theirs/o.folded")
    tap.check(code == 0 and (st.st_uid, st.st_mode & 0o777) == (12345, 0o600), "the owner of a file that is replaced stays", f"{err} {st}")
    # A program in a container: its file is in a mount namespace, and reached through /proc/PID/root.
    with open("spin.c", "w", encoding="utf-8") as f:
        f.write("volatile unsigned long n; __attribute__((noinline)) void spinning_here(void) { for (;;) n++; } int main(void) { spinning_here(); }")
    subprocess.run(["gcc", "-O1", "-o", "spin", "spin.c"], check=True)
    inside = subprocess.Popen(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt && cp spin /mnt/contained && exec /mnt/contained"], stderr=subprocess.DEVNULL)
    recorded = subprocess.run([f"{BIN}/capture", "--bundle=none", "-q", "-F", "999", "-o", "contained.data", "-p", str(inside.pid), "--", "sleep", "1"], check=False).returncode
    if inside.poll() is not None or recorded:
        tap.skip("a container", "no mount namespaces here")
    else:
        a, b = resolve("contained.data"), resolve("--no-sandbox", "contained.data")
        tap.check(a[0] == 0 and b"spinning_here" in a[1] and a[1] == b[1], "files of a container that runs are found through /proc/PID/root", a[2] + b[2])
    inside.kill()
    inside.wait()
