"""fastinstall on a machine that has no index: from wheels that lie there, or as it is installed.

The wheels of `DIR/tool` (made by `fastinstall build --with-tool -o DIR`) that fit an interpreter of the machine are
checked against `DIR/tool/SHA256SUMS` and unpacked, once, into a virtual environment that is named after their digest:
nothing is installed, no pip runs, and the same wheels are found there the next time.

There is no Ansible in it: beside its neighbours it runs anywhere, as `python3 -m module_utils.tool DIR doctor --json`.
It runs on Python 3.8 too, for it has to say that fastinstall needs a later one.
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
    """Where fastinstall comes from; everything may be left out.

    Attributes:
        wheelhouse: a directory with `tool/` in it.
        executable: an installed fastinstall, which is taken instead.
        python: the interpreter that runs it; None: this one, or the first on PATH that can.
        directory: where it is unpacked; None: below the user's data directory.
        checksum: SHA-256 of `tool/SHA256SUMS`, as whoever has sent the wheelhouse knows it.
    """

    wheelhouse: str | None = None
    executable: str | None = None
    python: str | None = None
    directory: str | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a run came to.

    Attributes:
        exit_code: of fastinstall.
        document: that it printed.
        stderr: what it said meanwhile.
    """

    exit_code: int
    document: dict[str, Any]
    stderr: str


def find_tool(source: Source) -> list[str]:
    """The words that run fastinstall; what is missing of it is unpacked.

    Raises:
        ToolError: there is none, it does not fit this machine, or its wheels are not what their sums say.
    """
    if source.executable:
        return [_executable(source.executable)]
    wheels = Path(source.wheelhouse).expanduser().absolute() / "tool" if source.wheelhouse else None
    if wheels is not None and wheels.is_dir():
        return [str(_unpacked(source, wheels) / "bin" / "python"), "-I", "-m", "fastinstall"]
    installed = shutil.which("fastinstall")
    if installed is None:
        where = f"neither {wheels} nor one on PATH" if wheels else "none on PATH, and no wheelhouse is named"
        raise ToolError(f"there is no fastinstall here: {where}", MAKE_IT)
    return [installed]


def run_tool(tool: Sequence[str], words: Iterable[str], run: Run, accepted: Sequence[int] = (0,)) -> Answer:
    """Run fastinstall with `--json`.

    Args:
        tool: of `find_tool`.
        words: a verb and its flags.
        run: runs a command to its end: its words to its exit code, stdout and stderr.
        accepted: exit codes that come with an answer.

    Raises:
        ToolError: it ended otherwise; in its own words.
    """
    exit_code, stdout, stderr = run([*tool, *words, "--json"])
    document = _read(stdout)
    if exit_code in accepted and document is not None:
        return Answer(exit_code, document, stderr)
    if document is not None and document.get("schema") == "fastinstall.error/1":
        raise ToolError(document["message"], document["hint"], document["exit_code"], document["details"])
    message = f"fastinstall ended with exit code {exit_code}, and gave no answer"
    raise ToolError(message, _hint(tool, stderr), exit_code, stderr.strip().splitlines()[-_LAST_LINES:])


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _hint(tool: Sequence[str], stderr: str) -> str | None:
    unpacked = "-m" in tool and "No module named" in stderr
    return f"remove {Path(tool[0]).parent.parent}, and it is unpacked again" if unpacked else None


def _executable(named: str) -> str:
    found = shutil.which(os.path.expanduser(named))  # noqa: PTH111 (a bare name is looked up)
    if found is None:
        raise ToolError(f"{named}: there is no such program", "name an installed fastinstall by its path")
    return found


def _unpacked(source: Source, wheels: Path) -> Path:
    sums = read_sums(wheels, source.checksum)
    python, chosen = choose(wheels, sums, source.python)
    parent = Path(source.directory).expanduser() if source.directory else _data_directory()
    return unpack(wheels, {name: sums[name] for name in chosen}, python, parent)


def _data_directory() -> Path:
    """Source: XDG Base Directory Specification 0.8; a relative path counts as none."""
    named = os.environ.get("XDG_DATA_HOME", "")
    data = Path(named) if named.startswith("/") else Path("~/.local/share").expanduser()
    return data / "fastinstall" / "tools"


def main(words: Sequence[str]) -> NoReturn:
    """Run fastinstall from a wheelhouse in the place of this process.

    Raises:
        SystemExit: it cannot be run.
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
