"""What conda's plugin does when conda calls it: run fastinstall, check the prefix, warn about a swap.

Of conda it uses `context`, `locate_prefix_by_name` and the attributes of records. What it says goes to stderr; its part
of `conda doctor`, doctor's quick checks and the repair after conda's own consent, to stdout as conda's own checks do,
or to stderr where conda was asked for JSON.

How the stack stands, which each command asks, is no examination: one file is compared, by size and time, and read only
where these differ.
"""

import atexit
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from fastinstall.conda.swaps import (
    CoreStatus,
    StackStatus,
    describe_conda_changes,
    explain_failed_solve,
    foresee_conda_changes,
)
from fastinstall.core.errors import ExitCode
from fastinstall.core.files import sha256
from fastinstall.journal.layout import RECEIPT
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.conda_packages import GUARD
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import PROVIDERS

_OFF = "FASTINSTALL_GUARD"
_NAME, _PREFIX = ("-n", "--name"), ("-p", "--prefix")

_foreseen: set[str] = set()
_unsolved: list[StackStatus] = []
"""The stack that a solver works on, while it does, if the guard package keeps it."""


def run_conda_command(words: Sequence[str]) -> int:
    """Run `conda fastinstall WORDS`: the command line, with the environment that conda means as the target.

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
        return main((*ours, *(() if prefix is None else ("--prefix", prefix))), program="conda fastinstall")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def await_solution() -> None:
    """Before the solver begins, arrange that conda's end explains a failure: no hook is called after one."""
    status = _observe_stack_status()
    if status is None or not status.guarded:
        return
    if not _unsolved:
        atexit.register(_explain_failure)
    _unsolved[:] = [status]


def _explain_failure() -> None:
    for status in _unsolved:
        _warn(*explain_failed_solve(status))


def warn_of_solution(unlinked: Iterable[object], linked: Iterable[object]) -> None:
    """Warn of what the solver has decided about the stack."""
    if _unsolved:
        _unsolved.clear()
        atexit.unregister(_explain_failure)
    status = _observe_stack_status()
    if status is None:
        return
    change = CondaChange(linked=tuple(map(_make_package, linked)), unlinked=tuple(map(_make_package, unlinked)))
    warning = foresee_conda_changes(change, status)
    if warning and warning[0] not in _foreseen:
        _foreseen.add(warning[0])
        _warn(*warning)


def look_back(command: str) -> None:
    """Warn where the stack is not in place after a command.

    After `conda doctor`, which has a check of ours, only if it has replaced the stack.
    """
    if command == "doctor" and not _foreseen:
        return
    status = _observe_stack_status()
    if status is None:
        return
    warning = describe_conda_changes(status, command if _foreseen else "")
    if warning:
        _warn(*warning)


def _split_prefix(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Return the words without conda's flags for an environment, and the prefix that the last of these means."""
    kept: list[str] = []
    prefix = None
    rest = iter(words)
    for word in rest:
        flag, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag not in (*_NAME, *_PREFIX):
            kept.append(word)
            continue
        prefix = value if joined else next(rest, "")
        if flag in _NAME:
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
    sys.stdout.flush()
    sys.stderr.write(_make_harmless(f"fastinstall: {sentence}\nhint: {hint}\n"))
    sys.stderr.flush()


def _make_harmless(text: str) -> str:
    from fastinstall.cli.console import strip_control_characters  # noqa: PLC0415 (only where there is something to say)

    return strip_control_characters(text)


def _get_context() -> Any:  # noqa: ANN401 (conda's Context)
    from conda.base.context import context  # noqa: PLC0415 (conda has it by then)

    return context


def report_quick_checks(prefix: str, *, verbose: bool) -> None:
    """Write what doctor's quick checks find, if there is a setup."""
    if Path(prefix, RECEIPT).is_file():
        # stdout is conda's document where it was asked for JSON
        with contextlib.redirect_stdout(sys.stderr if _get_context().json else sys.stdout):
            run_conda_command(("doctor", "--quick", *(("--verbose",) if verbose else ()), "--prefix", prefix))


def fix(prefix: str, confirm: Callable[[str], None]) -> int:
    """Restore what was set up, if the quick checks find an error.

    Args:
        confirm: asks; raises, by conda's means, where the answer is no or nothing is to be changed.

    Returns:
        The exit code of the repair; 0 where there is nothing to repair.
    """
    words = ("--prefix", prefix)
    if not Path(prefix, RECEIPT).is_file() or run_conda_command(("doctor", "--quick", *words)) == ExitCode.OK:
        return 0
    confirm("Restore the Pillow that fastinstall set up?")
    return run_conda_command(("doctor", "--fix", "--yes", *words))


_PARTS = 3
"""Of a record's name: NAME-VERSION-BUILD."""

_SECOND = 10**9


def read_stack_status(prefix: Path) -> StackStatus | None:
    """Read the stack's status, or return None if the environment has no setup or is gone.

    Raises:
        DocumentError: its receipt is malformed.
        OSError: a file of it cannot be read.
    """
    receipt = read_receipt(prefix) if (prefix / "conda-meta/history").is_file() else None
    if receipt is None:
        return None
    return StackStatus(
        prefix=prefix,
        name=f"the fast Pillow {receipt.stack_version}",
        packaged=receipt.conda is not None,
        guarded=any(file.stem.rsplit("-", 2)[0] == GUARD for file in (prefix / "conda-meta").glob(f"{GUARD}-*.json")),
        core=_find_core_status(prefix, receipt),
        records=tuple(_read_records(prefix)),
    )


def _find_core_status(prefix: Path, receipt: Receipt) -> CoreStatus:
    minor = ".".join(receipt.python_version.split(".")[:2])
    cores = (site / receipt.core.path for site in prefix.glob(f"lib/python{escape(minor)}*/site-packages"))
    core = next((file for file in cores if file.is_file()), None)
    if core is None:
        return CoreStatus.GONE
    status = core.stat()
    if status.st_size != receipt.core.size:
        return CoreStatus.OTHER
    # In whole seconds, because archives keep no more.
    if status.st_mtime_ns // _SECOND == receipt.core.mtime_ns // _SECOND:
        return CoreStatus.INTACT
    return CoreStatus.INTACT if sha256(core) == receipt.core.sha256 else CoreStatus.OTHER


def _read_records(prefix: Path) -> list[CondaPackage]:
    """Return the packages that provide PIL, by the names of their records."""
    found = (file.stem.rsplit("-", 2) for file in (prefix / "conda-meta").glob("*.json"))
    named = (parts for parts in found if parts[0] in PROVIDERS and len(parts) == _PARTS)
    return [CondaPackage(name=name, version=version, build=build) for name, version, build in named]
