"""What tests of pages (-f html) do with a browser (tests/browser.py)."""
import os


def ready(b, path="x.html"):
    b.open("file://" + os.path.abspath(path))
    b.evaluate("new Promise(done => { const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 10); look(); })")


def press(b, name, selector="button"):
    b.evaluate(f"[...document.querySelectorAll({selector!r})].find(x => x.textContent.startsWith({name!r})).click()")


def text(b, name):
    return b.evaluate(f"document.getElementById({name!r}).textContent")


def pick(b, name, value):
    b.evaluate(f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r}; s.dispatchEvent(new Event('change')); }})()")
