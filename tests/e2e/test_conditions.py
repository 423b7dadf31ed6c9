#!/usr/bin/env python3
"""Bad input and bad conditions: one clear line on stderr, the right exit code, nothing silent."""
import array
import fcntl
import os
import re
import signal
import subprocess
import termios

from common import CAPTURE, REGRESS, RESOLVE, Tap, build, children, cpu_seconds, folded, have, resolve, run, until
from tap import MAY_ALL, need_events

tap = Tap()


def fails(name, cmd, code, *words, lines=1):
    """The command ends with `code` and exactly one line that holds all the words."""
    p = run(cmd, check=False)
    err = [l for l in p.stderr.splitlines() if l.strip()]
    tap.check(p.returncode == code, f"{name}: exit status {code}", (p.returncode, p.stderr))
    tap.check(len(err) <= lines and all(re.search(w, p.stderr) for w in words),
              f"{name}: one line that says why", p.stderr)
    tap.check(p.stdout == "", f"{name}: nothing on stdout", p.stdout[:200])


fails("missing file", [RESOLVE, "no-such-file"], 2, "no-such-file", "No such file")
open("empty", "w").close()
fails("empty file", [RESOLVE, "empty"], 2, "empty")
with open("text", "w") as f:
    f.write("this is not a recording\n" * 10)
fails("not a perf.data", [RESOLVE, "text"], 2, "text", "no perf.data")
with open("zeros", "wb") as f:
    f.write(bytes(5000))
fails("a header that was never written", [RESOLVE, "zeros"], 2, "zeros", "begins with zeros")
fails("a directory", [RESOLVE, "/proc"], 2, "/proc: a directory without a recording")
fails("unknown option", [RESOLVE, "--no-such-option"], 2, "no-such-option", "--help lists them$")
for wrong, right in ("--formt", "--format"), ("--kalsyms=x", "--kallsyms"), ("--demangel", "--demangle"), ("--maxstack", "--max-stack"):
    fails(f"nearly {right}", [RESOLVE, wrong], 2, f"did you mean {right}\\?")
fails("unknown format", [RESOLVE, "-f", "nonsense"], 2, "nonsense", "folded")
fails("unknown suffix", [RESOLVE, "-o", "x.nonsense"], 2, "x.nonsense", "suffix")
fails("bad number", [RESOLVE, "--max-stack", "many"], 2, "--max-stack", "many")
for option in "--pid", "--tid", "--cpu", "--comm":
    fails(f"nothing behind {option}", [RESOLVE, option, "", "empty"], 2, f"{option}: the list is empty")
fails("bad time", [RESOLVE, "--time", "yesterday", "empty"], 2, "empty|yesterday")
fails("time backwards", [RESOLVE, "--time", "5,3", "empty"], 2, "empty|'5,3' ends before")
fails("processors backwards", [RESOLVE, "-C", "0,7-3", "empty"], 2, "'7-3' ends before")
fails("capture: unknown option", [CAPTURE, "--no-such-option"], 2, "no-such-option", lines=2)
fails("capture: nothing to do", [CAPTURE], 2, "capture", lines=3)
need_events()
fails("capture: no such command", [CAPTURE, "-o", "x.data", "--", "/no/such/command"], 2, "/no/such/command")
fails("capture: no such process", [CAPTURE, "-o", "x.data", "-p", "4194303"], 2, "4194303")

