import json
import re
import time


def parse(text):
    return json.loads(text)


def search(words):
    return sum(1 for w in words if re.search(r"(a|b)+c", w))


def table(n):
    return sorted((str(i * i) for i in range(n)), key=lambda s: s[::-1])


def main():
    end = time.process_time() + 0.3
    text = json.dumps([{"name": "x" * 20, "at": list(range(50))}] * 40)
    while time.process_time() < end:
        parse(text)
        search(["abababab" * 30] * 20)
        table(3000)


main()
