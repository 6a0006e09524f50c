"""How many images a second a training step takes: the rate that a loader has to reach."""

import json
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core import process
from fastinstall.core.errors import FailedError, UsageError
from fastinstall.core.values import immutable

_PROGRAM = Path(__file__).with_name("_step.py")
_FUNCTION = "step"
SECONDS = 3.0
LIMIT = 60.0


@immutable
class Span:
    """How long a step is measured.

    Attributes:
        seconds: calls are repeated for so long, after two that are not counted.
        limit: seconds for all of it, imports included.
    """

    seconds: float = SECONDS
    limit: float = LIMIT


def rate_of_step(python: Path, step: str, variables: Mapping[str, str], span: Span | None = None) -> float:
    """Images per second that a training step takes, one process, on its own.

    Args:
        python: the target's interpreter, which runs it as `python FILE` would: in the working directory of this
            process, with the directory of the file on its path.
        step: FILE or FILE:FUNCTION; the function takes no argument, does one step and returns how many images it took.
        variables: the whole environment of that process.
        span: how long.

    Raises:
        UsageError: there is no such file, or no such function in it.
        FailedError: the file or the function raises, dies, gives no number of images, or takes too long.
    """
    span = span or Span()
    file, function = parts_of(step)
    if not file.is_file():
        raise UsageError(f"--step {step}: there is no file {file}", hint=_format_hint(file))
    try:
        completed = process.run(
            (python, "-B", _PROGRAM, file.absolute(), function, str(span.seconds)),
            environment={**variables, "FASTINSTALL_GUARD": "0"},
            timeout=span.limit,
        )
    except process.CommandError as error:
        raise _explain_death(step, error, span) from error
    answer = json.loads(completed.stdout)
    if "error" in answer:
        raise _explain_failed_step(step, answer, completed)
    return float(answer["images_per_second"])


def parts_of(step: str) -> tuple[Path, str]:
    """The file and the function of FILE[:FUNCTION]; a colon may be part of the file's name."""
    file, colon, function = step.rpartition(":")
    if colon and function.isidentifier() and not Path(step).is_file():
        return Path(file), function
    return Path(step), _FUNCTION


def _explain_death(step: str, error: process.CommandError, span: Span) -> FailedError:
    if error.timed_out:
        hint = "give the rate itself: --target-rate IMAGES_PER_SECOND"
        return FailedError(f"--step {step}: no rate within {span.limit:g} s", hint=hint, details=error.details)
    name = error.completed.signal_name
    how = f"was killed by {name}" if name else f"ended with exit code {error.completed.exit_code}"
    return FailedError(f"--step {step}: it {how}", details=error.details)


def _explain_failed_step(step: str, answer: dict[str, str], completed: process.Completed) -> Exception:
    file, function = parts_of(step)
    text = answer["text"]
    said = tuple(f"stderr: {line}" for line in completed.stderr.rstrip().splitlines()[-12:])
    if answer["error"] == "function":
        return UsageError(f"--step {step}: {file} has no function {function}()", hint=_format_hint(file))
    if answer["error"] == "file":
        return FailedError(f"--step {step}: {file} cannot be imported: {text}", details=said)
    if answer["error"] == "number":
        hint = "the function returns how many images its step took, an int of 1 or more"
        return FailedError(f"--step {step}: {function}() gave {text}, no number of images", hint=hint, details=said)
    return FailedError(f"--step {step}: {function}() raises {text}", details=said)


def _format_hint(file: Path) -> str:
    return f"name a function that does one training step and returns how many images it took: --step {file}:FUNCTION"
