"""Render the reference of the command line from the code: a page of verbs, settings and exit codes, and the man page.

The sources are the parser, the options, the examples and the exit codes. The man page has a version but no date, so
that the same code always gives the same page. `write_reference.py` writes the files. Source: man(7), groff_man(7).
"""

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from published_schemas import SCHEMAS
from render_documents import table

from fastinstall import __version__
from fastinstall.cli.help import EXAMPLES, format_argument, groups_of, usage, verb_of
from fastinstall.cli.options import REQUEST_OPTIONS, Option
from fastinstall.cli.parser import build_parser, verbs_of
from fastinstall.core.codec import encode
from fastinstall.core.errors import ExitCode
from fastinstall.core.messages import listing
from fastinstall.model.request import Request

EXIT_CODES: dict[ExitCode, str] = {
    ExitCode.OK: "done, healthy, or nothing to do",
    ExitCode.BUG: "a bug of fastinstall; the message names the log",
    ExitCode.USAGE: "usage: unknown flag, recipe or check; malformed recipe, plan or settings (file and key are named)",
    ExitCode.FINDINGS: "`doctor` found something at or above `--fail-on`; `guard status` found a problem; "
    "`guard check` found a file that would bring stock Pillow back",
    ExitCode.UNDETERMINED: "could not be determined: the environment cannot be examined",
    ExitCode.REFUSED: "refused: no consent, unsupported CPU or platform, protected or frozen environment, stale plan, "
    "another fastinstall at work, a foreign file in the way; nothing was changed",
    ExitCode.FAILED_UNCHANGED: "failed, and the environment is as it was before",
    ExitCode.FAILED_CHANGED: "failed, and the environment is not as it was; the message says what is where",
    ExitCode.INTERRUPTED: "interrupted, and the environment is as it was before; "
    "if all was done already, the command says so and ends with 0",
}

DOCUMENTS: dict[str, str] = {
    "facts": "`inspect`",
    "plan": "`plan`, `setup --dry-run`; also the file of `plan -o`",
    "receipt": "`setup`, `apply`; also `share/fastinstall/receipt.json` in the environment",
    "doctor": "`doctor`",
    "doctor-all": "`doctor --all`",
    "fleet": "`plan --hosts`, `build --hosts`, `build --set`; also `fleet.json` in the wheelhouse",
    "collected": "`doctor --collect`",
    "bench": "`bench`",
    "bench-candidates": "`bench --list`",
    "build": "`build`",
    "tool": "`build --tool-only`",
    "guard": "`guard`",
    "locks": "`guard check`",
    "pin": "`guard pin`",
    "rollback": "`rollback`",
    "accepted": "`guard accept`",
    "transactions": "`rollback --list`",
    "forgotten": "`rollback --forget`",
    "checks": "`doctor --list`",
    "cache": "`cache`",
    "completion": "`completion`",
    "recipes": "`recipes list`",
    "error": "every verb that fails",
}

VARIABLES: dict[str, str] = {
    "FASTINSTALL_RECIPES": "a directory of recipes that go before those that come with fastinstall",
    "FASTINSTALL_CACHE_DIR": "the cache, in place of `~/.cache/fastinstall`",
    "FASTINSTALL_GUARD": "`0` silences the guards: the start-up guard, conda's plugin, the scripts of activate.d",
    "FASTINSTALL_KEEP_MB": "read by the fast stack: megabytes that glibc keeps for an image (128, or 16 "
    "under a limit of memory; 0: by its own rules)",
    "FASTINSTALL_THREADS": "read by the fast stack: threads inside one operation on a large picture (1; at most 64)",
    "FASTINSTALL_PREFIX": "the environment, as `--prefix`; `conda fastinstall` sets it to the active one",
    "FASTINSTALL_UV`, `FASTINSTALL_POETRY`, `FASTINSTALL_PDM`, `FASTINSTALL_PIXI": "the program that locks a "
    "project of that tool, where it is not on PATH",
    "FASTINSTALL_HOME": "`bootstrap.sh`: where the tool's private environment goes",
    "FASTINSTALL_BOOTSTRAP_PYTHON": "`bootstrap.sh`: the interpreter that makes it (3.11 or later)",
    "VIRTUAL_ENV`, `CONDA_PREFIX": "the active environment, where no flag names one",
    "CI": "if set, nothing is ever asked",
    "NO_COLOR`, `FORCE_COLOR": "no colours; colours without a terminal",
    "FASTINSTALL_PLAIN": "`1`: lines alone, as for `TERM=dumb`: no menus, no colours, no line that changes",
    "XDG_CACHE_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME": "where cache, logs and settings are",
    "PIP_*": "which package index is asked, as in pip's configuration files",
}

