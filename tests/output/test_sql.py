#!/usr/bin/env python3
"""The SQL of doc/formats.md by a real DuckDB (its library, which npm carries: tests/duckdb.sh) and a real ClickHouse, where one is
installed: what functions cost themselves is what jsonl's samples add up to."""
import collections
import ctypes
import json
import lzma
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, run, until  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
LIBRARY = os.path.join(TOP, "build", "npm", "libduckdb.so")
with open(os.path.join(TOP, "doc", "formats.md"), encoding="utf-8") as f:
    doc = re.findall(r"(?:^    .*\n)+", f.read(), re.M)  # indented blocks
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
os.mkdir("hosts")


def write(name, form, out):
    if not os.path.exists(f"{name}.data"):
        with lzma.open(os.path.join(PLACE, name, "perf.data.xz")) as packed, open(f"{name}.data", "wb") as f:
            f.write(packed.read())
    run([RESOLVE, "-q", "--no-cache", "--symfs", "root", "-f", form, "-o", out, f"{name}.data"])


def sums(path, key):
    total = collections.Counter()
    with open(path, encoding="utf-8") as f:
        for line in f:
            s = json.loads(line)
            total[key(s)] += s["period"]
    return total


class Result(ctypes.Structure):  # duckdb_result of duckdb.h: five members that are not to be used, and its own
    _fields_ = [("columns", ctypes.c_uint64), ("rows", ctypes.c_uint64), ("changed", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("error", ctypes.c_char_p), ("internal", ctypes.c_void_p)]


class DuckDB:
    def __init__(self):
        self.d, self.connection, db = ctypes.CDLL(LIBRARY), ctypes.c_void_p(), ctypes.c_void_p()
        self.d.duckdb_result_error.restype = ctypes.c_char_p
        self.d.duckdb_value_varchar.restype = ctypes.c_void_p
        self.d.duckdb_column_count.restype = self.d.duckdb_row_count.restype = ctypes.c_uint64
        assert not self.d.duckdb_open(None, ctypes.byref(db)) and not self.d.duckdb_connect(db, ctypes.byref(self.connection))

    def ask(self, sql):
        """The result of the last statement, as texts; None is NULL."""
        rows = []
        for one in re.sub(r"^ *--.*\n", "", sql, flags=re.M).split(";"):
            if not one.strip():
                continue
            r = Result()
            if self.d.duckdb_query(self.connection, one.encode(), ctypes.byref(r)):
                raise RuntimeError(self.d.duckdb_result_error(ctypes.byref(r)).decode())
            at = ctypes.byref(r)
            texts = [[self.d.duckdb_value_varchar(at, ctypes.c_uint64(x), ctypes.c_uint64(y)) for x in range(self.d.duckdb_column_count(at))]
                     for y in range(self.d.duckdb_row_count(at))]
            rows = [tuple(ctypes.string_at(t).decode() if t else None for t in row) for row in texts]
            self.d.duckdb_destroy_result(at)
        return rows


write("cpp-pipe", "jsonl", "out.jsonl")
write("cpp-pipe", "jsonl2", "out.jsonl2")
own = sums("out.jsonl", lambda s: s["stack"][0].get("sym"))

if not os.path.exists(LIBRARY):
    tap.skip("DuckDB", "its library is not here: make deps fetches it by npm")
else:
    db = DuckDB()
    rows = db.ask(next(b for b in doc if "read_json('out.jsonl2'" in b))
    tap.check({k: int(n) for k, n in rows} == own and len(rows) > 3, f"DuckDB {db.ask('SELECT version()')[0][0]}: what functions cost themselves", rows, own)
    rows = db.ask("SELECT stack[1].sym, sum(period) FROM 'out.jsonl' GROUP BY 1")
    tap.check({k: int(n) for k, n in rows} == own, "DuckDB: jsonl, without a join", rows)
    want = collections.Counter()
    for host in ("cpp-pipe", "go", "rust"):
        write(host, "jsonl2", f"hosts/{host}.jsonl2")
        write(host, "jsonl", f"{host}.jsonl")
        want.update({(f"hosts/{host}.jsonl2", *k): n for k, n in sums(f"{host}.jsonl", lambda s: (s["comm"],)).items()})
    rows = db.ask(next(b for b in doc if "hosts/*.jsonl2" in b))
    tap.check({(a, b): int(n) for a, b, n in rows} == want and len(rows) == 3, "DuckDB: the commands of several hosts", rows, want)


# ---- ClickHouse ----------------------------------------------------------------------------------------------------------
def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def ask_clickhouse(port, sql, stdin=subprocess.DEVNULL):
    return subprocess.run(["clickhouse-client", "--host", "127.0.0.1", "--port", str(port), "--multiquery", "--input_format_skip_unknown_fields=1", "-q", sql],
                          stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def clickhouse(create, select):
    tcp, http, between = free_ports(3)
    with open("config.xml", "w") as f:
        f.write(f"""<yandex><tcp_port>{tcp}</tcp_port><http_port>{http}</http_port><interserver_http_port>{between}</interserver_http_port>
<listen_host>127.0.0.1</listen_host><path>{os.getcwd()}/data/</path><tmp_path>{os.getcwd()}/data/tmp/</tmp_path><users_config>users.xml</users_config>
<mark_cache_size>5368709120</mark_cache_size><default_profile>default</default_profile><default_database>default</default_database>
<logger><level>warning</level><log>{os.getcwd()}/log</log><errorlog>{os.getcwd()}/errors</errorlog></logger></yandex>""")
    with open("users.xml", "w") as f:
        f.write("<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks>"
                "<profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>")
    with open("server.out", "wb") as out:
        server = subprocess.Popen([shutil.which("clickhouse-server"), f"--config-file={os.getcwd()}/config.xml"], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        until(lambda: server.poll() is not None or not ask_clickhouse(tcp, "SELECT 1").returncode, "ClickHouse")
        made = ask_clickhouse(tcp, create)
        with open("out.jsonl2", encoding="utf-8") as f:
            filled = ask_clickhouse(tcp, "INSERT INTO l FORMAT JSONEachRow", f)
        p = ask_clickhouse(tcp, select)
        rows = [line.rsplit("\t", 1) for line in p.stdout.splitlines()]
        tap.check({k or None: int(n) for k, n in rows} == own, "ClickHouse: what functions cost themselves", made.stderr, filled.stderr, p.stderr, rows)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


if not (shutil.which("clickhouse-server") and shutil.which("clickhouse-client")):
    tap.skip("ClickHouse", "no clickhouse-server and clickhouse-client here")
else:
    block = next(b for b in doc if "ALL INNER JOIN" in b)
    tap.check("INSERT INTO l FORMAT JSONEachRow" in block and "--input_format_skip_unknown_fields=1" in block, "ClickHouse: how it is filled is told")
    clickhouse(*re.sub(r"^ *--.*\n", "", block, flags=re.M).split(";")[:2])
tap.end()