program = build("gcc", "calls.c", "program", "-O2")
run([CAPTURE, "-q", "-F", "999", "-o", "good.data", "--", program, "0.5"])
whole, stats = resolve("good.data")
leaf = next(l.split()[0] for l in resolve("good.data", "-f", "script")[0].splitlines() if l.startswith("\t"))
pid = next(iter(folded(resolve("good.data", "--with-pid")[0])))[0].rsplit("-", 1)[1]
tap.check(resolve("good.data", "--pid", "0" + pid)[0] == whole, "numbers with a leading 0 are decimal")
fails("no sample passes", [RESOLVE, "--comm", "nobody", "good.data"], 2, "filter")
fails("no sample of standard input passes", ["sh", "-c", f"{RESOLVE} --comm nobody - < good.data"], 2, "standard input: none of")
fails("--explain of standard input", ["sh", "-c", f"{RESOLVE} --explain 1 - < good.data"], 2, "standard input: no stack holds")
fails("two inputs, one of which is not there", [RESOLVE, "good.data", "b"], 2, "b: cannot open")
fails("no such event", [RESOLVE, "--event", "nothing", "good.data"], 2, "'nothing' is none of", "cpu-clock|cycles")
fails("time of the recording backwards", [RESOLVE, "--time", "5,3", "good.data"], 2, "'5,3' ends before")
for kernel in "", "guest":
    for path, vmlinux, kallsyms in ("text", "not an ELF file", "no list like /proc/kallsyms"), ("good.data", "not an ELF file", "no list like"), \
            (".", "not a regular file", "Is a directory"):
        fails(f"--{kernel}vmlinux {path}", [RESOLVE, f"--{kernel}vmlinux", path, "good.data"], 2, vmlinux)
        fails(f"--{kernel}kallsyms {path}", [RESOLVE, f"--{kernel}kallsyms", path, "good.data"], 2, kallsyms)
# A closed standard file is not replaced by one that is opened later: no word of ours gets into the output.
for closed in "2>&-", ">&- 2>&-", "<&- >&- 2>&-":
    p = run(["sh", "-c", f"{RESOLVE} --stats -o closed.folded good.data {closed}"], check=False)
    with open("closed.folded") as f:
        tap.check(p.returncode == 0 and f.read() == whole, f"output with {closed} is whole", (p.returncode, p.stderr))
fails("standard output closed", ["sh", "-c", f"{RESOLVE} good.data >&-"], 2, "standard output")
fails("standard input closed", ["sh", "-c", f"{RESOLVE} - <&-"], 2, "standard input")
fails("disk full", ["sh", "-c", f"{RESOLVE} good.data > /dev/full"], 2, "No space left")
for words in "--help", "--version", "--header good.data", f"--explain {leaf} good.data":
    fails(f"disk full, {words.split()[0]}", ["sh", "-c", f"{RESOLVE} -q {words} > /dev/full"], 2, "No space left")
for words in "--help", "--version", "--check":
    fails(f"disk full, capture {words}", ["sh", "-c", f"{CAPTURE} {words} > /dev/full"], 2, "No space left")
fails("disk full, -o", [RESOLVE, "-o", "/dev/full", "-f", "folded", "good.data"], 2, "No space left")
os.mkdir("limited")
fails("ulimit -f", ["sh", "-c", f"ulimit -f 1; exec {RESOLVE} -f script -o limited/out good.data"], 2, "limited/out", "File too large")
# 8 kB: more than what stands before the data, and less than what 50 processes add.
fails("ulimit -f, capture", ["sh", "-c", f"ulimit -f 16; exec {CAPTURE} -q --no-compress {'-a' if MAY_ALL else ''} -o limited/data -- sh -c 'for i in $(seq 50); do /bin/true; done'"], 2,
      "limited/data", "File too large")
