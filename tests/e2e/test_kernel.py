#!/usr/bin/env python3
"""Names, inlined functions and lines of kernel code. Truth by construction: a kernel image and modules built here, in
which labels tell where a line of a function stands, and recordings written here that say where they were at run time."""
import glob
import random
import re

from common import *
from perfsynth import *

tap = Tap()
TEXT, RELEASE = 0xffffffff81000000, "6.1.0-99-test"
KO_AT = 0xffffffffc0400000

# at(NAME) leaves a symbol at an instruction of its own line.
SOURCE = """\
#define at(name) __asm__ volatile(".globl at_" #name "\\nat_" #name ": nop\\n")
int state;
static inline __attribute__((__always_inline__)) void innermost(int x)
{
	state += x;
	at(innermost);
}
static inline __attribute__((__always_inline__)) void middle(int x)
{
	innermost(x * 2);
	at(middle);
}
__attribute__((__noinline__)) void outer_fn(int x)
{
	at(outer);
	middle(x + 1);
	state ^= 1;
}
__attribute__((__noinline__)) void plain_fn(int x)
{
	state = x;
	at(plain);
}
__attribute__((section(".text.unlikely"), __noinline__)) void cold_fn(int x)
{
	state -= x;
	at(cold);
}
"""
LINES = {m.group(1): n for n, line in enumerate(SOURCE.splitlines(), 1) for m in [re.search(r"^\tat\((\w+)\)", line)] if m}
CALLS = {callee: next(n for n, line in enumerate(SOURCE.splitlines(), 1) if line.startswith(f"\t{callee}("))
         for callee in ("innermost", "middle")}
# innermost first, as the sources have it
CHAINS = {
    "innermost": [("innermost", LINES["innermost"]), ("middle", CALLS["innermost"]), ("outer_fn", CALLS["middle"])],
    "middle": [("middle", LINES["middle"]), ("outer_fn", CALLS["middle"])],
    "outer": [("outer_fn", LINES["outer"])],
    "plain": [("plain_fn", LINES["plain"])],
    "cold": [("cold_fn", LINES["cold"])],
}
START = '__attribute__((section(".head.text"))) void startup_64(void) { for (;;) ; }\n'
SCRIPT = f"""\
PHDRS {{ text PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); note PT_NOTE FLAGS(4); }}
SECTIONS {{
	. = {TEXT:#x};
	_text = .;
	.text : {{ *(.head.text) _stext = .; *(.text .text.*) _etext = .; }} :text
	.notes : {{ *(.note.*) }} :text :note
	. = ALIGN(0x200000);
	.data : {{ *(.data .bss COMMON) }} :data
	/DISCARD/ : {{ *(.comment) *(.eh_frame) }}
}}
"""


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def take_labels(elf):
    """{label: (section index or None, value)}; they are taken out of the file, they are no functions."""
    found = {}
    for line in run(["readelf", "-sW", elf]).stdout.splitlines():
        f = line.split()
        if len(f) == 8 and f[7].startswith("at_"):
            found[f[7][3:]] = (int(f[6]), int(f[1], 16))
    run(["objcopy", "--wildcard", "--strip-symbol=at_*", elf])
    return found


def build_id_of(elf):
    return re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-nW", elf]).stdout).group(1)


def stacks(data, *options):
    """{ip: [(function, line)] with inlined ones, innermost first}, {ip: file}"""
    out, chains, files = resolve(data, "-f", "jsonl", *options)[0], {}, {}
    for text in out.splitlines():
        frames = json.loads(text)["stack"]
        ip = int(frames[0]["ip"], 16)
        chains[ip] = [(f.get("sym"), f.get("line", 0)) for f in frames]
        files[ip] = frames[0].get("file", "")
    return chains, files


# ---- vmlinux -----------------------------------------------------------------------------------


def kernel_recording(name, shift, labels, build_id, size=0x100000):
    r = Recording(os_release=RELEASE)
    r.mmap(-1, TEXT + shift, size, TEXT + shift, "[kernel.kallsyms]_text", 0)
    r.comm(7, "kworker", 1)
    if build_id:
        r.build_id(KERNEL, "[kernel.kallsyms]", bytes.fromhex(build_id))
    for label, (_, value) in labels.items():
        r.sample(7, value + shift, 10, [CHAIN_KERNEL, value + shift], misc=KERNEL)
    return r.write(name)


