"""What conda's plugin does when a hook of it is called: in conda's process, about the prefix that conda works on.

Of conda it uses `context`, `locate_prefix_by_name` and the attributes of records. What it says goes to stderr.
The health check is in conda_health.py.
"""

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fastinstall.journal.layout import RECEIPT, TRANSACTIONS
from fastinstall.model.conda import CondaChange, CondaPackage

_OFF = "FASTINSTALL_GUARD"
_BLOCK = "FASTINSTALL_BLOCK_SWAPS"
_SETTING = "fastinstall_block_swaps"
_YES = ("1", "true", "yes", "on")
_NAME, _PREFIX = ("-n", "--name"), ("-p", "--prefix")

_UNSOLVED = ("UnsatisfiableError", "LibMambaUnsatisfiableError", "RattlerUnsatisfiableError")
_UNEXPLAINED = "Did not find conflicting dependencies"
_LOGS = ("conda.stderr", "conda.stdout", "conda.stderrlog", "conda.stdoutlog")

_requested: list[str] = []
_listening: list[str] = []
_foreseen: set[str] = set()
_told: set[str] = set()


def run(words: Sequence[str]) -> int:
    """`conda fastinstall WORDS`: the command line, with the environment that conda means as the target.

    `-n NAME` and `-p DIR` are read as conda reads them. Without them it is the active environment, by the variable of
    `--prefix`, so that every flag of ours that names a target goes before it; never conda's own, unless it is active.

    Returns:
        Its exit code.
    """
    from fastinstall.cli.main import main  # noqa: PLC0415 (no other hook needs it)

    context = _context()
    ours, prefix = _without_prefix(words)
    if prefix is None and context.target_prefix != context.root_prefix:
        os.environ.setdefault("FASTINSTALL_PREFIX", context.target_prefix)
    try:
        return main((*ours, *(() if prefix is None else ("--prefix", prefix))))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def remember(coming: Iterable[object], going: Iterable[object]) -> None:
    """Keep the specs that were asked for, until the solver has decided."""
    _requested[:] = sorted(str(spec) for spec in (*coming, *going))
    if os.environ.get(_OFF) != "0" and not _listening:
        _listen()


def _listen() -> None:
    """No hook is called where a solver finds nothing; but conda prints every error through these loggers."""
    _listening.extend(_LOGS)
    for name in _LOGS:
        logging.getLogger(name).addFilter(_notice)


def _notice(record: logging.LogRecord) -> bool:
    """Never keep conda from printing, whatever happens here."""
    with contextlib.suppress(Exception):
        told = record.args[0] if isinstance(record.args, tuple) and record.args else None
        text = f"{type(told).__name__}: {told}" if isinstance(told, Exception) else record.getMessage()
        warning = _why_unsolved(text, Path(_context().target_prefix))
        if warning is not None and warning not in _told:
            _told.add(warning)
            hint = f"to have another Pillow: {_back(Path(_context().target_prefix))}; then run this again"
            atexit.register(_warn, warning, hint)
    return True


def _why_unsolved(text: str, prefix: Path) -> str | None:
    """Explain how our guard package caused a conda error, or return None if it did not."""
    from fastinstall.rules.conda_stack import GUARD  # noqa: PLC0415 (only where a command has failed)

    if not any(name in text for name in _UNSOLVED) or not any(prefix.glob(f"conda-meta/{GUARD}-*.json")):
        return None
    if not any(word in text for word in (GUARD, "pillow", _UNEXPLAINED)):
        return None
    return f"the package {GUARD} in {prefix} allows no Pillow but one that fastinstall has built: nothing else is found"


def _back(prefix: Path) -> str:
    from fastinstall.rules.messages import quote  # noqa: PLC0415 (likewise)

    return f"conda fastinstall rollback --yes --prefix {quote(prefix)}"


