#!/usr/bin/env python3
"""make.py - makes the recordings of this folder anew, as root, on Debian 12 with `make deps` done; README.md says of what.

Everything happens in namespaces of its own: a machine called lab with a user's folder /home/ann, so that no name or file of
the real one gets into a recording. Then each file that frames lie in is cut down to what was hit (slim.py), and `resolve`
must say the same of the pieces as of the whole files."""
import os
import shutil
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "e2e")]
import golden  # noqa: E402
from slim import slim  # noqa: E402

HOME = "/home/ann"
RUSTC = os.environ.get("RUSTC", "rustc")  # the compiler itself: one that looks for itself in HOME finds nothing in the lab
CGROUP = "/sys/fs/cgroup/unified/lab"
ENV = {"PATH": f"{HOME}/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "USER": "ann"}
PERF = "perf record -q -e cpu-clock:u -F 99 --call-graph dwarf,4096"
CAPTURE = "capture -q --user -F 199"
CASES = {  # name: how it is recorded
    "cpp-capture": f"{CAPTURE} -o perf.data -- ./threads 0.3",
    "cpp-perf": f"{PERF} -o perf.data -- ./threads 0.3",
    "cpp-fp": "perf record -q -e cpu-clock:u -F 99 -g -o perf.data -- ./threads 0.3",
    "cpp-pipe": f"{PERF} -o - -- ./threads 0.2 >perf.data",
    "cpp-killed": f"{CAPTURE} -o perf.data -- ./threads 4",
    "cpp-killed-perf": f"{PERF} -o perf.data -- ./threads 4",
    "rust": f"{CAPTURE.replace('199', '99')} -o perf.data -- ./rusty 0.3",
    "go": f"{CAPTURE} -o perf.data -- ./work",
    "python": f"{PERF} -o perf.data -- python3 work.py",
    "node": f"{CAPTURE.replace('199', '49')} -o perf.data -- node --perf-basic-prof --interpreted-frames-native-stack work.js",
    "system-capture": f"capture -q --no-compress --call-graph dwarf,4096 -F 199 --cgroup {CGROUP} -o perf.data -- sh work.sh",
    "system-perf": "perf record -q -e cpu-clock -F 199 --call-graph dwarf,2048 -a -G lab -o perf.data -- sh work.sh",
}
IN_VDSO = "cpp-capture"  # some sample of it lies in the vDSO, which the reading machine's kernel must not be asked for


def sh(command, **kw):
    return subprocess.run(command, shell=True, check=True, env=ENV, **kw)


def enter():
    """A machine of its own; does not return the first time."""
    if os.environ.get("IN_LAB"):
        return
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--uts", "env", "IN_LAB=1",
                          sys.executable, os.path.abspath(__file__), *sys.argv[1:]])


