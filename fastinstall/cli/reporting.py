"""How the results of doctor leave: as text, one line, JSON or JUnit XML, and as an exit code."""

import os
from argparse import Namespace
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from fastinstall.cli.console import Console
from fastinstall.errors import ExitCode, UsageError
from fastinstall.model.finding import Report, Status, Survey, Unobservable
from fastinstall.model.immutable import immutable
from fastinstall.rules.secrets import redacted

_STDOUT = "-"
_NEVER = "never"


@immutable
class Outlet:
    """Where the results of a run go.

    Attributes:
        console: for text and JSON.
        fail_on: "error", "warning" or "never".
        junit: the file for JUnit XML; "-" for stdout, which then bears nothing else; empty for none.
        now: the clock.
    """

    console: Console
    fail_on: str
    junit: str
    now: Callable[[], datetime]

    @property
    def least(self) -> Status:
        """The least grave status that counts; `never` speaks of the exit code alone."""
        return Status.ERROR if self.fail_on == _NEVER else Status(self.fail_on)


def open_outlet(arguments: Namespace, console: Console, now: Callable[[], datetime]) -> Outlet:
    """The outlet that the flags ask for, before anything is examined.

    Raises:
        UsageError: the file for JUnit XML cannot be written, or stdout was promised to JSON as well.
    """
    junit = arguments.junit or ""
    if junit == _STDOUT and console.json:
        raise UsageError("--junit - and --json exclude each other", hint="give --junit a file: --junit doctor.xml")
    if junit and junit != _STDOUT:
        _refuse_unwritable(Path(junit).expanduser())
    return Outlet(console=console, fail_on=arguments.fail_on, junit=junit, now=now)


def tell_report(report: Report, outlet: Outlet) -> int:
    """Print and write the report on one environment; its exit code is returned."""
    if outlet.junit != _STDOUT:
        _print_report(report, outlet)
    _write_junit(outlet, Survey(status=report.status, reports=(report,)), outlet.least)
    return _exit_code(report.status, outlet)


def tell_survey(survey: Survey, outlet: Outlet) -> int:
    """Print and write the reports on all environments; the exit code is returned."""
    undetermined = bool(survey.unobservable) and not survey.reports
    least = Status.UNKNOWN if undetermined else outlet.least
    if outlet.junit != _STDOUT:
        _print_survey(survey, outlet, least)
    _write_junit(outlet, survey, least)
    return ExitCode.UNDETERMINED if undetermined else _exit_code(survey.status, outlet)


def write_undetermined(each: Unobservable, outlet: Outlet) -> None:
    """Write JUnit XML of a target that could not be looked at; text is for whoever caught the error."""
    _write_junit(outlet, Survey(status=Status.UNKNOWN, reports=(), unobservable=(each,)), Status.UNKNOWN)


def _print_report(report: Report, outlet: Outlet) -> None:
    console = outlet.console
    if console.json:
        from fastinstall.model.codec import document, dump  # noqa: PLC0415 (only for JSON)

        console.data(dump(document("doctor", report)))
    elif console.quiet:
        _print_lines(Survey(status=report.status, reports=(report,)), console, outlet.least)
    else:
        from fastinstall.cli.render import report_text  # noqa: PLC0415 (only for text)

        console.data(report_text(report, console.out))


def _print_survey(survey: Survey, outlet: Outlet, least: Status) -> None:
    console = outlet.console
    if console.json:
        from fastinstall.model.codec import document, dump  # noqa: PLC0415 (only for JSON)

        console.data(dump(document("doctor-all", survey)))
    elif console.quiet:
        _print_lines(survey, console, least)
    else:
        from fastinstall.cli.render_survey import survey_text  # noqa: PLC0415 (only for text)

        console.data(survey_text(survey, console.out))


def _print_lines(survey: Survey, console: Console, least: Status) -> None:
    from fastinstall.cli.render_quiet import quiet_lines  # noqa: PLC0415 (only with --quiet)

    for line in quiet_lines(survey.reports, survey.unobservable, least):
        console.data(line)


def _write_junit(outlet: Outlet, survey: Survey, least: Status) -> None:
    if not outlet.junit:
        return
    from fastinstall.cli.render_junit import junit_xml  # noqa: PLC0415 (only with --junit)

    text = redacted(junit_xml(survey.reports, survey.unobservable, least, outlet.now()), outlet.console.known)
    if outlet.junit == _STDOUT:
        outlet.console.data(text)
        return
    from fastinstall.system.files import write_text  # noqa: PLC0415 (only with --junit)

    try:
        write_text(Path(outlet.junit).expanduser(), text)
    except OSError as error:
        raise _unwritable(outlet.junit, error.strerror or str(error)) from None


def _refuse_unwritable(file: Path) -> None:
    """Before the examination, which may take a while, and whose result would be lost."""
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        raise _unwritable(file, "no regular file")
    directory = next(each for each in file.absolute().parents if os.path.lexists(each))
    if not directory.is_dir():
        raise _unwritable(file, f"{directory} is no directory")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise _unwritable(file, f"{directory} cannot be written to")


def _unwritable(file: Path | str, problem: str) -> UsageError:
    return UsageError(f"--junit {file}: {problem}", hint="name a file that can be written, or - for stdout")


def _exit_code(status: Status, outlet: Outlet) -> int:
    if outlet.fail_on == _NEVER:
        return ExitCode.OK
    return ExitCode.FINDINGS if status.gravity >= outlet.least.gravity else ExitCode.OK
