"""The Customize menu of the wizard: change the options of a setup, one at a time.

The menu lists the options that have a question in `cli.options`. Questions that depend on the target or the recipe are
in this module.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastinstall.cli.console import Console
from fastinstall.cli.options import REQUEST_OPTIONS, Option, Reader, format_flags, name_list
from fastinstall.cli.questions import Asker, ask_text_or_go_back, choose_or_go_back
from fastinstall.compilers import list_compilers
from fastinstall.core.errors import FastinstallError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request, ToolchainSource
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.recipes import load_recipes, recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.decide.conda import is_conda, list_available_engines
from fastinstall.setup.decide.levels import AUTO


@immutable
class WizardConversation:
    """The context of the wizard's questions about one target.

    Attributes:
        session: variables, directories, clock and event listener of this run.
        target: the environment to set up or to create.
        facts: the facts about the target that the user has seen.
        asker: asks the questions.
        console: prints messages.
    """

    session: Session
    target: NamedTarget
    facts: Facts
    asker: Asker
    console: Console

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self.console.talk("\n".join(self.console.err.lines(text, first="  ", rest="  ")))


CONTINUE, START_OVER, ENVIRONMENT, DETAILS = "continue", "start over", "environment", "details"


def customise_request(talk: WizardConversation, request: Request, show_details: Callable[[], None]) -> Request | str:
    """Let the user change the request, one option at a time.

    Args:
        talk: the target, and the asker and console for the questions.
        request: the request so far.
        show_details: prints the whole plan for `request`.

    Returns:
        The changed request; or START_OVER to discard all changes, or ENVIRONMENT to choose another environment.
    """
    asked = {option.field: option for option in list_asked_options(talk.facts)}
    flag, planned = "--prefix" if talk.target.new is None else "--new-env", request
    prefix = str(talk.facts.environment.prefix)
    while True:
        answers = {CONTINUE: "Continue", START_OVER: "Start over", ENVIRONMENT: "Environment"}
        meanings = {CONTINUE: "make the plan", START_OVER: "forget all changes", ENVIRONMENT: "choose another one"}
        answers |= {name: option.question.title for name, option in asked.items()}
        meanings |= {name: describe_value(option, request) for name, option in asked.items()}
        if request == planned:
            answers[DETAILS], meanings[DETAILS] = "Details", "every step, with its reason"
        answer = talk.asker.choose("What to change?", answers, meanings=meanings)
        if answer in (START_OVER, ENVIRONMENT):
            return answer
        if answer == CONTINUE:
            return request
        if answer == DETAILS:
            show_details()
            continue
        try:
            other = ask_option(asked[answer], talk, request)
        except FastinstallError as error:
            talk.say(f"{error.message}; nothing changed")
            continue
        if other is not None and other != request:
            request = other
            words = ("fastinstall", "setup", flag, prefix, *format_flags(request))
            talk.console.talk(f"as flags: {' '.join(map(quote, words))}")


def _write(value: object, comma: str = ",") -> str:
    """Return a value in the form in which a user reads or types it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return comma.join(map(str, value)) if isinstance(value, tuple) else str(value or "")


def _ask_choice(
    talk: WizardConversation, request: Request, name: str, question: str, meanings: Mapping[Any, str]
) -> Request | None:
    """Ask for one of a few values, each with its meaning; return the new request, or None if the user goes back."""
    values = {_write(value): value for value in meanings}
    texts = {_write(value): text for value, text in meanings.items()}
    answer = choose_or_go_back(talk.asker, question, texts, default=_write(getattr(request, name)))
    return None if answer is None else replace(request, **{name: values[answer]})


def _ask_typed(talk: WizardConversation, request: Request, name: str, question: str, read: Reader) -> Request | None:
    """Ask the user to type a value as on the command line; return the new request, or None if the user goes back."""
    typed = ask_text_or_go_back(talk.asker, question, read, talk.say, default=_write(getattr(request, name)))
    if typed is None:
        return None
    return replace(request, **{name: read(typed) if typed else getattr(Request(), name)})


def _ask_recipe(talk: WizardConversation, request: Request) -> Request | None:
    recipes = load_recipes(talk.session.recipe_directories).values()
    offered = sorted(recipes, key=lambda recipe: not recipe.recommended)  # the other recipes keep their order
    meanings = {recipe.name: recipe.summary for recipe in offered}
    labels = {recipe.name: f"{recipe.name} (recommended)" for recipe in offered if recipe.recommended}
    name = choose_or_go_back(talk.asker, "Which recipe?", meanings, labels=labels, default=request.recipe)
    if name is not None and name != request.recipe:
        # Version and levels depend on the recipe, so they return to their defaults.
        return replace(request, recipe=name, version=None, level=AUTO, levels=())
    return None if name is None else request


def _ask_required(talk: WizardConversation, request: Request) -> Request | None:
    known = recipe_named(talk.session, request.recipe).libraries

    def read(text: object) -> tuple[str, ...]:
        found = name_list(text)
        if unknown := next((name for name in found if name not in known), None):
            raise ValueError(f"{unknown} is not one of {', '.join(known)}")
        return found

    talk.say(f"Setup fails if one of them is missing, instead of building without it: {', '.join(known)}")
    return _ask_typed(talk, request, "require", "Required libraries, separated by commas", read)


