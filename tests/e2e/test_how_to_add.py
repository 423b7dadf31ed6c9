#!/usr/bin/env python3
"""HACKING.md, "How to add", followed on a copy of the tree: a format, an input, a processor, a record type, a source of symbols and an
option take the files and rows that it says, and no third place. A format without golden file, consumer and manual is noticed, and an
option without manual and test."""
import os
import re
import shutil
import subprocess

from common import BIN, RESOLVE, TOP, Tap
import perfsynth

BUILD = os.environ["BUILD"]
tap = Tap()

FORMAT = r"""
#include "output/formats.h"

static int write_samples(const struct profile *p, const struct output_options *opt, struct event_set *events, FILE *out,
			 struct err *err)
{
	(void)opt, (void)events, (void)err;
	fprintf(out, "%zu\n", p->samples.n);
	return 0;
}

const struct output_format format_samples = {
	.name = "samples", .suffixes = ".samples", .help = "how many different samples there are", .write = write_samples};
"""
INPUT = r"""
#include "input/unpacked_lines.h"

static bool detect(const char *head, size_t n)
{
	return n > 8 && !strncmp(head, "NOTHING\n", 8);
}

static int read_nothing(struct profile *p, struct input_source *s, const struct input_options *opt, struct input_result *ret,
			struct err *err)
{
	(void)s, (void)p, (void)opt, (void)ret, (void)err;
	return 0;
}

const struct input_format input_nothing = {.name = "nothing", .help = "files without anything", .detect = detect, .read = read_nothing};
"""
SOURCE = r"""
#include "symbolize/symbol_source.h"

static int plain_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++)
		l->v[i].symbol = "named_by_plain";
	return s->used ? 0 : source_says(s, err, "a new source");
}

const struct source_ops plain_source_ops = {.by_ip = true, .symbols = plain_symbols};
"""


def copy_tree():
    """With the objects that are there: then only what changes is compiled."""
    files = subprocess.run(["git", "-C", TOP, "ls-files", "-z"], stdout=subprocess.PIPE, check=False).stdout.decode().split("\0")
    if len(files) < 100:  # a tarball
        shutil.copytree(TOP, "tree", ignore=shutil.ignore_patterns("build", "bin"))
    for f in filter(None, files if len(files) >= 100 else ()):
        if os.path.exists(os.path.join(TOP, f)):
            os.makedirs(os.path.dirname(os.path.join("tree", f)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, f), os.path.join("tree", f))
    shutil.copytree(BUILD, os.path.join("tree/build", os.path.basename(BUILD)), ignore=shutil.ignore_patterns("tests"))


def edit(path, old, new):
    """A row: what a newcomer types at the place that HACKING.md names."""
    path = os.path.join("tree", path)
    text = open(path).read()
    if not tap.check(len(re.findall(old, text)) == 1, f"{path}: one place for the row", old):
        return
    with open(path, "w") as f:
        f.write(re.sub(old, new, text, count=1))


