"""Import and use PIL in a subprocess with the target's interpreter; a crash ends only the subprocess.

A PIL that programs import instead of the one in site-packages is described from its files, and never imported.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.directories import find_home
from fastinstall.core.foreign_code import find_stranger_in
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.model.facts import ImportSource, OperationResult, Runtime, ShadowingPil
from fastinstall.observe.stack import list_distributions_with, read_pil_version

_TIMEOUT = 120.0
_QUICK_TIMEOUT = 20.0
_OPERATIONS = Path(__file__).with_name("_operations.py")
_SILENCED_GUARD = {"FASTINSTALL_GUARD": "0"}


def observe_runtime(
    python: Path,
    *,
    stage: Path | None = None,
    pixels: Path | None = None,
    environment: Mapping[str, str],
    quick: bool = False,
) -> Runtime:
    """Import PIL and run real operations with the target's interpreter.

    Args:
        python: the target's interpreter.
        stage: a directory with a PIL that is not installed yet, which is searched first; None for the installed PIL.
        pixels: the file to write every operation's pixels to, for `compare_pixels`; None to write none.
        environment: environment variables of the subprocess.
        quick: run only a few operations, which takes about 100 ms.

    Returns:
        The result, even after a crash, a hang or a failed import.
    """
    options = ["--quick"] if quick else []
    options += ["--stage", str(stage.absolute())] if stage is not None else []
    options += ["--pixels", str(pixels)] if pixels is not None else []
    return _run((python, "-I", "-B", _OPERATIONS, *options), environment, _QUICK_TIMEOUT if quick else _TIMEOUT)


def observe_programs_pil(python: Path, variables: Mapping[str, str]) -> Runtime:
    """Import PIL as a user's program would, and run a few operations.

    If a program would find a PIL other than the one in site-packages, that PIL is reported but not imported.

    Args:
        python: the target's interpreter.
        variables: environment variables of the user's programs.

    Returns:
        The result, as from `observe_runtime`. The interpreter runs isolated (`-I`) if root must not run the code that
        precedes site-packages, or if Python cannot start as it does for a program.
    """
    if may_start_as_program(variables):
        seen = _run((python, "-B", _OPERATIONS, "--quick"), variables, _QUICK_TIMEOUT)
        if seen.is_as_program:
            return seen
    return observe_runtime(python, environment=variables, quick=True)


def _run(argv: tuple[Path | str, ...], variables: Mapping[str, str], timeout: float) -> Runtime:
    try:
        completed = run(argv, environment={**variables, **_SILENCED_GUARD}, timeout=timeout, check=False)
    except CommandError as error:
        return _make_runtime(error.completed, error.message)
    return _make_runtime(completed, _describe_exit(completed), completed.signal_name)


def _describe_exit(completed: Completed) -> str:
    """Return why a subprocess failed; empty if it succeeded."""
    if completed.signal_name:
        return f"killed by {completed.signal_name}"
    last_line = completed.stderr.strip().rpartition("\n")[2]
    return (last_line or f"exit code {completed.exit_code}") if completed.exit_code else ""


def _make_runtime(completed: Completed, error: str, signal: str = "") -> Runtime:
    events = tuple(_parse_events(completed.stdout))
    first: dict[str, dict[str, Any]] = {}
    for event in events:
        first.setdefault(f"mapped by {event['when']}" if event["event"] == "mapped" else event["event"], event)
    imported, located = first.get("imported", {}), first.get("located", {})
    ended = (event for event in events if event["event"] == "end")
    operations = tuple(OperationResult(name=each["name"], ok=not each["error"], error=each["error"]) for each in ended)
    during = next((result.name for result in operations if not result.ok), "")
    if error and events and events[-1]["event"] == "begin":
        during = str(events[-1]["name"])
    return Runtime(
        imported=bool(imported),
        error=error or first.get("failed", {}).get("error", ""),
        signal=signal,
        during=during,
        version=imported.get("version", ""),
        location=imported.get("location", ""),
        core=first.get("core", {}).get("path", ""),
        features=first.get("features", {}).get("features", {}),
        operations=operations,
        mapped_by_import=tuple(map(PurePath, first.get("mapped by import", {}).get("files", ()))),
        mapped=tuple(map(PurePath, first.get("mapped by end", {}).get("files", ()))),
        is_as_program=bool(located),
        shadow=_make_shadow(located) if located.get("foreign") else None,
    )


def _make_shadow(located: Mapping[str, Any]) -> ShadowingPil:
    """Return the PIL that a program finds, with the start-up file that probably puts it before site-packages.

    The start-up file is a guess: the first one whose text contains the directory in which the PIL is.

    Args:
        located: the event "located" of `_operations.py`.
    """
    shadow = ShadowingPil(location=located["location"], source=ImportSource.STARTUP, entry="")
    entry = str(shadow.package.parent)
    origin = next((file for file in located["startup"] if entry in foreign.text_or_empty(file)), "")
    return complete_shadow(replace(shadow, entry=entry, origin=origin))


def _parse_events(stdout: str) -> Iterator[dict[str, Any]]:
    """Yield the events that `_operations.py` printed; skip other output."""
    for line in stdout.splitlines():
        try:
            event = json_data(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            yield event


def complete_shadow(shadow: ShadowingPil) -> ShadowingPil:
    """Return a shadowing PIL with its version and its distribution added; both are read from files."""
    version, origin = read_pil_version(Path(shadow.package)) or "", Path(shadow.origin)
    # For an editable installation, the distribution is the one whose RECORD lists the `.pth` file.
    place, recorded = (origin.parent, origin.name) if shadow.origin else (Path(shadow.entry), "PIL/")
    names = list_distributions_with(place, recorded)
    return replace(shadow, version=version, distribution=next(iter(names), ""))


def may_start_as_program(variables: Mapping[str, str]) -> bool:
    """Return whether an interpreter may run the code that some environment variables put before site-packages.

    True for ordinary users, whose own programs run that code anyway. For root, true only if root owns the directories
    with that code, their parents and their entries: HOME may be another user's, and PYTHONPATH may name a directory
    that everybody can write to.

    Args:
        variables: environment variables; only HOME, PYTHONUSERBASE, PYTHONNOUSERSITE and PYTHONPATH matter.
    """
    named = variables.get("PYTHONPATH", "")
    places = [Path(entry or os.curdir) for entry in named.split(os.pathsep)] if named else []
    if not variables.get("PYTHONNOUSERSITE"):
        base = Path(variables.get("PYTHONUSERBASE") or find_home(variables) / ".local")
        places += [base / "lib" / name / "site-packages" for name in foreign.list_names(base / "lib")]
    return not find_stranger_in(place for place in places if place.exists())