def _ask_guard(talk: WizardConversation, request: Request) -> Request | None:
    question = "Warn when another tool replaces it?"
    meanings = {
        True: "a start-up hook warns once per program; 1 ms per start",
        False: "nothing warns: run fastinstall doctor from time to time",
    }
    if is_conda(talk.facts) and request.engine is not CondaInstaller.PIP:
        question = "Have conda keep it, and warn when another tool replaces it?"
        updates = "security updates then come by fastinstall setup --upgrade"
        replaced = "conda may replace it at any change"
        meanings = {True: f"{updates}; {meanings[True]}", False: f"{replaced}; {meanings[False]}"}
    return _ask_choice(talk, request, "guard", question, meanings)


def _ask_compiler(talk: WizardConversation, request: Request) -> Request | None:
    meanings = {
        ToolchainSource.AUTO: "clang from the package index, or the system's compiler",
        **{each.word: each.choice for each in list_compilers()},
    }
    return _ask_choice(talk, request, "toolchain", "Which compiler?", meanings)


_ENGINES = {CondaInstaller.CONDA: "conda", CondaInstaller.RATTLER: "py-rattler"}


def ask_engine(talk: WizardConversation, request: Request) -> Request | None:
    """Ask for `Request.engine`, in a conda environment; return the new request, or None if the user goes back."""
    facts, there = talk.facts, list_available_engines(talk.facts)
    meanings: dict[CondaInstaller, str] = {}
    if there:
        meanings[CondaInstaller.AUTO] = f"{_ENGINES[there[0]]}, as conda packages that conda knows of"
    for engine in there:
        tool = facts.conda.tool if facts.conda is not None and engine is CondaInstaller.CONDA else None
        meanings[engine] = f"conda packages, by {_ENGINES[engine]} {tool.version if tool else ''}".rstrip()
    meanings[CondaInstaller.PIP] = "a plain wheel, which conda may silently overwrite"
    return _ask_choice(talk, request, "engine", "Which tool installs it?", meanings)


_SEVERAL = "several"
_LEVELS = {
    "x86-64-v4": "CPUs with AVX-512; resizes slower than x86-64-v3 (2026-11-21)",
    "x86-64-v3": "CPUs with AVX2: Intel since 2013, AMD since 2015",
    "x86-64-v2": "any CPU since 2011; slower than x86-64-v3",
    "native": "CPUs like this one only; no faster than x86-64-v3",
    "armv8-a": "every 64-bit Arm CPU; its speed is not measured",
}


def ask_levels(talk: WizardConversation, request: Request) -> Request | None:
    """Ask for `Request.level` and `Request.levels`; return the new request, or None if the user goes back."""
    levels = recipe_named(talk.session, request.recipe).list_levels(talk.facts.cpu.architecture)
    usual = [level.name for level in reversed(levels) if level.automatic]
    meanings = {
        AUTO: f"{listing(usual)}{' in one wheel' if len(usual) > 1 else ''}; right for nearly everyone",
        **{level.name: _LEVELS.get(level.name, "a level of this recipe") for level in levels},
    }
    if len(levels) > 1:
        meanings[_SEVERAL] = "type their names; needs glibc 2.33 or later"
    default = _SEVERAL if request.levels else request.level
    answer = choose_or_go_back(talk.asker, "Which CPUs should it run on?", meanings, default=default)
    if answer is None or answer != _SEVERAL:
        return None if answer is None else replace(request, level=answer, levels=())
    written = ",".join(request.levels or usual)
    typed = ask_text_or_go_back(talk.asker, "Levels, separated by commas", name_list, talk.say, default=written)
    return None if typed is None else replace(request, level=AUTO, levels=name_list(typed))


_OWN_QUESTIONS: Mapping[str, Callable[[WizardConversation, Request], Request | None]] = {
    "recipe": _ask_recipe,
    "guard": _ask_guard,
    "level": ask_levels,
    "require": _ask_required,
    "engine": ask_engine,
    "toolchain": _ask_compiler,
}


def list_asked_options(facts: Facts) -> list[Option]:
    """Return the options that apply to a target, in the order of the menu."""
    asked = [option for option in REQUEST_OPTIONS if option.question.title]
    return [option for option in asked if is_conda(facts) or not option.question.conda_only]


def ask_option(option: Option, talk: WizardConversation, request: Request) -> Request | None:
    """Ask for a value of an option; return the new request, or None if the user goes back."""
    question, name = option.question, option.field
    if name in _OWN_QUESTIONS:
        return _OWN_QUESTIONS[name](talk, request)
    if question.meanings:
        return _ask_choice(talk, request, name, question.text, question.meanings)
    if question.note:
        talk.say(question.note)
    return _ask_typed(talk, request, name, question.text, option.read)


def describe_value(option: Option, request: Request) -> str:
    """Return the current value of an option, in a few words."""
    value = getattr(request, option.field)
    if option.field == "level":  # the menu has one entry for `level` and `levels`
        value = request.levels or value
    return _write(value, ", ") if value else option.question.empty
