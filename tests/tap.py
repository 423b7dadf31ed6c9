"""tap.py - what tests print (testanything.org): a line for each thing that was checked, and the status that they end with."""
import sys

WHY_LINES_MAX = 60


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
