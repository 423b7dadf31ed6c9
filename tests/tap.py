"""tap.py - what tests print (testanything.org): a line for each thing that was checked, and the status that they end with."""
import os
import sys

WHY_LINES_MAX = 60


def paranoid():
    """kernel.perf_event_paranoid as it is for this user: root is not asked."""
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as f:
            return -1 if os.geteuid() == 0 else int(f.read())
    except (OSError, ValueError):
        return 4


MAY_KERNEL = paranoid() <= 1  # to record what the kernel does
MAY_ALL = paranoid() <= 0  # to record processors, so all processes (-a)
NOT_PERMITTED = f"kernel.perf_event_paranoid is {paranoid()}, and this user is not root"


def event(name):
    """What perf calls an event that this user records: only user space may be recorded otherwise."""
    return name if MAY_KERNEL else f"{name}:u"


class Tap:
    """Prints TAP and remembers whether anything failed."""

    def __init__(self):
        self.failed = 0

    def check(self, good, name, *why):
        print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
        if not good:
            self.failed += 1
            lines = [line for w in why for line in str(w).splitlines()]
            print("".join(f"#   {line}\n" for line in lines[:WHY_LINES_MAX]), end="", flush=True)
        return good

    def skip(self, name, why):
        print(f"ok - {name} # SKIP {why}", flush=True)

    def end(self):
        sys.exit(1 if self.failed else 0)
