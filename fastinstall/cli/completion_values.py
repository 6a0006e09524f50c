"""The command line as completion sees it: verbs, flags, and the values that may follow each.

It is read from the parser, so that a script is never out of date. Values that the parser does not know (recipes,
checks, levels, risks) are added here. How a shell completes them is in `completion_scripts`.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum

from fastinstall.bench.candidates import FASTINSTALL, OFFICIAL_WHEEL, TOGETHER
from fastinstall.bench.catalogue import SETTINGS, all_adapters, all_kinds
from fastinstall.bench.survey import WORKLOADS
from fastinstall.cli.help import groups_of, verb_of
from fastinstall.cli.parser import build_parser, verbs_of
from fastinstall.core.values import immutable
from fastinstall.doctor.registry import check_names, load_check
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import DIST_NAMES, LinkMode, Risk, ToolchainSource

_NATIVE = "native"
"""A level that is no level: it stands for itself, never beside others."""

Vocabulary = Mapping[str, Mapping[str, str]]
"""Words with what they mean (or nothing), by the parser's name of the argument that takes them."""


def vocabulary(recipes: Iterable[Recipe]) -> Vocabulary:
    """Everything that can be named.

    Args:
        recipes: those that there are.
    """
    known = tuple(recipes)
    names = {recipe.name: recipe.summary for recipe in known}
    levels = _bare(level.name for recipe in known for level in recipe.levels if level.name != _NATIVE)
    return {
        "wish_recipe": names,
        "prove": names,
        "checks": {name: load_check(name).SUMMARY for name in check_names(foreign=True)},
        "wish_level": {**_bare(("auto",)), **levels, **_bare((_NATIVE,))},
        "wish_levels": levels,
        "wish_require": _bare(library for recipe in known for library in recipe.libraries),
        "wish_link": _bare(LinkMode),
        "wish_toolchain": _bare(ToolchainSource),
        "wish_engine": _bare(CondaInstaller),
        "wish_dist_name": _bare(DIST_NAMES),
        "wish_allow": _bare(Risk),
        **_of_bench(),
    }


def _of_bench() -> Vocabulary:
    decoders = {each.name: each.title for each in all_adapters()}
    stores = {each.name: each.title for each in all_kinds()}
    settings = {each.name: each.title for each in SETTINGS}
    stacks = _bare((FASTINSTALL, OFFICIAL_WHEEL))
    return {
        "workload": WORKLOADS,
        "candidates": {**stacks, **decoders, **settings, **stores, **_bare((TOGETHER,))},
        "bring": {**_bare(("all",)), **decoders, **stores},
        "print_code": {**decoders, **stores},
    }


def _bare(words: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(map(str, words), "")


class CompletionKind(StrEnum):
    """What a shell offers for a value."""

    WORDS = "words"
    LIST = "list"
    FILES = "files"
    DIRECTORIES = "directories"
    ENVIRONMENTS = "environments"
    FREE = "free"


@immutable
class Value:
    """What can be typed in one place.

    Attributes:
        kind: one of several words, some of them with commas between, a path, or anything.
        name: as the help calls it.
        words: of the first two kinds, each with what it means, or with nothing.
    """

    kind: CompletionKind
    name: str
    words: Mapping[str, str] = field(default_factory=dict)


@immutable
class Flag:
    """One flag.

    Attributes:
        names: its spellings, the short one first.
        says: what it does.
        value: what stands behind it; None for a switch.
        optional: whether the value may be left out.
        repeatable: whether it can be given more than once.
    """

    names: tuple[str, ...]
    says: str
    value: Value | None = None
    optional: bool = False
    repeatable: bool = False


@immutable
class Verb:
    """One verb.

    Attributes:
        name: as it is typed.
        says: what it does.
        flags: in the order of its help.
        first: its first argument, or None if it takes none.
        following: those after it, by the word that stands first; under "" whatever that is.
    """

    name: str
    says: str
    flags: tuple[Flag, ...]
    first: Value | None = None
    following: Mapping[str, Value] = field(default_factory=dict)


_PATHS = {"DIR": CompletionKind.DIRECTORIES, "FILE": CompletionKind.FILES, "EXE": CompletionKind.FILES}
_LISTS = {"wish_levels", "wish_require", "wish_allow", "workload", "candidates", "bring"}
_GRANTED = {("rollback", "wish_allow"): ("force-remove",), ("doctor", "wish_allow"): ("downgrade",)}
_FOLLOWING = {"guard": {"check": "files"}, "recipes": {"show": "recipes", "check": "files"}}


def verbs(vocabulary: Vocabulary) -> tuple[Verb, ...]:
    """Every verb, in the order of the help.

    Args:
        vocabulary: the words that the parser itself does not know.
    """
    return tuple(_verb(parser, vocabulary) for parser in verbs_of(build_parser()))


def _verb(parser: argparse.ArgumentParser, vocabulary: Vocabulary) -> Verb:
    name = verb_of(parser)
    actions = [action for _, actions in groups_of(parser) for action in actions]
    positional = [action for action in actions if not action.option_strings]
    first = _value(positional[0], name, vocabulary) if positional else None
    return Verb(
        name=name,
        says=(parser.description or "").removesuffix("."),
        flags=(*_flags(actions, name, vocabulary), *_HELP),
        first=first,
        following=_following(name, positional, first, vocabulary),
    )


def _flags(actions: list[argparse.Action], verb: str, vocabulary: Vocabulary) -> Iterator[Flag]:
    for action in actions:
        if action.option_strings:
            yield Flag(
                names=tuple(action.option_strings),
                says=action.help or "",
                value=None if action.nargs == 0 else _value(action, verb, vocabulary),
                optional=action.nargs == "?",
                repeatable=isinstance(action.default, list),
            )


def _value(action: argparse.Action, verb: str, vocabulary: Vocabulary) -> Value:
    name = str(action.metavar or action.dest).rstrip(".").rstrip(",")
    if action.choices:
        return Value(kind=CompletionKind.WORDS, name=action.dest, words=dict.fromkeys(map(str, action.choices), ""))
    if action.dest == "prefix":
        return Value(kind=CompletionKind.ENVIRONMENTS, name=name)
    if action.dest in vocabulary:
        known = vocabulary[action.dest]
        granted = _GRANTED.get((verb, action.dest), tuple(known))
        kind = CompletionKind.LIST if action.dest in _LISTS else CompletionKind.WORDS
        return Value(kind=kind, name=name, words={word: known[word] for word in granted})
    kinds = [kind for start, kind in _PATHS.items() if name.startswith(start) or name.endswith(f"|{start}")]
    return Value(kind=kinds[-1] if kinds else CompletionKind.FREE, name=name)


def _following(
    verb: str, positional: list[argparse.Action], first: Value | None, vocabulary: Vocabulary
) -> dict[str, Value]:
    """What stands behind the first argument: the files of `guard check`, one more check of `doctor`."""
    if first is not None and positional[0].nargs == "*":
        return {"": first}
    files = Value(kind=CompletionKind.FILES, name="FILE")
    return {
        word: files
        if what == "files"
        else Value(kind=CompletionKind.WORDS, name="NAME", words=vocabulary["wish_recipe"])
        for word, what in _FOLLOWING.get(verb, {}).items()
    }


_HELP = (
    Flag(names=("-h", "--help"), says="the usual flags, with examples"),
    Flag(names=("--help-all",), says="every flag, in full words"),
)
