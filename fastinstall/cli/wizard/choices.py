"""The questions of the wizard for single options, and what each answer means in one sentence.

- Options with a few answers each, and options that are typed: version, required libraries, channels, a wheelhouse, a
  number of jobs.
- Who installs into a conda environment: an engine for conda packages, or a way that conda does not know of.
- CPU levels: our choice, one of them, or several in one wheel.
- Recipes, side by side.

Measured figures that help to choose are dated data; those of a recipe stand in its file. They were measured on other
images and another machine than the reader's, and whoever quotes them says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastinstall.cli import options
from fastinstall.cli.options import names
from fastinstall.cli.questions import Asker, MenuQuestion, ask_text_or_go_back, choose_or_go_back
from fastinstall.cli.wizard.environment_question import WizardConversation
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import Recipe, count_by_severity
from fastinstall.model.request import DIST_NAMES, LinkMode, Request, Risk, ToolchainSource
from fastinstall.observe.observation import recipe_named
from fastinstall.plan.conda_steps import is_conda, list_available_engines
from fastinstall.plan.level_choice import AUTO
from fastinstall.verbs.recipe_comparison import RecipePreview

_YES, _NO = "yes", "no"
_NONE = "none"


def link(talk: WizardConversation, request: Request) -> Request | None:
    """Which native libraries."""
    meanings = {
        LinkMode.BUNDLE: "libraries of the official wheel inside the package: all formats, and nobody can change them",
        LinkMode.ENV: "the libraries of this environment: for conda environments that share one libjpeg",
        LinkMode.SYSTEM: "the libraries of the operating system, with its security updates; formats that it lacks go",
    }
    answer = _choose_answer(talk, "Whose libraries for JPEG, TIFF and the like?", meanings, request.link)
    return None if answer is None else replace(request, link=LinkMode(answer))


def toolchain(talk: WizardConversation, request: Request) -> Request | None:
    """Where the compiler comes from."""
    meanings = {
        ToolchainSource.AUTO: "clang from the package index; the system's compiler where that cannot be had",
        ToolchainSource.SYSTEM: "the compiler of the system and nothing else",
        ToolchainSource.CLANG: "clang from the package index, in fastinstall's cache: the fastest code, needs no root",
        ToolchainSource.CONDA: "a compiler of conda packages, in a private directory of the cache: needs no root",
    }
    answer = _choose_answer(talk, "Which compiler?", meanings, request.toolchain)
    return None if answer is None else replace(request, toolchain=ToolchainSource(answer))


def dist_name(talk: WizardConversation, request: Request) -> Request | None:
    """Name of the distribution."""
    usual, other = DIST_NAMES
    meanings = {
        usual: "whatever requires Pillow is content with it, and no installer brings a second one",
        other: "19 of 19 install commands replaced a build of that name without a word (2026-11-21)",
    }
    answer = _choose_answer(talk, "What should the distribution be called?", meanings, request.dist_name)
    return None if answer is None else replace(request, dist_name=answer)


def guard(talk: WizardConversation, request: Request) -> Request | None:
    """The guards."""
    meanings = {
        _YES: "each program tells you once when pip, uv or another tool has replaced it; 0.3 ms per start of Python",
        _NO: "a replacement stays unnoticed until you ask: fastinstall doctor swapped",
    }
    answer = _choose_answer(talk, _guard_question(talk.facts, request.engine), meanings, _switch(on=request.guard))
    return None if answer is None else replace(request, guard=answer == _YES)


def pin(talk: WizardConversation, request: Request) -> Request | None:
    """Pins."""
    meanings = {
        _NO: "other tools may upgrade Pillow, and the guard tells you when they did",
        _YES: "pip, uv and conda are held to this build; that holds back security updates of Pillow too",
    }
    answer = _choose_answer(talk, "Pin it, so that other tools keep it?", meanings, _switch(on=request.pin))
    return None if answer is None else replace(request, pin=answer == _YES)


def offline(talk: WizardConversation, request: Request) -> Request | None:
    """Without a network."""
    meanings = {
        _NO: "what is missing is fetched from the package index, by hash",
        _YES: "only what the cache or a wheelhouse has; it fails before anything is changed where that is not enough",
    }
    answer = _choose_answer(talk, "Do without a network?", meanings, _switch(on=request.offline))
    return None if answer is None else replace(request, offline=answer == _YES)


def with_system_deps(talk: WizardConversation, request: Request) -> Request | None:
    """System packages."""
    meanings = {
        _NO: "missing headers are unpacked into the cache, and the system stays as it is",
        _YES: "missing packages are installed by apt or dnf, for which root is needed",
    }
    answer = _choose_answer(
        talk, "Install missing packages of the system?", meanings, _switch(on=request.with_system_deps)
    )
    return None if answer is None else replace(request, with_system_deps=answer == _YES)


def upgrade(talk: WizardConversation, request: Request) -> Request | None:
    """Later versions."""
    meanings = {
        _NO: "where all is well, nothing is done",
        _YES: "a later version is looked for and built, even if all is well",
    }
    answer = _choose_answer(talk, "Look for a later version?", meanings, _switch(on=request.upgrade))
    return None if answer is None else replace(request, upgrade=answer == _YES)


def allow(talk: WizardConversation, request: Request) -> Request | None:
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
    answer = _choose_answer(talk, "Which risk may be taken? Each that is chosen is added.", meanings, _NONE)
    if answer is None:
        return None
    taken = () if answer == _NONE else tuple(dict.fromkeys((*request.allow, Risk(answer))))
    return replace(request, allow=taken)


def _choose_answer(talk: WizardConversation, question: str, meanings: Mapping[Any, str], default: str) -> str | None:
    texts = {str(value): text for value, text in meanings.items()}
    menu = MenuQuestion(question=question, answers={name: name for name in texts}, meanings=texts, default=str(default))
    return choose_or_go_back(talk.asker, menu)


def _switch(*, on: bool) -> str:
    return _YES if on else _NO


def _guard_question(facts: Facts, engine: CondaInstaller) -> str:
    if is_conda(facts) and engine is not CondaInstaller.PIP:
        return "Install the guards, which have conda keep it and notice a swap?"
    return "Install the start-up guard, which notices a swap?"


def version(talk: WizardConversation, request: Request) -> Request | None:
    """Of the source."""
    talk.say("The newest version that fits has all security fixes; name one only where something needs it.")
    question = "Version of the source, empty for the newest that fits"
    typed = _ask_entry(talk, question, options.text, request.version or "")
    return None if typed is None else replace(request, version=typed or None)


def require(talk: WizardConversation, request: Request) -> Request | None:
    """Libraries that the build must have."""
    known = recipe_named(talk.session, request.recipe).libraries

    def read(text: str) -> object:
        unknown = [name for name in options.names(text) if name not in known]
        if unknown:
            raise ValueError(f"{unknown[0]} is none of {', '.join(known)}")
        return text

    talk.say(f"The setup fails where one of them cannot be had, instead of leaving it out: {', '.join(known)}")
    typed = _ask_entry(talk, "Libraries that it must have, separated by commas", read, ",".join(request.require))
    return None if typed is None else replace(request, require=options.names(typed))


def channels(talk: WizardConversation, request: Request) -> Request | None:
    """Of conda."""
    talk.say("Asked only where another package is needed; the first one is preferred.")
    question = "Channels, separated by commas, empty for those that conda is configured for"
    typed = _ask_entry(talk, question, options.channels, ",".join(request.channels))
    return None if typed is None else replace(request, channels=options.channels(typed))


def wheelhouse(talk: WizardConversation, request: Request) -> Request | None:
    """A directory of wheels and sdists."""
    talk.say("What lies there is taken before the package index: `fastinstall build -o DIR` makes one.")
    typed = _ask_entry(talk, "Directory of wheels, empty for none", options.directory, str(request.wheelhouse or ""))
    return None if typed is None else replace(request, wheelhouse=_parse_directory(typed))


def jobs(talk: WizardConversation, request: Request) -> Request | None:
    """Parallel compile jobs."""
    talk.say("Fewer leave more of the machine to others while it compiles, and take longer.")
    typed = _ask_entry(talk, "Parallel jobs, empty for one for each CPU", options.count, str(request.jobs or ""))
    return None if typed is None else replace(request, jobs=options.count(typed) if typed else None)


def _ask_entry(talk: WizardConversation, question: str, read: Callable[[str], object], default: str) -> str | None:
    return ask_text_or_go_back(talk.asker, question, read, talk.say, default=default)


def _parse_directory(typed: str) -> Path | None:
    return options.directory(typed) if typed else None


_NAMES = {CondaInstaller.CONDA: "conda", CondaInstaller.RATTLER: "py-rattler"}
_PIP = "a plain wheel, which conda overwrites sooner or later without a word"


def ask_engine(asker: Asker, facts: Facts, request: Request) -> CondaInstaller | None:
    """What `Wish.engine` takes, asked in conda environments only; None if the person goes back.

    Args:
        asker: how to ask.
        facts: say which engines are there.
        request: what was asked for so far; the answer that is marked first.
    """
    there = list_available_engines(facts)
    if not is_conda(facts):
        return request.engine
    meanings = (
        {CondaInstaller.AUTO: f"{_NAMES[there[0]]}, as conda packages that conda itself knows of"} if there else {}
    )
    meanings |= {engine: f"conda packages, by {_describe_engine(engine, facts)}" for engine in there}
    meanings[CondaInstaller.PIP] = _PIP
    menu = MenuQuestion(
        question="Who installs it?",
        answers={str(name): str(name) for name in meanings},
        meanings={str(name): text for name, text in meanings.items()},
        default=request.engine if request.engine in meanings else None,
    )
    answer = choose_or_go_back(asker, menu)
    return None if answer is None else CondaInstaller(answer)


def _describe_engine(engine: CondaInstaller, facts: Facts) -> str:
    tool = facts.conda.tool if facts.conda is not None else None
    if engine is not CondaInstaller.CONDA or tool is None:
        return _NAMES[engine]
    return " ".join(word for word in (_NAMES[engine], tool.version) if word)


_SEVERAL = "several"
_SAID = {
    "x86-64-v4": "for CPUs with AVX-512; measured to be 3 to 6 % slower than x86-64-v3 on resizing (2026-11-21)",
    "x86-64-v3": "for CPUs with AVX2, Intel since 2013 and AMD since 2015; as fast as a build for this very CPU",
    "x86-64-v2": "for any CPU since about 2011, slower: 1.8 times stock Pillow where x86-64-v3 is 2.1 (2026-11-21)",
    "native": "for CPUs just like this one, others may refuse it; measured to be no faster than x86-64-v3",
}


def ask_levels(asker: Asker, recipe: Recipe, request: Request) -> tuple[str, tuple[str, ...]] | None:
    """One level, or several for one wheel: what `Wish.level` and `Wish.levels` take; None if the person goes back.

    Args:
        asker: how to ask.
        recipe: whose levels there are.
        request: what was asked for so far; the answer that is marked first.
    """
    usual = [level.name for level in reversed(recipe.levels) if level.automatic]
    meanings = {AUTO: f"{listing(usual)} in one wheel, of which each machine loads its best; right for nearly all"}
    meanings |= {level.name: f"{_describe_level(level.name)}" for level in recipe.levels}
    meanings[_SEVERAL] = "in one wheel, named one by one; needs glibc 2.33 or later"
    answers = {name: name if name in (AUTO, _SEVERAL) else f"{name} alone" for name in meanings}
    default = _SEVERAL if request.levels else request.level
    question = "Which CPU level (instructions that it may use)?"
    menu = MenuQuestion(
        question=question, answers=answers, meanings=meanings, default=default if default in answers else AUTO
    )
    answer = choose_or_go_back(asker, menu)
    if answer is None:
        return None
    return _ask_several_levels(asker, request, usual) if answer == _SEVERAL else (answer, ())


def _ask_several_levels(asker: Asker, request: Request, usual: list[str]) -> tuple[str, tuple[str, ...]] | None:
    default = ",".join(request.levels or usual)
    typed = ask_text_or_go_back(asker, "Levels, separated by commas", names, lambda _: None, default=default)
    return None if typed is None else (AUTO, names(typed))


def _describe_level(name: str) -> str:
    return _SAID.get(name, "a level of this recipe")


def offer_answers(offers: Sequence[RecipePreview]) -> dict[str, str]:
    """Name of a recipe to its label in a menu, in the order of the offers."""
    return {offer.recipe.name: _name_recipe(offer.recipe) for offer in offers}


def offer_meanings(offers: Sequence[RecipePreview]) -> dict[str, str]:
    """Name of a recipe to what is known of it, in the order of the offers."""
    return {offer.recipe.name: "; ".join((offer.recipe.summary, *_describe_offer(offer))) for offer in offers}


def _describe_offer(offer: RecipePreview) -> Iterator[str]:
    yield _describe_version(offer)
    yield _describe_speed(offer)
    if offer.choice is not None and offer.choice.caution:
        yield offer.choice.caution


def _name_recipe(recipe: Recipe) -> str:
    return f"{recipe.name} (recommended)" if recipe.recommended else recipe.name


def _describe_version(offer: RecipePreview) -> str:
    if offer.choice is None:
        return f"nothing fits: {offer.problem}"
    return f"{offer.choice.version}, {_count_advisories(offer)}"


def _count_advisories(offer: RecipePreview) -> str:
    if not offer.advisories:
        return "no known advisories"
    counted = ", ".join(f"{number} {severity}" for severity, number in count_by_severity(offer.advisories).items())
    return f"{len(offer.advisories)} known advisories ({counted})"


def _describe_speed(offer: RecipePreview) -> str:
    code = _describe_code(offer.recipe)
    if offer.speed is not None:
        day = offer.speed.measured_at.partition("T")[0]
        return f"{code}; measured here {day}: {offer.speed.geomean:.2f} times as fast as {offer.speed.baseline}"
    figure = offer.recipe.bench.measured
    return f"{code}; measured elsewhere: {figure}" if figure else code


def _describe_code(recipe: Recipe) -> str:
    if recipe.kernels is not None:
        return "SIMD kernels on today's Pillow"
    return "SIMD kernels of an older Pillow" if recipe.expect.symbols else "stock code, optimised"


WHERE = "generated photos, 2 CPUs of an AMD EPYC virtual machine, 2026-11-22"
"""Of `LOADING`. Source: docs/explanation/performance.md, "What came of it", and for 1080p docs/explanation/speed.md."""


@immutable
class LoadingFigures:
    """How much faster images of one kind were loaded: decoded, resized to 256 pixels, cropped to 224.

    Attributes:
        kind: for people.
        format: "JPEG" or "PNG".
        below: megapixels up to which it stands for an image; infinite for the largest kind.
        build: times as fast with the fast build.
        draft: times as fast with `Image.draft`, or None if it does not apply.
        copies: times as fast from copies resized beforehand, or None if not measured.
        together: times as fast with the best of each kind; None likewise.
    """

    kind: str
    format: str
    below: float
    build: float
    draft: float | None = None
    copies: float | None = None
    together: float | None = None


LOADING = (
    LoadingFigures(kind="JPEG of 500 pixels", format="JPEG", below=1.0, build=1.9, copies=3.6),
    LoadingFigures(kind="JPEG of 1080p", format="JPEG", below=6.0, build=2.0),
    LoadingFigures(
        kind="JPEG of 12 megapixels",
        format="JPEG",
        below=float("inf"),
        build=1.3,
        draft=5.9,
        copies=220.0,
        together=6.6,
    ),
    LoadingFigures(kind="PNG of 800 pixels", format="PNG", below=float("inf"), build=1.3, copies=5.4, together=1.7),
)
