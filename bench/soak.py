#!/usr/bin/env python3
"""soak.py [--minutes N] [--own] [CAPTURE OPTIONS]: does the memory of a recorder that stays stay the same?

Records (by default: -a -F 999 --switch-output=5m --switch-max-files 2) for 30 minutes while programs of many kinds run: short ones, compilers, an interpreter, JIT
compilers, threads that come and go. With --own only these are recorded (-p). Prints each minute what memory the recorder has, RssAnon of proc(5): what files it has open or mapped does not
count. It is flat where the second half of the time takes no more than the first, but for 5 % and a megabyte. Exit status 1: it is not."""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

LOAD = """
import os, shutil, subprocess, sys, threading, time
os.nice(10)
with open("a.c", "w") as f:
    f.write("#include <stdio.h>\\n" + "".join(f"int f{i}(int x) {{ return x * {i} + f{max(0, i - 1)}(x); }}\\n" if i else "int f0(int x) { return x; }\\n" for i in range(300)))
with open("a.js", "w") as f:
    f.write("const fs = []; for (let k = 0; k < 300; k++) fs.push(new Function('x', 'let s = ' + k + '; for (let i = 0; i < 400; i++) s = (s * 31 + x + i) | 0; return s'));"
            "const end = Date.now() + 300; let t = 0; while (Date.now() < end) for (const f of fs) t += f(t)")
with open("A.java", "w") as f:
    f.write("class A { public static void main(String[] a) { var m = new java.util.TreeMap<Integer, String>(); for (int i = 0; i < 300000; i++) m.put(i * 7 % 5000, String.valueOf(i)); } }")
JITS = [p for p in (["node", "a.js"], ["java", "A.java"]) if shutil.which(p[0])]
while True:
    begin = time.time()
    subprocess.run(["gcc", "-O1", "-c", "a.c", "-o", "a.o"])
    subprocess.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (:); done; ls /usr/bin | sort | md5sum > /dev/null"])
    subprocess.run([sys.executable, "-c", "import json; json.loads(json.dumps([{str(i): i} for i in range(50000)]))"])
    for program in JITS: subprocess.run(program)
    threads = [threading.Thread(target=sum, args=(range(200000),)) for i in range(20)]
    for t in threads: t.start()
    for t in threads: t.join()
    time.sleep(time.time() - begin)  # a half of one processor, no more
"""


def status_kb(pid, what):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(rf"^{what}:\s*(\d+)", f.read(), re.M)[1])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def is_flat(kb):
    """Of what each minute had: the first are the start's."""
    rest = kb[min(5, len(kb) // 3):]
    half = len(rest) // 2
    return max(rest[half:]) <= 1.05 * max(rest[:half]) + 1024


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--own", action="store_true")
    a, options = parser.parse_known_args()
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = tempfile.mkdtemp(prefix="unspool-soak-")
    load = subprocess.Popen([sys.executable, "-c", LOAD], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    options = options or [*(["-p", str(load.pid)] if a.own else ["-a"]), "-F", "999", "--switch-output=5m", "--switch-max-files", "2"]
    p = subprocess.Popen([f"{here}/bin/capture", "-o", f"{folder}/soak.data", *options], stderr=subprocess.PIPE, text=True)
    begin, kb = time.time(), []
    try:
        print("minute   RssAnon kB   VmRSS kB   CPU s", flush=True)
        while time.time() - begin < 60 * a.minutes and p.poll() is None:
            time.sleep(60)
            kb.append(status_kb(p.pid, "RssAnon"))
            print(f"{(time.time() - begin) / 60:6.1f} {kb[-1]:12} {status_kb(p.pid, 'VmRSS'):10} {cpu_seconds(p.pid):7.1f}", flush=True)
    finally:
        p.send_signal(signal.SIGINT)
        os.killpg(load.pid, signal.SIGKILL)
        load.wait()
    print(p.communicate()[1], end="")
    print(f"files in {folder}; {'flat' if is_flat(kb) else 'NOT flat'}")
    return not is_flat(kb)


if __name__ == "__main__":
    sys.exit(main())
