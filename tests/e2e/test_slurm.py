#!/usr/bin/env python3
"""An array job of a real Slurm, by the lines of doc/fleet.md: a task for each recording, all with one cache of debug information,
filled before; the shards' sum is byte for byte that of one run. The cluster is this machine: munged, slurmctld and slurmd of the test's own, in its folder."""
import glob
import lzma
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import time

from common import BIN, TOP, Tap, run, until
from tap import LONG

N = 200 if LONG else 12
LIMIT = 30  # seconds in which something has to happen
PLACE = os.path.join(TOP, "testdata", "recordings")
HERE = os.getcwd()
# A job that cannot be started is an error, not one to try again in two minutes; the scheduler looks at the queue each second, not each minute.
CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={here}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool
SlurmctldPidFile={here}/ctld.pid
SlurmdPidFile={here}/d.pid
SlurmctldLogFile={here}/ctld.log
SlurmdLogFile={here}/d.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
MpiDefault=none
JobRequeue=0
ReturnToService=2
MaxArraySize=1001
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
TOOLS = "munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo"
tap = Tap()


def recordings():
    with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
        t.extractall(".")
    os.mkdir("hosts")
    names = "cpp-pipe", "go", "rust"  # of one event, as pprof calls all clocks "cpu"
    for i in range(N):
        with lzma.open(os.path.join(PLACE, names[i % len(names)], "perf.data.xz")) as packed, open(f"hosts/{i:03}.data", "wb") as f:
            f.write(packed.read())


def ports(n):
    """Free ones, below those that the kernel gives to connections: such a one could be gone before the daemon asks for it."""
    free = []
    for port in random.sample(range(10000, 32000), 1000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                free.append(port)
            except OSError:
                pass
        if len(free) == n:
            return free
    raise RuntimeError("no free ports")


def asked(*cmd):
    """What a command of Slurm says; None where the controller does not answer."""
    try:
        p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    return None if p.returncode else p.stdout


def start(daemons, name, *options):
    with open(f"{name}.out", "wb") as out:
        daemons.append(subprocess.Popen([shutil.which(name), *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out))


def alive(daemons):
    for d in daemons:
        if d.poll() is not None:
            raise RuntimeError(f"{d.args[0]} has ended: {d.returncode}")
    return True


def cluster(daemons):
    """The daemons; the environment of commands is set."""
    os.mkdir("state")
    os.mkdir("spool")
    with open("munge.key", "wb") as f:
        f.write(os.urandom(128))
    os.chmod("munge.key", 0o400)
    host = socket.gethostname().split(".")[0]
    with open("slurm.conf", "w") as f:
        f.write(CONF.format(here=HERE, host=host, ports=ports(2)))
    os.environ["SLURM_CONF"] = f"{HERE}/slurm.conf"
    start(daemons, "munged", "--foreground", "--force", f"--socket={HERE}/munge.socket", f"--key-file={HERE}/munge.key", f"--pid-file={HERE}/munge.pid",
          f"--log-file={HERE}/munge.log", f"--seed-file={HERE}/munge.seed")
    until(lambda: alive(daemons) and os.path.exists("munge.socket"), "munged", LIMIT)
    start(daemons, "slurmctld", "-D", "-f", f"{HERE}/slurm.conf")
    until(lambda: alive(daemons) and "UP" in (asked("scontrol", "ping") or ""), "slurmctld", LIMIT)
    start(daemons, "slurmd", "-D", "-f", f"{HERE}/slurm.conf", "-N", host)
    until(lambda: alive(daemons) and "idle" in (asked("sinfo", "-h", "-o", "%T") or ""), "the node to be idle", LIMIT)


def wait_for(job):
    """Until no task is in the queue. (sbatch -W looks each half minute.) The limit is for one task to end, not for all."""
    left, since = None, time.monotonic()
    while True:
        queue = asked("squeue", "-h", "-r", "-j", job, "-o", "%i")
        if queue == "":
            return
        if queue is not None and len(queue.split()) != left:
            left, since = len(queue.split()), time.monotonic()
        if time.monotonic() - since > LIMIT:
            raise RuntimeError(f"no task of {left} has ended for {LIMIT} s\n{asked('squeue', '-r')}\n{asked('scontrol', 'show', 'node')}")
        time.sleep(0.2)


def end(daemons):
    for d in reversed(daemons):
        d.send_signal(signal.SIGTERM)
        try:
            d.wait(LIMIT)
        except subprocess.TimeoutExpired:
            d.kill()
            d.wait()


def logs():
    """The ends of what the daemons and the tasks have said."""
    said = []
    for name in ("ctld.log", "d.log", "munge.log", *sorted(glob.glob("*.out"))):
        if os.path.exists(name):
            with open(name, errors="replace") as f:
                said += [f"{name}:", *f.read().splitlines()[-12:]]
    return "\n".join(said)


def array_job():
    """The states of its tasks, and their exit codes."""
    daemons = []
    try:
        cluster(daemons)
        job = run(["sbatch", "--parsable", f"--array=1-{N}", "shard.sh"], timeout=LIMIT).stdout.strip()
        wait_for(job)
        return re.findall(r"JobState=(\S+).*? ExitCode=(\S+)", asked("scontrol", "-o", "show", "job", job) or "")
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        return f"{e}\n{logs()}"
    finally:
        end(daemons)


def main():
    os.environ["PATH"] += ":/usr/sbin"
    missing = [d for d in TOOLS if not shutil.which(d)]
    if missing or os.getuid():
        return tap.skip("an array job of Slurm", f"no {missing[0]} here" if missing else "the daemons need root")
    recordings()
    with open(os.path.join(TOP, "doc", "fleet.md"), encoding="utf-8") as f:
        lines = re.findall(r"^    \$ (.*shard\.sh)$", f.read(), re.M)
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    os.environ["XDG_CACHE_HOME"] = f"{HERE}/cache"
    run(["sh", "-c", "ls hosts/*.data > list; resolve -q --symfs root hosts/00[0-2].data > /dev/null"])
    run(["sh", "-c", "\n".join(line.replace("resolve -q", f"resolve -q --symfs {HERE}/root") for line in lines if line.startswith("echo"))])
    tasks = array_job()
    shards = glob.glob("hosts/*.pb.gz")
    if not tap.check(tasks == [("COMPLETED", "0:0")] * N and len(shards) == N, f"sbatch --array=1-{N} shard.sh: a shard for each recording", tasks, len(shards)):
        return None
    run(["sh", "-c", "resolve -q -o all.pb.gz hosts/*.pb.gz; resolve -q all.pb.gz > sum.folded; resolve -q --symfs root hosts/*.data > one.folded"])
    return tap.check(open("sum.folded", "rb").read() == open("one.folded", "rb").read() != b"", "the sum of the shards is that of one run")


main()
tap.end()
