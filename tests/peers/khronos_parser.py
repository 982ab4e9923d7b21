"""Runs the Khronos parser (PyPI `nnef`) over documents, in an environment that has it. It has no imports of ours.

Reads a JSON list of texts from stdin and writes a JSON list: "" for an accepted document, else what the parser said.
Each document is parsed in a process of its own, because some kill it.
"""

import json
import os
import sys

import nnef


def verdict(text):
    """The parser's message, or nothing."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            nnef.parse_string(text)
            message = ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            message = f"{type(error).__name__}: {error}"
        with os.fdopen(writer, "w", errors="replace") as file:
            file.write(message)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, errors="replace") as file:
        message = file.read()
    status = os.waitpid(child, 0)[1]
    return f"crash: signal {status & 127}" if status & 127 else message


if __name__ == "__main__":
    json.dump([verdict(text) for text in json.load(sys.stdin)], sys.stdout)
