"""What the wizard can change: each option with its question, and what each answer means in one sentence.

A test compares the rows of `TOPICS` with the flags of `options`: every option that has a flag has a row. Measured
figures that help to choose are dated data; those of a recipe stand in its file. They were measured on other images and
another machine than the reader's, and whoever quotes them says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastinstall.cli import options
from fastinstall.cli.questions import Asker, ask_text_or_go_back, choose_or_go_back
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

Ask = Callable[[WizardConversation, Request], Request | None]


@immutable
class Topic:
    """One thing that can be changed.

    Attributes:
        fields: of `Request`, that it sets; the last one that has a value is told.
        title: for the menu.
        ask: asks for another value; returns None if the user goes back.
        empty: how no value, or a switch that is off, is told.
        on: how a switch that is on is told.
        conda_only: whether it means something in conda environments alone.
    """

    fields: tuple[str, ...]
    title: str
    ask: Ask
    empty: str = "no"
    on: str = "yes"
    conda_only: bool = False

    def applies(self, facts: Facts) -> bool:
        """Whether it means anything for a target."""
        return is_conda(facts) or not self.conda_only

    def told(self, request: Request) -> str:
        """Its present value, in a few words."""
        values = [value for field in self.fields if (value := getattr(request, field))]
        if not values:
            return self.empty
        return self.on if values[-1] is True else _write(values[-1], ", ")


def _write(value: object, comma: str = ",") -> str:
    """A value as a person reads or types it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return comma.join(map(str, value)) if isinstance(value, tuple) else str(value or "")


def _pick(field: str, question: str, meanings: Mapping[Any, str]) -> Ask:
    """What asks for one of a few values, each with its meaning."""

    def ask(talk: WizardConversation, request: Request) -> Request | None:
        return _ask_pick(talk, request, field, question, meanings)

    return ask


def _ask_pick(
    talk: WizardConversation, request: Request, field: str, question: str, meanings: Mapping[Any, str]
) -> Request | None:
    values = {_write(value): value for value in meanings}
    texts = {_write(value): text for value, text in meanings.items()}
    answer = choose_or_go_back(talk.asker, question, texts, default=_write(getattr(request, field)))
    return None if answer is None else replace(request, **{field: values[answer]})


def _type(field: str, sentence: str, question: str, read: options.Reader) -> Ask:
    """What says a sentence, and asks for a value that is typed."""

    def ask(talk: WizardConversation, request: Request) -> Request | None:
        talk.say(sentence)
        default = _write(getattr(request, field))
        typed = ask_text_or_go_back(talk.asker, question, read, talk.say, default=default)
        if typed is None:
            return None
        return replace(request, **{field: read(typed) if typed else getattr(Request(), field)})

    return ask


def _ask_recipe(talk: WizardConversation, request: Request) -> Request | None:
    offers = talk.list_previews(request)
    meanings, labels = offer_meanings(offers), offer_answers(offers)
    name = choose_or_go_back(talk.asker, "Which recipe?", meanings, labels=labels, default=request.recipe)
    if name is None or name == request.recipe:
        return None if name is None else request
    return replace(request, recipe=name, version=None, level="auto", levels=())  # these belong to a recipe


def _ask_level(talk: WizardConversation, request: Request) -> Request | None:
    answer = ask_levels(talk.asker, recipe_named(talk.session, request.recipe), request)
    return None if answer is None else replace(request, level=answer[0], levels=answer[1])


def _ask_required(talk: WizardConversation, request: Request) -> Request | None:
    known = recipe_named(talk.session, request.recipe).libraries

    def read(text: object) -> tuple[str, ...]:
        found = options.names(text)
        unknown = [name for name in found if name not in known]
        if unknown:
            raise ValueError(f"{unknown[0]} is none of {', '.join(known)}")
        return found

    sentence = f"The setup fails where one of them cannot be had, instead of leaving it out: {', '.join(known)}"
    return _type("require", sentence, "Libraries that it must have, separated by commas", read)(talk, request)


def _ask_guard(talk: WizardConversation, request: Request) -> Request | None:
    meanings = {
        True: "each program tells you once when pip, uv or another tool has replaced it; 0.3 ms per start of Python",
        False: "a replacement stays unnoticed until you ask: fastinstall doctor swapped",
    }
    question = "Install the start-up guard, which notices a swap?"
    if is_conda(talk.facts) and request.engine is not CondaInstaller.PIP:
        question = "Install the guards, which have conda keep it and notice a swap?"
    return _ask_pick(talk, request, "guard", question, meanings)


def _ask_conda_engine(talk: WizardConversation, request: Request) -> Request | None:
    engine = ask_engine(talk.asker, talk.facts, request)
    return None if engine is None else replace(request, engine=engine)


