#!/usr/bin/env python3
"""base/json.h against Python's json module: random texts, and texts that are none."""
import json
import os
import random
import subprocess

from tap import Tap

TOOL = os.path.join(os.environ["BUILD"], "tests/base/tool_json")
tap = Tap()
rnd = random.Random(3)
LETTERS = ['"', "\\", "/", "\n", "\t", "a", "[]", ".", "é", "漢", "😀", "\x7f", " "]


def word():
    return "".join(rnd.choice(LETTERS) for _ in range(rnd.randrange(5)))


def value(depth=0):
    kind = rnd.randrange(8 if depth < 5 else 6)
    return (None, True, False, rnd.uniform(-1e6, 1e6), rnd.randrange(-10**9, 10**9), word(),
            [value(depth + 1) for _ in range(rnd.randrange(4))] if kind == 6 else 0, {word(): value(depth + 1) for _ in range(rnd.randrange(4))} if kind == 7 else 0)[kind]


def told(v, path=""):
    """The lines that the tool is to print."""
    name = path.encode().hex()
    if v is None or isinstance(v, bool):
        return [f"{name} {json.dumps(v)} "]
    if isinstance(v, (int, float)):
        return [f"{name} number {'%.17g' % v}"]
    if isinstance(v, str):
        return [f"{name} string {v.encode().hex()}"]
    rows = [(path + "[]", x) for x in v] if isinstance(v, list) else [(f"{path}.{k}" if path else k, x) for k, x in v.items()]
    return [line for p, x in rows for line in told(x, p)] + [f"{name} end "]


def run(text):
    p = subprocess.run([TOOL], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stdout.decode().splitlines(), p.stderr.decode()


bad = []
for i in range(200):
    v = value()
    text = json.dumps(v, ensure_ascii=bool(i & 1), indent=(None, 2)[i % 3 == 0])
    got = run(text.encode())
    if got[0] or got[1] != told(v):
        bad.append((text, got, told(v)))
tap.check(not bad, "200 random texts: the values that Python reads", *bad[:2])
WRONG = ["", "{", "[1,]", "[1 2]", '{"a" 1}', "{a:1}", '"\x01"', '"abc', '"\\x"', "tru", "1 2", "01x", "+1", "-", "[" * 100, '{"a":1,}', "nul", '"\\u12g4"']
bad = [text for text in WRONG if run(text.encode())[0] != 1]
tap.check(not bad, "what is no JSON is refused", bad)
tap.check(run(b'[1, 2, x]')[2].startswith("7 "), "an error names the offset where the text is wrong", run(b"[1, 2, x]")[2])
tap.end()
