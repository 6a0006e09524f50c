"""Format the text of `--help`: 80 columns and 24 lines, the last of which is left for the prompt.

Only `--help-all`, which argparse lays out, and the man page show the rest: the flags that `SCREENS` omits for the
largest verbs, and the part of a flag's help after the semicolon.

The examples of each verb are also shown in the man page and in the reference.
"""

import argparse
from collections.abc import Iterator, Mapping

from fastinstall.cli.parser import VERBS

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
"""Verb to the flags, in their long form, that its help screen shows; other verbs show all flags."""


_EXAMPLES = {
    "fastinstall setup": "the wizard",
    "fastinstall setup --yes --new-env ./fast-env": "make a new environment",
    "fastinstall setup --yes --wheelhouse DIR --offline": "install what build made",
    "fastinstall plan -o plan.json": "save it for: apply plan.json",
    "fastinstall plan --hosts FACTS": "which wheels serve all these machines?",
    "fastinstall apply plan.json": "show the plan and ask",
    "fastinstall apply --yes plan.json": "no questions",
    "fastinstall doctor": "run every check",
    "fastinstall doctor swapped simd-active": "run two checks",
    "fastinstall doctor --quick --quiet --all": "a line per broken environment",
    "fastinstall doctor --fix": "repair what it finds, after asking",
    "fastinstall rollback --list": "list what can be undone",
    "fastinstall rollback": "undo the last setup",
    "fastinstall rollback --to ID --yes": "undo every setup from ID on",
    "fastinstall guard install --pin": "keep other tools from replacing it",
    "fastinstall guard pin | git apply": "pin it in a uv, Poetry or PDM project",
    "fastinstall guard check uv.lock": "would this file bring stock Pillow back?",
    "fastinstall guard accept": "keep what replaced the fast build",
    "fastinstall build -o wheels": "for: setup --wheelhouse wheels",
    "fastinstall build -o channel --format conda": "make conda packages",
    "fastinstall build -o wheels --set": "for pip, without fastinstall",
    "fastinstall build -o wheels --hosts FACTS": "build what these machines need",
    "fastinstall bench --quick": "answer within 20 seconds",
    "fastinstall bench ~/images": "measure your own images",
    "fastinstall bench --print-code NAME": "print the code of one way to load",
    "fastinstall inspect": "show what fastinstall sees",
    "fastinstall inspect --redact": "the same, safe for a bug report",
    "fastinstall inspect --json > facts.json": "for: plan --hosts",
    "fastinstall recipes list": "list what can be built",
    "fastinstall recipes show pillow-fast": "show one, with its advisories",
    "fastinstall recipes check mine.toml": "check a recipe of your own",
    "fastinstall cache": "show the disk usage of each part",
    "fastinstall cache clear": "remove all of it, after asking",
    "fastinstall cache clear toolchains": "remove a part of it",
    "fastinstall completion bash > fastinstall.bash": "then: source fastinstall.bash",
    "fastinstall completion zsh > _fastinstall": "in a directory of fpath",
    "fastinstall completion fish > fastinstall.fish": "in ~/.config/fish/completions",
}
"""Example command to its purpose. The second word is the verb; the commands of a verb are in the order of help."""

EXAMPLES: dict[str, Mapping[str, str]] = {
    "": {
        "fastinstall setup": "show the plan, and ask before changing anything",
        "fastinstall doctor": "check that the fast Pillow is installed and intact",
        "fastinstall rollback": "undo: restores exactly what was there",
    },
    **{verb: {command: use for command, use in _EXAMPLES.items() if command.split()[1] == verb} for verb in VERBS},
}
"""Verb to its example commands with their purposes; the empty key has the examples of the program itself."""


_WIDTH = 80
_COLUMN = 24
"""The column at which the description of a flag begins."""


def screen(parser: argparse.ArgumentParser) -> str:
    """Return the short help of a verb, or of the program."""
    verb = verb_of(parser)
    lines = [usage(parser), "", parser.description or "", ""]
    if verb:
        lines += _render_flags(parser, SCREENS.get(verb))
    else:
        lines += [f"  {name:<{max(map(len, VERBS))}}  {summary}" for name, (summary, _) in VERBS.items()] + [""]
    lines += _render_examples(EXAMPLES[verb])
    if not verb:
        lines += ["", "flags and examples of a verb: fastinstall VERB --help"]
    elif verb in SCREENS:
        lines.append(f"every flag: {parser.prog} --help-all")
    return "\n".join(lines) + "\n"


def everything(parser: argparse.ArgumentParser) -> str:
    """Return the long help: every flag with its full description, laid out by argparse for the terminal's width."""
    parser.usage = usage(parser).removeprefix("usage: ").replace("%", "%%")
    parser.epilog = "\n".join(_render_examples(EXAMPLES[verb_of(parser)]))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser.format_help(parser)


def verb_of(parser: argparse.ArgumentParser) -> str:
    """Return the verb that a parser is for; empty for the parser of the program itself."""
    return parser.prog.partition(" ")[2]


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage line."""
    if not verb_of(parser):
        return f"usage: {parser.prog} VERB [FLAG...]"
    actions = parser._actions  # noqa: SLF001 (argparse has no other way to list them)
    needed = (action for action in actions if not action.option_strings or action.required)
    words = ("usage:", parser.prog, *(format_argument(action).rpartition(", ")[2] for action in needed))
    flags = "[FLAG...]" if len(" ".join((*words, "[FLAG...]"))) <= _WIDTH else "..."
    return " ".join((*words, flags))


def format_argument(action: argparse.Action) -> str:
    """Format an argument for help texts: a flag as "-o, --output FILE", an optional list as "[CHECK...]"."""
    value = "|".join(map(str, action.choices or (action.metavar,)))
    if not action.option_strings:
        return f"[{value}...]" if action.nargs == "*" else value
    flags = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flags
    return f"{flags} [{value}]" if action.nargs == "?" else f"{flags} {value}"


def groups_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """Yield the title and arguments of each group, without the help flags."""
    for group in parser._action_groups:  # noqa: SLF001 (argparse has no other way to list them)
        found = group._group_actions  # noqa: SLF001 (argparse has no other way to list them)
        actions = [action for action in found if action.default != argparse.SUPPRESS]
        if actions:
            yield str(group.title), actions


def _render_flags(parser: argparse.ArgumentParser, shown: frozenset[str] | None) -> Iterator[str]:
    """Yield a line for each argument and each flag in `shown` (None for all), with its help up to the semicolon."""
    for title, actions in groups_of(parser):
        rows = []
        for action in actions:
            if action.help and (shown is None or not action.option_strings or action.option_strings[-1] in shown):
                argument = f"  {format_argument(action)}"
                rows.append(f"{argument:<{max(_COLUMN, len(argument) + 2)}}{action.help.partition(';')[0]}")
        if rows and not title.startswith(("positional", "options")):
            yield f"{title.partition(' (')[0]}:"
        yield from rows


def _render_examples(examples: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, examples))
    yield "examples:"
    for command, purpose in examples.items():
        yield f"  {command:<{width}}  {purpose}"