_SHARED = ("target", "build", "output")
"""First words of the titles of groups of flags that several verbs share, described once for all verbs."""

_HEAD = """\
# The command line

This page is generated from the parser; do not edit it.

`fastinstall VERB` and `python -m fastinstall VERB` are the same program; `fastinstall --version` tells which one.
`fastinstall VERB --help` shows the usual flags on one screen, `--help-all` every flag. The same as a man page:
[fastinstall.1](fastinstall.1). A script completes command lines in your shell:
[how](../how-to/completion.md)."""

_TARGET = """\
## Flags of many verbs

The target: without any of these flags it is the active environment. `--new-env` belongs to `setup` and `plan`."""

_REQUEST_FLAGS = """\
## What can be requested

What `setup`, `plan` and `build` can be asked for. A key names the thing itself: `--no-guard` and
`FASTINSTALL_NO_GUARD=1` are `guard = false`."""

_SETTINGS = """\
## Variables and settings

Every flag has a variable and a key: `--fail-on` is `FASTINSTALL_FAIL_ON` and `fail_on`. A flag goes before a variable,
a variable before a key. Keys stand in `fastinstall.toml` in the working directory, or else in
`~/.config/fastinstall/fastinstall.toml`; an unknown one is an error. A switch takes `1`, `true`, `yes`, `on` or their
opposites; a list is separated by commas in a flag and in a variable, and is a list in the file.

```toml
level = "x86-64-v3"
require = ["jpeg", "tiff"]
guard = false
```

Further variables:"""

_CODES = """\
## Exit codes

They are a contract with scripts: a code keeps its meaning. After 0 the environment is as requested, after 5 and 6 it is
unchanged, after 7 it is not."""

_JSON = """\
## JSON documents

With `--json`, stdout bears one document and stderr everything else; `schema` says which document it is.
The document of a verb that changes something says in `changed` whether anything was changed. Its `restart` names the
running programs (`pid`, `name`) that still use the previous Pillow. If nothing was to do,
`--quiet` prints nothing."""


def render_cli() -> str:
    """Return the text of docs/reference/cli.md."""
    verbs = _list_verbs()
    links = ((f"[`{name}`](#fastinstall-{name})", _summarize_verb(verb)) for name, verb in verbs.items())
    codes = ((str(int(code)), EXIT_CODES[code], REMEDIES[code]) for code in ExitCode)
    variables = ((f"`{name}`", meaning) for name, meaning in VARIABLES.items())
    parts = (
        *(_HEAD, table(("verb", "does"), links)),
        *(_TARGET, _render_flags(_group(verbs["setup"], "target"))),
        *("The output, for every verb:", _render_flags(_group(verbs["setup"], "output"))),
        *(
            _REQUEST_FLAGS,
            table(("flag", "variable", "key", "means", "default"), map(_describe_request_flag, REQUEST_OPTIONS)),
        ),
        *(_render_verb(name, verb) for name, verb in verbs.items()),
        *(_SETTINGS, table(("variable", "means"), variables)),
        *(_CODES, table(("code", "means", "do"), codes)),
        *(_JSON, table(("schema", "printed by", "JSON Schema"), map(_make_document_row, DOCUMENTS))),
    )
    return "\n\n".join(parts) + "\n"


def _list_verbs() -> dict[str, argparse.ArgumentParser]:
    return {verb_of(verb): verb for verb in verbs_of(build_parser())}