_NONE = "none"
_RISKS = {
    _NONE: "allow none ahead: the wizard asks for each that a plan takes",
    Risk.FORCE_REMOVE: "take Pillow's files away from another package manager that claims them",
    Risk.VULNERABLE: "install a version with known critical vulnerabilities",
    Risk.FEATURE_LOSS: "lose a format or a library that is there today",
    Risk.DOWNGRADE: "go back to an earlier Pillow than is there",
    Risk.UNVERIFIED_CPU: "build for a CPU level that this machine cannot try",
    Risk.PROTECTED_PACKAGES: "change packages that conda protects",
}


def _ask_risk(talk: WizardConversation, request: Request) -> Request | None:
    question = "Which risk may be taken? Each that is chosen is added."
    answer = choose_or_go_back(talk.asker, question, _RISKS, default=_NONE)
    if answer is None:
        return None
    taken = () if answer == _NONE else tuple(dict.fromkeys((*request.allow, Risk(answer))))
    return replace(request, allow=taken)


_ask_version = _type(
    "version",
    "The newest version that fits has all security fixes; name one only where something needs it.",
    "Version of the source, empty for the newest that fits",
    options.text,
)
_ask_link = _pick(
    "link",
    "Whose libraries for JPEG, TIFF and the like?",
    {
        LinkMode.BUNDLE: "libraries of the official wheel inside the package: all formats, and nobody can change them",
        LinkMode.ENV: "the libraries of this environment: for conda environments that share one libjpeg",
        LinkMode.SYSTEM: "the libraries of the operating system, with its security updates; formats that it lacks go",
    },
)
_ask_pin = _pick(
    "pin",
    "Pin it, so that other tools keep it?",
    {
        False: "other tools may upgrade Pillow, and the guard tells you when they did",
        True: "pip, uv and conda are held to this build; that holds back security updates of Pillow too",
    },
)
_ask_channels = _type(
    "channels",
    "Asked only where another package is needed; the first one is preferred.",
    "Channels, separated by commas, empty for those that conda is configured for",
    options.channels,
)
_ask_dist_name = _pick(
    "dist_name",
    "What should the distribution be called?",
    {
        DIST_NAMES[0]: "whatever requires Pillow is content with it, and no installer brings a second one",
        DIST_NAMES[1]: "19 of 19 install commands replaced a build of that name without a word (2026-11-21)",
    },
)
_ask_offline = _pick(
    "offline",
    "Do without a network?",
    {
        False: "what is missing is fetched from the package index, by hash",
        True: "only what the cache or a wheelhouse has; it fails before anything is changed where that is not enough",
    },
)
_ask_wheelhouse = _type(
    "wheelhouse",
    "What lies there is taken before the package index: `fastinstall build -o DIR` makes one.",
    "Directory of wheels, empty for none",
    options.directory,
)
_ask_system_packages = _pick(
    "with_system_deps",
    "Install missing packages of the system?",
    {
        False: "missing headers are unpacked into the cache, and the system stays as it is",
        True: "missing packages are installed by apt or dnf, for which root is needed",
    },
)
_ask_toolchain = _pick(
    "toolchain",
    "Which compiler?",
    {
        ToolchainSource.AUTO: "clang from the package index; the system's compiler where that cannot be had",
        ToolchainSource.SYSTEM: "the compiler of the system and nothing else",
        ToolchainSource.CLANG: "clang from the package index, in fastinstall's cache: the fastest code, needs no root",
        ToolchainSource.CONDA: "a compiler of conda packages, in a private directory of the cache: needs no root",
    },
)
_ask_jobs = _type(
    "jobs",
    "Fewer leave more of the machine to others while it compiles, and take longer.",
    "Parallel jobs, empty for one for each CPU",
    options.count,
)
_ask_upgrade = _pick(
    "upgrade",
    "Look for a later version?",
    {
        False: "where all is well, nothing is done",
        True: "a later version is looked for and built, even if all is well",
    },
)

TOPICS: tuple[Topic, ...] = (
    Topic(fields=("recipe",), title="Recipe", ask=_ask_recipe),
    Topic(fields=("version",), title="Version", ask=_ask_version, empty="the newest that fits"),
    Topic(fields=("level", "levels"), title="CPU level", ask=_ask_level),
    Topic(fields=("link",), title="Libraries", ask=_ask_link),
    Topic(fields=("require",), title="Must have", ask=_ask_required, empty="what the recipe has"),
    Topic(fields=("guard",), title="Guard", ask=_ask_guard),
    Topic(fields=("pin",), title="Pin", ask=_ask_pin),
    Topic(fields=("engine",), title="Installed by", ask=_ask_conda_engine, conda_only=True),
    Topic(
        fields=("channels",),
        title="Conda channels",
        ask=_ask_channels,
        empty="as conda is configured",
        conda_only=True,
    ),
    Topic(fields=("dist_name",), title="Named", ask=_ask_dist_name),
    Topic(fields=("offline",), title="Offline", ask=_ask_offline),
    Topic(fields=("wheelhouse",), title="Wheelhouse", ask=_ask_wheelhouse, empty="none: the package index"),
    Topic(
        fields=("with_system_deps",),
        title="System packages",
        ask=_ask_system_packages,
        empty="leave the system alone",
        on="install what is missing",
    ),
    Topic(fields=("toolchain",), title="Compiler", ask=_ask_toolchain),
    Topic(fields=("jobs",), title="Parallel jobs", ask=_ask_jobs, empty="one for each CPU"),
    Topic(fields=("upgrade",), title="Look for later", ask=_ask_upgrade),
    Topic(fields=("allow",), title="Risks allowed", ask=_ask_risk, empty="none: each is asked for"),
)

