"""The text of `--help`: a screen of 80 columns and 24 lines, the last one left for the prompt.

What does not fit stands in `--help-all`, which argparse lays out, and in the man page.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from fastinstall.cli.examples import EXAMPLES, Example
from fastinstall.cli.help_screens import SCREENS
from fastinstall.model.immutable import immutable

_COLUMN = 24
"""Where the words about a flag begin."""


@immutable
class _Row:
    """One argument on the screen."""

    action: argparse.Action
    says: str


def screen(parser: argparse.ArgumentParser) -> str:
    """The short help of a verb, or of the program."""
    verb = verb_of(parser)
    body = _flags(parser, verb) if verb else _verbs(parser)
    lines = (usage(parser), "", parser.description or "", "", *body, *_examples(EXAMPLES[verb]), *_more(parser, verb))
    return "\n".join(lines) + "\n"


def everything(parser: argparse.ArgumentParser) -> str:
    """The long help: every flag in full words, laid out by argparse for the width of the terminal."""
    parser.usage = usage(parser).removeprefix("usage: ").replace("%", "%%")
    parser.epilog = "\n".join(_examples(EXAMPLES[verb_of(parser)]))
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
    return " ".join(("usage:", parser.prog, *(spelled(action).rpartition(", ")[2] for action in needed), "[FLAG...]"))


def spelled(action: argparse.Action) -> str:
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


def _verbs(parser: argparse.ArgumentParser) -> Iterator[str]:
    found = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
    rows = [(each.dest, each.help or "") for action in found for each in action._choices_actions]  # noqa: SLF001
    width = max(len(name) for name, _ in rows)
    yield from (f"  {name:<{width}}  {says}" for name, says in rows)
    yield ""


def _flags(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    words = SCREENS.get(verb)
    for title, actions in groups_of(parser):
        rows = list(_shown(actions, words))
        if rows and not title.startswith(("positional", "options")):
            yield f"{title.partition(' (')[0]}:"
        yield from (_line(row) for row in rows)


def _shown(actions: Sequence[argparse.Action], words: Mapping[str, str | None] | None) -> Iterator[_Row]:
    for action in actions:
        name = action.option_strings[-1] if action.option_strings else action.dest
        if words is None or not action.option_strings or name in words:
            says = (words or {}).get(name) or action.help or ""
            if says:
                yield _Row(action=action, says=says)


def _line(row: _Row) -> str:
    argument = f"  {spelled(row.action)}"
    gap = max(_COLUMN - len(argument), 2)
    return f"{argument}{' ' * gap}{row.says}"


def _examples(examples: Sequence[Example]) -> Iterator[str]:
    width = max(len(example.command) for example in examples)
    yield "examples:"
    for example in examples:
        yield f"  {example.command:<{width}}  {example.says}"


def _more(parser: argparse.ArgumentParser, verb: str) -> Iterator[str]:
    if not verb:
        yield from ("", "flags and examples of a verb: fastinstall VERB --help; which version: --version")
    elif verb in SCREENS:
        yield f"every flag: {parser.prog} --help-all"
