"""What pip would install, by a dry run: it resolves against the index, fetches what that takes, and builds nothing."""

from collections.abc import Mapping, Sequence

from fastinstall.core.errors import UndeterminedError
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.index.pip import argv_for, pip_environment
from fastinstall.model.facts import Interpreter
from fastinstall.observe.stack import normalise_distribution_name

_DRY = ("install", "--dry-run", "--quiet", "--report", "-", "--retries", "1", "--only-binary", ":all:")


_TRIAL_SECONDS = 180.0


_UNREACHED = "Retrying (Retry(total=0"
"""Of the last attempt. Without an index pip takes what is installed for all there is, and says no more than this."""


_IMPOSSIBLE = ("ResolutionImpossible", "No matching distribution found", "Could not find a version")


@immutable
class PipForecast:
    """What pip would do.

    Attributes:
        installs: normalised name to version, of what it would install.
        impossible: its words, where it finds nothing that fits; empty if it does.
    """

    installs: dict[str, str]
    impossible: str = ""


def forecast_pip_install(
    interpreter: Interpreter, words: Sequence[str], settings: Mapping[str, str], variables: Mapping[str, str]
) -> PipForecast:
    """Find out what `pip install WORDS` would do; nothing is changed.

    Args:
        words: of the command, options too.
        settings: variables of pip's that hide those of its files; empty ones do not.
        variables: the environment variables of the shell.

    Raises:
        UndeterminedError: pip could not tell: no index reached, no answer in time, or a pip of before dry runs.
        RefusedError: no pip serves this target.
    """
    environment = {**pip_environment(variables), **{name: value for name, value in settings.items() if value}}
    argv = (*argv_for(interpreter), *_DRY, *words)
    try:
        done = run(argv, environment=environment, check=False, timeout=_TRIAL_SECONDS)
    except CommandError as error:
        raise UndeterminedError(error.message) from error
    if _UNREACHED in done.stderr:
        raise UndeterminedError("an index did not answer")
    if done.exit_code == 0:
        items = json_data(done.stdout)["install"]  # source: pip, "Installation Report"
        named = ((item["metadata"]["name"], item["metadata"]["version"]) for item in items)
        return PipForecast(installs={normalise_distribution_name(name): version for name, version in named})
    if any(words in done.stderr for words in _IMPOSSIBLE):
        return PipForecast(installs={}, impossible=_describe_stderr(done.stderr))
    raise UndeterminedError(_describe_stderr(done.stderr))


def _describe_stderr(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]
