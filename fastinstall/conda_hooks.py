"""What conda's plugin does when a hook of it is called: in conda's process, about the prefix that conda works on.

Of conda it uses `context`, `locate_prefix_by_name` and the attributes of records. What it says goes to stderr.

How the stack of a setup stands is read from a few files, as it is asked at each command: one file is compared, by size
and time, and read only where these differ. Examining an environment is doctor's.
"""

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from fastinstall.conda.swaps import CoreStatus, StackStatus, describe_conda_changes, foresee_conda_changes
from fastinstall.core.files import sha256
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS, read_receipt
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import PROVIDERS

_OFF = "FASTINSTALL_GUARD"
_BLOCK = "FASTINSTALL_BLOCK_SWAPS"
_SETTING = "fastinstall_block_swaps"

_requested: list[str] = []
_foreseen: set[str] = set()
_told: set[tuple[str, str]] = set()


def run(words: Sequence[str]) -> int:
    """`conda fastinstall WORDS`: the command line, with the environment that conda means as the target.

    `-n NAME` and `-p DIR` are read as conda reads them. Without them it is the active environment, by the variable of
    `--prefix`, so that every flag of ours that names a target goes before it; never conda's own, unless it is active.

    Returns:
        Its exit code.
    """
    from fastinstall.cli.main import main  # noqa: PLC0415 (no other hook needs it)

    context = _get_context()
    ours, prefix = _split_prefix(words)
    if prefix is None and context.target_prefix != context.root_prefix:
        os.environ.setdefault("FASTINSTALL_PREFIX", context.target_prefix)
    try:
        return main((*ours, *(() if prefix is None else ("--prefix", prefix))))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def remember(coming: Iterable[object], going: Iterable[object]) -> None:
    """Keep the specs that were asked for, until the solver has decided."""
    if os.environ.get(_OFF) != "0":
        # No hook is called where a solver finds nothing; but conda prints every error through these loggers.
        for name in ("conda.stderr", "conda.stdout", "conda.stderrlog", "conda.stdoutlog"):
            logging.getLogger(name).addFilter(_notice)
    _requested[:] = sorted(str(spec) for spec in (*coming, *going))


def _notice(record: logging.LogRecord) -> bool:
    """Never keep conda from printing, whatever happens here."""
    with contextlib.suppress(Exception):
        told = record.args[0] if isinstance(record.args, tuple) and record.args else None
        text = f"{type(told).__name__}: {told}" if isinstance(told, Exception) else record.getMessage()
        warning = _explain_unsolved(text, Path(_get_context().target_prefix))
        if warning and warning not in _told:
            _told.add(warning)
            atexit.register(_warn, *warning)
    return True


def _explain_unsolved(text: str, prefix: Path) -> tuple[str, str] | None:
    """How our guard package caused a conda error, and what to do; None if it did not."""
    from fastinstall.core.messages import quote  # noqa: PLC0415 (only where a command has failed)
    from fastinstall.model.conda_packages import GUARD  # noqa: PLC0415 (likewise)

    reasons = (GUARD, "pillow", "Did not find conflicting dependencies")
    if "UnsatisfiableError" not in text or not any(reason in text for reason in reasons):
        return None
    if not any(prefix.glob(f"conda-meta/{GUARD}-*.json")):
        return None
    return (
        f"the package {GUARD} in {prefix} allows no Pillow but one that fastinstall has built: nothing else is found",
        f"to have another Pillow: conda fastinstall rollback --yes --prefix {quote(prefix)}; then run this again",
    )


def foresee(unlinked: Iterable[object], linked: Iterable[object]) -> str | None:
    """Warn of what the solver has decided about the stack.

    Returns:
        Why conda has to refuse it, where that is wished; else None.
    """
    standing = _observe_stack_status()
    if standing is None:
        return None
    change = CondaChange(linked=tuple(map(_make_package, linked)), unlinked=tuple(map(_make_package, unlinked)))
    warning = foresee_conda_changes(change, tuple(_requested), standing)
    if not warning:
        return None
    # Where conda knows no settings of plugins, nothing is set.
    setting = getattr(getattr(_get_context(), "plugins", None), _SETTING, False)
    if os.environ.get(_BLOCK, str(setting)).lower() in ("1", "true", "yes", "on"):
        return f"fastinstall refuses this: {warning[0]}\nhint: {_BLOCK}=0 allows it"
    if warning[0] not in _foreseen:
        _foreseen.add(warning[0])
        _warn(*warning)
    return None


