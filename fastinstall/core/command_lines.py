"""Command lines taken apart: which tool they run, its verb and the values of its options. Pure."""

import re
from collections.abc import Collection, Sequence
from pathlib import PurePath

_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*[a-z]*")

_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})

_MODULE, _COMMAND = re.compile(r"-[A-Za-z]*m"), re.compile(r"-[A-Za-z]*c")
"""Options of one letter may be joined: `python -Im pip`."""

_NUMBERED = re.compile(r"(pip)[0-9.]+")

_ENTRANCES = ("__main__.py", "__pip-runner__.py")
"""Files by which a package is run as a program."""


def unwrap_command(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the tool that a command line runs, by its own name, and its arguments.

    >>> unwrap_command(("python3.12", "-Im", "pip", "install", "pillow"))
    ('pip', ('install', 'pillow'))

    >>> unwrap_command(("/venv/bin/python", "/venv/bin/pip3", "list"))
    ('pip', ('list',))

    Scripts and modules that Python runs are told by their names; a tool that is no script, by the name of its file.
    Empty if Python runs something else (`-c`, or its prompt).
    """
    if not words:
        return "", ()
    name = PurePath(words[0]).name
    if _PYTHON.fullmatch(name) is None:
        return _strip_version_suffix(name), tuple(words[1:])
    place = 1
    while place < len(words) and words[place].startswith("-"):
        if _MODULE.fullmatch(words[place]):
            return _strip_version_suffix("".join(words[place + 1 : place + 2])), tuple(words[place + 2 :])
        if words[place] == "-" or _COMMAND.fullmatch(words[place]):
            return "", ()
        place += 2 if words[place] in _VALUED else 1
    if place >= len(words):
        return "", ()
    return _strip_version_suffix(_name_script(PurePath(words[place]))), tuple(words[place + 1 :])


def script_of(words: Sequence[str]) -> PurePath | None:
    """Return the file that Python was told to run, where a tool is one."""
    return next((PurePath(word) for word in words[1:] if not word.startswith("-") and "/" in word), None)


def positional(arguments: Sequence[str], valued: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return the first word that is no option, and those behind it.

    >>> positional(("--log", "x.txt", "install", "-U", "pillow"), {"--log"})
    ('install', ('-U', 'pillow'))

    Args:
        arguments: what stands behind the tool's name.
        valued: options whose value is a word of its own.
    """
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in valued else 1
    return "".join(arguments[place : place + 1]), tuple(arguments[place + 1 :])


def option(arguments: Sequence[str], *names: str) -> str | None:
    """Return the last value that is given for an option: `--name VALUE`, `--name=VALUE`, `-nVALUE`.

    >>> option(("-p", "/a", "--prefix=/b"), "--prefix", "-p"), option(("-n", "x"), "--prefix")
    ('/b', None)
    """
    found = None
    for place, word in enumerate(arguments):
        for name in names:
            if word == name and place + 1 < len(arguments):
                found = arguments[place + 1]
            elif word.startswith(f"{name}=") and name.startswith("--"):
                found = word.removeprefix(f"{name}=")
            elif word.startswith(name) and len(name) == 2 and len(word) > 2:  # noqa: PLR2004 (a dash and a letter)
                found = word.removeprefix(name).removeprefix("=")
    return found


def is_on(arguments: Sequence[str], *flags: str) -> bool:
    """Return whether one of several flags is given."""
    return any(flag in arguments for flag in flags)


def _name_script(path: PurePath) -> str:
    return path.parent.name if path.name in _ENTRANCES else path.name


def _strip_version_suffix(name: str) -> str:
    name = name.removesuffix(".pyz")
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered is not None else name
