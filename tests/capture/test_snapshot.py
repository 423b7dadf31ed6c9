#!/usr/bin/env python3
"""capture --snapshot: the last seconds, from memory, at a signal, at the end, when a command fails, when an event comes; names of processes that began
before them; and capture -o -: the recording in a pipe, for resolve and perf."""
import glob
import os
import pty
import re
import signal
import subprocess

from lib import CAPTURE, RESOLVE, Tap, capture, count_samples, cpu_seconds, have, need_events, run, start, until, until_cpu, until_open, until_recorded

tap = Tap()
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static volatile sig_atomic_t phase;
static volatile long x;
static void on(int sig) { (void)sig; phase = 1; }
__attribute__((noipa)) static void early(void) { while (!phase) x++; }
__attribute__((noipa)) static void late(void) { for (;;) x++; }
__attribute__((noipa)) static void hit(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	signal(SIGUSR1, on);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 1 && !strcmp(argv[1], "orphan")) { /* a child without exec, whose parent ends */
		pid_t pid = fork();
		if (pid) { printf("%d\n", pid); return 0; }
		close(0), close(1), close(2);
		alarm(300);
		late();
	}
	if (argc > 1) { puts("of the command"); fflush(stdout); for (long i = 0; i < 400000000; i++) x++; hit(); return 0; }
	early();
	hit();
	late();
}
"""
with open("phases.c", "w") as f:
    f.write(PROGRAM)
run(["gcc", "-O1", "-g", "phases.c", "-o", "phases"])


def folded(path):
    return run([RESOLVE, "-f", "folded", path], check=False).stdout


def refused(options, wanted):
    q = run([CAPTURE, *options, "-p", str(os.getpid())], check=False)
    tap.check(q.returncode == 2 and wanted in q.stderr and len(q.stderr.splitlines()) == 1, f"{' '.join(options)}: {wanted}", q.stderr)


refused(["--snapshot", "--switch-output"], "--switch-output")
refused(["--snapshot=5", "-o", "-"], "-o -")
refused(["--snapshot=often"], "--snapshot")
refused(["--snapshot-on", "rm x"], "fails")
need_events()

# ---- at a signal -----------------------------------------------------------------------------------
program = subprocess.Popen(["./phases"])
recorder = start("--snapshot=1", "-F", "499", "-p", program.pid, "-o", "flight.data", "--switch-max-files", "2")
until_recorded(recorder, program.pid, 0.5)
program.send_signal(signal.SIGUSR1)


def snapshot(recorder, path):
    """The names of the files after one more snapshot; read until it is complete."""
    recorder.send_signal(signal.SIGUSR2)
    line = ""
    while "snapshot (" not in line:
        line = recorder.stderr.readline()
        if not line or line.startswith("capture: snapshot:"):
            raise RuntimeError(line or "capture has ended")
    return line.split()[-2], line


def only_late():
    path, line = snapshot(recorder, "flight.data")
    text = folded(path)
    return (path, text, line) if "late" in text and "early" not in text else None


path, text, line = until(only_late, "a snapshot of what came last")
tap.check(all(l.startswith("phases;_start;") and ";main;late" in l for l in text.splitlines() if "late" in l) and "[unknown]" not in text,
          "a snapshot has the last second only, with names by maps of before", text, line)
said = int(re.search(r"(\d+) samples", line)[1])
tap.check(sum(int(l.rsplit(" ", 1)[1]) > 0 for l in text.splitlines()) and said > 0, "it says how many samples it has", line)
times = [float(t) for t in re.findall(r"^phases .*?(\d+\.\d{6,}):", run([RESOLVE, "-f", "script", path]).stdout, re.M)]
tap.check(times and max(times) - min(times) <= float(re.search(r"the last ([\d.]+) s", line)[1]) + 0.051, "no sample is older than it says",
          line, times and max(times) - min(times))
until(lambda: snapshot(recorder, "flight.data") and len(glob.glob("flight.data.2*")) == 2, "two files")
snapshot(recorder, "flight.data")
tap.check(len(glob.glob("flight.data.2*")) == 2, "--switch-max-files 2 keeps two", glob.glob("flight.data*"))
tap.check(not os.path.exists("flight.data"), "nothing else is written before the end")
recorder.send_signal(signal.SIGINT)
_, err = recorder.communicate(timeout=120)
text = folded("flight.data")
tap.check(recorder.returncode == 0 and "late" in text and "early" not in text, "at the end the last second is written", err, text)
if have("perf"):
    p = run(["perf", "script", "-F", "comm,ip,sym", "-i", "flight.data"], check=False)
    n = count_samples(recorder, err).n_samples
    tap.check(p.returncode == 0 and len(re.findall(r"^phases", p.stdout, re.M)) == n, "perf reads as many samples", n, p.stderr, p.stdout[:500])
program.kill()
program.wait()

# ---- a process that came meanwhile, from a parent that has ended ------------------------------------
if os.geteuid() == 0:
    recorder = start("--snapshot=1", "-a", "-F", "199", "-o", "all.data")
    until_open(recorder)
    until(lambda: "snapshot (" in snapshot(recorder, "all.data")[1], "the recording")
    orphan = int(run(["./phases", "orphan"]).stdout)
    try:
        until(lambda: "late" in folded(snapshot(recorder, "all.data")[0]), "the process")
        until(lambda: cpu_seconds(orphan) > 2, "records of its start that are older than the window")
        name = snapshot(recorder, "all.data")[0]
        text = [l for l in folded(name).splitlines() if l.startswith("phases;")]
        tap.check(text and all("_start;" in l and "late" in l for l in text), "a forked process keeps the maps of its parent, which has ended", text)
    finally:
        os.kill(orphan, signal.SIGKILL)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=120)
else:
    tap.skip("a forked process keeps the maps of its parent, which has ended", "capture -a needs root")

# ---- a command, memory, triggers --------------------------------------------------------------------
r = capture("--snapshot", "-F", "999", "-o", "command.data", "--", "./phases", "ends")
tap.check(r.returncode == 0 and r.n_samples > 0 and "main" in folded("command.data"), "of a command: at its end", r.stderr)
r = capture("--snapshot=60", "--max-size", "200K", "--no-compress", "-F", "9999", "-o", "small.data", "--", "./phases", "ends")
tap.check("--max-size is the bound" in r.stderr and os.path.getsize("small.data") < 3 << 20, "--max-size bounds what is kept, and it is said",
          os.path.getsize("small.data"), r.stderr)
program = subprocess.Popen(["./phases"])
recorder = start("--snapshot=3", "--snapshot-on", "test ! -e flag fails", "-F", "499", "-p", program.pid, "-o", "check.data")
until_recorded(recorder, program.pid, 0.2)
open("flag", "w").close()
until(lambda: glob.glob("check.data.2*"), "a snapshot of the check")
recorder.send_signal(signal.SIGINT)
_, err = recorder.communicate(timeout=120)
tap.check(recorder.returncode == 0 and "snapshot (test ! -e flag)" in err and "early" in folded(glob.glob("check.data.2*")[0]),
          "--snapshot-on 'COMMAND fails'", err)
recorder = start("--snapshot-on", "no-such-command-anywhere fails", "-p", program.pid, "-o", "none.data")
_, err = recorder.communicate(timeout=120)
tap.check(recorder.returncode == 2 and "the shell cannot run it" in err, "a command that does not exist is told", err)
if os.geteuid() == 0:
    recorder = start("--snapshot-on", "uprobe:./phases:hit", "-F", "499", "-p", program.pid, "-o", "probe.data")
    until_recorded(recorder, program.pid, 0.2)
    program.send_signal(signal.SIGUSR1)
    until(lambda: glob.glob("probe.data.2*"), "a snapshot of the probe")
    recorder.send_signal(signal.SIGINT)
    _, err = recorder.communicate(timeout=120)
    text = run([RESOLVE, "-f", "script", glob.glob("probe.data.2*")[0]]).stdout
    tap.check("snapshot (uprobe:./phases:hit)" in err and "early" in text and " hit+" in text, "--snapshot-on uprobe:", err, text[-2000:])
program.kill()
program.wait()

# ---- a pipe -----------------------------------------------------------------------------------------
for options in ([], ["--no-compress"], ["--call-graph", "fp"]):
    with open("stream.data", "wb") as f:
        p = subprocess.run([CAPTURE, "-F", "499", *options, "-o", "-", "--", "./phases", "ends"], stdin=subprocess.DEVNULL, stdout=f,
                           stderr=subprocess.PIPE, timeout=120)
    count_samples(p, p.stderr.decode())
    with open("stream.data", "rb") as f:
        text = subprocess.run([RESOLVE, "-f", "folded", "-"], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    n = sum("phases" in l for l in run([RESOLVE, "-f", "script", "stream.data"]).stdout.splitlines() if not l.startswith(("\t", " ")))
    tap.check(p.returncode == 0 and "main" in text.stdout and text.returncode == 0 and n == p.n_samples > 0 and b"of the command" in p.stderr,
              f"-o - {' '.join(options)}: resolve reads it from standard input, and the command's output goes elsewhere", n, p.n_samples, p.stderr, text.stderr)
    if have("perf"):
        with open("stream.data", "rb") as f:
            q = subprocess.run(["perf", "script", "-F", "comm,ip,sym", "-i", "-"], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        tap.check(q.returncode == 0 and len(re.findall(r"^phases", q.stdout, re.M)) == p.n_samples, "so does perf", q.stderr, q.stdout[:300])
program = subprocess.Popen(["./phases"])
reader, writer = os.pipe()
recorder = subprocess.Popen([CAPTURE, "-F", "499", "--no-compress", "-o", "-", "-p", str(program.pid)], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True)
os.close(writer)
os.read(reader, 100)
os.close(reader)
_, err = recorder.communicate(timeout=120)
tap.check(recorder.returncode == 2 and "Broken pipe" in err, "a pipe that nobody reads any more ends it", err)
os.mkfifo("fifo")
reading = subprocess.Popen(["sh", "-c", f"{RESOLVE} -f folded - < fifo"], stdout=subprocess.PIPE, text=True)
capture("-F", "499", "-o", "fifo", "-p", program.pid, "--", *until_cpu(program.pid, 0.2))
text = reading.communicate(timeout=120)[0]
tap.check("early" in text, "a named pipe", text)
program.kill()
program.wait()
master, slave = pty.openpty()
q = subprocess.run([CAPTURE, "-o", "-", "-p", str(os.getpid())], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, text=True)
tap.check(q.returncode == 2 and "terminal" in q.stderr, "not into a terminal", q.stderr)
tap.end()
