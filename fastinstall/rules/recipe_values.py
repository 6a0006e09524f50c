"""What is wrong with single values of a recipe: names, paths, specifiers, words. Pure.

A problem is the dotted key and what is wrong there.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from fastinstall.rules.ranges import is_specifier, is_version

Problem = tuple[str, str]

_NORMALISED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # PEP 503
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def name_problems(name: str, key: str) -> Iterator[Problem]:
    """Where a name of a distribution is not normalised."""
    if not _NORMALISED.fullmatch(name):
        yield key, f"{name!r} is not a normalised name (lower case, single dashes: PEP 503)"


def identifier_problems(names: Sequence[str], key: str) -> Iterator[Problem]:
    """Where one of several names is none that C knows."""
    for index, name in enumerate(names):
        if not _IDENTIFIER.fullmatch(name):
            yield f"{key}[{index}]", f"{name!r} is not a name in C"


def path_problems(path: str, key: str, where: str) -> Iterator[Problem]:
    """Where a path leads out of the directory that it is relative to.

    Args:
        path: with slashes.
        key: dotted.
        where: the directory, in words.
    """
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        yield key, f"{path!r} is not relative to {where}"


def word_problems(words: Sequence[str], key: str, pattern: re.Pattern[str], what: str) -> Iterator[Problem]:
    """Where one of several words is not spelled as it has to be.

    Args:
        words: the value.
        key: dotted, of the list.
        pattern: what a word must match whole.
        what: what it should have been, in words.
    """
    for index, word in enumerate(words):
        if not pattern.fullmatch(word):
            yield f"{key}[{index}]", f"{word!r} is not {what}"


def specifier_problems(text: str, key: str) -> Iterator[Problem]:
    """Where a version specifier is none."""
    if not is_specifier(text):
        yield key, f"{text!r} is not a version specifier (PEP 440)"


def version_problems(versions: Sequence[str], key: str) -> Iterator[Problem]:
    """Where one of several versions is none."""
    for index, text in enumerate(versions):
        if not is_version(text):
            yield f"{key}[{index}]", f"{text!r} is not a version (PEP 440)"


def control_problems(value: object, key: str = "") -> Iterator[Problem]:
    """Where a text has control characters, which would steer a terminal and hide what stands beside them.

    Args:
        value: of the model.
        key: dotted, of the value; empty for a whole recipe.
    """
    if isinstance(value, str) and _CONTROL.search(value):
        yield key, f"{value!r} has control characters"
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from control_problems(item, f"{key}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from control_problems(name, f"{key}.{name!a}")
            yield from control_problems(item, f"{key}.{name}".lstrip("."))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from control_problems(getattr(value, field.name), f"{key}.{field.name}".lstrip("."))


def twice(names: Sequence[str], key: str) -> Iterator[Problem]:
    """Where a name stands there a second time.

    Args:
        names: in the order of the file.
        key: with "{}" where the index goes.
    """
    for index, name in enumerate(names):
        if name in names[:index]:
            yield key.format(index), f"{name!r} stands there twice"
