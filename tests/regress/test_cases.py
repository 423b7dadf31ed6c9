#!/usr/bin/env python3
"""Programs of which regress once said the opposite, recorded here: the same code behind a pointer to other data, which the environment excused; a call that
moved to another function, and a function that a faster one replaced, which failed. What is more or less is far more than a machine with other work makes of it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import of, regress, run_live  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()

# A table of which only a pointer to its size differs: chains of one node or of 800.
POINTER = r"""
#include <stdint.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline))
struct config { int buckets, pad; };
extern const struct config *active;
struct node { struct node *next; uint32_t key; };
static struct node **table, pool[4096];
ALONE static struct node *lookup(uint32_t key) { struct node *n = table[key % (uint32_t)active->buckets]; while (n && n->key != key) n = n->next; return n; }
ALONE static uint32_t mix(uint32_t x) { for (int i = 0; i < 40; i++) x = x * 2654435761u + (x >> 13); return x; }
ALONE static uint32_t parse(const char *s) { uint32_t v = 0; while (*s) v = v * 31 + *s++; return v; }
ALONE static double horner(double d) { for (int i = 0; i < 20; i++) d = d * .999 + 1 / (d + 1); return d; }
int main(int n, char **v)
{
	uint32_t x = 1, h;
	double d = n;
	table = calloc(active->buckets, sizeof *table);
	for (int i = 0; i < 4096; i++) { pool[i].key = i * 7; h = i * 7 % active->buckets; pool[i].next = table[h]; table[h] = &pool[i]; }
	for (int i = 0; i < atoi(v[1]); i++) { x = mix(x + i); struct node *f = lookup((x >> 8) % 4096 * 7); x += f ? f->key : 0; x += parse("the quick brown fox jumps over it"); d = horner(d); }
	return x == 1 || d < 0;
}
"""
CONFIG = "struct config { int buckets, pad; };\nstatic const struct config defaults = { %d, 0 };\nconst struct config *active = &defaults;\n"

TREE = r"""
#include <stdint.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline)) static
static uint32_t buf[4096];
ALONE uint32_t mix(uint32_t x, int n) { for (int i = 0; i < n; i++) x = x * 2654435761u + (x >> 13); return x; }
ALONE uint32_t validate(uint32_t x) { uint32_t s = 0; for (int i = 0; i < 900; i++) s += buf[(x + i * 7) & 4095] ^ (s >> 3); return s; }
ALONE uint32_t sum_slow(uint32_t x) { uint32_t s = x; for (int i = 0; i < 600; i++) s = s * 31 + (buf[(s + i) & 4095] % (i + 3)); return s; }
ALONE uint32_t sum_masked(uint32_t x) { uint32_t s = x; for (int i = 0; i < 600; i++) s = s * 31 + (buf[(s + i) & 4095] & (i + 3)); return s; }
ALONE uint32_t first(uint32_t x) { return mix(x, 211) + 1; }
ALONE uint32_t second(uint32_t x) { uint32_t s = x; for (int i = 0; i < 300; i++) s ^= s << 5 ^ buf[i]; return s; }
ALONE uint32_t third(uint32_t x) { uint32_t s = x; for (int i = 0; i < 200; i++) s += (s >> 7) * buf[s & 4095]; return s; }
ALONE uint32_t open_file(uint32_t x)
{
	x = mix(x, 300) + buf[x & 4095];
#ifdef MOVED
	x += validate(x) + 1;
#endif
	return x + 2;
}
ALONE uint32_t serve(uint32_t x)
{
	x += first(x); x += second(x); x += third(x); x += open_file(x);
#ifndef MOVED
	x += validate(x) + 1;
#endif
#ifdef FAST
	x += sum_masked(x);
#else
	x += sum_slow(x);
#endif
	return x + 1;
}
int main(int n, char **v)
{
	uint32_t x = n;
	for (int i = 0; i < 4096; i++) buf[i] = x = x * 1664525u + 1013904223u;
	for (int i = 0; i < atoi(v[1]); i++) x = serve(x);
	return x == 1;
}
"""


def build(path, *texts, flags=()):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    names = []
    for i, text in enumerate(texts):
        names.append(f"{path}{i}.c")
        with open(names[-1], "w") as f:
            f.write(text)
    subprocess.run(["gcc", "-O2", "-g", *flags, "-o", path, *names], check=True)
    return path


def compare(name, old, new, rounds):
    """Status and report of four runs a side; what must not fail is asked at a stricter level than what has to be found."""
    p = regress("run", "-q", "-n", "4", "-F", "9999", "--q", ".01" if name == "pointer" else ".001", "--dir", f"runs-{name}", "--json", f"{name}.json", "--md", f"{name}.md", "--", old, rounds, "::", new, rounds)
    if p.returncode == 2:
        return 2, p.stderr, ""
    with open(f"{name}.json") as f, open(f"{name}.md") as g:
        return p.returncode, json.load(f), g.read()


def live():
    pointer = [build(f"{side}/prog", POINTER, CONFIG % buckets) for side, buckets in (("a", 4099), ("b", 5))]
    code, r, md = compare("pointer", *pointer, "60000")
    total = r["findings"][0] if code != 2 else {}
    tap.check(code == 1 and total.get("verdict") == "REGRESSED", "other data behind a pointer: all on-CPU time fails", code, total or r)
    tap.check(code == 1 and "no lines are known" not in md and ("lookup", "self") in of(r, "REGRESSED") and "environment" not in md.split("<details>")[0], "and nothing is the environment; the function is named", md)
    base, moved, fast = (build(f"{side}/tree", TREE, flags=flags) for side, flags in (("a", []), ("moved", ["-DMOVED"]), ("fast", ["-DFAST"])))
    code, r, md = compare("moved", base, moved, "40000")
    tap.check(code == 0 and ("open_file", "incl") in of(r, "moved"), "a call that moved: its new caller is moved, nothing fails", code, r if code == 2 else md)
    code, r, md = compare("fast", base, fast, "40000")
    tap.check(code == 0 and ("sum_masked", "self") in of(r, "replaced"), "a function that a faster one replaced: it says so, nothing fails", code, r if code == 2 else md)


run_live(tap, live)
tap.end()
