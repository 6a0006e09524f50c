"""What conda's plugin does when a hook of it is called: in conda's process, about the prefix that conda works on.

Of conda it uses `context`, `locate_prefix_by_name` and the attributes of records. What it says goes to stderr; its part
of `conda doctor`, doctor's quick checks as a few lines and the repair after conda's own consent, to stdout as conda's
own checks do (to stderr where conda was asked for JSON).

How the stack stands, which each command asks, is no examination: one file is compared, by size and time, and read only
where these differ.
"""

import atexit
import contextlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any, TextIO

from fastinstall.conda.swaps import CoreStatus, StackStatus, describe_conda_changes, foresee_conda_changes
from fastinstall.core.errors import FastinstallError
from fastinstall.core.files import sha256
from fastinstall.journal.layout import RECEIPT, TRANSACTIONS
from fastinstall.journal.receipt_file import read_receipt
from fastinstall.model.conda import CondaChange, CondaPackage
from fastinstall.model.finding import EnvironmentReport, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import PROVIDERS
from fastinstall.observe.active_environment import NamedTarget, find_environment
from fastinstall.observe.session import open_session
from fastinstall.verbs.examine import Examination
from fastinstall.verbs.examine import examine as examine_environment

_OFF = "FASTINSTALL_GUARD"
_BLOCK = "FASTINSTALL_BLOCK_SWAPS"
_SETTING = "fastinstall_block_swaps"
_YES = ("1", "true", "yes", "on")
_NAME, _PREFIX = ("-n", "--name"), ("-p", "--prefix")

_UNSOLVED = ("UnsatisfiableError", "LibMambaUnsatisfiableError", "RattlerUnsatisfiableError")
_UNEXPLAINED = "Did not find conflicting dependencies"
_LOGS = ("conda.stderr", "conda.stdout", "conda.stderrlog", "conda.stdoutlog")

_requested: list[str] = []
_foreseen: set[str] = set()
_told: set[str] = set()


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
        return main((*ours, *(() if prefix is None else ("--prefix", prefix))))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def keep_requested_specs(coming: Iterable[object], going: Iterable[object]) -> None:
    """Keep the specs that were asked for, until the solver has decided.

    No hook is called where a solver finds nothing; but conda prints every error through these loggers.
    """
    _requested[:] = sorted(str(spec) for spec in (*coming, *going))
    if os.environ.get(_OFF) != "0":
        for name in _LOGS:
            logging.getLogger(name).addFilter(_notice)


def _notice(record: logging.LogRecord) -> bool:
    """Warn at exit if our guard package caused what is logged; always let conda print it."""
    with contextlib.suppress(Exception):
        told = record.args[0] if isinstance(record.args, tuple) and record.args else None
        text = f"{type(told).__name__}: {told}" if isinstance(told, Exception) else record.getMessage()
        prefix = Path(_get_context().target_prefix)
        warning = _explain_unsolved(text, prefix)
        if warning is not None and warning not in _told:
            from fastinstall.core.messages import quote  # noqa: PLC0415 (only where a command has failed)

            _told.add(warning)
            rollback = f"conda fastinstall rollback --yes --prefix {quote(prefix)}"
            atexit.register(_warn, warning, f"to install another Pillow: {rollback}; then run this again")
    return True


def _explain_unsolved(text: str, prefix: Path) -> str | None:
    """Explain how our guard package caused a conda error, or return None if it did not."""
    from fastinstall.model.conda_packages import GUARD  # noqa: PLC0415 (only where a command has failed)

    named = any(name in text for name in _UNSOLVED) and any(word in text for word in (GUARD, "pillow", _UNEXPLAINED))
    if not named or not any(prefix.glob(f"conda-meta/{GUARD}-*.json")):
        return None
    return f"the package {GUARD} in {prefix} allows only builds of fastinstall: no other Pillow is found"


def warn_of_solution(unlinked: Iterable[object], linked: Iterable[object]) -> str | None:
    """Warn of what the solver has decided about the stack.

    Returns:
        Why conda has to refuse it, where that is requested; else None.
    """
    status = _observe_stack_status()
    if status is None:
        return None

    change = CondaChange(linked=tuple(map(_make_package, linked)), unlinked=tuple(map(_make_package, unlinked)))
    warning = foresee_conda_changes(change, tuple(_requested), status)
    if not warning:
        return None
    if _is_blocking():
        return _make_harmless(f"fastinstall refuses this: {warning[0]}\nhint: {_BLOCK}=0 allows it")
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
    prefix = Path(_get_context().target_prefix)
    if os.environ.get(_OFF) != "0" and (prefix / TRANSACTIONS).is_dir():
        _tell_interrupted(prefix)
    status = _observe_stack_status()
    if status is None:
        return

    warning = describe_conda_changes(status, command if _foreseen else "")
    if warning:
        _warn(*warning)


