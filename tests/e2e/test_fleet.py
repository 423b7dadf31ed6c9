#!/usr/bin/env python3
"""The lines of doc/fleet.md run as they stand, one after the other in one shell, on recordings of testdata. Servers are stand-ins: they take what is
posted, and pprof and OTLP must be what the paths promise."""
import gzip
import http.server
import lzma
import os
import re
import subprocess
import tarfile
import threading
import urllib.request

from common import RESOLVE, TOP, Tap, have

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
os.mkdir("hosts")
for host, name in zip("abcd", ("cpp-perf", "cpp-fp", "go", "rust")):
    with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open(f"hosts/{host}.data", "wb") as f:
        f.write(packed.read())
# The files that these recordings name are below `root`.
os.mkdir("bin")
with open("bin/resolve", "w") as f:
    f.write(f"#!/bin/sh\nexec '{RESOLVE}' --symfs '{os.path.abspath('root')}' --kallsyms '{os.path.abspath('root/kallsyms')}' \"$@\"\n")
os.chmod("bin/resolve", 0o755)

posted = {}


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        posted[self.path] = (self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
text = open(os.path.join(TOP, "doc/fleet.md")).read()
commands = re.findall(r"^    \$ (.*)$", text, re.M)
tap.check(len(commands) > 15, "doc/fleet.md: there are commands", commands)
env = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])
shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
shown = {}
for command in commands:
    if command.startswith("curl") and not have("curl"):
        tap.skip(command, "no curl")
        continue
    shell.stdin.write(re.sub(r"localhost:\d+", f"127.0.0.1:{server.server_port}", command) + "\necho \"=$?=\"\n")
    shell.stdin.flush()
    lines = []
    for line in shell.stdout:
        if line.startswith("="):
            break
        lines.append(line)
    shown[command] = "".join(lines)
    tap.check(line == "=0=\n", command, line, shown[command])
shell.stdin.close()
shell.wait()
tap.check(os.listdir("cache/unspool"), "the cache is where it was put")
tap.check("spin" in shown["resolve -q -f top -n 10 all.pb.gz"], "top of the sum", shown)
hosts = next(out for command, out in shown.items() if "basename" in command)
tap.check(re.fullmatch(r"(?:[abcd]\.data [1-9]\d*\n){4}", hosts), "samples of each host", hosts)
if have("curl"):
    kind, body = posted.get("/ingest?name=fleet&format=pprof", (None, b""))
    tap.check(body == open("all.pb.gz", "rb").read() and gzip.decompress(body), "what Pyroscope gets is pprof")
    kind, body = posted.get("/v1development/profiles", (None, b""))
    tap.check(kind == "application/x-protobuf" and body == open("all.otlp", "rb").read() and body[0] == 0x0a, "what a collector gets is OTLP", kind)
# ---- Parca's scraper (pkg/scrape, pkg/config of parca-dev/parca, commit 3b5647cd9e2a): a GET of each kind that is on, which must answer 200 with a
# profile that the library of Go's pprof takes; kinds that the file does not name are on.
shown_sum = subprocess.run([RESOLVE, "-q", "all.pb.gz"], capture_output=True, text=True, check=True).stdout
recipe = text[text.index("    scrape_configs:"):]
recipe = recipe[:recipe.index("\n\n")]
kinds = {k: dict(re.findall(r"(\w+): ([^,}]+)", v)) for k, v in re.findall(r"^ +(\w+): \{(.*)\}$", recipe, re.M)}
tap.check(set(kinds) == {"process_cpu", "memory", "block", "goroutine", "mutex"} and [k for k in kinds if kinds[k]["enabled"] == "true"] == ["process_cpu"],
          "Parca asks for one kind", kinds)
target = re.search(r'targets: \["([^/"]+):\d+"\]', recipe)  # a name without a path, as it demands
files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
threading.Thread(target=files.serve_forever, daemon=True).start()
with urllib.request.urlopen(f"http://127.0.0.1:{files.server_port}{kinds['process_cpu']['path']}") as answer:
    status, body = answer.status, answer.read()
with open("scraped", "wb") as f:
    f.write(body)
tap.check(target and status == 200 and body == open("all.pb.gz", "rb").read() and body[:2] == b"\x1f\x8b", "what Parca scrapes is the file", status, len(body))
if have("go"):
    p = subprocess.run(["go", "tool", "pprof", "-raw", "scraped"], capture_output=True, text=True, check=False)
    total = sum(int(v) for v in re.findall(r"^ +\d+ +(\d+):", p.stdout, re.M))
    tap.check(p.returncode == 0 and total == sum(int(line.rsplit(" ", 1)[1]) for line in shown_sum.splitlines()), "the scraper's library reads all samples", p.stderr[-300:], total)
else:
    tap.skip("the scraper's library", "no go")
files.shutdown()
tap.check(open("shard.sh").read().startswith("#!/"), "shard.sh begins with its interpreter, as sbatch wants it")
server.shutdown()
tap.end()
