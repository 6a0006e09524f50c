"""Runs inside a target: calls a training step over and over. Standard library only, Python 3.8 or later.

    python -B _step.py FILE FUNCTION SECONDS

FILE is imported with its directory on the path, as `python FILE` would have it. Answer: a line of JSON,
`{"images_per_second": N, "images": N, "calls": N}`, or `{"error": WHAT, "text": TEXT}` where WHAT is "file" (it cannot
be imported), "function" (it has none of that name), "raises" or "number" (it gives no number of images).
"""

from __future__ import annotations

import importlib.util
import json
import operator
import os
import sys
from time import perf_counter
from typing import Any, Callable, Dict

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 2


class Trouble(Exception):
    """Why there is no rate."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(text)
        self.answer = {"error": what, "text": text}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a step prints goes to stderr
    path, name, seconds = sys.argv[1:]
    try:
        found = rate(function_of(path, name), float(seconds))
    except Trouble as trouble:
        found = trouble.answer
    answers.write(json.dumps(found) + "\n")


def rate(step: Callable[[], Any], seconds: float) -> Dict[str, Any]:
    for _ in range(WARM_UP):
        images_of(step)
    images, calls, start = 0, 0, settled()
    while not calls or perf_counter() - start < seconds:
        images += images_of(step)
        calls += 1
    return {"images_per_second": images / (settled() - start), "images": images, "calls": calls}


def function_of(path: str, name: str) -> Callable[[], Any]:
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != HERE]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv[:] = [path]
    spec = importlib.util.spec_from_file_location("fastinstall_step", path)
    if spec is None or spec.loader is None:
        raise Trouble("file", "it is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fastinstall_step"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise Trouble("file", text_of(error)) from error
    found: Any = getattr(module, name, None)
    if not callable(found):
        raise Trouble("function", name)
    return found  # type: ignore[no-any-return]  # it can be called


def images_of(step: Callable[[], Any]) -> int:
    try:
        given = step()
    except BaseException as error:
        raise Trouble("raises", text_of(error)) from error
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if number < 1 or isinstance(given, bool):
        raise Trouble("number", repr(given)[:80])
    return number


def settled() -> float:
    """The time when what was asked of a GPU is done: its work is only begun when a call returns."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return perf_counter()


def text_of(error: BaseException) -> str:
    return "%s: %s" % (type(error).__name__, error)


if __name__ == "__main__":
    main()
