#!/usr/bin/env python3
"""HACKING.md, "How to add", followed on a copy of the tree: a format, an input and a processor take the files and rows that it says, and
no third place; a format without golden file, consumer and manual is noticed."""
import os
import re
import shutil
import subprocess

from common import TOP, Tap

BUILD = os.environ["BUILD"]
tap = Tap()

FORMAT = r"""
#include "output/format.h"

static int write_samples(const struct profile *p, const struct output_options *opt, const struct event_set *events, FILE *out,
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
#include "input/packed.h"

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


def test_of_formats():
    env = dict(os.environ, TOP=os.path.abspath("tree"), BIN=os.path.abspath("tree/bin"))
    os.makedirs("scratch", exist_ok=True)
    return subprocess.run(["python3", os.path.abspath("tree/tests/e2e/test_formats.py")], cwd="scratch", env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def add_all():
    with open("tree/output/fmt_samples.c", "w") as f:
        f.write(FORMAT)
    edit("output/formats.c", r"(#define FORMATS\(X\) +\\\n)", r"\1\tX(samples) \\\n")
    with open("tree/input/in_nothing.c", "w") as f:
        f.write(INPUT)
    edit("input/inputs.c", r"(#define INPUTS\(X\) +\\\n)", r"\1\tX(nothing) \\\n")
    edit("base/processor.c", r"(\t\t\.names = \{\"s390x\")", "\t\t.names = {\"loongarch64\"}, .e_machine = EM_LOONGARCH, .word_bytes = 8,\n\t},\n\t{\n\\1")


if os.path.basename(BUILD) != "gcc":
    tap.skip("how to add", "only with the ordinary build")
else:
    hacking = open(os.path.join(TOP, "HACKING.md")).read()
    for place in ("output/formats.c", "input/inputs.c", "base/processor.c", "symbolize/symbol_source.c", "cmd/resolve_options.c"):
        tap.check(f"`{place}`" in hacking and os.path.exists(os.path.join(TOP, place)), f"HACKING.md names {place}")
    copy_tree()
    add_all()
    p = subprocess.run(["make", "-s", "-j2", "bin/resolve"], cwd="tree", env=dict(os.environ, MAKEFLAGS=""), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    if tap.check(p.returncode == 0, "a format, an input and a processor build by a file and a row", p.stdout[-2000:]):
        resolve = os.path.abspath("tree/bin/resolve")
        said = subprocess.run([resolve, "--formats"], stdout=subprocess.PIPE, text=True).stdout
        tap.check("samples      how many different samples there are (.samples)" in said, "--formats has it", said)
        with open("in.folded", "w") as f:
            f.write("a;b 3\na;c 4\n")
        subprocess.run([resolve, "in.folded", "-q", "-o", "out.samples"], check=False)
        tap.check(os.path.exists("out.samples") and open("out.samples").read() == "2\n", "its suffix chooses it")
        tap.check("  nothing " in subprocess.run([resolve, "--inputs"], stdout=subprocess.PIPE, text=True).stdout, "--inputs has it")
        found = test_of_formats()
        for what in ("format samples: in the manual", "format samples: its consumer", "format samples: the golden file", "input nothing: in the manual"):
            tap.check(re.search(rf"^not ok - {re.escape(what)}", found, re.M), f"what is missing is noticed: {what}", found[-1500:])
tap.end()