tap.check(os.listdir("limited") == ["data"], "ulimit -f: what capture had written is left, and no part of an output", os.listdir("limited"))
os.remove("limited/data")
# The signal comes as soon as the new file is there, or just before it gets its name.
with open("killer.c", "w") as f:
    f.write("""#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void at(const char *s) { if (!strcmp(s, getenv("KILLER_AT"))) raise(atoi(getenv("KILLER"))); }
FILE *fdopen(int fd, const char *mode)
{
	FILE *(*next)(int, const char *) = (FILE *(*)(int, const char *))dlsym(RTLD_NEXT, "fdopen");
	at("fdopen");
	return next(fd, mode);
}
int renameat(int d, const char *a, int e, const char *b) { at("rename"); return 0; }
""")
run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", "killer.so", "killer.c", "-ldl"])
for where, sig in ("fdopen", signal.SIGTERM), ("rename", signal.SIGTERM), ("rename", signal.SIGHUP):
    # AddressSanitizer wants to be first, unless it is told not to look
    p = run([RESOLVE, "--no-cache", "-o", "limited/out.folded", "good.data"], check=False,
            env={**os.environ, "LD_PRELOAD": os.path.abspath("killer.so"), "KILLER": str(int(sig)), "KILLER_AT": where,
                 "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    tap.check(p.returncode == -sig and os.listdir("limited") == [], f"{sig.name} while the output is written ({where}): nothing is left behind",
              (p.returncode, os.listdir("limited")))
    for left in os.listdir("limited"):
        os.remove(f"limited/{left}")
with open("good.data", "rb") as f:
    recording = f.read()
os.symlink("good.data", "link.data")
for words in "-o good.data good.data", "-o link.data good.data", "-o good.data - < good.data", "-o good.data -i link.data":
    fails(f"-f script {words}", ["sh", "-c", f"exec {RESOLVE} -f script {words}"], 2, "names the recording itself")
with open("good.data", "rb") as f:
    tap.check(f.read() == recording, "-o names the recording: it stays")



def asleep(p, pipe, full):
    """Whether a process waits, with nothing, or as much as there is room for, in a pipe that it reads or writes."""
    n = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, n)
    with open(f"/proc/{p.pid}/stat") as f:
        state = f.read().rsplit(")", 1)[1].split()[0]
    return state == "S" and n[0] == (fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) if full else 0)