def _summarize_verb(verb: argparse.ArgumentParser) -> str:
    text = verb.description or ""
    return text[:1].lower() + text[1:].removesuffix(".")


def _group(verb: argparse.ArgumentParser, start: str) -> list[argparse.Action]:
    """Return a verb's arguments that are in a group whose title begins with `start`."""
    return [action for title, actions in groups_of(verb) if title.startswith(start) for action in actions]


def _render_verb(name: str, verb: argparse.ArgumentParser) -> str:
    groups = list(groups_of(verb))
    own = [action for title, actions in groups if not title.startswith(_SHARED) for action in actions]
    shared = [start for start in _SHARED[:-1] if _group(verb, start)]
    also = f"Also the flags of the {' and the '.join(shared)}." if shared else ""
    call = _block("text", (usage(verb).removeprefix("usage: "),))
    parts = (
        f"## fastinstall {name}",
        call,
        verb.description or "",
        _render_flags(own),
        also,
        _render_examples(EXAMPLES[name]),
    )
    return "\n\n".join(part for part in parts if part)


def _render_examples(examples: Mapping[str, str]) -> str:
    width = max(map(len, examples))
    return _block("text", (f"{command:<{width}}   # {purpose}" for command, purpose in examples.items()))


def _block(language: str, lines: Iterable[str]) -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def _render_flags(actions: Iterable[argparse.Action]) -> str:
    rows = [
        (f"`{format_argument(action)}`", _describe_action(action))
        for action in actions
        if action.help or action.option_strings
    ]
    return table(("flag", "means"), rows) if rows else ""


def _describe_action(action: argparse.Action) -> str:
    default = action.default if isinstance(action.default, str) and "default" not in (action.help or "") else ""
    return f"{action.help}; default: `{default}`" if default else str(action.help)


def _describe_request_flag(option: Option) -> tuple[str, ...]:
    flag = f"`{option.flag} {option.metavar}`" if option.metavar else f"`{option.flag}`"
    return (flag, f"`{option.variable}`", f"`{option.field}`", option.help, _format_default(option))


def _format_default(option: Option) -> str:
    value = encode(getattr(Request(), option.field))
    if value in (None, []):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _make_document_row(name: str) -> tuple[str, ...]:
    schema = f"[{name}.json](schemas/{name}.json)" if name in SCHEMAS else ""
    return (f"`fastinstall.{name}/1`", DOCUMENTS[name], schema)


REMEDIES: dict[ExitCode, str] = {
    ExitCode.OK: "nothing",
    ExitCode.BUG: "report it with the log and the output of `fastinstall inspect --redact`",
    ExitCode.USAGE: "correct what the message names; `fastinstall VERB --help` shows the flags",
    ExitCode.FINDINGS: "read the findings: each has a command that shows it and one that fixes it; "
    "`fastinstall doctor --fix` restores what was set up",
    ExitCode.UNDETERMINED: "name an environment with a working Python: `--prefix DIR`",
    ExitCode.REFUSED: "do what the `hint:` says; accept a risk by name: `--allow RISK`",
    ExitCode.FAILED_UNCHANGED: "go on using the environment; the message and the log say what failed",
    ExitCode.FAILED_CHANGED: "stop, and do what the message says; its hint undoes nothing that was finished",
    ExitCode.INTERRUPTED: "nothing; run the same command again: it takes what was built from the cache",
}

_WIDTH = 79
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}
"""Escapes for characters that roff would interpret or typeset differently. Source: groff_char(7)."""

