"""until_cpu.py PID SECONDS - ends when a process has used so much more CPU time, all threads together: the command of recordings that
have to hold samples of it, however little of the machine there is."""
import sys

from common import cpu_seconds, until

pid, seconds = int(sys.argv[1]), float(sys.argv[2])
enough = cpu_seconds(pid) + seconds
until(lambda: cpu_seconds(pid) >= enough, f"{seconds} s of process {pid}")
