"""real_server.py - elfutils' debuginfod(8) in the network namespace of the test, over directories or .deb archives.

It listens on all interfaces, which here is the loopback only. Its log says what was asked and how many bytes it sent."""
import collections
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request

Request = collections.namedtuple("Request", "build_id kind status bytes")
LOG_LINE = re.compile(r"GET /buildid/(\w+)/(\S+) (\d+) (\d+) ")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class RealServer:
    """with RealServer("-F", "debug") as s: ... s.url, s.requests()"""

    def __init__(self, *what):
        self.what = what

    def __enter__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = os.path.abspath(f"server-{self.port}.log")
        self.tmp = os.path.abspath(f"server-{self.port}.tmp")
        os.mkdir(self.tmp)
        env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["debuginfod", "-p", str(self.port), "-d", f"{self.tmp}/index.sqlite", "-t0", "-g0", "--fdcache-mintmp=0",
                 "--disable-source-scan", *self.what], env=dict(env, TMPDIR=self.tmp), stdout=log, stderr=log)
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def metric(self, name):
        with urllib.request.urlopen(self.url + "/metrics", timeout=5) as r:
            for line in r.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.rsplit(" ", 1)[1])
        return None

    def wait(self):
        """Until everything was scanned."""
        end = time.time() + 60
        while time.time() < end:
            if self.process.poll() is not None:
                break
            try:
                if self.metric('thread_work_total{role="traverse"}') == 1 and \
                        not any(self.metric(m) for m in ('thread_busy{role="traverse"}', 'thread_work_pending{role="scan"}',
                                                         'thread_busy{role="scan"}')):
                    return
            except OSError:
                pass
            time.sleep(0.05)
        with open(self.log) as f:
            raise RuntimeError("debuginfod does not get ready:\n" + f.read()[-2000:])

    def requests(self):
        """What was asked for up to now. The server writes its line after it has answered: the count of its metrics says
        when all are there."""
        for _ in range(100):
            with open(self.log, errors="replace") as f:
                found = [Request(i, kind.removeprefix("section/"), int(status), int(size))
                         for i, kind, status, size in LOG_LINE.findall(f.read())]
            asked = sum(self.metric(f'http_requests_total{{type="{t}"}}') or 0 for t in ("section", "debuginfo", "executable"))
            if len(found) >= asked:
                break
            time.sleep(0.05)
        return found