def test_of(name):
    """What a test of the copy says."""
    env = dict(os.environ, TOP=os.path.abspath("tree"), BIN=os.path.abspath("tree/bin"))
    os.makedirs("scratch", exist_ok=True)
    return subprocess.run(["python3", os.path.abspath(f"tree/tests/e2e/{name}.py")], cwd="scratch", env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def notices(name, *missing):
    said = test_of(name)
    for what in missing:
        tap.check(re.search(rf"^not ok - {re.escape(what)}", said, re.M), f"what is missing is noticed: {what}", said[-1500:])


def add_all():
    with open("tree/output/fmt_samples.c", "w") as f:
        f.write(FORMAT)
    edit("output/formats.c", r"(#define FORMATS\(X\) +\\\n)", r"\1\tX(samples) \\\n")
    with open("tree/input/in_nothing.c", "w") as f:
        f.write(INPUT)
    edit("input/inputs.c", r"(#define INPUTS\(X\) +\\\n)", r"\1\tX(nothing) \\\n")
    edit("base/processor.c", r"(\t\t\.names = \{\"s390x\")", "\t\t.names = {\"loongarch64\"}, .e_machine = EM_LOONGARCH, .word_bytes = 8,\n\t},\n\t{\n\\1")
    edit("reader/format.h", r"RECORD_KERNEL_END = (\d+)", f"RECORD_NEWEST = {NEWEST}, RECORD_KERNEL_END = {NEWEST + 1}")
    edit("reader/record.c", r"(\n\t\[RECORD_CALLCHAIN_DEFERRED\] = )", r"\n\t[RECORD_NEWEST] = {IGNORED, .min_size = 16, .tail = TAIL_TRAILER},\1")
    with open("tree/symbolize/src_plain.c", "w") as f:
        f.write(SOURCE)
    edit("symbolize/symbol_source.c", r"X\(DSO_UNKNOWN, none\)", "X(DSO_UNKNOWN, plain)")
    edit("cmd/resolve_options.h", r"\tbool strict, ", "\tbool louder, strict, ")
    edit("cmd/resolve_options.c", r"(\n\t\{'q', \"quiet\")", r"""\n\t{0, "louder", NULL, NULL, "say it louder", SETS_FLAG(louder)},\1""")


def record_type_and_source():
    """A recording with a record of the new type, and a sample where no file is mapped."""
    r = perfsynth.Recording()
    r.comm(7, "prog", 1)
    r.mmap2(7, 0x1000, 0x1000, 0, "[uprobes]", 2)
    r.record(NEWEST, 0, bytes(8), (7, 7, 3))
    r.sample(7, 0x1234, 4)
    r.write("new.data")
    old, new = (subprocess.run([command, "-f", "script", "new.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for command in (RESOLVE, os.path.abspath("tree/bin/resolve")))
    tap.check("1 records skipped: " in old.stderr and "skipped" not in new.stderr, "the record type is known", old.stderr, new.stderr)
    tap.check("named_by_plain+0x0 ([uprobes])" in new.stdout and "named_by_plain" not in old.stdout, "the source names what it is for", old.stdout, new.stdout)


OPTION = "louder"  # its dashes stand nowhere here: no test uses it
NEWEST = int(re.search(r"RECORD_KERNEL_END = (\d+)", open(os.path.join(TOP, "reader/format.h")).read())[1])
if os.path.basename(BUILD) != "gcc":
    tap.skip("how to add", "only with the ordinary build")
else:
    hacking = open(os.path.join(TOP, "HACKING.md")).read()
    for place in ("output/formats.c", "input/inputs.c", "base/processor.c", "reader/record.c", "reader/format.h", "symbolize/symbol_source.c",
                  "cmd/resolve_options.c", "cmd/resolve_options.h"):
        tap.check(f"`{place}`" in hacking and os.path.exists(os.path.join(TOP, place)), f"HACKING.md names {place}")
    copy_tree()
    add_all()
    # What was added is to build and to work, not to be fast: a third of the time. Flags of another kind would have all compiled anew.
    os.mkdir("quick")
    # Not ccache's, which looks for the next gcc in PATH and would find this one for ever.
    compilers = [f"{folder}/gcc" for folder in os.environ["PATH"].split(":") if os.access(f"{folder}/gcc", os.X_OK)]
    compiler = next(c for c in compilers if os.path.basename(os.path.realpath(c)) != "ccache")
    with open("quick/gcc", "w") as f:
        f.write(f'#!/bin/sh\nexec {compiler} "$@" -O0 -g0 -U_FORTIFY_SOURCE\n')
    os.chmod("quick/gcc", 0o755)
    env = dict(os.environ, MAKEFLAGS="", PATH=f"{os.path.abspath('quick')}:{os.environ['PATH']}")
    p = subprocess.run(["make", "-s", "-j2", "bin/resolve"], cwd="tree", env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    if tap.check(p.returncode == 0, "what HACKING.md says to add builds, by a file and a row each", p.stdout[-2000:]):
        resolve = os.path.abspath("tree/bin/resolve")
        said = subprocess.run([resolve, "--formats"], stdout=subprocess.PIPE, text=True).stdout
        tap.check("samples      how many different samples there are (.samples)" in said, "--formats lists the added format", said)
        with open("in.folded", "w") as f:
            f.write("a;b 3\na;c 4\n")
        subprocess.run([resolve, "in.folded", "-q", "-o", "out.samples"], check=False)
        tap.check(os.path.exists("out.samples") and open("out.samples").read() == "2\n", "the suffix of -o chooses the added format")
        tap.check("  nothing " in subprocess.run([resolve, "--inputs"], stdout=subprocess.PIPE, text=True).stdout, "--inputs lists the added input")
        record_type_and_source()
        tap.check(f"--{OPTION} " in subprocess.run([resolve, "--help"], stdout=subprocess.PIPE, text=True).stdout
                  and subprocess.run([resolve, f"--{OPTION}", "--version"], stdout=subprocess.DEVNULL).returncode == 0, "--help has the option, and it is taken")
        for other in ("capture", "regress"):
            shutil.copy2(os.path.join(BIN, other), "tree/bin")
        notices("test_formats", "format samples: in the manual", "format samples: its consumer", "format samples: the golden file", "input nothing: in the manual")
        notices("test_options", "resolve: every option of --help is in the man page", "resolve: some test uses every option")
tap.end()
