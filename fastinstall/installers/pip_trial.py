"""What pip would install, by a dry run: it resolves against the index, fetches what that takes, and builds nothing."""

from collections.abc import Mapping, Sequence

from fastinstall.errors import UndeterminedError
from fastinstall.installers.pip import argv_for, pip_environment
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.probes.distributions import normalised
from fastinstall.system.process import CommandError, run

_DRY = ("install", "--dry-run", "--quiet", "--report", "-", "--retries", "1", "--only-binary", ":all:")
_SECONDS = 180.0
_UNREACHED = "Retrying (Retry(total=0"
"""Of the last attempt. Without an index pip takes what is installed for all there is, and says no more than this."""

_IMPOSSIBLE = ("ResolutionImpossible", "No matching distribution found", "Could not find a version")


@immutable
class Outlook:
    """What pip would do.

    Attributes:
        installs: normalised name to version, of what it would install.
        impossible: its words, where it finds nothing that fits; empty where it does.
    """

    installs: dict[str, str]
    impossible: str = ""


@immutable
class PipConditions:
    """Under which settings pip is asked; they hide those of its files.

    Attributes:
        constraints: a constraints file.
        links: places of wheels.
    """

    constraints: str
    links: Sequence[str]


def outlook(
    interpreter: Interpreter, words: Sequence[str], conditions: PipConditions, variables: Mapping[str, str]
) -> Outlook:
    """What `pip install WORDS` would do; nothing is changed.

    Args:
        interpreter: the target's Python.
        words: of the command, options too.
        conditions: settings.
        variables: of the shell.

    Raises:
        UndeterminedError: pip could not tell: no index reached, no answer in time, or a pip of before dry runs.
        RefusedError: no pip serves this target.
    """
    ours = {"PIP_CONSTRAINT": conditions.constraints, "PIP_FIND_LINKS": " ".join(conditions.links)}
    environment = {**pip_environment(variables), **{name: value for name, value in ours.items() if value}}
    argv = (*argv_for(interpreter), *_DRY, *words)
    try:
        done = run(argv, environment=environment, check=False, timeout=_SECONDS)
    except CommandError as error:
        raise UndeterminedError(error.message) from error
    if _UNREACHED in done.stderr:
        raise UndeterminedError("an index did not answer")
    if done.exit_code == 0:
        return Outlook(installs=_installs(done.stdout))
    if any(words in done.stderr for words in _IMPOSSIBLE):
        return Outlook(installs={}, impossible=_told(done.stderr))
    raise UndeterminedError(_told(done.stderr))


def _installs(report: str) -> dict[str, str]:
    """Source: pip, "Installation Report"."""
    items = json_data(report)["install"]
    return {normalised(item["metadata"]["name"]): item["metadata"]["version"] for item in items}


def _told(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]