_DESCRIPTION = (
    "fastinstall builds the newest Pillow with SIMD kernels that compute the same pixels, compiled for "
    "several CPU levels, puts it into the official wheel with all its codecs, compares it with that wheel operation by "
    "operation, times it, and installs it into an environment by renames. It warns when another tool replaces it, and "
    "restores exactly what was there."
)
_ENVIRONMENT = "The environment worked on is the active one, or what the flags of the target name."
_VARIABLES = (
    "Every flag has a variable: `FASTINSTALL_FAIL_ON` is that of `--fail-on`. A flag goes before its variable, and a "
    "variable before the settings. Further variables:"
)
_FILES = (
    ("fastinstall.toml", "settings, in the working directory"),
    ("~/.config/fastinstall/fastinstall.toml", "the same, if the working directory has none"),
    ("~/.cache/fastinstall", "built wheels and downloads; may be removed at any time"),
    ("~/.local/state/fastinstall", "logs of runs, and the list of known environments"),
    ("PREFIX/share/fastinstall/receipt.json", "what was set up in an environment, and how"),
)


def render_man() -> str:
    """Return the text of docs/reference/fastinstall.1."""
    parser = build_parser()
    verbs = verbs_of(parser)
    lines = (
        f'.TH FASTINSTALL 1 "" "fastinstall {__version__}" "User Commands"',
        *_render_section("NAME", ("fastinstall \\- build, prove and guard the fast Python image stack",)),
        *_render_section("SYNOPSIS", (".B fastinstall", ".I VERB", "[\\,\\fIFLAG\\/\\fR...]")),
        *_render_section("DESCRIPTION", (_render_paragraph(_DESCRIPTION), ".PP", _render_paragraph(_ENVIRONMENT))),
        *_render_section("VERBS", (line for verb in verbs for line in _render_man_verb(verb))),
        *(line for title in _SHARED for line in _render_shared_flags(title, verbs[0])),
        *_render_section(
            "ENVIRONMENT",
            (_render_paragraph(_VARIABLES), *_render_items((f"`{name}`", says) for name, says in VARIABLES.items())),
        ),
        *_render_section("FILES", _render_items((f"`{name}`", says) for name, says in _FILES)),
        *_render_section("EXIT STATUS", _render_items((f"`{int(code)}`", EXIT_CODES[code]) for code in ExitCode)),
        *_render_section("EXAMPLES", _render_man_examples(EXAMPLES[""])),
        *_render_section("SEE ALSO", (".BR pip (1),", ".BR conda (1)")),
    )
    return "\n".join(lines) + "\n"


def _render_section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'.SH "{title}"' if " " in title else f".SH {title}"
    yield from lines


def _render_man_verb(verb: argparse.ArgumentParser) -> Iterator[str]:
    yield f".SS {_render_tag(usage(verb).removeprefix('usage: '))}"
    yield _render_paragraph(verb.description or "")
    groups = list(groups_of(verb))
    own = (action for title, actions in groups if not title.startswith(_SHARED) for action in actions)
    yield from _render_items((f"`{format_argument(action)}`", action.help or "") for action in own if action.help)
    shared = [start for start in _SHARED if any(title.startswith(start) for title, _ in groups)]
    yield from (".PP", f"Also the flags of {listing(f'the {title}' for title in shared)}.")
    yield from (".PP", "Examples:", *_render_man_examples(EXAMPLES[verb_of(verb)]))


def _render_shared_flags(start: str, verb: argparse.ArgumentParser) -> Iterator[str]:
    actions = (action for title, found in groups_of(verb) if title.startswith(start) for action in found)
    items = _render_items((f"`{format_argument(action)}`", action.help or "") for action in actions)
    yield from _render_section(f"FLAGS OF THE {start.upper()}", items)


def _render_items(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, says in rows:
        yield from (".TP", _render_tag(name), _render_paragraph(says))


def _render_man_examples(examples: Mapping[str, str]) -> Iterator[str]:
    yield from _render_items((f"`{command}`", purpose) for command, purpose in examples.items())


def _render_paragraph(markdown: str) -> str:
    """Convert a paragraph to roff, with `code` in bold; lines that roff would take for requests are escaped."""
    lines = textwrap.wrap(_render_bold(markdown), width=_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _render_tag(markdown: str) -> str:
    """Convert a text to roff, on a single line, as the tag of a list entry must be."""
    return _render_paragraph(markdown).replace("\n", " ")


def _render_bold(markdown: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in markdown)
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped)