def judge(name, data, labels, shift, options, lines=True, source="kernel.c"):
    chains, files = stacks(data, *options)
    bad = []
    for label, (_, value) in labels.items():
        want = CHAINS[label] if lines else [(CHAINS[label][-1][0], 0)]
        if chains.get(value + shift) != want or (lines and not files[value + shift].endswith(source)):
            bad.append(f"{label} at {value + shift:x}: {chains.get(value + shift)} in {files.get(value + shift)}, sources: {want}")
    return tap.check(not bad and len(labels) == len(CHAINS), name, "\n".join(bad) or labels)


def build_vmlinux():
    write("kernel.c", SOURCE + START)
    write("kernel.lds", SCRIPT)
    run(["gcc", "-O2", "-g", "-nostdlib", "-static", "-mcmodel=kernel", "-fno-pie", "-no-pie", "-fno-asynchronous-unwind-tables",
         "-fcf-protection=none", "-Wl,-T,kernel.lds", "-Wl,--build-id=sha1", "-Wl,-z,max-page-size=4096", "kernel.c", "-o", "vmlinux"])
    return take_labels("vmlinux"), build_id_of("vmlinux")


def vmlinux():
    labels, build_id = build_vmlinux()
    for steps in (0, 9, -3):
        shift = steps << 21
        data = kernel_recording(f"kernel{steps}.data", shift, labels, build_id)
        judge(f"--vmlinux FILE, kernel moved by {steps} * 2 MiB", data, labels, shift, ["--vmlinux", "vmlinux"])
    judge("-k FILE", data, labels, shift, ["-k", "vmlinux"])
    out, err = resolve(data, "--annotate", "plain_fn", "-k", "vmlinux")
    at = labels["plain"][1]
    tap.check(re.search(rf"^ +100\.00 : +{at:x}:  nop$", out, re.M) and re.search(rf"kernel\.c:{LINES['plain']} ", out), "--annotate of the kernel's code, from its vmlinux", out, err)
    p = subprocess.run([RESOLVE, "--no-cache", "-q", "--kallsyms", write("plain.kallsyms", f"{TEXT + shift:016x} T _text\n{TEXT + shift:016x} T plain_fn\n"), "--annotate", "plain_fn", data],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    tap.check(p.returncode == 2 and "--vmlinux FILE" in p.stderr and p.stderr.count("\n") == 1, "--annotate without a vmlinux says what is needed", p.stderr, p.stdout)
    judge("-k FILE --no-inline: symbols only", data, labels, shift, ["-k", "vmlinux", "--no-inline"], lines=False)
    unknown = kernel_recording("no-id.data", shift, labels, None)
    judge("-k FILE, no build id in the recording", unknown, labels, shift, ["-k", "vmlinux"])
    split = f"{build_id[:2]}/{build_id[2:]}"
    places = {
        "dbg/.build-id/" + split + ".debug": ["--debug-dir", "dbg"],
        f"dbg2/boot/vmlinux-{RELEASE}": ["--debug-dir", "dbg2"],
        f"dbg3/lib/modules/{RELEASE}/vmlinux": ["--debug-dir", "dbg3"],
        f"root1/boot/vmlinux-{RELEASE}": ["--symfs", "root1"],
        f"root2/usr/lib/debug/boot/vmlinux-{RELEASE}": ["--symfs", "root2"],
        f"root3/usr/lib/debug/lib/modules/{RELEASE}/vmlinux": ["--symfs", "root3"],
        f"root4/lib/modules/{RELEASE}/build/vmlinux": ["--symfs", "root4"],
        f"no-buildid-cache/.build-id/{split}/elf": [],
    }
    for place, options in places.items():
        copy("vmlinux", place)
        judge(f"found by build id: {place.replace(build_id[2:], 'ID').replace(build_id[:2] + '/', '')}", data, labels, shift, options)
        os.unlink(place)
    copy("vmlinux", f"cache/{build_id}/debuginfo")
    os.environ["DEBUGINFOD_CACHE_PATH"] = os.path.abspath("cache")
    judge("found in debuginfod's cache", data, labels, shift, [])
    del os.environ["DEBUGINFOD_CACHE_PATH"]
    copy("vmlinux", f"root5/boot/vmlinux-{RELEASE}")
    other = kernel_recording("other.data", shift, labels, "ab" * 20)
    chains, _ = stacks(other, "--symfs", "root5")
    tap.check(all(c == [(None, 0)] for c in chains.values()), "the same release, another build id: not used", chains)


# ---- modules ------------------------------------------------------------------------------------


def layout(ko):
    """Where the kernel puts the code of a module (kernel/module/main.c, layout_sections()): {section: address}."""
    at, where = KO_AT, {}
    for line in run(["readelf", "-SW", ko]).stdout.splitlines():
        m = re.match(r"\s*\[\s*(\d+)\] (\S+)\s+PROGBITS\s+\S+ \S+ ([0-9a-f]+) \S+\s+(\w+)\s+\d+\s+\d+\s+(\d+)$", line)
        if m and "A" in m.group(4) and "X" in m.group(4) and not m.group(2).startswith(".init"):
            align = int(m.group(5))
            at = -(-at // align) * align
            where[int(m.group(1))] = at
            at += int(m.group(3), 16)
    return where


def module_recording(name, path, ips, build_id=None):
    r = Recording(os_release=RELEASE)
    r.mmap(-1, TEXT, 0x1000000, TEXT, "[kernel.kallsyms]_text", 0)
    r.mmap(-1, KO_AT, 0x10000, 0, path, 0)
    r.comm(7, "kworker", 1)
    if build_id:
        r.build_id(KERNEL, path, bytes.fromhex(build_id))
    for ip in ips:
        r.sample(7, ip, 10, [CHAIN_KERNEL, ip], misc=KERNEL)
    return r.write(name)


def kallsyms_of(ko, name, where):
    """Lines of /proc/kallsyms for the module."""
    rows = []
    for line in run(["readelf", "-sW", ko]).stdout.splitlines():
        f = line.split()
        if len(f) == 8 and f[3] == "FUNC" and f[6].isdigit() and int(f[6]) in where:
            rows.append(f"{where[int(f[6])] + int(f[1], 16):x} t {f[7]}\t[{name}]\n")
    return "".join(sorted(rows))


def judge_module(title, ko, name, labels, where, source):
    labels = {label: (section, where[section] + value) for label, (section, value) in labels.items()}
    ips = [value for _, value in labels.values()]
    packed = {"": None, ".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
    for suffix, tool in packed.items():
        if tool and not have(tool):
            tap.skip(f"{title}{suffix}", f"no {tool}")
            continue
        if tool:
            run([tool, "-k", "-f", "-q", ko])
        path = os.path.abspath(ko + suffix)
        judge(f"{title}{suffix}", module_recording("module.data", path, ips), labels, 0, ["--kallsyms", "/dev/null"], source=source)
    data = module_recording("module.data", os.path.abspath(ko), ips)
    syms = write("module.kallsyms", f"{TEXT:x} T _text\n{TEXT:x} T _stext\n" + kallsyms_of(ko, name, where))
    judge(f"{title}: named by kallsyms, lines from the file", data, labels, 0, ["--kallsyms", syms], source=source)
    moved = write("module.kallsyms", open(syms).read().replace("outer_fn", "swapped").replace("plain_fn", "outer_fn")
                  .replace("swapped", "plain_fn"))
    chains, _ = stacks(data, "--kallsyms", moved)
    tap.check(chains[labels["plain"][1]] == [("outer_fn", 0)], f"{title}: a file that was laid out otherwise has no lines to give",
              chains)
    # as debug packages do it: a stripped module, the rest under /usr/lib/debug
    debug = os.path.abspath("dbgroot") + os.path.abspath(ko)
    copy(ko, debug)
    run(["strip", "--strip-debug", ko])
    data = module_recording("module.data", os.path.abspath(ko), ips)
    judge(f"{title}: debug file by the module's path", data, labels, 0, ["--kallsyms", "/dev/null", "--debug-dir", "dbgroot"],
          source=source)


def plain_module():
    init = '__attribute__((section(".init.text"))) int m_init(void) { outer_fn(1); plain_fn(2); cold_fn(3); return 0; }\n'
    write("mod.c", SOURCE + init)
    run(["gcc", "-O2", "-g", "-c", "-mcmodel=kernel", "-fno-pie", "-ffunction-sections", "-fcf-protection=none", "mod.c", "-o", "mod.o"])
    run(["ld", "-r", "--build-id=sha1", "mod.o", "-o", "test-mod.ko"])
    labels = take_labels("test-mod.ko")
    judge_module(".ko", "test-mod.ko", "test_mod", labels, layout("test-mod.ko"), "mod.c")
    # As perf calls modules, and by the file's name.
    data = module_recording("dso.data", "/lib/modules/x/test-mod.ko.xz", [KO_AT + 16, TEXT + 16])
    for name in ("[test_mod]", "test-mod.ko.xz", "/lib/modules/x/test-mod.ko.xz"):
        chains, _ = stacks(data, "--dso", name)
        tap.check(list(chains) == [KO_AT + 16], f"--dso {name}: samples in the module", chains)


def kbuild_module():
    """With the kernel's own build system, flags and linker script."""
    trees = [t for t in sorted(glob.glob("/usr/src/linux-headers-*")) if os.path.exists(t + "/.config") and os.path.exists(t + "/Module.symvers")]
    if not trees:
        return tap.skip("a module built by kbuild", "no kernel headers")
    write("kb/kb.c", SOURCE + "#include <linux/module.h>\nstatic int begin(void) { outer_fn(1); plain_fn(2); cold_fn(3); return 0; }\n"
          'static void end(void) { plain_fn(0); }\nmodule_init(begin);\nmodule_exit(end);\nMODULE_LICENSE("GPL");\n')
    write("kb/Makefile", "obj-m := kb.o\nccflags-y := -Wno-missing-prototypes -g\n")
    # Not with the compiler that `make CC=... check` has told all below it to take: the kernel's flags are gcc's.
    env = {k: v for k, v in os.environ.items() if k not in ("CC", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL")}
    p = run(["make", "-C", trees[-1], f"M={os.path.abspath('kb')}", "modules"], check=False, env=env)
    if p.returncode:
        return tap.check(False, "a module built by kbuild", p.stderr)
    labels = take_labels("kb/kb.ko")
    judge_module("a module built by kbuild", "kb/kb.ko", "kb", labels, layout("kb/kb.ko"), "kb.c")


# ---- code that comes and goes --------------------------------------------------------------------


def bpf():
    """A BPF program in the part of the kernel's map behind its text, unloaded again."""
    at = 0xffffffffa0100000
    syms = write("bpf.kallsyms", f"{TEXT:x} T _text\n{TEXT:x} T _stext\n{at:x} t ftrace_stub_here\n{at + 0x1000:x} t after\n")
    r = Recording(os_release=RELEASE)
    r.mmap(-1, TEXT, 0x1000000, TEXT, "[kernel.kallsyms]_text", 0)
    r.comm(7, "bpf", 1)
    want = ["ftrace_stub_here", "bpf_prog_1_a", "ftrace_stub_here", "bpf_prog_2_b", "bpf_trampoline_3"]
    for i, step in enumerate(want):
        time = 100 * (i + 1)
        if i == 1:
            r.ksymbol(at, 0x100, "bpf_prog_1_a", time)
        if i == 2:
            r.ksymbol(at, 0x100, "bpf_prog_1_a", time, unregister=True)
        if i == 3:
            r.ksymbol(at, 0x200, "bpf_prog_2_b", time)
        if i == 4:
            r.ksymbol(at, 0x200, "bpf_prog_2_b", time, unregister=True)
            r.ksymbol(at + 0x40, 0x80, "bpf_trampoline_3", time)
        r.sample(7, at + 0x50, time + 10, [CHAIN_KERNEL, at + 0x50], misc=KERNEL)
    out = resolve(r.write("bpf.data"), "-f", "script", "--kallsyms", syms)[0]
    got = re.findall(r"^\s+ffffffffa0100050 (\w+)\+(0x[0-9a-f]+)", out, re.M)
    tap.check(got == list(zip(want, ["0x50", "0x50", "0x50", "0x50", "0x10"])),
              "BPF programs: each sample has what was there at its time", got)


def real_bpf():
    """A program of this kernel, recorded while it is loaded and run; it prints the name that the kernel gives it."""
    program = build("gcc -O2", "bpf.c", "bpf-program")
    p = run([program, "1"], check=False)
    if p.returncode:
        return tap.skip("a real BPF program", "bpf() is not allowed here, or has no JIT compiler")
    perf_record("-F", "1999", "-g", "-e", "cpu-clock", "-o", "perf-bpf.data", program, "300")
    run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock", "-o", "capture-bpf.data", "--", program, "300"])
    for data in ("perf-bpf.data", "capture-bpf.data"):
        leaves = [json.loads(text)["stack"][0] for text in resolve(data, "-f", "jsonl")[0].splitlines()]
        places = [int(f["ip"], 16) for f in leaves if f.get("sym") == p.stdout.strip()]
        inside = len(places)
        # the machine may have programs of its own, and the kernel's functions that call them
        other = {f.get("sym") for f in leaves if places and min(places) <= int(f["ip"], 16) <= max(places)} - {p.stdout.strip()}
        # it does nothing but send packets through the program, 3,000 instructions long
        tap.check(inside > 0.1 * len(leaves) > 5 and not other, f"a real BPF program, {data}: {inside} of {len(leaves)} samples in it",
                  (p.stdout, other))


def guest():
    """A virtual machine: its kernel has symbols of its own, of its processes nothing is known, least of all that their
    addresses mean anything in the program that runs the machine."""
    labels, build_id = build_vmlinux()
    shift = 5 << 21
    r = Recording(os_release=RELEASE)
    r.mmap(-1, TEXT, 0x1000000, TEXT, "[kernel.kallsyms]_text", 0)
    r.mmap(-1, TEXT + shift, 0x1000000, TEXT + shift, "[guest.kernel.kallsyms]_text", 0, misc=GUEST_KERNEL)
    r.comm(100, "qemu", 1)
    r.mmap2(100, 0x400000, 0x100000, 0, "/usr/bin/no-such-qemu", 2)
    r.mmap2(55, 0x400000, 0x100000, 0, "/usr/bin/inside", 2, misc=GUEST_USER)
    plain = labels["plain"][1] + shift
    r.sample(100, 0x401000, 10)
    r.sample(100, 0x401000, 20, [], misc=GUEST_USER)
    r.sample(100, 0x401000, 30, [2**64 - 2560, 0x401000], misc=GUEST_USER)
    r.sample(100, 0x401000, 40, [2**64 - 2560, 0x401000, CHAIN_USER, 0x402000], misc=GUEST_USER)
    r.sample(100, plain, 50, [], misc=GUEST_KERNEL)
    data = r.write("guest.data")
    want = {("qemu", "[no-such-qemu]"): 1, ("qemu", "[guest]"): 2, ("qemu", "[no-such-qemu]", "[guest]"): 1}
    for options, name in (([], "[guest.kernel.kallsyms]"), (["--guestvmlinux", "vmlinux"], "plain_fn"),
                          (["--guestkallsyms", write("guest.kallsyms", f"{TEXT:x} T _text\n{labels['plain'][1] - 8:x} T in_guest\n")],
                           "in_guest")):
        got = folded(resolve(data, *options)[0])
        tap.check(got == {**want, ("qemu", name): 1}, f"guests: {' '.join(options[:1]) or 'nothing known'}", got)


def exec_():
    """While a program replaces itself the kernel has dropped its maps, but was called by its code."""
    r = Recording(os_release=RELEASE)
    r.mmap(-1, TEXT, 0x1000000, TEXT, "[kernel.kallsyms]_text", 0)
    r.comm(7, "old", 1)
    r.mmap2(7, 0x400000, 0x1000, 0, "/no/such/old", 2)
    in_kernel = [CHAIN_KERNEL, TEXT + 16, CHAIN_USER, 0x400100]
    r.sample(7, TEXT + 16, 10, in_kernel, misc=KERNEL)
    r.comm(7, "new", 20, exec=True)
    r.mmap2(7, 0x500000, 0x1000, 0, "/no/such/new", 21)
    r.sample(7, TEXT + 16, 30, in_kernel, misc=KERNEL)
    r.sample(7, TEXT + 16, 40, in_kernel[:3] + [0x500100], misc=KERNEL)  # its first instruction faults
    r.sample(7, 0x500100, 50)
    r.sample(7, TEXT + 16, 60, in_kernel, misc=KERNEL)
    got = folded(resolve(r.write("exec.data"), "--kallsyms", "/dev/null")[0])
    want = {("old", "[old]", "[kernel.kallsyms]"): 1, ("new", "[old]", "[kernel.kallsyms]"): 1, ("new", "[new]"): 1,
            ("new", "[new]", "[kernel.kallsyms]"): 1, ("new", "[unknown]", "[kernel.kallsyms]"): 1}
    tap.check(got == want, "exec: the kernel was called by the old program until the new one runs", got)


def kept_kallsyms():
    """The symbols of the running kernel are kept between runs: the same names as from the list itself."""
    syms = [line.split() for line in open("/proc/kallsyms")]
    place = {name: int(addr, 16) for addr, _, name, *_ in syms if name in ("_text", "_stext", "_etext")}
    notes = open("/sys/kernel/notes", "rb").read() if os.path.exists("/sys/kernel/notes") else b""
    at = notes.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    if not place.get("_etext") or at < 0:
        return tap.skip("names kept between runs", "the running kernel hides its addresses or its build id")
    rng, text, end = random.Random(4), place["_text"], place["_etext"]
    ips = [rng.randrange(place["_stext"], end) for _ in range(4000)] + [place["_stext"], end - 1]
    ips += rng.sample([int(s[0], 16) for s in syms if text <= int(s[0], 16) < end], 2000)
    home = os.path.abspath("kept")
    kept = os.path.join(home, "unspool", "kernel.symbols")

    def recorded(name, shift=0, more=()):
        r = Recording(os_release=os.uname().release)
        r.build_id(KERNEL, "[kernel.kallsyms]", notes[at + 16:at + 36])
        r.mmap(-1, text + shift, end - text, text + shift, "[kernel.kallsyms]_text", 0)
        r.comm(7, "kworker", 1)
        for ip in [*ips, *more]:
            r.sample(7, ip + shift, 10, [CHAIN_KERNEL, ip + shift], misc=KERNEL)
        return r.write(name)

    def names(data, *options, **env):
        p = run([RESOLVE, "--stats", "-f", "script", *options, data], env={**os.environ, "XDG_CACHE_HOME": home, **env})
        return p.stdout, next(line for line in p.stderr.splitlines() if "[kernel.kallsyms]" in line)

    data = recorded("kept.data")
    truth, source = names(data, UNSPOOL_CACHE_SIZE="0")
    tap.check("/proc/kallsyms" in source and not os.path.exists(kept), "no cache: the list is read, nothing is kept", source)
    first, source = names(data)
    tap.check(first == truth and "/proc/kallsyms" in source and os.path.exists(kept), "the first run keeps what it read", source)
    second, source = names(data)
    tap.check(second == truth and "from the cache" in source and "/proc/kallsyms" not in source,
              f"the next one does not read the list; {len(ips)} addresses have the same names", source)
    plain, _ = names(data, "--no-demangle", "--no-inline")
    tap.check(plain == names(data, "--no-demangle", "--no-inline", UNSPOOL_CACHE_SIZE="0")[0], "kernel names from the cache with other options: as without it")
    beyond = recorded("beyond.data", more=[end + 0x100000])
    got, source = names(beyond)
    tap.check(got == names(beyond, UNSPOOL_CACHE_SIZE="0")[0] and "/proc/kallsyms" in source, "code behind the kernel: read again", source)
    moved = recorded("moved.data", shift=2 << 21)
    got, source = names(moved)
    file = os.stat(kept).st_ino
    tap.check(got == names(moved, UNSPOOL_CACHE_SIZE="0")[0] and "from the cache" not in source,
              "a kernel that was elsewhere: read again", source)
    names(moved)
    tap.check(os.stat(kept).st_ino == file, "a kernel that was elsewhere: the cache file is not written again")
    os.unlink(kept)
    tap.check(names(data, UNSPOOL_CACHE_SIZE="100K")[0] == truth and not os.path.exists(kept), "nothing is kept beyond the size of the cache")
    names(data)
    whole = open(kept, "rb").read()
    bad = []
    for damaged in (b"", whole[:60], whole[:-1], whole + b"x", b"X" + whole[1:], whole[:32] + b"\xff" * 8 + whole[40:],
                    whole[:40] + b"\xff" * 8 + whole[48:]):
        os.unlink(kept)
        with open(kept, "wb") as f:
            f.write(damaged)
        got, source = names(data)
        if got != truth or open(kept, "rb").read() != whole:
            bad.append((len(damaged), source))
    tap.check(not bad, "a damaged cache file is not used, and made anew", bad)
    bad = []
    for i in range(30):
        damaged = bytearray(whole)
        for _ in range(20):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        os.unlink(kept)
        with open(kept, "wb") as f:
            f.write(damaged)
        if names(data)[0] != truth:
            bad.append(i)
    tap.check(not bad, "30 cache files with 20 flipped bits each: no wrong name", bad)
    if os.geteuid() == 0:
        os.chown(kept, 12345, 12345)
        got, source = names(data)
        tap.check(got == truth and "/proc/kallsyms" in source and os.stat(kept).st_uid == 0, "another user's cache file is not used, and made anew", source)


def killed():
    """A `perf record` that was killed has written neither build ids nor the release: only where the kernel lay."""
    place = {name: int(addr, 16) for addr, _, name, *_ in map(str.split, open("/proc/kallsyms")) if name in ("_text", "_stext", "_etext", "vfs_read")}
    if not place.get("_etext") or not place.get("vfs_read"):
        return tap.skip("a killed recording", "the running kernel hides its addresses")
    for what, text, end, want in (("the running kernel", place["_text"], place["_etext"], "vfs_read"),
                                  ("one that ends elsewhere", place["_text"], place["_etext"] + 8, "[kernel.kallsyms]"),
                                  ("one that begins elsewhere", place["_text"] + (2 << 20), place["_etext"], "[kernel.kallsyms]")):
        r = Recording(os_release=None)
        r.mmap(-1, text, end - text, text, "[kernel.kallsyms]_text", 0)
        r.comm(7, "x", 1)
        r.sample(7, place["vfs_read"] + 4, 10, [CHAIN_KERNEL, place["vfs_read"] + 4], misc=KERNEL)
        out = resolve(r.write("killed.data"))[0]
        tap.check(folded(out) == {("x", want): 1}, f"a killed recording: {what}", out)


def spelled():
    """The running kernel is known by release and processor, which perf since 7.2 spells as the kernel's source does."""
    machine, seen = os.uname().machine, {}
    spellings = {"x86_64": ["x86", "amd64"], "aarch64": ["arm64"], "s390x": ["s390"], "ppc64le": ["powerpc"], "riscv64": ["riscv"]}
    at = next((int(addr, 16) for addr, _, name, *_ in map(str.split, open("/proc/kallsyms")) if name == "vfs_read"), 0)
    if not at:
        return tap.skip("names of processors", "the running kernel hides its addresses")
    for arch in [machine, *spellings.get(machine, []), "m68k"]:
        r = Recording(arch=arch, os_release=os.uname().release)
        r.mmap(-1, at & -0x200000, 0x400000, 0, "[kernel.kallsyms]_text", 0)
        r.comm(7, "x", 1)
        r.sample(7, at + 4, 10, [CHAIN_KERNEL, at + 4], misc=KERNEL)
        seen[arch] = folded(resolve(r.write("spelled.data"))[0])
    want = {a: {("x", "[kernel.kallsyms]" if a == "m68k" else "vfs_read"): 1} for a in seen}
    tap.check(seen == want, f"the processor's name is spelled as {', '.join(seen)}", seen)


vmlinux()
plain_module()
kbuild_module()
bpf()
real_bpf()
guest()
exec_()
kept_kallsyms()
killed()
spelled()
tap.end()
