"""The text of `--help`: a screen of 80 columns and 24 lines, the last one left for the prompt.

What does not fit stands in `--help-all`, which argparse lays out, and in the man page: flags that a table leaves out
of the screens of the largest verbs, and what the help of a flag says behind a semicolon.

The examples of each verb are also shown in the man page and in the reference.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from fastinstall.core.values import immutable

_BUILD = "--recipe --levels --wheelhouse --offline"
SCREENS: Mapping[str, frozenset[str]] = {
    verb: frozenset(flags.split())
    for verb, flags in {
        "setup": f"{_BUILD} --prefix --new-env --allow --yes --dry-run --json",
        "plan": f"--output --format --hosts {_BUILD} --prefix --new-env --allow --json",
        "doctor": "--list --all --host-flags --quick --fix --fail-on --collect --prefix --json",
        "rollback": "--list --to --forget --allow --prefix --python --yes --json --quiet --verbose --no-color",
        "guard": "--pin --project --wheels --prefix --yes --json --quiet --verbose --no-color",
        "build": "--output --format --set --hosts --machine --with-tool --recipe --levels --prefix --json",
        "bench": "--quick --only --prefix --target-rate --loader --with --json",
    }.items()
}
"""By verb, the flags (the longest spelling) of its screen."""


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
        ("setup", "show what was found and what will change, and ask"),
        ("doctor", "is it intact, fast, and still installed?"),
        ("rollback", "undo: restores exactly what was there"),
    ),
    "setup": _make_examples(
        ("setup", "the wizard"),
        ("setup --yes --new-env ./fast-env", "make a new environment"),
        ("setup --yes --wheelhouse DIR --offline", "install what build made"),
    ),
    "plan": _make_examples(
        ("plan -o plan.json", "save it for: apply plan.json"),
        ("plan --hosts FACTS", "which wheels serve all these machines?"),
    ),
    "apply": _make_examples(("apply plan.json", "show the plan and ask"), ("apply --yes plan.json", "no questions")),
    "doctor": _make_examples(
        ("doctor", "run every check"),
        ("doctor swapped simd-active", "run two checks"),
        ("doctor --quick --quiet --all", "a line per broken environment"),
        ("doctor --fix", "repair what it finds, after asking"),
    ),
    "rollback": _make_examples(
        ("rollback --list", "list what can be undone"),
        ("rollback", "undo the last setup"),
        ("rollback --to ID --yes", "undo every setup from ID on"),
    ),
    "guard": _make_examples(
        ("guard install --pin", "keep other tools from replacing it"),
        ("guard pin | git apply", "the same in a uv, Poetry or PDM project"),
        ("guard check uv.lock", "would this file bring stock Pillow back?"),
        ("guard accept", "keep what replaced the fast build"),
    ),
    "build": _make_examples(
        ("build -o wheels", "for: setup --wheelhouse wheels"),
        ("build -o channel --format conda", "make conda packages"),
        ("build -o wheels --set", "for pip, without fastinstall"),
        ("build -o wheels --hosts FACTS", "build what these machines need"),
    ),
    "bench": _make_examples(
        ("bench --quick", "answer within 20 seconds"),
        ("bench ~/images", "measure your own images"),
        ("bench --print-code NAME", "print the code of one way to load"),
    ),
    "inspect": _make_examples(
        ("inspect", "show what fastinstall sees"),
        ("inspect --redact", "the same, safe for a bug report"),
        ("inspect --json > facts.json", "for: plan --hosts"),
    ),
    "recipes": _make_examples(
        ("recipes list", "list what can be built"),
        ("recipes show pillow-fast", "show one, with its advisories"),
        ("recipes check mine.toml", "check a recipe of your own"),
    ),
    "cache": _make_examples(
        ("cache", "what takes how much of the disk?"),
        ("cache clear", "remove all of it, after asking"),
        ("cache clear toolchains", "remove a part of it"),
    ),
    "completion": _make_examples(
        ("completion bash > fastinstall.bash", "then: source fastinstall.bash"),
        ("completion zsh > _fastinstall", "in a directory of fpath"),
        ("completion fish > fastinstall.fish", "in ~/.config/fish/completions"),
    ),
}
"""Those of each verb, and of the program itself under the empty name."""


_WIDTH = 80
_COLUMN = 24
"""Where the words about a flag begin."""


def screen(parser: argparse.ArgumentParser) -> str:
    """Return the short help of a verb, or of the program."""
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
    """Return the long help: every flag in full words, laid out by argparse for the width of the terminal."""
    parser.usage = usage(parser).removeprefix("usage: ").replace("%", "%%")
    parser.epilog = "\n".join(_render_examples(EXAMPLES[verb_of(parser)]))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser.format_help(parser)


def verb_of(parser: argparse.ArgumentParser) -> str:
    """Return the verb that a parser is for; empty for the program's own."""
    return parser.prog.partition(" ")[2]


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage in one line: what stands where."""
    if not verb_of(parser):
        return f"usage: {parser.prog} VERB [FLAG...]"
    actions = parser._actions  # noqa: SLF001 (argparse has no other way to list them)
    needed = (action for action in actions if not action.option_strings or action.required)
    words = ("usage:", parser.prog, *(format_argument(action).rpartition(", ")[2] for action in needed))
    flags = "[FLAG...]" if len(" ".join((*words, "[FLAG...]"))) <= _WIDTH else "..."
    return " ".join((*words, flags))


def format_argument(action: argparse.Action) -> str:
    """Format an argument as it is typed: "-o FILE" of --output, "[CHECK...]" of those that may be left out."""
    value = "|".join(map(str, action.choices or (action.metavar,)))
    if not action.option_strings:
        return f"[{value}...]" if action.nargs == "*" else value
    flags = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flags
    return f"{flags} [{value}]" if action.nargs == "?" else f"{flags} {value}"


def groups_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """Yield the arguments by the titles of their groups, without those that ask for help."""
    for group in parser._action_groups:  # noqa: SLF001 (argparse has no other way to list them)
        found = group._group_actions  # noqa: SLF001 (argparse has no other way to list them)
        actions = [action for action in found if action.default != argparse.SUPPRESS]
        if actions:
            yield str(group.title), actions


def _render_verbs(parser: argparse.ArgumentParser) -> Iterator[str]:
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    rows = [(each.dest, each.help or "") for action in found for each in action._choices_actions]  # noqa: SLF001
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {says}" for name, says in rows)
    yield ""


def _render_flags(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    for title, actions in groups_of(parser):
        rows = list(_make_rows(actions, SCREENS.get(verb)))
        if rows and not title.startswith(("positional", "options")):
            yield f"{title.partition(' (')[0]}:"
        yield from rows


def _make_rows(actions: Sequence[argparse.Action], shown: frozenset[str] | None) -> Iterator[str]:
    """Yield a line for each flag on the screen, with what its help says before a semicolon."""
    for action in actions:
        if action.help and (shown is None or not action.option_strings or action.option_strings[-1] in shown):
            argument = f"  {format_argument(action)}"
            yield f"{argument:<{max(_COLUMN, len(argument) + 2)}}{action.help.partition(';')[0]}"


def _render_examples(examples: Sequence[Example]) -> Iterator[str]:
    width = max(len(example.command) for example in examples)
    yield "examples:"
    for example in examples:
        yield f"  {example.command:<{width}}  {example.says}"


def _render_pointers(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    if not verb:
        yield from ("", "flags and examples of a verb: fastinstall VERB --help")
    elif verb in SCREENS:
        yield f"every flag: {parser.prog} --help-all"
