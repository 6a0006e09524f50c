"""Renders the reference page of the command line from the parser, the wishes and the exit codes.

Nothing is written here; `docs/reference/write_reference.py` does that.
"""

import argparse
from collections.abc import Iterable

from fastinstall.cli.options import WISHES, Option
from fastinstall.cli.parser import build_parser
from fastinstall.errors import ExitCode
from fastinstall.model.codec import encode
from fastinstall.model.reference import table
from fastinstall.model.schemas import SCHEMAS
from fastinstall.model.wish import Wish

EXIT_CODES: dict[ExitCode, str] = {
    ExitCode.OK: "done, healthy, or nothing to do",
    ExitCode.BUG: "a bug of fastinstall; the log is written, and its path printed",
    ExitCode.USAGE: "usage: unknown flag, recipe or check; malformed recipe, plan or settings (file and key are named)",
    ExitCode.FINDINGS: "`doctor` found something at or above `--fail-on`; `guard status` found a problem; "
    "`guard check` found a file that would bring stock Pillow back",
    ExitCode.UNDETERMINED: "could not be determined: the target is not observable",
    ExitCode.REFUSED: "refused: no consent, unsupported CPU or platform, protected or frozen environment, stale plan, "
    "locked by a running fastinstall, a foreign file in the way",
    ExitCode.FAILED_UNCHANGED: "failed, and the environment is as it was before",
    ExitCode.FAILED_CHANGED: "failed, and the environment is not as it was; the message says what is where",
    ExitCode.INTERRUPTED: "interrupted, and the environment is as it was before; "
    "an interruption that comes when all is done ends with 0, and is told",
}

DOCUMENTS: dict[str, str] = {
    "facts": "`inspect`",
    "plan": "`plan`, `setup --dry-run`; also the file of `plan -o`",
    "receipt": "`setup`, `apply`; also `share/fastinstall/receipt.json` in the environment",
    "doctor": "`doctor`",
    "doctor-all": "`doctor --all`",
    "bench": "`bench`",
    "bench-candidates": "`bench --list`",
    "build": "`build`",
    "merge": "`build --explain`; also `fastinstall-merge.json` in the wheel's metadata",
    "guard": "`guard`",
    "locks": "`guard check`",
    "project-pin": "`.fastinstall/pin.json` in a project that is pinned",
    "rollback": "`rollback`",
    "accepted": "`guard accept`",
    "transactions": "`rollback --list`",
    "forgotten": "`rollback --forget`",
    "checks": "`doctor --list`",
    "recipes": "`recipes list`",
    "error": "every verb that fails",
}

VARIABLES: dict[str, str] = {
    "FASTINSTALL_RECIPES": "a directory of recipes that go before those that come with fastinstall",
    "FASTINSTALL_CACHE_DIR": "the cache, in place of `~/.cache/fastinstall`",
    "FASTINSTALL_GUARD": "`0` silences the guards: the start-up guard, conda's plugin, the scripts of activate.d",
    "FASTINSTALL_BLOCK_SWAPS": "`1`: conda's plugin refuses what would replace the stack; `0`: it only tells",
    "FASTINSTALL_PREFIX": "the environment, as `--prefix`; `conda fastinstall` sets it to the active one",
    "FASTINSTALL_UV`, `FASTINSTALL_POETRY`, `FASTINSTALL_PDM`, `FASTINSTALL_PIXI": "the program that locks a "
    "project of that tool, where it is not on PATH",
    "FASTINSTALL_HOME": "`bootstrap.sh`: where the tool's private environment goes",
    "FASTINSTALL_BOOTSTRAP_PYTHON": "`bootstrap.sh`: the interpreter that makes it (3.11 or later)",
    "VIRTUAL_ENV`, `CONDA_PREFIX": "the active environment, where no flag names one",
    "CI": "if set, nothing is ever asked",
    "NO_COLOR`, `FORCE_COLOR": "no colours; colours without a terminal",
    "XDG_CACHE_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME": "where cache, logs and settings are",
    "PIP_*": "which package index is asked, as in pip's configuration files",
}

_HEAD = """\
# The command line

This page is generated from the parser; do not edit it.

`fastinstall VERB` and `python -m fastinstall VERB` are the same program; `fastinstall --version` tells which one."""

_TARGET = """\
## Flags of many verbs

The target: without any of these flags it is the active environment. `--new-env` belongs to `setup` and `plan`."""

_WISHES = """\
## Wishes

What `setup`, `plan` and `build` can be asked for. A key names the thing itself: `--no-guard` and
`FASTINSTALL_NO_GUARD=1` are `guard = false`."""

