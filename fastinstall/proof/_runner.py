"""Perform named cases with one PIL and record their results; runs inside a target.

    python -I _runner.py --stage DIR --operations FILE.py --cases FILE --results FILE
                         [--inputs DIR] [--samples FILE] [--from INDEX] [--seconds S]

--stage DIR: import PIL from DIR; if PIL cannot be imported or comes from another directory, exit with code 3.
--operations FILE.py: a module with `perform(name)`, which returns a list of (mode, (width, height), bytes).
--cases FILE: names of cases, one per line.
--results FILE: an existing file of 160 * (cases + 1) bytes. It is written through a memory map, so no result is lost if
  a case kills this process. Record 0 begins with the number of the current case (from 1, 64 bits, little endian).
  Record N is the result of case N: "D" and the first 16 bytes of a SHA-256, or "E" and the exception ("ValueError: bad
  image size"), truncated to fit.
--inputs DIR: change the working directory to DIR, where operations find their files.
--samples FILE: append the pictures of each case to FILE: a line of JSON, [name, [[mode, [width, height], length],
  ...]], and then the samples of all these pictures.
--from INDEX: start with the case of this index (from 0).
--seconds S: time limit of a case; SIGALRM kills the process when it is exceeded.

Needs only the standard library and PIL, on Python 3.8 or later.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import warnings
from typing import Any, Callable, List, Tuple

Parts = List[Tuple[str, Tuple[int, int], bytes]]
Perform = Callable[[str], Parts]
RECORD = 160
ADDRESS = re.compile("0x[0-9a-f]+")
NOT_IMPORTED = 3
LONGEST_IMPORT = 60.0


def main(arguments: list[str]) -> None:
    """Perform each case and record its result."""
    options = dict(zip(arguments[::2], arguments[1::2]))
    seconds = float(options.get("--seconds", "20"))
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, LONGEST_IMPORT))
    perform = prepared(options["--stage"], options["--operations"])
    os.chdir(options.get("--inputs", "."))
    with open(options["--cases"], encoding="utf-8") as stream:
        names = stream.read().splitlines()
    with open(options["--results"], "r+b") as stream:
        board = mmap.mmap(stream.fileno(), 0)
    samples = open(options["--samples"], "ab") if "--samples" in options else None  # noqa: SIM115 (flushed per case)
    for index in range(int(options.get("--from", "0")), len(names)):
        struct.pack_into("<Q", board, 0, index + 1)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        record = attempt(perform, names[index], samples)
        board[(index + 1) * RECORD : (index + 2) * RECORD] = record.ljust(RECORD, b"\0")


def prepared(stage: str, operations: str) -> Perform:
    """Import PIL from the stage, then the module at the path `operations`; return that module's `perform`.

    If PIL cannot be imported, or comes from another directory, exit with code 3.
    """
    sys.path.insert(0, stage)
    try:
        import PIL
        from PIL import Image

        Image.init()
    except BaseException as error:  # noqa: BLE001 (any exception is reported)
        print("%s: %s" % (type(error).__name__, error))
        sys.exit(NOT_IMPORTED)
    if not (PIL.__file__ or "").startswith(stage + os.sep):
        print("PIL comes from %s, not from %s" % (PIL.__file__, stage))
        sys.exit(NOT_IMPORTED)
    spec = importlib.util.spec_from_file_location("operations", operations)
    module: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # a file always has a spec
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    perform: Perform = module.perform
    return perform


def attempt(perform: Perform, name: str, samples: Any) -> bytes:
    """Perform a case; return the record of its result."""
    try:
        parts = perform(name)
    except Exception as error:  # noqa: BLE001 (any exception is the result of this case)
        text = "%s: %s" % (type(error).__name__, ADDRESS.sub("0x", str(error)))  # object addresses vary between runs
        return b"E" + text.encode(errors="replace")[: RECORD - 1]
    if samples is not None:
        write(samples, name, parts)
    return b"D" + digest(parts)


def digest(parts: Parts) -> bytes:
    """Return the first 16 bytes of the SHA-256 of the pictures' modes, sizes and samples."""
    found = hashlib.sha256()
    for mode, size, content in parts:
        found.update(("%s %dx%d " % (mode, size[0], size[1])).encode())
        found.update(content)
    return found.digest()[:16]


def write(samples: Any, name: str, parts: Parts) -> None:
    """Append the pictures of a case to the samples file: a line of JSON that describes them, then their samples."""
    head = [name, [[mode, size, len(content)] for mode, size, content in parts]]
    samples.write(json.dumps(head).encode() + b"\n")
    for _, _, content in parts:
        samples.write(content)
    samples.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