def foresee(unlinked: Iterable[object], linked: Iterable[object]) -> str | None:
    """Warn of what the solver has decided about the stack.

    Returns:
        Why conda has to refuse it, where that is wished; else None.
    """
    standing = _standing()
    if standing is None:
        return None
    from fastinstall.rules.swaps import foreseen  # noqa: PLC0415 (only where something of ours is)

    change = CondaChange(linked=tuple(map(_package, linked)), unlinked=tuple(map(_package, unlinked)))
    warning = foreseen(change, tuple(_requested), standing)
    if not warning:
        return None
    if _is_blocking():
        return f"fastinstall refuses this: {warning[0]}\nhint: {_BLOCK}=0 allows it"
    if warning[0] not in _foreseen:
        _foreseen.add(warning[0])
        _warn(*warning)
    return None


def look_back(command: str) -> None:
    """Warn where the stack is not in place after a command, and of what a dead run of ours has left there.

    After `conda doctor`, which has a check of ours, only if it has replaced the stack.
    """
    if command == "doctor" and not _foreseen:
        return
    prefix = Path(_context().target_prefix)
    if os.environ.get(_OFF) != "0" and (prefix / TRANSACTIONS).is_dir():
        _tell_interrupted(prefix)
    standing = _standing()
    if standing is None:
        return
    from fastinstall.rules.swaps import happened  # noqa: PLC0415 (only where something of ours is)

    warning = happened(standing, command if _foreseen else "")
    if warning:
        _warn(*warning)


def _tell_interrupted(prefix: Path) -> None:
    from fastinstall.journal.glance import past_of  # noqa: PLC0415 (only where something of ours is)
    from fastinstall.rules.interruptions import mending_command, what_was  # noqa: PLC0415 (likewise)

    for each in past_of(prefix, sized=False).interruptions:
        _warn(f"{what_was(each)} was interrupted", f"to have it undone or finished: {mending_command(each, prefix)}")


def _without_prefix(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The words without conda's flags for an environment, and the prefix that the last of these means."""
    kept: list[str] = []
    prefix = None
    rest = iter(words)
    for word in rest:
        flag, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in (*_NAME, *_PREFIX):
            kept.append(word)
            continue
        given = value if joined else next(rest, "")
        prefix = _prefix_named(given) if flag in _NAME else given
    return tuple(kept), prefix


def _prefix_named(name: str) -> str:
    from conda.base.context import locate_prefix_by_name  # noqa: PLC0415 (with -n only)

    return str(locate_prefix_by_name(name))


def _standing() -> Any:  # noqa: ANN401 (its type would have to be imported at every command)
    """Read the stack's status in the prefix that conda works on, or return None if there is nothing to watch."""
    prefix = Path(_context().target_prefix)
    if os.environ.get(_OFF) == "0" or not (prefix / RECEIPT).is_file():
        return None
    from fastinstall.conda_standing import standing_of  # noqa: PLC0415 (likewise)

    return standing_of(prefix)


def _package(record: Any) -> CondaPackage:  # noqa: ANN401 (conda's PackageRecord)
    return CondaPackage(
        name=str(record.name),
        version=str(record.version),
        build=str(record.build),
        channel=str(record.channel.canonical_name),
        depends=tuple(map(str, record.depends)),
    )


def _is_blocking() -> bool:
    said = os.environ.get(_BLOCK)
    if said is not None:
        return said.lower() in _YES
    # Where conda knows no settings of plugins, nothing is set.
    return bool(getattr(getattr(_context(), "plugins", None), _SETTING, False))


def _warn(sentence: str, hint: str) -> None:
    from fastinstall.cli.page import harmless  # noqa: PLC0415 (only where there is something to say)

    sys.stdout.flush()
    sys.stderr.write(harmless(f"fastinstall: {sentence}\nhint: {hint}\n"))
    sys.stderr.flush()


def _context() -> Any:  # noqa: ANN401 (conda's Context)
    from conda.base.context import context  # noqa: PLC0415 (conda has it by then)

    return context
