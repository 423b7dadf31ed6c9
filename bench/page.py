#!/usr/bin/env python3
"""page.py - what the page of -f html costs a browser, beside speedscope and an SVG flame graph of the same stacks.

Headless Chromium by its DevTools protocol (tests/browser.py). Sizes: s is a recording of g++; m has 100,000 distinct stacks, 1.2 M nodes
of their tree; l is 50 MB of folded stacks with long C++ names; d (where it is asked for) is 10,000 levels deep. Printed of each page: size of its
file beside the gzipped folded stacks, seconds until it is drawn and idle, CPU seconds of the page's process until then, memory of its scripts (after collection) and peak of its process, milliseconds from a click to the picture that
answers it, the longest frame and frames per second while the mouse moves, clicks and scrolls. `empty` is a page with nothing in it. Nothing is
asserted: differences under two times mean nothing on a shared machine.

  make bench-page                      all
  make bench-page B="--sizes s,m --pages html,speedscope"
  make bench-page B="--sizes m,d --pages svg,pl --flamegraph-pl .../flamegraph.pl"

speedscope is fetched by npm (build/bench-page/npm) and left out where that cannot be done."""
import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIR = os.path.join(TOP, "build", "bench-page")
sys.path.insert(0, os.path.join(TOP, "tests"))
import browser  # noqa: E402

# ---- the three sizes ---------------------------------------------------------------------------------------------------


def record(resolve, capture):
    """s: the compiler at work."""
    source = os.path.join(DIR, "s.cc")
    with open(source, "w") as f:
        f.write("#include <regex>\n#include <map>\n#include <iostream>\nint main(int, char **v) { std::regex r(v[0]); std::map<std::string, std::string> m; "
                "m[v[0]] = v[1]; std::cout << std::regex_match(v[1], r) << m.size(); }\n")
    subprocess.run([capture, "-q", "-F", "499", "-o", f"{DIR}/s.data", "--", "g++", "-O1", "-c", "-o", "/dev/null", source], check=True)
    subprocess.run([resolve, "-q", "-o", f"{DIR}/s.folded", f"{DIR}/s.data"], check=True)


def random_stacks(n_stacks, names, fresh, depth, seed):
    """Stacks that share a beginning with one before: `fresh` frames are new to the tree."""
    r, stacks = random.Random(seed), [["app", "main"]]
    for _ in range(n_stacks):
        base = stacks[int(len(stacks) * r.random() ** 2)]
        keep = r.randint(2, max(2, min(len(base), depth)))
        stacks.append(base[:keep] + [names[int(len(names) * r.random() ** 2)] for _ in range(fresh + r.randint(-2, 2))])
    return stacks[1:]


def deep_stacks(names, r):
    """One stack of 10,000 levels, and branches of it."""
    chain = [r.choice(names) for _ in range(10000)]
    return [["app", *chain]] * 300 + [["app", *chain[:r.randint(100, 9990)], *(r.choice(names) for _ in range(30))] for _ in range(40)]


def write_folded(path, stacks, seed):
    r = random.Random(seed)
    sums = {}
    for s in stacks:
        key = ";".join(s)
        sums[key] = sums.get(key, 0) + 1 + int(100 * r.random() ** 8)
    with open(path, "w") as f:
        f.writelines(f"{k} {n}\n" for k, n in sorted(sums.items()))


def words(r, n):
    parts = "read write parse make find insert sort merge lock alloc free send recv hash copy node page block cache index table list tree".split()
    return ["_".join(r.choice(parts) for _ in range(r.randint(1, 3))) + (f"_{i}" if i > 200 else "") for i in range(n)]


def cpp_names(r, n):
    types = ["std::vector<int, std::allocator<int> >", "std::map<std::string, core::Value>", "core::Ref<net::Session>", "std::unique_ptr<io::Buffer>", "char const*"]
    short = words(r, n)
    return [f"{r.choice(['core', 'net', 'io', 'db'])}::{short[i].title().replace('_', '')}<{', '.join(r.choice(types) for _ in range(r.randint(0, 2))) or 'int'}>::{r.choice(short)}"[:120]
            for i in range(n)]


