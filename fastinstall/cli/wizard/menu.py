"""The menu of all that can be customised: each option with its value, and the command line that asks for all of them.

Each row tells how its value is shown and asked for. A test compares the rows with the flags of `options`: every option
that has a flag has a row.

What the fast build would gain for the user's images is estimated from measurements of similar ones. The sizes of a few
images are read within two seconds, from headers alone; nothing is decoded.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from fastinstall.bench.image_search import SearchBounds, find_images, read_dimensions, spread_evenly
from fastinstall.cli.options import format_flags
from fastinstall.cli.questions import BACK, MenuQuestion, ask_text_or_go_back, choose_or_go_back
from fastinstall.cli.wizard import choices
from fastinstall.cli.wizard.choices import (
    LOADING,
    WHERE,
    LoadingFigures,
    ask_engine,
    ask_levels,
    offer_answers,
    offer_meanings,
)
from fastinstall.cli.wizard.environment_question import WizardConversation
from fastinstall.core.errors import FastinstallError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.observe.observation import recipe_named
from fastinstall.plan.conda_steps import is_conda

Ask = Callable[[WizardConversation, Request], Request | None]


def _always_applies(_facts: Facts) -> bool:
    return True


@immutable
class Topic:
    """One thing that can be changed.

    Attributes:
        fields: of `Request`, that it sets.
        title: for the menu.
        told: its present value, in a few words.
        ask: asks for another one; returns None if the user goes back.
        applies: whether it means anything for a target.
    """

    fields: tuple[str, ...]
    title: str
    told: Callable[[Request], str]
    ask: Ask
    applies: Callable[[Facts], bool] = _always_applies


def _ask_recipe(talk: WizardConversation, request: Request) -> Request | None:
    offers = talk.list_previews(request)
    menu = MenuQuestion(
        question="Which recipe?",
        answers=offer_answers(offers),
        meanings=offer_meanings(offers),
        default=request.recipe,
    )
    name = choose_or_go_back(talk.asker, menu)
    if name is None or name == request.recipe:
        return None if name is None else request
    return replace(request, recipe=name, version=None, level="auto", levels=())  # these belong to a recipe


def _ask_level(talk: WizardConversation, request: Request) -> Request | None:
    answer = ask_levels(talk.asker, recipe_named(talk.session, request.recipe), request)
    return None if answer is None else replace(request, level=answer[0], levels=answer[1])


def _ask_conda_engine(talk: WizardConversation, request: Request) -> Request | None:
    engine = ask_engine(talk.asker, talk.facts, request)
    return None if engine is None else replace(request, engine=engine)


TOPICS: tuple[Topic, ...] = (
    Topic(fields=("recipe",), title="Recipe", told=lambda request: request.recipe, ask=_ask_recipe),
    Topic(
        fields=("version",),
        title="Version",
        told=lambda request: request.version or "the newest that fits",
        ask=choices.version,
    ),
    Topic(
        fields=("level", "levels"),
        title="CPU level",
        told=lambda request: ", ".join(request.levels) or request.level,
        ask=_ask_level,
    ),
    Topic(fields=("link",), title="Libraries", told=lambda request: request.link, ask=choices.link),
    Topic(
        fields=("require",),
        title="Must have",
        told=lambda request: ", ".join(request.require) or "what the recipe has",
        ask=choices.require,
    ),
    Topic(fields=("guard",), title="Guard", told=lambda request: _format_yes_or_no(request.guard), ask=choices.guard),
    Topic(fields=("pin",), title="Pin", told=lambda request: _format_yes_or_no(request.pin), ask=choices.pin),
    Topic(
        fields=("engine",),
        title="Installed by",
        told=lambda request: request.engine,
        ask=_ask_conda_engine,
        applies=is_conda,
    ),
    Topic(
        fields=("channels",),
        title="Conda channels",
        told=lambda request: ", ".join(request.channels) or "as conda is configured",
        ask=choices.channels,
        applies=is_conda,
    ),
    Topic(fields=("dist_name",), title="Named", told=lambda request: request.dist_name, ask=choices.dist_name),
    Topic(
        fields=("offline",),
        title="Offline",
        told=lambda request: _format_yes_or_no(request.offline),
        ask=choices.offline,
    ),
    Topic(
        fields=("wheelhouse",),
        title="Wheelhouse",
        told=lambda request: str(request.wheelhouse or "none: the package index"),
        ask=choices.wheelhouse,
    ),
    Topic(
        fields=("with_system_deps",),
        title="System packages",
        told=lambda request: "install what is missing" if request.with_system_deps else "leave the system alone",
        ask=choices.with_system_deps,
    ),
    Topic(fields=("toolchain",), title="Compiler", told=lambda request: request.toolchain, ask=choices.toolchain),
    Topic(
        fields=("jobs",),
        title="Parallel jobs",
        told=lambda request: str(request.jobs or "one for each CPU"),
        ask=choices.jobs,
    ),
    Topic(
        fields=("upgrade",),
        title="Look for later",
        told=lambda request: _format_yes_or_no(request.upgrade),
        ask=choices.upgrade,
    ),
    Topic(
        fields=("allow",),
        title="Risks allowed",
        told=lambda request: ", ".join(request.allow) or "none: each is asked for",
        ask=choices.allow,
    ),
)


def _format_yes_or_no(value: bool) -> str:  # noqa: FBT001 (told, and no option)
    return "yes" if value else "no"


_DONE, _IMAGES = "done", "images"
_QUESTION = "What to change?"


def customise_request(talk: WizardConversation, request: Request, changed: Callable[[Request], None]) -> Request | None:
    """Another wish, changed one thing at a time; None if the person takes it all back.

    Args:
        talk: who is talked to.
        request: what was asked for so far.
        changed: hears of every change, so that none is lost.
    """
    topics = {topic.fields[0]: topic for topic in TOPICS if topic.applies(talk.facts)}
    while True:
        talk.console.talk(f"\nthe same as flags:\n  {_format_command(talk, request)}")
        answer = talk.asker.choose(_QUESTION, _list_answers(topics, request))
        if answer == _DONE:
            return request
        if answer == BACK:
            return None
        if answer == _IMAGES:
            _tell_of_images(talk)
            continue
        other = _ask_topic(talk, topics[answer], request)
        if other is not None and other != request:
            request = other
            changed(request)


def _list_answers(topics: dict[str, Topic], request: Request) -> dict[str, str]:
    width = max(len(topic.title) for topic in topics.values()) + 2
    rows = {name: f"{topic.title:<{width}}{topic.told(request)}" for name, topic in topics.items()}
    images = f"{'Your images':<{width}}what to expect (optional)"
    return {_DONE: "Done: show the plan", **rows, _IMAGES: images, BACK: "Back: forget these changes"}


def _ask_topic(talk: WizardConversation, topic: Topic, request: Request) -> Request | None:
    """What a topic's questions come to; a question that cannot be asked now is explained."""
    try:
        return topic.ask(talk, request)
    except FastinstallError as error:
        talk.say(f"{error.message}; nothing is changed here")
        return None