def furnish():
    """/home/ann with the programs."""
    os.makedirs("/run/top", exist_ok=True)
    subprocess.run(["mount", "--bind", TOP, "/run/top"], check=True)
    for folder in ("/home", "/tmp", "/usr/lib/debug"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    subprocess.run(["hostname", "lab"], check=True)
    os.makedirs(f"{HOME}/bin")
    os.chdir(HOME)
    for tool in ("bin/capture", "bin/resolve", "build/gcc/tests/unwind/tool_unwind"):
        shutil.copy(f"/run/top/{tool}", f"{HOME}/bin")
    for source in ("tests/programs/threads.cc", "tests/programs/rusty.rs"):
        shutil.copy(f"/run/top/{source}", HOME)
    shutil.copytree("/run/top/testdata/recordings/src", HOME, dirs_exist_ok=True)
    sh("g++ -O2 -g -fomit-frame-pointer -pthread threads.cc -o threads")
    sh(f"{RUSTC} -O -C force-unwind-tables=yes -C strip=debuginfo rusty.rs")
    sh("go build -ldflags=-w -o work work.go")
    os.makedirs(CGROUP, exist_ok=True)


def until_written(path, size, end):
    while time.monotonic() < end and not (os.path.exists(path) and os.path.getsize(path) > size):
        time.sleep(0.1)


def record(name, command):
    """NAME.data; perf 6.1 may abort when another recorder is at work (tests/recorder.py)."""
    data = f"{name}.data"
    inside = (lambda: open(f"{CGROUP}/cgroup.procs", "w").write("0")) if "lab" in command else None
    for _ in range(100):
        p = subprocess.Popen(["sh", "-c", "exec " + command.replace("perf.data", data)], env=ENV, preexec_fn=inside)
        if "killed" in name:
            until_written(data, 200000 if "perf" in name else 9000, time.monotonic() + 20)
            p.kill()
            subprocess.run(["pkill", "-KILL", "-x", "threads"], check=False)  # of this namespace
        if p.wait() != 0 and "killed" not in name or name == IN_VDSO and "vdso" not in script(data):
            continue
        if "lab" in command:
            without_others(data)
        return data
    raise RuntimeError(f"{name}: {command}")


def without_others(data):
    """What the side band of -a tells of processes outside of this namespace, whose number here is 0, or -1
    when they have ended, is left out of a file."""
    with open(data, "rb") as f:
        b = bytearray(f.read())
    start, size = struct.unpack_from("<QQ", b, 40)
    kept, at = bytearray(), start
    while at < start + size:
        kind, _, length, pid = struct.unpack_from("<IHHI", b, at)
        if kind not in (1, 3, 4, 7, 10) or pid and (pid != 0xffffffff or kind == 1):  # MMAP, COMM, EXIT, FORK, MMAP2
            kept += b[at:at + length]
        at += length
    features = sum(bin(x).count("1") for x in b[72:104])
    for i in range(features):
        off, = struct.unpack_from("<Q", b, start + size + 16 * i)
        struct.pack_into("<Q", b, start + size + 16 * i, off - size + len(kept))
    struct.pack_into("<Q", b, 48, len(kept))
    with open(data, "wb") as f:
        f.write(b[:start] + kept + b[start + size:])


def is_elf(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


def hits(data):
    """{path of a file: offsets of frames in it}"""
    found = {}
    for line in sh(f"tool_unwind {data} cfi guess", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines():
        if line.startswith("F "):
            _, off, _, _, _, space, path = line.split(" ", 6)
            if space == "u" and path.startswith("/"):
                found.setdefault(path, set()).add(int(off, 16))
    return {path: offsets for path, offsets in found.items() if is_elf(path)}


def script(data):
    return sh(f"resolve -q -f script --no-inline --no-demangle {data} || [ $? = 1 ]", stdout=subprocess.PIPE, text=True).stdout


def reduced_map(path, target, text):
    """The lines of a perf map whose names are in `text`."""
    with open(path) as f, open(target, "w") as out:
        out.writelines(line for line in f if line.split(" ", 2)[2].strip() in text)


def reduced_kallsyms(target, text):
    """The symbols in `text`, each with the one behind it, which ends it."""
    names = {line.split()[1].split("+")[0] for line in text.splitlines() if "kernel.kallsyms" in line} | {"_text", "_stext", "_etext"}
    with open("/proc/kallsyms") as f:
        lines = sorted((line for line in f if "[" not in line), key=lambda line: line[:16])  # aliases in the kernel's order
    places = sorted({line[:16] for line in lines})
    after = dict(zip(places, places[1:]))
    hit = {line[:16] for line in lines if line.split()[2] in names}
    keep = hit | {after[p] for p in hit if p in after}
    with open(target, "w") as out:
        out.writelines(line for line in lines if line[:16] in keep)


def keep_vdso():
    """The kernel's vDSO where its `make vdso_install` would put it: the next machine's kernel has another one."""
    with open("/proc/self/maps") as f:
        start, end = next(line.split()[0].split("-") for line in f if line.rstrip().endswith("[vdso]"))
    with open("/proc/self/mem", "rb") as f:
        f.seek(int(start, 16))
        image = f.read(int(end, 16) - int(start, 16))
    folder = f"root/lib/modules/{os.uname().release}/vdso"
    os.makedirs(folder)
    with open(f"{folder}/vdso64.so", "wb") as f:
        f.write(image)


def furnish_root(recorded):
    """root/ with what resolve needs for all recordings."""
    found = {}
    for data in recorded:
        for path, offsets in hits(data).items():
            found.setdefault(path, set()).update(offsets)
    for path, offsets in found.items():
        os.makedirs(os.path.dirname(f"root{path}"), exist_ok=True)
        if path == f"{HOME}/threads":  # with its debug information
            shutil.copy(path, f"root{path}")
        else:
            slim(path, f"root{path}", offsets)
    text = "".join(map(script, recorded))
    os.makedirs("root/tmp")
    for m in os.listdir("/tmp"):
        if m.startswith("perf-") and m.endswith(".map"):
            reduced_map(f"/tmp/{m}", f"root/tmp/{m}", text)
    reduced_kallsyms("root/kallsyms", text)
    keep_vdso()


def write_outputs(name, data):
    """The folder of a recording, with what resolve says of it; that must be what it says with the whole files."""
    pieces = golden.outputs(f"{HOME}/bin/resolve", data, "root")
    inline = [] if name.startswith("cpp") else ["--no-inline"]  # debug information was left out of the others
    whole, same = (golden.outputs(f"{HOME}/bin/resolve", data, root, options=inline) for root in (None, "root"))
    for kind in ("folded", "script"):
        if whole[kind] != same[kind]:
            for suffix, text in (("whole", whole[kind]), ("pieces", same[kind])):
                with open(f"/run/top/build/{name}.{kind}.{suffix}", "w") as f:
                    f.write(text)
            print(f"{name}: {kind} differs from that of the whole files: see build/{name}.{kind}.*")
    folder = f"/run/top/testdata/recordings/{name}"
    shutil.rmtree(folder, ignore_errors=True)
    golden.write(folder, pieces)
    sh(f"xz -9e -c {data} >{folder}/perf.data.xz")
    print(f"{name}: {os.path.getsize(folder + '/perf.data.xz')} bytes packed, outputs {sum(map(len, pieces.values()))}")


def main():
    enter()
    furnish()
    recorded = {name: record(name, command) for name, command in CASES.items()}
    os.rmdir(CGROUP)
    furnish_root(recorded.values())
    sh("tar --sort=name --owner=0 --group=0 --mtime=@0 -cf - root | xz -9e >/run/top/testdata/recordings/root.tar.xz")
    for name, data in recorded.items():
        write_outputs(name, data)


if __name__ == "__main__":
    main()
