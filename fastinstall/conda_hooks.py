"""The actions of conda's plugin: run fastinstall, check an environment, and warn if conda replaces the stack.

Of conda's internals, only `context`, `locate_prefix_by_name` and the attributes of records are used. Warnings go to
stderr. The health check and repair for `conda doctor` write to stdout like conda's own checks; if conda prints JSON,
the check writes to stderr.

The hooks determine the stack's state at every conda command, so this must be quick: the core's size and modification
time are compared with the receipt, and the core's content is compared only if the times differ.
"""

import atexit
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from fastinstall.conda import swaps
from fastinstall.conda.swaps import CoreStatus, StackStatus
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


def run_conda_command(words: Sequence[str]) -> int:
    """Run `conda fastinstall WORDS` on the environment that a conda command would use.

    `-n NAME` and `-p DIR` are read as conda reads them. Without them, the variable FASTINSTALL_PREFIX names the active
    environment, so that fastinstall's own target flags override it. conda's base environment is never chosen this way.

    Returns:
        The exit code.
    """
    from fastinstall.cli.main import main  # no other hook needs it

    context = _get_context()
    ours, prefix = _split_prefix(words)
    if prefix is None and context.target_prefix != context.root_prefix:
        os.environ.setdefault("FASTINSTALL_PREFIX", context.target_prefix)
    try:
        return main((*ours, *(() if prefix is None else ("--prefix", prefix))), program="conda fastinstall")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def await_solution(_added: Iterable[object], _removed: Iterable[object]) -> None:
    """Register an explanation that is printed at exit if the solver fails: conda calls no hook after such a failure."""
    status = _observe_stack_status()
    if status is not None and status.guarded:
        atexit.unregister(_warn)
        atexit.register(_warn, *swaps.explain_failed_solve(status))


def warn_of_solution(_repodata: str, unlinked: Iterable[object], linked: Iterable[object]) -> None:
    """Warn if the solver's decision affects the stack."""
    atexit.unregister(_warn)
    status = _observe_stack_status()
    if status is None:
        return
    change = CondaChange(linked=tuple(map(_make_package, linked)), unlinked=tuple(map(_make_package, unlinked)))
    warning = swaps.foresee_conda_changes(change, status)
    if warning and warning[0] not in _foreseen:
        _foreseen.add(warning[0])
        _warn(*warning)


def look_back(command: str) -> None:
    """Warn after a conda command if the stack is not in place.

    `conda doctor` runs fastinstall's health check itself. After that command, warn only if conda's solver was about to
    replace the stack.
    """
    if command == "doctor" and not _foreseen:
        return
    status = _observe_stack_status()
    if status is None:
        return
    warning = swaps.describe_conda_changes(status, command if _foreseen else "")
    if warning:
        _warn(*warning)


def _split_prefix(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Return the words without conda's flags `-n` and `-p`, and the prefix that the last of these flags names."""
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
            from conda.base.context import locate_prefix_by_name  # only needed for -n

            prefix = str(locate_prefix_by_name(prefix))
    return tuple(kept), prefix


def _observe_stack_status() -> StackStatus | None:
    """Return the stack's state in conda's target environment, or None without a setup or with FASTINSTALL_GUARD=0."""
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
    from fastinstall.cli.console import strip_control_characters  # only needed for warnings

    sys.stdout.flush()
    sys.stderr.write(strip_control_characters(f"fastinstall: {sentence}\nhint: {hint}\n"))
    sys.stderr.flush()


def _get_context() -> Any:  # noqa: ANN401 (conda's Context)
    from conda.base.context import context  # conda imports this module before it calls a hook

    return context


def report_quick_checks(prefix: str, *, verbose: bool) -> None:
    """Run and print doctor's quick checks, if the environment has a setup."""
    if Path(prefix, RECEIPT).is_file():
        # with --json, stdout must contain only conda's document
        with contextlib.redirect_stdout(sys.stderr if _get_context().json else sys.stdout):
            run_conda_command(("doctor", "--quick", *(("--verbose",) if verbose else ()), "--prefix", prefix))


def fix(prefix: str, confirm: Callable[[str], None]) -> int:
    """Restore the stack if the quick checks find an error.

    Args:
        prefix: the environment.
        confirm: conda's function that asks the user; raises if the answer is no or this is a dry run.

    Returns:
        The exit code of the repair; 0 if no repair is needed.
    """
    words = ("--prefix", prefix)
    if not Path(prefix, RECEIPT).is_file() or run_conda_command(("doctor", "--quick", *words)) == ExitCode.OK:
        return 0
    confirm("Restore the Pillow that fastinstall set up?")
    return run_conda_command(("doctor", "--fix", "--yes", *words))


_PARTS = 3
"""The number of parts in a record's name: NAME-VERSION-BUILD."""

_SECOND = 10**9


def read_stack_status(prefix: Path) -> StackStatus | None:
    """Return the stack's state, or None if the environment has no setup or does not exist.

    Raises:
        DocumentError: the setup's receipt is malformed.
        OSError: a file of the setup cannot be read.
    """
    receipt = read_receipt(prefix) if (prefix / "conda-meta/history").is_file() else None
    if receipt is None:
        return None
    records = [file.stem.rsplit("-", 2) for file in (prefix / "conda-meta").glob("*.json")]
    return StackStatus(
        prefix=prefix,
        name=f"the fast Pillow {receipt.stack_version}",
        packaged=receipt.conda is not None,
        guarded=any(parts[0] == GUARD for parts in records),
        core=_find_core_status(prefix, receipt),
        records=tuple(
            CondaPackage(name=parts[0], version=parts[1], build=parts[2])
            for parts in records
            if parts[0] in PROVIDERS and len(parts) == _PARTS
        ),
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
    # Compare whole seconds, because archives store no fractions.
    if status.st_mtime_ns // _SECOND == receipt.core.mtime_ns // _SECOND:
        return CoreStatus.INTACT
    return CoreStatus.INTACT if sha256(core) == receipt.core.sha256 else CoreStatus.OTHER
