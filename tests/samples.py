"""samples.py - what `-f jsonl` says, as one dictionary for each sample, with its stack."""
import json


def read(text):
    return [json.loads(line) for line in text.splitlines()]
