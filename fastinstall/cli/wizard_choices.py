"""Wishes with a few answers each, and what every answer means in one sentence, with figures where it was measured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fastinstall.cli.ask_back import Menu, chosen_or_back
from fastinstall.cli.wizard_talk import Talk
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Facts
from fastinstall.model.wish import DIST_NAMES, LinkMode, Risk, ToolchainSource, Wish
from fastinstall.rules.conda_engine import is_conda

_YES, _NO = "yes", "no"
_NONE = "none"


def link(talk: Talk, wish: Wish) -> Wish | None:
    """Which native libraries."""
    meanings = {
        LinkMode.BUNDLE: "libraries of the official wheel inside the package: all formats, and nobody can change them",
        LinkMode.ENV: "the libraries of this environment: for conda environments that share one libjpeg",
        LinkMode.SYSTEM: "the libraries of the operating system, with its security updates; formats that it lacks go",
    }
    answer = _chosen(talk, "Whose libraries for JPEG, TIFF and the like?", meanings, wish.link)
    return None if answer is None else replace(wish, link=LinkMode(answer))


def toolchain(talk: Talk, wish: Wish) -> Wish | None:
    """Where the compiler comes from."""
    meanings = {
        ToolchainSource.AUTO: "the compiler of the system, or of conda packages where there is none",
        ToolchainSource.SYSTEM: "the compiler of the system and nothing else",
        ToolchainSource.CONDA: "a compiler of conda packages, in a private directory of the cache: needs no root",
    }
    answer = _chosen(talk, "Which compiler?", meanings, wish.toolchain)
    return None if answer is None else replace(wish, toolchain=ToolchainSource(answer))


def dist_name(talk: Talk, wish: Wish) -> Wish | None:
    """Name of the distribution."""
    usual, other = DIST_NAMES
    meanings = {
        usual: "whatever requires Pillow is content with it, and no installer brings a second one",
        other: "19 of 19 install commands replaced a build of that name without a word (2026-11-21)",
    }
    answer = _chosen(talk, "What should the distribution be called?", meanings, wish.dist_name)
    return None if answer is None else replace(wish, dist_name=answer)


def guard(talk: Talk, wish: Wish) -> Wish | None:
    """The guards."""
    meanings = {
        _YES: "each program tells you once when pip, uv or another tool has replaced it; 0.3 ms per start of Python",
        _NO: "a replacement stays unnoticed until you ask: fastinstall doctor swapped",
    }
    answer = _chosen(talk, _guard_question(talk.facts, wish.engine), meanings, _switch(on=wish.guard))
    return None if answer is None else replace(wish, guard=answer == _YES)


def pin(talk: Talk, wish: Wish) -> Wish | None:
    """Pins."""
    meanings = {
        _NO: "other tools may upgrade Pillow, and the guard tells you when they did",
        _YES: "pip, uv and conda are held to this build; that holds back security updates of Pillow too",
    }
    answer = _chosen(talk, "Pin it, so that other tools keep it?", meanings, _switch(on=wish.pin))
    return None if answer is None else replace(wish, pin=answer == _YES)


def offline(talk: Talk, wish: Wish) -> Wish | None:
    """Without a network."""
    meanings = {
        _NO: "what is missing is fetched from the package index, by hash",
        _YES: "only what the cache or a wheelhouse has; it fails before anything is changed where that is not enough",
    }
    answer = _chosen(talk, "Do without a network?", meanings, _switch(on=wish.offline))
    return None if answer is None else replace(wish, offline=answer == _YES)


def with_system_deps(talk: Talk, wish: Wish) -> Wish | None:
    """System packages."""
    meanings = {
        _NO: "missing headers are unpacked into the cache, and the system stays as it is",
        _YES: "missing packages are installed by apt or dnf, for which root is needed",
    }
    answer = _chosen(talk, "Install missing packages of the system?", meanings, _switch(on=wish.with_system_deps))
    return None if answer is None else replace(wish, with_system_deps=answer == _YES)


def upgrade(talk: Talk, wish: Wish) -> Wish | None:
    """Later versions."""
    meanings = {
        _NO: "where all is well, nothing is done",
        _YES: "a later version is looked for and built, even if all is well",
    }
    answer = _chosen(talk, "Look for a later version?", meanings, _switch(on=wish.upgrade))
    return None if answer is None else replace(wish, upgrade=answer == _YES)


def allow(talk: Talk, wish: Wish) -> Wish | None:
    """Named risks, one at a time."""
    meanings = {
        _NONE: "allow none ahead: the wizard asks for each that a plan takes",
        Risk.FORCE_REMOVE: "take Pillow's files away from another package manager that claims them",
        Risk.VULNERABLE: "install a version with known critical vulnerabilities",
        Risk.FEATURE_LOSS: "lose a format or a library that is there today",
        Risk.DOWNGRADE: "go back to an earlier Pillow than is there",
        Risk.UNVERIFIED_CPU: "build for a CPU level that this machine cannot try",
        Risk.PROTECTED_PACKAGES: "change packages that conda protects",
    }
    answer = _chosen(talk, "Which risk may be taken? Each that is chosen is added.", meanings, _NONE)
    if answer is None:
        return None
    taken = () if answer == _NONE else tuple(dict.fromkeys((*wish.allow, Risk(answer))))
    return replace(wish, allow=taken)


def _chosen(talk: Talk, question: str, meanings: Mapping[Any, str], default: str) -> str | None:
    texts = {str(value): text for value, text in meanings.items()}
    menu = Menu(question=question, answers={name: name for name in texts}, meanings=texts, default=str(default))
    return chosen_or_back(talk.asker, menu)


def _switch(*, on: bool) -> str:
    return _YES if on else _NO


def _guard_question(facts: Facts, engine: Engine) -> str:
    if is_conda(facts) and engine is not Engine.PIP:
        return "Install the guards, which have conda keep it and notice a swap?"
    return "Install the start-up guard, which notices a swap?"
