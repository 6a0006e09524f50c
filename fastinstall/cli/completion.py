"""What a shell offers at TAB: argcomplete asks the parser, and the words that it does not know are given here.

The script that a shell reads is argcomplete's. At each TAB it calls the program, which answers on a stream of its own
and ends. Words are looked up only where the argument that takes them is typed.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from argcomplete import autocomplete
from argcomplete.completers import BaseCompleter, DirectoriesCompleter, FilesCompleter, SuppressCompleter
from argcomplete.shell_integration import shellcode

from fastinstall.cli.help import verb_of
from fastinstall.cli.parser import VERBS, build_parser, verbs_of
from fastinstall.core.directories import user_directories
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import DIST_NAMES, LinkMode, Risk, ToolchainSource

Words = Mapping[str, str]
"""Each with what it means, or with nothing."""

_NATIVE = "native"
"""A level that is no level: it stands for itself, never beside others."""


def completion_script(shell: str) -> str:
    """Return the script that a shell has to read.

    Args:
        shell: "bash", "zsh" or "fish".
    """
    return shellcode(["fastinstall"], shell=shell, complete_arguments=("-o", "nospace"))


def answer_shell(variables: Mapping[str, str]) -> None:
    """Tell the script what may stand where the cursor is, and end the program."""
    verbs = [verb for verb in VERBS if f" {verb} " in variables.get("COMP_LINE", "")]
    parser = build_parser(verbs[0] if len(verbs) == 1 else None)
    add_completers(parser, variables)
    autocomplete(parser, always_complete_options="long", default_completer=SuppressCompleter())


def add_completers(parser: argparse.ArgumentParser, variables: Mapping[str, str]) -> None:
    """Give each argument whose words the parser does not know what offers them.

    Args:
        parser: of the command line.
        variables: where recipes and environments are looked for.
    """
    for verb in verbs_of(parser):
        for action in verb._actions:  # noqa: SLF001 (argparse has no other way to list them)
            completer = _find_completer(verb_of(verb), action, variables)
            if completer is not None:
                action.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks for it


@immutable
class WordsCompleter:
    """Offers words.

    Attributes:
        look_up: finds the words when a shell asks for them.
        several: whether several words may follow, with commas between.
        besides: offers paths, where these may stand there too.
    """

    look_up: Callable[[], Words]
    several: bool = False
    besides: BaseCompleter | None = None

    def __call__(self, *, prefix: str, **others: Any) -> Words:  # noqa: ANN401 (what argcomplete gives)
        """Return the words that may follow what is typed."""
        words = self.look_up()
        if self.besides is not None:
            return {**words, **_bare(self.besides(prefix=prefix, **others))}
        before, comma, _typed = prefix.rpartition(",")
        if not self.several or not comma:
            return words
        return {f"{before},{word}": says for word, says in words.items() if word not in before.split(",")}


def _find_completer(
    verb: str, action: argparse.Action, variables: Mapping[str, str]
) -> BaseCompleter | WordsCompleter | None:
    """Return the completer of an argument, or None if argparse knows the words or nothing can be offered."""
    name, paths = action.dest, _path_completer(action)
    if name == "names":  # each verb's own
        name = verb
    if action.choices or action.nargs == 0:
        return None
    if name in _LOOK_UP:
        return WordsCompleter(look_up=partial(_LOOK_UP[name], name, variables), several=name in _LISTS, besides=paths)
    if name in _FIXED:
        return WordsCompleter(look_up=partial(_bare, _FIXED[name]))
    if name == "request_allow":
        return WordsCompleter(look_up=partial(_bare, _RISKS.get(verb, Risk)), several=True)
    return paths


def _path_completer(action: argparse.Action) -> BaseCompleter | None:
    name = str(action.metavar)
    if name.startswith(("FILE", "EXE")) or name.endswith("|FILE"):
        return FilesCompleter()
    return DirectoriesCompleter() if name.startswith("DIR") else None


_LISTS = {"request_levels", "request_require", "workload", "candidates", "bring"}
_FIXED: dict[str, Iterable[str]] = {
    "request_link": LinkMode,
    "request_toolchain": ToolchainSource,
    "request_engine": CondaInstaller,
    "request_dist_name": DIST_NAMES,
}
_RISKS: dict[str, Iterable[str]] = {"rollback": (Risk.FORCE_REMOVE,), "doctor": (Risk.DOWNGRADE,)}
"""Of the verbs that do not take all of them."""


def _environments(_argument: str, variables: Mapping[str, str]) -> Words:
    from fastinstall.observe.environments import list_known_environments  # noqa: PLC0415 (only here)

    return _bare(map(str, list_known_environments(variables, user_directories(variables).state)))


def _recipe_words(argument: str, variables: Mapping[str, str]) -> Words:
    from fastinstall.observe.recipes import load_recipes  # noqa: PLC0415 (only where it is asked for, as all below)
    from fastinstall.observe.session import open_session  # noqa: PLC0415

    recipes = tuple(load_recipes(open_session(variables).recipe_directories).values())
    levels = _bare(level.name for recipe in recipes for level in recipe.levels if level.name != _NATIVE)
    match argument:
        case "request_level":
            return {"auto": "", **levels, _NATIVE: ""}
        case "request_levels":
            return levels
        case "request_require":
            return _bare(library for recipe in recipes for library in recipe.libraries)
        case _:
            return {recipe.name: recipe.summary for recipe in recipes}


def _cache_words(_argument: str, _variables: Mapping[str, str]) -> Words:
    from fastinstall.model.cache_survey import PURPOSES  # noqa: PLC0415

    return PURPOSES


def _checks(_argument: str, _variables: Mapping[str, str]) -> Words:
    from fastinstall.doctor.registry import check_names, load_check  # noqa: PLC0415

    return {name: load_check(name).SUMMARY for name in check_names()}


def _bench_words(argument: str, _variables: Mapping[str, str]) -> Words:
    from fastinstall.bench.candidates import FASTINSTALL, OFFICIAL_WHEEL  # noqa: PLC0415
    from fastinstall.bench.catalogue import HUGE_PAGES, HUGE_PAGES_TITLE, all_adapters, all_kinds  # noqa: PLC0415
    from fastinstall.bench.photos import WORKLOADS  # noqa: PLC0415

    decoders = {each.name: each.title for each in all_adapters()}
    ways = {**decoders, **{each.name: each.title for each in all_kinds()}}
    match argument:
        case "workload":
            return WORKLOADS
        case "bring":
            return {"all": "", **ways}
        case "candidates":
            return {**_bare((FASTINSTALL, OFFICIAL_WHEEL)), **ways, HUGE_PAGES: HUGE_PAGES_TITLE}
        case _:
            return ways


_LOOK_UP: dict[str, Callable[[str, Mapping[str, str]], Words]] = {
    "checks": _checks,
    "prefix": _environments,
    "cache": _cache_words,
    **dict.fromkeys(("recipes", "request_recipe", "request_level", "request_levels", "request_require"), _recipe_words),
    **dict.fromkeys(("workload", "candidates", "bring", "print_code"), _bench_words),
}


def _bare(words: Iterable[str]) -> Words:
    return dict.fromkeys(map(str, words), "")
