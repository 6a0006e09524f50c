"""Renders the man page from the parser, the wishes, the examples and the exit codes.

It bears a version and no date, so that the same source gives the same page. Nothing is written here;
`docs/reference/write_reference.py` does that. Source: man(7), groff_man(7).
"""

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator

from fastinstall import __version__
from fastinstall.cli.examples import EXAMPLES, Example
from fastinstall.cli.help import groups_of, spelled, usage, verb_of
from fastinstall.cli.parser import build_parser, verbs_of
from fastinstall.cli.reference import EXIT_CODES, VARIABLES
from fastinstall.errors import ExitCode
from fastinstall.rules.messages import listing

_SHARED = ("target", "wishes", "output")
"""Groups of flags that several verbs have, told once."""

_WIDTH = 79
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}
"""What roff would turn into typography, or take for its own. Source: groff_char(7)."""

_DESCRIPTION = (
    "fastinstall builds the newest Pillow with the SIMD kernels of Pillow-SIMD merged in at build time, compiled for "
    "several CPU levels, puts it into the official wheel with all its codecs, compares it with that wheel operation by "
    "operation, times it, and swaps it into an environment by renames. It watches over what it has put there, and "
    "takes it back to the byte."
)
_ENVIRONMENT = "The environment worked on is the active one, or what the flags of the target name."
_VARIABLES = (
    "Every flag has a variable: `FASTINSTALL_FAIL_ON` is that of `--fail-on`. A flag goes before its variable, and a "
    "variable before the settings. Further variables:"
)
_FILES = (
    ("fastinstall.toml", "settings, in the working directory"),
    ("~/.config/fastinstall/fastinstall.toml", "likewise, where the working directory has none"),
    ("~/.cache/fastinstall", "built wheels and downloads; may be removed at any time"),
    ("~/.local/state/fastinstall", "logs of runs, and the list of known environments"),
    ("PREFIX/share/fastinstall/receipt.json", "what was set up in an environment, and how"),
)


def render_man() -> str:
    """Give the text of docs/reference/fastinstall.1."""
    parser = build_parser()
    verbs = verbs_of(parser)
    lines = (
        f'.TH FASTINSTALL 1 "" "fastinstall {__version__}" "User Commands"',
        *_section("NAME", ("fastinstall \\- build, prove and guard the fast Python image stack",)),
        *_section("SYNOPSIS", (".B fastinstall", ".I VERB", "[\\,\\fIFLAG\\/\\fR...]")),
        *_section("DESCRIPTION", (_text(_DESCRIPTION), ".PP", _text(_ENVIRONMENT))),
        *_section("VERBS", (line for verb in verbs for line in _verb(verb))),
        *(line for title in _SHARED for line in _shared(title, verbs[0])),
        *_section("ENVIRONMENT", (_text(_VARIABLES), *_items((f"`{name}`", says) for name, says in VARIABLES.items()))),
        *_section("FILES", _items((f"`{name}`", says) for name, says in _FILES)),
        *_section("EXIT STATUS", _items((f"`{int(code)}`", EXIT_CODES[code]) for code in ExitCode)),
        *_section("EXAMPLES", _examples(EXAMPLES[""])),
        *_section("SEE ALSO", (".BR pip (1),", ".BR conda (1)")),
    )
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'.SH "{title}"' if " " in title else f".SH {title}"
    yield from lines


def _verb(verb: argparse.ArgumentParser) -> Iterator[str]:
    yield f".SS {_tag(usage(verb).removeprefix('usage: '))}"
    yield _text(verb.description or "")
    groups = list(groups_of(verb))
    own = (action for title, actions in groups if not title.startswith(_SHARED) for action in actions)
    yield from _items((f"`{spelled(action)}`", action.help or "") for action in own if action.help)
    shared = [start for start in _SHARED if any(title.startswith(start) for title, _ in groups)]
    yield from (".PP", f"Also the flags of {listing(f'the {title}' for title in shared)}.")
    yield from (".PP", "Examples:", *_examples(EXAMPLES[verb_of(verb)]))


def _shared(start: str, verb: argparse.ArgumentParser) -> Iterator[str]:
    actions = (action for title, found in groups_of(verb) if title.startswith(start) for action in found)
    items = _items((f"`{spelled(action)}`", action.help or "") for action in actions)
    yield from _section(f"FLAGS OF THE {start.upper()}", items)


def _items(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, says in rows:
        yield from (".TP", _tag(name), _text(says))


def _examples(examples: Iterable[Example]) -> Iterator[str]:
    yield from _items((f"`{example.command}`", example.says) for example in examples)


def _text(markdown: str) -> str:
    """Roff of one paragraph: `code` in bold, and nothing that roff takes for a request."""
    lines = textwrap.wrap(_bold(markdown), width=_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _tag(markdown: str) -> str:
    """The same in one line, however long."""
    return _text(markdown).replace("\n", " ")


def _bold(markdown: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in markdown)
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped)
