"""`fastinstall completion bash|zsh|fish`: print a shell's completion script, and answer the calls of that script.

A shell reads argcomplete's script, which calls this program at each TAB. The program prints the completions on a
separate stream and exits. argcomplete completes flags and fixed choices. This module completes names of recipes,
environments, checks and the like, and looks up only those that the argument at the cursor needs. Every other argument
completes to files.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

from argcomplete import autocomplete
from argcomplete.completers import FilesCompleter
from argcomplete.shell_integration import shellcode

from fastinstall.cli.common import tell
from fastinstall.cli.help import verb_of
from fastinstall.cli.main import Context
from fastinstall.cli.parser import VERBS, build_parser, verbs_of
from fastinstall.core.directories import user_directories
from fastinstall.core.errors import ExitCode
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import DIST_NAMES, LinkMode, Risk, ToolchainSource


class Shell(StrEnum):
    """A shell with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@immutable
class Completion:
    """A completion script.

    Attributes:
        shell: the shell that runs the script.
        script: the complete text of the script.
    """

    shell: Shell
    script: str


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print the completion script of a shell; nothing is installed."""
    script = shellcode(["fastinstall"], shell=arguments.shell, complete_arguments=("-o", "nospace"))
    made = Completion(shell=Shell(arguments.shell), script=script)
    tell(context, "completion", made, lambda each, _page: each.script.removesuffix("\n"))
    return ExitCode.OK


Words = Mapping[str, str]
"""Word to its meaning, or to an empty text."""


def answer_shell(variables: Mapping[str, str]) -> None:
    """Print the completions of the word at the cursor, and exit."""
    verbs = [verb for verb in VERBS if f" {verb} " in variables.get("COMP_LINE", "")]
    parser = build_parser(verbs[0] if len(verbs) == 1 else None)
    add_completers(parser, variables)
    autocomplete(parser, always_complete_options="long", default_completer=FilesCompleter())


def add_completers(parser: argparse.ArgumentParser, variables: Mapping[str, str]) -> None:
    """Add a completer to each argument whose values the parser does not know.

    Args:
        parser: the parser of the command line.
        variables: environment variables, from which the locations of recipes and environments are found.
    """
    for verb in verbs_of(parser):
        for action in verb._actions:  # noqa: SLF001 (argparse has no other way to list them)
            look_up = _WORDS.get(f"{verb_of(verb)} {action.dest}", _WORDS.get(action.dest))
            if look_up is not None:
                action.completer = _make_completer(look_up, variables)  # type: ignore[attr-defined]  # for argcomplete


def _make_completer(
    look_up: Callable[[Mapping[str, str]], Words], variables: Mapping[str, str]
) -> Callable[..., Words]:
    def complete(*, prefix: str, **_others: Any) -> Words:  # noqa: ANN401 (argcomplete's arguments)
        before, comma, _typed = prefix.rpartition(",")
        known = before.split(",")
        words = {f"{before}{comma}{word}": meaning for word, meaning in look_up(variables).items() if word not in known}
        return words if any(word.startswith(prefix) for word in words) else _bare(FilesCompleter()(prefix))

    return complete


def _bare(words: Iterable[str]) -> Words:
    return dict.fromkeys(map(str, words), "")


def _list_environments(variables: Mapping[str, str]) -> Words:
    from fastinstall.observe.environments import list_known_environments  # only for completion

    known = map(str, list_known_environments(variables, user_directories(variables).state))
    return _bare((*known, *FilesCompleter()("")))


def _list_recipes(variables: Mapping[str, str]) -> Words:
    from fastinstall.observe.recipes import load_recipes  # only when needed, like all imports below
    from fastinstall.observe.session import open_session

    recipes = load_recipes(open_session(variables).recipe_directories).values()
    return {recipe.name: recipe.summary for recipe in recipes}


def _list_caches(_variables: Mapping[str, str]) -> Words:
    from fastinstall.model.results import PURPOSES

    return PURPOSES


def _list_checks(_variables: Mapping[str, str]) -> Words:
    from fastinstall.doctor.registry import CHECKS

    return {name: check.summary for name, check in CHECKS.items()}


_WORDS: dict[str, Callable[[Mapping[str, str]], Words]] = {
    "checks": _list_checks,
    "prefix": _list_environments,
    "cache names": _list_caches,
    "recipes names": _list_recipes,
    "request_recipe": _list_recipes,
    "request_link": lambda _: _bare(LinkMode),
    "request_toolchain": lambda _: _bare(ToolchainSource),
    "request_engine": lambda _: _bare(CondaInstaller),
    "request_dist_name": lambda _: _bare(DIST_NAMES),
    "request_allow": lambda _: _bare(Risk),
    "rollback request_allow": lambda _: _bare((Risk.FORCE_REMOVE,)),
    "doctor request_allow": lambda _: _bare((Risk.DOWNGRADE,)),
}
"""Name of an argument ("VERB NAME" if the values depend on the verb) to the function that lists its values."""
