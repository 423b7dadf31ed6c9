"""What tests of pages (-f html) do with a browser (tests/browser.py)."""
import os
import re


def ready(b, path="x.html"):
    b.open("file://" + os.path.abspath(path))
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")


def press(b, name, selector="button"):
    b.evaluate(f"[...document.querySelectorAll({selector!r})].find(x => x.textContent.startsWith({name!r})).click()")


def text(b, name):
    return b.evaluate(f"document.getElementById({name!r}).textContent")


def pick(b, name, value):
    b.evaluate(f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r}; s.dispatchEvent(new Event('change')); }})()")


def plain(name):
    """Without the parameters that pages keep where they tell two functions apart, and folded output of a recording does not."""
    return re.sub(r"\(\w.*\)(?: const)?$", "", name)


def plain_paths(found):
    """{names with newlines between them: weight} -> {path: weight}"""
    out = {}
    for key, weight in found.items():
        path = tuple(plain(f) for f in key.split("\n")) if key else ()
        out[path] = out.get(path, 0) + weight
    return out