_ENGINES = {CondaInstaller.CONDA: "conda", CondaInstaller.RATTLER: "py-rattler"}


def ask_engine(asker: Asker, facts: Facts, request: Request) -> CondaInstaller | None:
    """What `Request.engine` takes, asked in conda environments only; None if the person goes back."""
    if not is_conda(facts):
        return request.engine
    there = list_available_engines(facts)
    meanings: dict[str, str] = {}
    if there:
        meanings[CondaInstaller.AUTO] = f"{_ENGINES[there[0]]}, as conda packages that conda itself knows of"
    for engine in there:
        tool = facts.conda.tool if facts.conda is not None and engine is CondaInstaller.CONDA else None
        meanings[engine] = f"conda packages, by {_ENGINES[engine]} {tool.version if tool else ''}".rstrip()
    meanings[CondaInstaller.PIP] = "a plain wheel, which conda overwrites sooner or later without a word"
    answer = choose_or_go_back(asker, "Who installs it?", meanings, default=request.engine)
    return None if answer is None else CondaInstaller(answer)


_SEVERAL = "several"
_LEVELS = {
    "x86-64-v4": "for CPUs with AVX-512; measured to be 3 to 6 % slower than x86-64-v3 on resizing (2026-11-21)",
    "x86-64-v3": "for CPUs with AVX2, Intel since 2013 and AMD since 2015; as fast as a build for this very CPU",
    "x86-64-v2": "for any CPU since about 2011, slower: 1.8 times stock Pillow where x86-64-v3 is 2.1 (2026-11-21)",
    "native": "for CPUs just like this one, others may refuse it; measured to be no faster than x86-64-v3",
}


def ask_levels(asker: Asker, recipe: Recipe, request: Request) -> tuple[str, tuple[str, ...]] | None:
    """What `Request.level` and `Request.levels` take, from the levels of a recipe; None if the person goes back."""
    usual = [level.name for level in reversed(recipe.levels) if level.automatic]
    alone = {level.name: _LEVELS.get(level.name, "a level of this recipe") for level in recipe.levels}
    meanings = {
        AUTO: f"{listing(usual)} in one wheel, of which each machine loads its best; right for nearly all",
        **alone,
        _SEVERAL: "in one wheel, named one by one; needs glibc 2.33 or later",
    }
    default = _SEVERAL if request.levels else request.level
    answer = choose_or_go_back(
        asker,
        "Which CPU level (instructions that it may use)?",
        meanings,
        labels={name: f"{name} alone" for name in alone},
        default=default if default in meanings else AUTO,
    )
    if answer is None or answer != _SEVERAL:
        return None if answer is None else (answer, ())
    written = ",".join(request.levels or usual)
    typed = ask_text_or_go_back(asker, "Levels, separated by commas", options.names, print, default=written)
    return None if typed is None else (AUTO, options.names(typed))


def offer_answers(offers: Sequence[RecipePreview]) -> dict[str, str]:
    """Name of a recipe to its label in a menu, in the order of the offers."""
    recipes = [offer.recipe for offer in offers]
    return {recipe.name: f"{recipe.name} (recommended)" if recipe.recommended else recipe.name for recipe in recipes}


def offer_meanings(offers: Sequence[RecipePreview]) -> dict[str, str]:
    """Name of a recipe to what is known of it, in the order of the offers."""
    return {offer.recipe.name: "; ".join((offer.recipe.summary, *_describe_offer(offer))) for offer in offers}


def _describe_offer(offer: RecipePreview) -> Iterator[str]:
    recipe, advisories = offer.recipe, "no known advisories"
    if offer.advisories:
        counted = ", ".join(f"{number} {severity}" for severity, number in count_by_severity(offer.advisories).items())
        advisories = f"{len(offer.advisories)} known advisories ({counted})"
    yield f"{offer.choice.version}, {advisories}" if offer.choice is not None else f"nothing fits: {offer.problem}"
    if recipe.kernels is not None:
        yield "SIMD kernels on today's Pillow"
    else:
        yield "SIMD kernels of an older Pillow" if recipe.expect.symbols else "stock code, optimised"
    if (speed := offer.speed) is not None:
        day = speed.measured_at.partition("T")[0]
        yield f"measured here {day}: {speed.geomean:.2f} times as fast as {speed.baseline}"
    elif recipe.bench.measured:
        yield f"measured elsewhere: {recipe.bench.measured}"
    if offer.choice is not None and offer.choice.caution:
        yield offer.choice.caution