def _tell_interrupted(prefix: Path) -> None:
    from fastinstall.journal.snapshot import read_environment_history  # noqa: PLC0415 (only where something of ours is)
    from fastinstall.model.history import describe_what_was_interrupted, recovery_command  # noqa: PLC0415 (likewise)

    for each in read_environment_history(prefix, sized=False).interruptions:
        _warn(
            f"{describe_what_was_interrupted(each)} was interrupted",
            f"to undo or finish it: {recovery_command(each, prefix)}",
        )


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


def _is_blocking() -> bool:
    said = os.environ.get(_BLOCK)
    if said is not None:
        return said.lower() in _YES
    # Where conda knows no settings of plugins, nothing is set.
    return bool(getattr(getattr(_get_context(), "plugins", None), _SETTING, False))


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


_WARNING = Status.WARNING.gravity
_SHOWN = 5  # lines of evidence
_GOOD, _BAD = "✅", "❌"  # as the lines of conda's own checks begin


def report_quick_checks(prefix: str, *, verbose: bool) -> None:
    """Write what doctor's quick checks find, if there is a setup.

    Args:
        verbose: every finding, and what it rests on; else those that are warnings or errors.
    """
    try:
        report = _report(prefix)
    except FastinstallError as error:
        _write(f"{_BAD} fastinstall: {error.message}", *_format_hint(error.hint), "")
        return
    if report is not None:
        _write(*_report_lines(report, verbose=verbose), "")


def fix(prefix: str, confirm: Callable[[str], None]) -> int:
    """Restore what was set up.

    Args:
        confirm: asks; raises, by conda's means, where the answer is no or nothing is to be changed.

    Returns:
        The exit code of the repair; 0 where there is nothing to repair.

    Raises:
        FastinstallError: the environment cannot be examined.
    """
    report = _report(prefix)
    if report is None:
        return 0
    repairable = [each for each in report.findings if each.remedy and "--fix" in (each.remedy.command or "")]
    if not repairable:
        _write("fastinstall: nothing to repair", "")
        return 0
    _write(*(f"fastinstall: {finding.message}" for finding in repairable), "")
    confirm("Restore the Pillow that fastinstall set up?")
    return run_conda_command(("doctor", "--fix", "--yes", "--prefix", prefix))


def _report(prefix: str) -> EnvironmentReport | None:
    if not Path(prefix, RECEIPT).is_file():
        return None
    session = open_session(dict(os.environ))
    return examine_environment(
        session, find_environment(session, NamedTarget(prefix=Path(prefix))), Examination(quick=True)
    )


def _report_lines(report: EnvironmentReport, *, verbose: bool) -> Iterator[str]:
    grave = [finding for finding in report.findings if finding.status.gravity >= _WARNING]
    told = next((finding.message for finding in report.findings if finding.check == "swapped"), "all is well")
    if grave:
        told = f"{len(grave)} of {len(report.findings)} findings are warnings or errors"
    yield f"{_BAD if report.status.gravity >= _WARNING else _GOOD} fastinstall: {told}"
    for finding in report.findings if verbose else grave:
        yield f"  {finding.status} {finding.check}: {finding.message}"
        if verbose:
            yield from (f"    {line}" for line in finding.evidence[:_SHOWN])
            if len(finding.evidence) > _SHOWN:
                yield f"    and {len(finding.evidence) - _SHOWN} more"
        if finding.status.gravity and finding.remedy is not None:
            # The plugin is where conda is; our own command need not be on PATH.
            command = re.sub(r"^fastinstall ", "conda fastinstall ", finding.remedy.command or "")
            hint = ": ".join(filter(None, (finding.remedy.text, command)))
            yield from (f"    {line}" for line in _format_hint(hint))


def _format_hint(text: str | None) -> tuple[str, ...]:
    return (f"hint: {text}",) if text else ()


def _write(*lines: str) -> None:
    stream: TextIO = sys.stderr if _get_context().json else sys.stdout
    stream.write(_make_harmless("".join(f"{line}\n" for line in lines)))


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