def _tell_of_images(talk: WizardConversation) -> None:
    typed = ask_text_or_go_back(talk.asker, "Where are your images? A directory, or empty", _require_images, talk.say)
    if typed:
        for sentence in describe_expected_loading(sample_image_sizes(_place(typed))):
            talk.say(sentence)


def _require_images(text: str) -> object:
    place = _place(text)
    if not place.exists():
        raise ValueError(f"{place} is not there")
    return place


def _place(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _format_command(talk: WizardConversation, request: Request) -> str:
    flag = "--prefix" if talk.target.new is None else "--new-env"
    words = ("fastinstall", "setup", flag, str(talk.facts.environment.prefix), *format_flags(request))
    return " ".join(quote(word) for word in words)


_LARGE = 3.0


@immutable
class ExaminedImages:
    """Images that were looked at.

    Attributes:
        files: how many images were found.
        complete: whether all places were searched before the time for it was over.
        megapixels: of those whose size could be read, by format.
    """

    files: int
    complete: bool
    megapixels: dict[str, tuple[float, ...]]

    @property
    def read(self) -> int:
        """How many sizes could be read."""
        return sum(map(len, self.megapixels.values()))


def describe_expected_loading(sample: ExaminedImages) -> tuple[str, ...]:
    """What to expect: what the images are like, what helps with such, and how to know."""
    if not sample.files:
        return ("No images were found there.",)
    if not sample.read:
        return (f"{_describe_sample(sample)}; none of those looked at is a JPEG or PNG, for which there are figures.",)
    name = max(sample.megapixels, key=lambda each: len(sample.megapixels[each]))
    sizes = sample.megapixels[name]
    figures = choose_representative_images(name, median(sizes))
    return (
        f"{_describe_sample(sample)}; {len(sizes)} of {sample.read} looked at are {name}, {_describe_size(sizes)}.",
        *_describe_gains(figures),
        f"That was measured on {figures.kind} ({WHERE}); on your own: fastinstall bench DIR.",
    )


def choose_representative_images(name: str, megapixels: float) -> LoadingFigures:
    """The kind of images that stands for those of a format and a size."""
    return next(each for each in LOADING if each.format == name and megapixels < each.below)


def _describe_gains(figures: LoadingFigures) -> Iterator[str]:
    if figures.draft is not None and figures.draft > figures.build:
        yield (
            f"Draft decoding, one line of code (image.draft), loaded such images {figures.draft:g} times as fast, "
            f"the fast build alone {figures.build:g} times."
        )
    else:
        yield f"The fast build loaded such images {figures.build:g} times as fast: decoded, resized and cropped."
    if figures.copies is not None and figures.copies > max(figures.build, figures.draft or 0.0) * _LARGE / 2:
        yield f"Copies that were resized once before loaded {figures.copies:g} times as fast, but are of one size."
    if figures.format == "JPEG":
        yield "Decoding a JPEG is libjpeg-turbo with every build; what is faster is what comes after it."


def _describe_sample(sample: ExaminedImages) -> str:
    return f"{sample.files}{'' if sample.complete else ' or more'} image{'s' * (sample.files != 1)} found"


def _describe_size(sizes: Sequence[float]) -> str:
    middle = median(sizes)
    return f"typically of {middle:.1f} megapixels" if middle >= 1 else f"typically of {middle:.2f} megapixels"


_BOUNDS = SearchBounds(entries=50_000, seconds=2.0)
_LOOKED_AT = 24


def sample_image_sizes(place: Path) -> ExaminedImages:
    """Sizes of an even sample of the images below a place.

    Args:
        place: a directory, or one image.
    """
    found = find_images([place], _BOUNDS)
    sizes: dict[str, tuple[float, ...]] = {}
    for path in spread_evenly(found.images)[:_LOOKED_AT]:
        size = read_dimensions(path)
        if size is not None:
            sizes[size.format] = (*sizes.get(size.format, ()), size.megapixels)
    return ExaminedImages(files=len(found.images), complete=found.complete, megapixels=sizes)
