"""The text of `--help`: a screen of 80 columns and 24 lines, the last one left for the prompt.

What does not fit stands in `--help-all`, which argparse lays out, and in the man page. For verbs with more flags than
fit a screen, a table says which are shown and in which words (None keeps the parser's); any other verb shows all its
flags.

The examples of each verb are also shown in the man page and in the reference.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from fastinstall.core.values import immutable

_PREFIX: dict[str, str | None] = {"--prefix": None}
_REQUEST_OPTIONS: dict[str, str | None] = {
    "--recipe": None,
    "--levels": "several CPU levels in one wheel: x86-64-v2,x86-64-v3",
    "--wheelhouse": None,
    "--offline": None,
    "--allow": "accept named risks: vulnerable, downgrade, ...",
}
_JSON: dict[str, str | None] = {"--json": None}
_OUTPUT: dict[str, str | None] = {**_JSON, "--quiet": None, "--verbose": None, "--no-color": None}
_TARGET: dict[str, str | None] = {**_PREFIX, "--python": None}

SCREENS: Mapping[str, Mapping[str, str | None]] = {
    "setup": {
        **_PREFIX,
        "--new-env": "make a virtual environment there",
        **_REQUEST_OPTIONS,
        "--yes": None,
        "--dry-run": None,
        **_JSON,
    },
    "plan": {
        "--output": None,
        "--format": "how to print it",
        "--hosts": "for many machines: a directory of `inspect --json`",
        **_PREFIX,
        "--new-env": "make a virtual environment there",
        **_REQUEST_OPTIONS,
        **_JSON,
    },
    "doctor": {
        "--list": None,
        "--all": "every environment that is known",
        "--pid": "what a running process has loaded",
        "--host-flags": "would it run on that machine, too?",
        "--quick": "from files alone, within a moment",
        "--fix": None,
        "--fail-on": None,
        "--collect": "sum up reports: a directory of `doctor --json`",
        **_PREFIX,
        **_JSON,
    },
    "rollback": {
        "--list": None,
        "--to": "undo all back to before this one",
        "--forget": "give up the way back to older ones, for disk space",
        "--allow": None,
        **_TARGET,
        "--yes": None,
        **_OUTPUT,
    },
    "guard": {
        "files": "check: would these lock files bring stock Pillow back?",
        "--pin": "install: hold pip, uv or conda to this build, too",
        "--project": "install --pin, remove: the project that is pinned",
        **_TARGET,
        "--yes": None,
        **_OUTPUT,
    },
    "build": {
        "--output": None,
        "--format": "conda: make DIR a channel of conda packages",
        "--explain": None,
        "--hosts": "for many machines: a directory of `inspect --json`",
        "--with-tool": "fastinstall itself too, for hosts without an index",
        **_PREFIX,
        **{flag: says for flag, says in _REQUEST_OPTIONS.items() if flag != "--allow"},
        **_JSON,
    },
    "bench": {
        "paths": "images, or directories; without any, made-up photos",
        "--quick": None,
        "--only": None,
        **_PREFIX,
        "--target-rate": None,
        "--loader": "your own way of loading, to compare with",
        "--with": "fetch packages of candidates first, into our cache",
        "--html": None,
        **_JSON,
    },
    "recipes": {
        "--prove": "check: build what it makes, and prove it; minutes",
        **_TARGET,
        **_OUTPUT,
    },
}
"""By verb, flags (the longest spelling) and other arguments (the name in the parser), in the words of a screen."""


@immutable
class Example:
    """One command line.

    Attributes:
        command: as it is typed into a shell.
        says: what it is for, in a few words.
    """

    command: str
    says: str


def _make_examples(*pairs: tuple[str, str]) -> tuple[Example, ...]:
    return tuple(Example(command=f"fastinstall {words}", says=says) for words, says in pairs)


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "": _make_examples(
        ("setup", "a wizard: plan, build, prove, swap"),
        ("setup --yes --new-env ./fast", "in a script, in a new environment"),
        ("doctor", "is it fast, whole and still ours?"),
        ("rollback", "the state before, to the byte"),
    ),
    "setup": _make_examples(
        ("setup", "the wizard"),
        ("setup --yes --new-env ./fast", "in a new environment"),
        ("setup --yes --wheelhouse DIR --offline", "from what build made"),
    ),
    "plan": _make_examples(
        ("plan -o plan.json", "save it, for: apply plan.json"),
        ("plan --format dockerfile", "the same as an image's file"),
        ("plan --hosts FACTS", "which wheels serve all these machines"),
    ),
    "apply": _make_examples(
        ("apply plan.json", "show the plan, and ask"),
        ("apply --yes plan.json", "without a question"),
    ),
    "doctor": _make_examples(
        ("doctor", "every check"),
        ("doctor swapped simd-active", "two checks"),
        ("doctor --quick --quiet --all", "one line for each environment"),
        ("doctor --fix", "repair what it finds, after asking"),
    ),
    "rollback": _make_examples(
        ("rollback --list", "what can be undone"),
        ("rollback", "undo the last setup"),
        ("rollback --to ID --yes", "undo everything since that one"),
    ),
    "guard": _make_examples(
        ("guard status", "what it costs, and what it has told"),
        ("guard install --pin", "hold pip, uv or conda to this build too"),
        ("guard check uv.lock", "would this bring stock Pillow back?"),
        ("guard accept", "keep what has replaced the stack"),
    ),
    "build": _make_examples(
        ("build -o wheels", "then: setup --wheelhouse wheels"),
        ("build -o channel --format conda", "conda packages"),
        ("build -o wheels --hosts FACTS", "what these machines need"),
    ),
    "bench": _make_examples(
        ("bench --quick", "an answer within 20 seconds"),
        ("bench ~/images", "measured on your images"),
        ("bench --print-code NAME", "that way of loading, as code"),
    ),
    "inspect": _make_examples(
        ("inspect", "what fastinstall sees"),
        ("inspect --redact", "the same, for a bug report"),
        ("inspect --json > facts.json", "for: plan --hosts"),
    ),
    "recipes": _make_examples(
        ("recipes list", "what can be built"),
        ("recipes show pillow-merged", "one of them, with its advisories"),
        ("recipes check mine.toml", "is this a recipe?"),
    ),
    "completion": _make_examples(
        ("completion bash > fastinstall.bash", "then: source fastinstall.bash"),
        ("completion zsh > _fastinstall", "in a directory of fpath"),
        ("completion fish > fastinstall.fish", "in ~/.config/fish/completions"),
    ),
}
"""Those of each verb, and of the program itself under the empty name."""


_COLUMN = 24
"""Where the words about a flag begin."""


def screen(parser: argparse.ArgumentParser) -> str:
    """The short help of a verb, or of the program."""
    verb = verb_of(parser)
    body = _render_flags(parser, verb) if verb else _render_verbs(parser)
    lines = (
        usage(parser),
        "",
        parser.description or "",
        "",
        *body,
        *_render_examples(EXAMPLES[verb]),
        *_render_pointers(parser, verb),
    )
    return "\n".join(lines) + "\n"


def everything(parser: argparse.ArgumentParser) -> str:
    """The long help: every flag in full words, laid out by argparse for the width of the terminal."""
    parser.usage = usage(parser).removeprefix("usage: ").replace("%", "%%")
    parser.epilog = "\n".join(_render_examples(EXAMPLES[verb_of(parser)]))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser.format_help(parser)


def verb_of(parser: argparse.ArgumentParser) -> str:
    """The verb that a parser is for; empty for the program's own."""
    return parser.prog.partition(" ")[2]


