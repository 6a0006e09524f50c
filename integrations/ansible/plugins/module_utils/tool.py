"""Run fastinstall on a machine without a package index: from wheels in a directory, or an installed fastinstall.

Wheels in `DIR/tool` (made by `fastinstall build --with-tool -o DIR`) that fit an interpreter of the machine are checked
against `DIR/tool/SHA256SUMS` and unpacked, without pip, into a virtual environment. The environment is named by a
digest of the wheels, so that later runs with the same wheels use it again.

This module does not need Ansible: copy the directory `module_utils`, and run `python3 -m module_utils.tool DIR doctor
--json`. It runs on Python 3.8, so that it can report that fastinstall needs a later version.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import ToolError
from .unpacking import MAKE_IT, choose, read_sums, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Run = Callable[[list[str]], tuple[int, str, str]]

_LAST_LINES = 20


@dataclass(frozen=True)
class Source:
    """Where fastinstall comes from; every field is optional.

    Attributes:
        wheelhouse: a wheelhouse, whose directory `tool/` has the wheels of fastinstall.
        executable: an installed fastinstall, used instead of the wheels.
        python: the interpreter that runs fastinstall; None for this interpreter or, if it does not suit, one on PATH.
        directory: parent directory of the unpacked environments; None for one below the user's data directory.
        checksum: expected SHA-256 of `tool/SHA256SUMS`, hexadecimal; None if unknown.
    """

    wheelhouse: str | None = None
    executable: str | None = None
    python: str | None = None
    directory: str | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a run.

    Attributes:
        exit_code: the exit code of fastinstall.
        document: the JSON document that it printed.
        stderr: the messages that it printed.
    """

    exit_code: int
    document: dict[str, Any]
    stderr: str


def find_tool(source: Source) -> list[str]:
    """Return the command that runs fastinstall; unpack fastinstall first if needed.

    Raises:
        ToolError: fastinstall was not found, does not fit this machine, or its wheels do not match their checksums.
    """
    if source.executable:
        return [_executable(source.executable)]
    wheels = Path(source.wheelhouse).expanduser().absolute() / "tool" if source.wheelhouse else None
    if wheels is not None and wheels.is_dir():
        return [str(_unpacked(source, wheels) / "bin" / "python"), "-I", "-m", "fastinstall"]
    installed = shutil.which("fastinstall")
    if installed is None:
        where = f"neither in {wheels} nor on PATH" if wheels else "not on PATH, and no wheelhouse is given"
        raise ToolError(f"fastinstall was not found: {where}", MAKE_IT)
    return [installed]


def run_tool(tool: Sequence[str], words: Iterable[str], run: Run, accepted: Sequence[int] = (0,)) -> Answer:
    """Run fastinstall with `--json`.

    Args:
        tool: the command that runs fastinstall, as returned by `find_tool`.
        words: a verb and its flags.
        run: runs a command, given as a list of words, and returns its exit code, stdout and stderr.
        accepted: exit codes that are not errors.

    Raises:
        ToolError: fastinstall ended with another exit code, or printed no JSON; the error has fastinstall's message.
    """
    exit_code, stdout, stderr = run([*tool, *words, "--json"])
    document = _read(stdout)
    if exit_code in accepted and document is not None:
        return Answer(exit_code, document, stderr)
    if document is not None and document.get("schema") == "fastinstall.error/1":
        raise ToolError(document["message"], document["hint"], document["exit_code"], document["details"])
    message = f"fastinstall ended with exit code {exit_code} and printed no JSON"
    raise ToolError(message, _hint(tool, stderr), exit_code, stderr.strip().splitlines()[-_LAST_LINES:])


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _hint(tool: Sequence[str], stderr: str) -> str | None:
    unpacked = "-m" in tool and "No module named" in stderr
    return f"remove {Path(tool[0]).parent.parent}, so that it is unpacked again" if unpacked else None


def _executable(named: str) -> str:
    found = shutil.which(os.path.expanduser(named))  # noqa: PTH111 (a text, as `which` searches PATH for bare names)
    if found is None:
        raise ToolError(f"{named}: not found", "give the path of an installed fastinstall")
    return found


def _unpacked(source: Source, wheels: Path) -> Path:
    sums = read_sums(wheels, source.checksum)
    python, chosen = choose(wheels, sums, source.python)
    parent = Path(source.directory).expanduser() if source.directory else _data_directory()
    return unpack(wheels, {name: sums[name] for name in chosen}, python, parent)


def _data_directory() -> Path:
    """Return the default directory, ignoring a relative XDG_DATA_HOME. Source: XDG Base Directory Specification 0.8."""
    named = os.environ.get("XDG_DATA_HOME", "")
    data = Path(named) if named.startswith("/") else Path("~/.local/share").expanduser()
    return data / "fastinstall" / "tools"


def main(words: Sequence[str]) -> NoReturn:
    """Replace this process with fastinstall from a wheelhouse.

    Args:
        words: the path of the wheelhouse, a verb of fastinstall, and flags of the verb.

    Raises:
        SystemExit: fastinstall cannot run.
    """
    if len(words) < 2:  # noqa: PLR2004 (a wheelhouse and a verb)
        sys.stderr.write("usage: python3 -m module_utils.tool WHEELHOUSE VERB ...\n")
        raise SystemExit(2)
    try:
        tool = find_tool(Source(wheelhouse=words[0]))
    except ToolError as error:
        sys.stderr.write(f"error: {error.message}\n" + (f"  hint: {error.hint}\n" if error.hint else ""))
        raise SystemExit(error.exit_code) from None
    os.execv(tool[0], [*tool, *words[1:]])  # noqa: S606 (no shell is wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