def make_sizes(wanted, bin_dir):
    os.makedirs(DIR, exist_ok=True)
    for size in wanted:
        if os.path.exists(f"{DIR}/{size}.folded"):
            continue
        r = random.Random(11)
        if size == "s":
            record(f"{bin_dir}/resolve", f"{bin_dir}/capture")
        elif size == "m":
            write_folded(f"{DIR}/m.folded", random_stacks(100000, words(r, 6000), 12, 26, 1), 1)
        elif size == "d":
            write_folded(f"{DIR}/d.folded", deep_stacks(words(r, 300), r), 1)
        else:
            write_folded(f"{DIR}/l.folded", random_stacks(33508, cpp_names(r, 9000), 14, 24, 2), 2)
    return {s: gzipped(f"{DIR}/{s}.folded") for s in wanted}


def gzipped(path):
    with open(path, "rb") as f:
        return len(gzip.compress(f.read(), 6))


# ---- the pages ---------------------------------------------------------------------------------------------------------


def speedscope():
    """Its page, by npm; None without."""
    page = os.path.join(DIR, "npm", "package", "dist", "release", "index.html")
    if not os.path.exists(page):
        os.makedirs(f"{DIR}/npm", exist_ok=True)
        p = subprocess.run("npm pack --silent speedscope && tar xzf speedscope-*.tgz", shell=True, cwd=f"{DIR}/npm", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if p.returncode:
            return None
    return page


def make_page(kind, size, bin_dir, flamegraph_pl):
    """(url, bytes) of a page of a size; None: it cannot be made."""
    source = f"{DIR}/s.data" if size == "s" and kind != "speedscope" and os.path.exists(f"{DIR}/s.data") else f"{DIR}/{size}.folded"
    if kind == "speedscope":
        page = speedscope()
        if not page:
            return None
        import base64
        script = f"{DIR}/{size}.speedscope.js"
        with open(source, "rb") as f, open(script, "w") as out:
            out.write(f"speedscope.loadFileFromBase64({json.dumps(size + '.folded')}, {json.dumps(base64.b64encode(f.read()).decode())})")
        return f"file://{page}#localProfilePath={script}", os.path.getsize(script)
    if kind == "pl":
        path = f"{DIR}/{size}.pl.svg"
        if flamegraph_pl and not os.path.exists(path):
            with open(path, "w") as out:
                subprocess.run(["perl", flamegraph_pl, f"{DIR}/{size}.folded"], stdout=out, check=True)
        return (f"file://{path}", os.path.getsize(path)) if os.path.exists(path) else None
    path = f"{DIR}/{size}.{'svg' if kind == 'svg' else 'html'}"
    subprocess.run([f"{bin_dir}/resolve", "-q", "-o", path, source], check=True)
    return f"file://{path}", os.path.getsize(path)


# ---- measuring ---------------------------------------------------------------------------------------------------------

WATCH = """
window.bench = {tasks: [], frames: [], clicks: []};
new PerformanceObserver(l => l.getEntries().forEach(e => bench.tasks.push(e.startTime + e.duration))).observe({entryTypes: ['longtask']});
addEventListener('click', () => {
    const from = performance.now();
    requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => bench.clicks.push(performance.now() - from); c.port2.postMessage(0); });
}, true);
bench.watch = () => { let last = 0; const step = t => { if (last) bench.frames.push(t - last); last = t; bench.id = requestAnimationFrame(step); }; step(0); };
"""
QUIET_MS = 2000


class Bench(browser.Browser):
    def over_all(self, method, **params):
        session, self.session = self.session, None
        try:
            return self.call(method, **params)
        finally:
            self.session = session

    def cpu_s(self):
        """Of all page processes."""
        seconds = 0
        for p in self.over_all("SystemInfo.getProcessInfo")["processInfo"]:
            if p["type"] == "renderer":
                with open(f"/proc/{p['id']}/stat") as f:
                    seconds += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        return seconds

    def peak_mb(self):
        """The most that the largest page process has had until now."""
        best = 0
        for p in self.over_all("SystemInfo.getProcessInfo")["processInfo"]:
            if p["type"] == "renderer":
                with open(f"/proc/{p['id']}/status") as f:
                    best = max([best] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        return best / 1024

    def heap_mb(self):
        self.call("HeapProfiler.collectGarbage")
        usage = self.call("Runtime.getHeapUsage")
        return (usage["usedSize"] + usage.get("backingStorageSize", 0)) / 1e6

    def wait_idle(self):
        """Seconds from the start of loading to the end of the last long task."""
        while True:
            now, last, loaded = self.evaluate("[performance.now(), Math.max(0, ...bench.tasks), document.readyState === 'complete' && "
                                              "(document.documentElement.dataset.ready === '1' || !document.getElementById('profile')) ? performance.timing.loadEventEnd - performance.timing.navigationStart : 0]")
            if loaded and now - max(last, loaded) > QUIET_MS:
                return max(last, loaded) / 1000
            time.sleep(0.1)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def busy(self, x0, y0, x1, y1, rounds=16):
        """Moves, clicks, goes back, scrolls; then what was measured."""
        r = random.Random(5)
        self.evaluate("bench.frames.length = bench.clicks.length = 0; bench.watch()")
        for _ in range(rounds):
            x, y = r.uniform(x0, x1), r.uniform(y0, y1)
            for i in range(6):
                self.mouse("mouseMoved", x - 60 + i * 10, y)
            n = self.evaluate("bench.clicks.length")
            self.mouse("mousePressed", x, y, button="left", clickCount=1)
            self.mouse("mouseReleased", x, y, button="left", clickCount=1)
            self.evaluate(f"new Promise(done => {{ const look = () => bench.clicks.length > {n} ? done() : setTimeout(look, 5); setTimeout(done, 8000); look(); }})")
            self.mouse("mouseWheel", x, y, deltaX=0, deltaY=r.choice((-240, 240)))
            self.key("Escape", 27)
            self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")
        frames, clicks = self.evaluate("[bench.frames, bench.clicks]")
        return {"click": statistics.median(clicks) if clicks else None, "longest": max(frames), "fps": 1000 * len(frames) / sum(frames)}


def measure(url, area):
    with Bench(width=1280, height=800) as b:
        b.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        before = b.cpu_s()
        b.open(url)
        idle = b.wait_idle()
        cpu = b.cpu_s() - before
        loaded = b.peak_mb()
        heap = b.heap_mb()
        result = b.busy(*area)
        return {"idle": idle, "cpu": cpu, "heap": heap, "loaded": loaded, "peak": b.peak_mb(), **result}


AREAS = {"html": (50, 80, 1230, 330), "svg": (50, 80, 1150, 600), "pl": (50, 80, 1150, 600), "speedscope": (50, 100, 1230, 500), "empty": (50, 80, 1230, 330)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(TOP, "bin"))
    parser.add_argument("--sizes", default="s,m,l")
    parser.add_argument("--pages", default="html,speedscope,svg")
    parser.add_argument("--flamegraph-pl", metavar="PATH", help="for pages of `pl`")
    args = parser.parse_args()
    if not browser.find():
        sys.exit("no chromium here")
    sizes = make_sizes(args.sizes.split(","), args.bin)
    print(f"{'page':14}{'file MB':>9}{'x gz':>6}{'idle s':>8}{'cpu s':>7}{'heap MB':>9}{'idle MB':>9}{'peak MB':>9}{'click ms':>10}{'longest ms':>12}{'fps':>7}")
    empty = os.path.join(DIR, "empty.html")
    with open(empty, "w") as f:
        f.write("<!DOCTYPE html><title>empty</title>")
    rows = [("empty", None, None)] + [(kind, size, packed) for size, packed in sizes.items() for kind in args.pages.split(",")]
    for kind, size, packed in rows:
        page = make_page(kind, size, args.bin, args.flamegraph_pl) if size else (f"file://{empty}", 0)
        if not page:
            print(f"{kind + ' ' + size:14} not here")
            continue
        m = measure(page[0], AREAS[kind])
        ratio = f"{page[1] / packed:.2f}" if packed else ""
        click = f"{m['click']:.0f}" if m["click"] is not None else "-"
        print(f"{kind + ' ' + (size or ''):14}{page[1] / 1e6:9.2f}{ratio:>6}{m['idle']:8.2f}{m['cpu']:7.2f}{m['heap']:9.0f}{m['loaded']:9.0f}{m['peak']:9.0f}{click:>10}{m['longest']:12.0f}{m['fps']:7.1f}", flush=True)


if __name__ == "__main__":
    main()