def usage(parser: argparse.ArgumentParser) -> str:
    """One line: what stands where."""
    if not verb_of(parser):
        return f"usage: {parser.prog} VERB [FLAG...]"
    actions = parser._actions  # noqa: SLF001 (argparse has no other way to list them)
    needed = (action for action in actions if not action.option_strings or action.required)
    return " ".join(
        ("usage:", parser.prog, *(format_argument(action).rpartition(", ")[2] for action in needed), "[FLAG...]")
    )


def format_argument(action: argparse.Action) -> str:
    """An argument as it is typed: "-o FILE" of --output, "[CHECK...]" of those that may be left out."""
    value = "|".join(map(str, action.choices or (action.metavar,)))
    if not action.option_strings:
        return f"[{value}...]" if action.nargs == "*" else value
    flags = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flags
    return f"{flags} [{value}]" if action.nargs == "?" else f"{flags} {value}"


def groups_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The arguments by the titles of their groups, without those that ask for help."""
    for group in parser._action_groups:  # noqa: SLF001 (argparse has no other way to list them)
        actions = [action for action in group._group_actions if not is_help(action)]  # noqa: SLF001 (likewise)
        if actions:
            yield str(group.title), actions


def is_help(action: argparse.Action) -> bool:
    """Whether it only asks for help or for the version."""
    return bool(action.default == argparse.SUPPRESS)


def _render_verbs(parser: argparse.ArgumentParser) -> Iterator[str]:
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    rows = [(each.dest, each.help or "") for action in found for each in action._choices_actions]  # noqa: SLF001
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {says}" for name, says in rows)
    yield ""


def _render_flags(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    words = SCREENS.get(verb)
    for title, actions in groups_of(parser):
        rows = list(_make_rows(actions, words))
        if rows and not title.startswith(("positional", "options")):
            yield f"{title.partition(' (')[0]}:"
        yield from rows


def _make_rows(actions: Sequence[argparse.Action], words: Mapping[str, str | None] | None) -> Iterator[str]:
    for action in actions:
        name = action.option_strings[-1] if action.option_strings else action.dest
        says = (words or {}).get(name) or action.help
        if says and (words is None or not action.option_strings or name in words):
            argument = f"  {format_argument(action)}"
            yield f"{argument:<{max(_COLUMN, len(argument) + 2)}}{says}"


def _render_examples(examples: Sequence[Example]) -> Iterator[str]:
    width = max(len(example.command) for example in examples)
    yield "examples:"
    for example in examples:
        yield f"  {example.command:<{width}}  {example.says}"


def _render_pointers(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    if not verb:
        yield from ("", "flags and examples of a verb: fastinstall VERB --help; which version: --version")
    elif verb in SCREENS:
        yield f"every flag: {parser.prog} --help-all"