# ^C while the output is not read: all of it comes once it is, and nothing was cut short.
script = run([RESOLVE, "-f", "script", "good.data"]).stdout
with subprocess.Popen([RESOLVE, "-j1", "-f", "script", "good.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
    until(lambda: asleep(p, p.stdout, True), "a full pipe")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
tap.check(len(script) > 1 << 16 and out == script and p.returncode == 0 and err == "", "^C while writing: nothing is lost",
          (p.returncode, err, len(out), len(script)))

# ^C while there is nothing to read yet: what is read with the next bytes is the end, and is written.
with open("pipe.data", "wb") as f:
    subprocess.run(["perf", "record", "-q", "-N", "-B", "-e", "cpu-clock", "-F", "999", "-g", "-o", "-", "--", program, "1"],
                   stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL, check=True)
with open("pipe.data", "rb") as f:
    half = f.read(os.path.getsize("pipe.data") // 2)
    rest = f.read()
with subprocess.Popen([RESOLVE, "-j1", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
    p.stdin.write(half)
    p.stdin.flush()
    until(lambda: asleep(p, p.stdin, False), "an empty pipe")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(rest)
tap.check(out and p.returncode == 1 and b"interrupted" in err, "^C while reading: what was read is written, a line says interrupted, status 1", (p.returncode, err))

# The same where nothing comes any more: no more than some silence is waited for.
for sig in signal.SIGINT, signal.SIGTERM:
    with subprocess.Popen([RESOLVE, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdin.write(half)
        p.stdin.flush()
        until(lambda: asleep(p, p.stdin, False), "an empty pipe")
        p.send_signal(sig)
        out, err = p.stdout.read(), p.stderr.read()
        p.wait()
    tap.check(out and p.returncode == 1 and b"interrupted" in err, f"{sig.name} while the pipe is silent: what was read is written", (p.returncode, err))
# ... and where nothing came at all there is nothing to write.
with subprocess.Popen([RESOLVE, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
    until(lambda: asleep(p, p.stdin, False), "an empty pipe")
    p.send_signal(signal.SIGINT)
    out, err = p.stdout.read(), p.stderr.read()
    p.wait()
tap.check(not out and p.returncode == -signal.SIGINT, "SIGINT before the first byte ends the program", (p.returncode, err))

for sig in signal.SIGTERM, signal.SIGHUP:
    with subprocess.Popen([RESOLVE, "-j1", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        p.stdin.write(half)
        p.stdin.flush()
        until(lambda: asleep(p, p.stdin, False), "an empty pipe")
        p.send_signal(sig)
        out, err = p.communicate(rest)
    tap.check(out and p.returncode == 1 and b"interrupted" in err, f"{sig.name} while reading: what was read is written", (p.returncode, err))

# In a folder that every user may write to: neither what a link leads to nor a file that waits for us is written.
os.mkdir("shared")
os.chmod("shared", 0o1777)
with open("victim", "w") as f:
    f.write("precious")
os.symlink("../victim", "shared/link.folded")
if os.geteuid() == 0:
    os.lchown("shared/link.folded", 65534, 65534)
    fails("another user's link", [RESOLVE, "-o", "shared/link.folded", "good.data"], 2, "another user's link")
else:
    tap.skip("another user's link", "only root can make one")
# Root is not made to open what a stranger's recording names.
if os.geteuid() == 0:
    with open("good.data", "rb") as f, open("theirs.data", "wb") as g:
        g.write(f.read())
    os.chown("theirs.data", 65534, 65534)
    env = {k: v for k, v in os.environ.items() if k != "SUDO_UID"}
    p = run([RESOLVE, "theirs.data"], check=False, env=env)
    tap.check(p.returncode == 2 and not p.stdout and p.stderr.count("\n") == 1 and "another user" in p.stderr and "--force" in p.stderr,
              "another user's recording: refused as root", p.stderr)
    p = run([REGRESS, "--base", "theirs.data", "--new", "good.data"], check=False, env=env)
    tap.check(p.returncode == 2 and "another user" in p.stderr, "another user's recording: refused by regress", p.stderr)
    forced = run([RESOLVE, "--force", "theirs.data"], check=False, env=env)
    sudo = run([RESOLVE, "theirs.data"], check=False, env={**env, "SUDO_UID": "65534"})
    tap.check(forced.returncode == sudo.returncode == 0 and forced.stdout == sudo.stdout != "",
              "another user's recording: read with --force, and by the user of sudo", forced.stderr + sudo.stderr)
else:
    tap.skip("another user's recording", "only root is asked")
run([RESOLVE, "-o", "shared/out.folded", "good.data"])
tap.check(open("victim").read() == "precious" and not os.path.islink("shared/out.folded") and sorted(os.listdir("shared")) == ["link.folded", "out.folded"],
          "a folder for all users: what a link leads to stays as it is", os.listdir("shared"))

# Cut anywhere: what can be read is kept, the loss is told, the exit status says so.
size = os.path.getsize("good.data")
kept = []
for k in range(1, 8):
    with open("good.data", "rb") as f, open("cut.data", "wb") as g:
        g.write(f.read(size * k // 8))
    p = run([RESOLVE, "cut.data"], check=False)
    kept.append(sum(folded(p.stdout).values()))
    good = p.returncode in (1, 2) and p.stderr.strip() != "" and (p.returncode == 2) == (p.stdout == "")
    tap.check(good, f"cut at {k}/8: status 1 and a line, or 2 and no output", (p.returncode, p.stderr, len(p.stdout)))
tap.check(kept == sorted(kept) and kept[-1] > 0, "cut: the more is there, the more is kept", kept)

# A killed recorder. perf leaves data.size 0 behind; capture keeps its header right block by block.
def killed(name, cmd):
    p = subprocess.Popen([*cmd, "-o", "killed.data", "--", program, "60"], stderr=subprocess.DEVNULL,
                         start_new_session=True)
    # CPU time of the program, not the clock: what is older than capture's last block, a second, must be in the file.
    until(lambda: any(cpu_seconds(c) > 3 for c in children(p.pid)), f"three seconds of the program that {name} records")
    p.send_signal(signal.SIGKILL)
    p.wait()
    try:
        os.killpg(p.pid, signal.SIGKILL)  # the program that was recorded
    except ProcessLookupError:
        pass
    p = run([RESOLVE, "killed.data"], check=False)
    tap.check(sum(folded(p.stdout).values()) > 0.5e9, f"{name} killed: samples are there", p.stderr)
    tap.check(p.returncode == 1 and "interrupted" in p.stderr, f"{name} killed: a line says interrupted, status 1", (p.returncode, p.stderr))


killed("capture", [CAPTURE, "-q", "-F", "999"])
killed("perf", ["perf", "record", "-q", "-N", "-e", "cpu-clock", "--call-graph", "dwarf,4096"])

# The binary went away, or another one took its place.
os.rename("program", "program.away")
text, s = resolve("good.data")
tap.check(s["no_file"] > 0 and any("program" in m["path"] and m["missing_reason"] for m in s["modules"]),
          "missing binary: counted with a reason", s)
tap.check("[program]" in text, "missing binary: frames keep the module's name", text[:500])
build("gcc", "signals.c", "program", "-O2")
text, s = resolve("good.data")
tap.check(any("build id" in m["missing_reason"] for m in s["modules"] if m["path"].endswith("/program")),
          "changed binary: build id differs", s["modules"])
tap.check("handler_spin" not in text, "changed binary: its names are not used")
script = run([RESOLVE, "-q", "-f", "script", "--no-inline", "good.data"]).stdout
ip = next(l.split()[0] for l in script.splitlines() if l.startswith("\t") and "/program)" in l)
out = run([RESOLVE, "-q", "--explain", ip, "good.data"]).stdout
tap.check("program: build id differs" in out and "no-buildid-cache" in out, "--explain: what was tried, and why not", out)
os.replace("program.away", "program")
out = run([RESOLVE, "-q", "--explain", ip, "good.data"]).stdout
tap.check(re.search(r"symbol +[\w.]+\+\w", out) and "program: found" in out, "--explain: the symbol", out)
fails("--explain of a stranger", [RESOLVE, "-q", "--explain", "12", "good.data"], 2, "0x12")

tap.check(run([RESOLVE, "--count", "samples", "good.data"]).stdout != whole
          and sum(folded(run([RESOLVE, "--count", "samples", "good.data"]).stdout).values()) == stats["samples"],
          "--count=samples counts samples")
one, two = (run([RESOLVE, "-j", n, "good.data"]).stdout for n in ("1", "7"))
tap.check(one == two, "any number of threads gives the same folded bytes")
one, two = (run([RESOLVE, "-f", "script", "-j", n, "good.data"]).stdout for n in ("1", "7"))
tap.check(one == two, "any number of threads gives the same script bytes")
# Without stitching the workers share the samples in another way: by their place in the batch, not by thread.
for form in ("folded", "script", "jsonl", "top"):
    outs = {run([RESOLVE, "--no-stitch", "-f", form, "-j", n, "good.data"]).stdout for n in ("1", "2", "5")}
    tap.check(len(outs) == 1, f"--no-stitch: any number of threads gives the same {form} bytes")
p = run(["sh", "-c", f"cat good.data | {RESOLVE} -"])
tap.check(p.stdout == whole, "standard input gives the same as the file")
p = run([CAPTURE, "-q", "-o", "status.data", "--", "sh", "-c", "exit 7"], check=False)
tap.check(p.returncode == 7, "capture passes the command's status on", p)
if os.geteuid() == 0 and have("setpriv"):
    os.chmod(".", 0o777)
    p = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CAPTURE, "-a", "-o", "x.data",
             "--", "true"], check=False)
    tap.check(p.returncode == 2 and "perf_event_paranoid" in p.stderr, "no permission: names the setting",
              (p.returncode, p.stderr))
else:
    tap.skip("no permission", "needs root and setpriv")
tap.end()
