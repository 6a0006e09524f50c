"""Renders the reference pages of exit codes and of settings, from the errors, the parser and the wishes.

Nothing is written here; `docs/reference/write_reference.py` does that.
"""

import argparse
from collections.abc import Iterator

from fastinstall.cli.help import groups_of, verb_of
from fastinstall.cli.options import WISHES
from fastinstall.cli.parser import build_parser, verbs_of
from fastinstall.cli.reference import EXIT_CODES, VARIABLES
from fastinstall.cli.settings import variable_of
from fastinstall.errors import ExitCode
from fastinstall.model.reference import table

REMEDIES: dict[ExitCode, str] = {
    ExitCode.OK: "nothing",
    ExitCode.BUG: "report it, with the log and with what `fastinstall inspect --redact` prints",
    ExitCode.USAGE: "correct what the message names; `fastinstall VERB --help` shows the flags",
    ExitCode.FINDINGS: "read the findings: each has a command that shows it, and one that mends it; "
    "`fastinstall doctor --fix` puts back what was set up",
    ExitCode.UNDETERMINED: "name an environment that has a Python which runs: `--prefix DIR`",
    ExitCode.REFUSED: "do what the `hint:` says; a risk is accepted by its name, `--allow RISK`",
    ExitCode.FAILED_UNCHANGED: "go on using the environment; the message and the log say what failed",
    ExitCode.FAILED_CHANGED: "stop, and do what the message says; then `fastinstall doctor`",
    ExitCode.INTERRUPTED: "nothing; the same command begins anew, and takes what was built out of the cache",
}

_CODES = """\
# Exit codes

This page is generated from the code; do not edit it.

They are a contract with scripts: a code keeps its meaning. What has become of the environment is told by 5, 6 and 7
alone; after 0 it is as asked for."""

_SETTINGS = """\
# Variables and settings

This page is generated from the parser; do not edit it.

A flag goes before a variable, a variable before a key. Keys stand in `fastinstall.toml` in the working directory, or
else in `~/.config/fastinstall/fastinstall.toml`; an unknown one is an error that names it. A switch takes `1`, `true`,
`yes`, `on` or their opposites; a list is separated by commas in a flag and in a variable, and is a list in the file.

```toml
level = "x86-64-v3"
require = ["jpeg", "tiff"]
guard = false
```

## Wishes

What `setup`, `plan` and `build` can be asked for."""

_FLAGS = """\
## Other flags

They have a variable and a key each, too."""

_FURTHER = "## Further variables"


def render_exit_codes() -> str:
    """Give the text of docs/reference/exit-codes.md."""
    rows = ((str(int(code)), EXIT_CODES[code], REMEDIES[code]) for code in ExitCode)
    return "\n\n".join((_CODES, table(("code", "means", "do"), rows))) + "\n"


def render_settings() -> str:
    """Give the text of docs/reference/settings.md."""
    wishes = ((f"`{each.variable}`", f"`{each.field}`", f"`{each.flag}`", each.help) for each in WISHES)
    further = ((f"`{name}`", meaning) for name, meaning in VARIABLES.items())
    head = ("variable", "key", "flag", "means")
    parts = (
        *(_SETTINGS, table(head, wishes), _FLAGS, table((*head[:3], "of"), _others())),
        *(_FURTHER, table(("variable", "means"), further)),
    )
    return "\n\n".join(parts) + "\n"


def _others() -> list[tuple[str, ...]]:
    """Every flag that is no wish, with the verbs that have it, by its name."""
    found: dict[str, list[str]] = {}
    wishes = {each.flag for each in WISHES}
    for verb in verbs_of(build_parser()):
        for flag in _long_flags(verb):
            if flag not in wishes:
                found.setdefault(flag, []).append(verb_of(verb))
    return [
        (f"`{variable_of(flag)}`", f"`{_key(flag)}`", f"`{flag}`", ", ".join(found[flag])) for flag in sorted(found)
    ]


def _long_flags(verb: argparse.ArgumentParser) -> Iterator[str]:
    for _, actions in groups_of(verb):
        for action in actions:
            yield from [flag for flag in action.option_strings if flag.startswith("--")][:1]


def _key(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")