_SETTINGS = """\
## Variables and settings

Every flag has a variable and a key: `--fail-on` is `FASTINSTALL_FAIL_ON` and `fail_on`. A flag goes before a variable,
a variable before a key. Keys stand in `fastinstall.toml` in the working directory, or else in
`~/.config/fastinstall/fastinstall.toml`; an unknown one is an error. A switch takes `1`, `true`, `yes`, `on` or their
opposites.

    level = "x86-64-v3"
    require = ["jpeg", "tiff"]
    guard = false

Further variables:"""

_JSON = """\
## JSON documents

With `--json`, stdout bears one document and stderr everything else; `schema` says which document it is."""


def render_cli() -> str:
    """Give the text of docs/reference/cli.md."""
    verbs = _verbs()
    links = ((f"[`{name}`](#fastinstall-{name})", _summary(verb)) for name, verb in verbs.items())
    codes = ((str(int(code)), EXIT_CODES[code]) for code in ExitCode)
    variables = ((f"`{name}`", meaning) for name, meaning in VARIABLES.items())
    parts = (
        *(_HEAD, table(("verb", "does"), links)),
        *(_TARGET, _flags(_group(verbs["setup"], "target"))),
        *("The output, for every verb:", _flags(_group(verbs["setup"], "output"))),
        *(_WISHES, table(("flag", "variable", "key", "means", "default"), map(_wish, WISHES))),
        *(_verb(name, verb) for name, verb in verbs.items()),
        *(_SETTINGS, table(("variable", "means"), variables)),
        *("## Exit codes", table(("code", "means"), codes)),
        *(_JSON, table(("schema", "printed by", "JSON Schema"), map(_document, DOCUMENTS))),
    )
    return "\n\n".join(parts) + "\n"


def _verbs() -> dict[str, argparse.ArgumentParser]:
    # argparse has no other way to list them.
    actions = build_parser()._actions  # noqa: SLF001
    return next(dict(action.choices) for action in actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001


def _summary(verb: argparse.ArgumentParser) -> str:
    text = verb.description or ""
    return text[:1].lower() + text[1:].removesuffix(".")


def _group(verb: argparse.ArgumentParser, start: str) -> list[argparse.Action]:
    """The arguments of the group whose title begins with `start`."""
    groups = (group for group in verb._action_groups if str(group.title).startswith(start))  # noqa: SLF001 (likewise)
    return [action for group in groups for action in group._group_actions if action.dest != "help"]  # noqa: SLF001


def _verb(name: str, verb: argparse.ArgumentParser) -> str:
    positional = _group(verb, "positional")
    own = [*positional, *_group(verb, "options")]
    shared = [group for group in ("target", "wishes") if _group(verb, group)]
    usage = " ".join(("    fastinstall", name, *map(_positional, positional), "[FLAG...]"))
    also = f"Also the flags of the {' and the '.join(shared)}." if shared else ""
    parts = (f"## fastinstall {name}", usage, verb.description or "", _flags(own), also)
    return "\n\n".join(part for part in parts if part)


def _flags(actions: Iterable[argparse.Action]) -> str:
    rows = [(_spelled(action), _meaning(action)) for action in actions if action.help or action.option_strings]
    return table(("flag", "means"), rows) if rows else ""


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_positional(action)}`"
    value = "" if action.nargs == 0 else " " + "|".join(map(str, action.choices or (action.metavar,)))
    return ", ".join(f"`{flag}{value}`" for flag in action.option_strings)


def _positional(action: argparse.Action) -> str:
    name = "|".join(map(str, action.choices or (action.metavar,)))
    return f"[{name}...]" if action.nargs == "*" else name


def _meaning(action: argparse.Action) -> str:
    default = action.default if isinstance(action.default, str) else ""
    return f"{action.help}; default: `{default}`" if default else str(action.help)


def _wish(option: Option) -> tuple[str, ...]:
    flag = f"`{option.flag} {option.metavar}`" if option.metavar else f"`{option.flag}`"
    return (flag, f"`{option.variable}`", f"`{option.field}`", option.help, _default(option))


def _default(option: Option) -> str:
    value = encode(getattr(Wish(), option.field))
    if value in (None, []):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _document(name: str) -> tuple[str, ...]:
    schema = f"[{name}.json](schemas/{name}.json)" if name in SCHEMAS else ""
    return (f"`fastinstall.{name}/1`", DOCUMENTS[name], schema)
