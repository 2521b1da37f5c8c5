"""Spells each JSON text canonically: one line of hexadecimal in, one out, or "refused: WHY"."""

import json
import sys


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def integer(digits):
    if len(digits.lstrip("-")) > 4300:
        raise ValueError("too many digits")
    return int(digits)


def constant(name):
    raise ValueError(name)


for line in sys.stdin:
    try:
        text = bytes.fromhex(line).decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=unique, parse_int=integer, parse_constant=constant
        )
        canonical = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        print(canonical.encode("utf-8").hex())
    except (ValueError, RecursionError) as error:
        print("refused: %s" % str(error).replace("\n", " "))
