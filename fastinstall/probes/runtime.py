"""Use PIL for real, in a subprocess of the target's interpreter: what dies there dies alone and is named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from fastinstall.model.facts import OperationResult, Runtime
from fastinstall.model.parsing import json_data
from fastinstall.model.process import Fault
from fastinstall.system.process import CommandError, Completed, run

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
        stage: a directory to look for PIL in first, before it is in place.
        pixels: a file to write every operation's pixels to, for `compare_pixels`.
        environment: variables of the subprocess.
        quick: a few operations only, in about 100 ms.

    Returns:
        What happened, whatever that is: a crash, a hang and a failed import are results too.
    """
    options = ["--quick"] if quick else []
    options += ["--stage", str(stage.absolute())] if stage is not None else []
    options += ["--pixels", str(pixels)] if pixels is not None else []
    argv = (str(python), "-I", "-B", str(_OPERATIONS), *options)
    timeout = _QUICK_TIMEOUT if quick else _TIMEOUT
    try:
        completed = run(argv, environment={**environment, **_SILENCED_GUARD}, timeout=timeout, check=False)
    except CommandError as error:
        return _runtime(error.completed, _Ending(error=error.message))
    return _runtime(completed, _ending(completed))


@dataclass(frozen=True, slots=True)
class _Ending:
    """Explain why the subprocess did not finish, or return "" if it did."""

    error: str = ""
    signal: str = ""


def _ending(completed: Completed) -> _Ending:
    if completed.signal_name:
        return _Ending(f"killed by {completed.signal_name}", completed.signal_name)
    if completed.exit_code != 0:
        last_line = completed.stderr.strip().rpartition("\n")[2]
        return _Ending(last_line or f"exit code {completed.exit_code}")
    return _Ending()


def _runtime(completed: Completed, ending: _Ending) -> Runtime:
    events = tuple(_events(completed.stdout))
    imported = _first(events, "imported")
    operations = tuple(_results(events))
    running = _running(events) if ending.error else ""
    return Runtime(
        imported=bool(imported),
        error=ending.error or _first(events, "failed").get("error", ""),
        signal=ending.signal,
        during=running or next((result.name for result in operations if not result.ok), ""),
        version=imported.get("version", ""),
        location=imported.get("location", ""),
        core=_first(events, "core").get("path", ""),
        features=_first(events, "features").get("features", {}),
        operations=operations,
        mapped_by_import=_mapped(events, "import"),
        mapped=_mapped(events, "end"),
        fault=_fault(completed, events, ending.signal),
    )


def _events(stdout: str) -> Iterator[dict[str, Any]]:
    """The lines of our script; anything else that was printed is passed over."""
    for line in stdout.splitlines():
        try:
            event = json_data(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            yield event


def _first(events: tuple[dict[str, Any], ...], kind: str) -> dict[str, Any]:
    return next((event for event in events if event["event"] == kind), {})


def _mapped(events: tuple[dict[str, Any], ...], when: str) -> tuple[PurePath, ...]:
    """List the files mapped by then; empty if it did not get that far."""
    found = (event["files"] for event in events if event["event"] == "mapped" and event["when"] == when)
    return tuple(map(PurePath, next(found, ())))


def _fault(completed: Completed, events: tuple[dict[str, Any], ...], signal: str) -> Fault | None:
    """Return where the signal struck, or None if there was no signal or the place is unknown."""
    address = _first(events, "fault").get("address", "")
    if not signal or not address:
        return None
    from fastinstall.probes.fault import read_fault  # noqa: PLC0415 (hardly ever needed)

    lines = completed.stdout.splitlines()
    return read_fault(int(address, 16), lines, decode=signal == "SIGILL", truncated=signal == "SIGBUS")


def _results(events: tuple[dict[str, Any], ...]) -> Iterator[OperationResult]:
    for event in events:
        if event["event"] == "end":
            yield OperationResult(name=event["name"], ok=not event["error"], error=event["error"])


def _running(events: tuple[dict[str, Any], ...]) -> str:
    """What had begun and not ended when the process went away."""
    own = [event for event in events if event["event"] != "fault"]
    last = own[-1] if own else {}
    return str(last["name"]) if last.get("event") == "begin" else ""