def look_back(command: str) -> None:
    """Warn where the stack is not in place after a command, and of what a dead run of ours has left there."""
    prefix = Path(_get_context().target_prefix)
    if os.environ.get(_OFF) != "0" and (prefix / TRANSACTIONS).is_dir():
        from fastinstall.journal.snapshot import read_environment_history  # noqa: PLC0415 (only where ours is)
        from fastinstall.model.history import describe_what_was_interrupted, recovery_command  # noqa: PLC0415

        for each in read_environment_history(prefix, sized=False).interruptions:
            told = f"{describe_what_was_interrupted(each)} was interrupted"
            _warn(told, f"to have it undone or finished: {recovery_command(each, prefix)}")
    standing = _observe_stack_status()
    warning = describe_conda_changes(standing, command if _foreseen else "") if standing is not None else ()
    if warning:
        _warn(*warning)


def _split_prefix(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The words without conda's flags for an environment, and the prefix that the last of these means."""
    kept: list[str] = []
    prefix = None
    rest = iter(words)
    for word in rest:
        flag, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in ("-n", "--name", "-p", "--prefix"):
            kept.append(word)
            continue
        prefix = value if joined else next(rest, "")
        if flag in ("-n", "--name"):
            from conda.base.context import locate_prefix_by_name  # noqa: PLC0415 (with -n only)

            prefix = str(locate_prefix_by_name(prefix))
    return tuple(kept), prefix


def _observe_stack_status() -> StackStatus | None:
    """Read the stack's status in the prefix that conda works on, or return None if there is nothing to watch."""
    return None if os.environ.get(_OFF) == "0" else read_stack_status(Path(_get_context().target_prefix))


def _make_package(record: Any) -> CondaPackage:  # noqa: ANN401 (conda's PackageRecord)
    return CondaPackage(
        name=str(record.name),
        version=str(record.version),
        build=str(record.build),
        channel=str(record.channel.canonical_name),
        depends=tuple(map(str, record.depends)),
    )


def _warn(sentence: str, hint: str) -> None:
    from fastinstall.cli.console import strip_control_characters  # noqa: PLC0415 (only where there is something to say)

    sys.stdout.flush()
    sys.stderr.write(strip_control_characters(f"fastinstall: {sentence}\nhint: {hint}\n"))
    sys.stderr.flush()


def _get_context() -> Any:  # noqa: ANN401 (conda's Context)
    from conda.base.context import context  # noqa: PLC0415 (conda has it by then)

    return context


def read_stack_status(prefix: Path) -> StackStatus | None:
    """Read the stack's status, or return None if the environment has no setup or is gone.

    Raises:
        DocumentError: its receipt is malformed.
        OSError: a file of it cannot be read.
    """
    if not (prefix / RECEIPT).is_file() or not (prefix / "conda-meta/history").is_file():
        return None
    receipt = read_receipt(prefix)
    if receipt is None:
        return None
    kind = "Pillow-SIMD" if receipt.core.simd_symbols else "the optimised Pillow"
    named = (file.stem.rsplit("-", 2) for file in (prefix / "conda-meta").glob("*.json"))
    records = (CondaPackage(name=n[0], version=n[1], build=n[2]) for n in named if n[0] in PROVIDERS and n[2:])
    return StackStatus(
        prefix=prefix,
        name=f"{kind} {receipt.stack_version}",
        packaged=receipt.conda is not None,
        core=_find_core_status(prefix, receipt),
        records=tuple(records),
    )


def _find_core_status(prefix: Path, receipt: Receipt) -> CoreStatus:
    expected = receipt.core
    minor = ".".join(receipt.python_version.split(".")[:2])
    cores = (site / expected.path for site in prefix.glob(f"lib/python{escape(minor)}*/site-packages"))
    core = next((file for file in cores if file.is_file()), None)
    if core is None:
        return CoreStatus.GONE
    status = core.stat()
    if status.st_size != expected.size:
        return CoreStatus.OTHER
    # In whole seconds, because archives keep no more.
    untouched = int(status.st_mtime) == expected.mtime_ns // 10**9
    return CoreStatus.INTACT if untouched or sha256(core) == expected.sha256 else CoreStatus.OTHER
