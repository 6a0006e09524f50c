"""The menu of all that can be customised: each option with its value, and the command line that asks for all of them.

What the fast build would gain for the user's images is estimated from measurements of similar ones. The sizes of a few
images are read within two seconds, from headers alone; nothing is decoded.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from fastinstall.bench.image_search import SearchBounds, find_images, read_dimensions, spread_evenly
from fastinstall.cli.options import format_flags
from fastinstall.cli.questions import BACK, ask_text_or_go_back
from fastinstall.cli.wizard.choices import TOPICS
from fastinstall.cli.wizard.environment_question import WizardConversation
from fastinstall.core.errors import FastinstallError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.model.request import Request

_DONE, _IMAGES = "done", "images"


def customise_request(talk: WizardConversation, request: Request, changed: Callable[[Request], None]) -> Request | None:
    """Another wish, changed one thing at a time; None if the person takes it all back.

    Args:
        talk: who is talked to.
        request: what was asked for so far.
        changed: hears of every change, so that none is lost.
    """
    topics = {topic.fields[0]: topic for topic in TOPICS if topic.applies(talk.facts)}
    width = max(len(topic.title) for topic in topics.values()) + 2
    flag = "--prefix" if talk.target.new is None else "--new-env"
    while True:
        words = ("fastinstall", "setup", flag, str(talk.facts.environment.prefix), *format_flags(request))
        talk.console.talk(f"\nthe same as flags:\n  {' '.join(map(quote, words))}")
        answers = {
            _DONE: "Done: show the plan",
            **{name: f"{topic.title:<{width}}{topic.told(request)}" for name, topic in topics.items()},
            _IMAGES: f"{'Your images':<{width}}what to expect (optional)",
            BACK: "Back: forget these changes",
        }
        answer = talk.asker.choose("What to change?", answers)
        if answer in (_DONE, BACK):
            return request if answer == _DONE else None
        if answer == _IMAGES:
            _tell_of_images(talk)
            continue
        try:
            other = topics[answer].ask(talk, request)
        except FastinstallError as error:
            talk.say(f"{error.message}; nothing is changed here")
            continue
        if other is not None and other != request:
            request = other
            changed(request)


def _tell_of_images(talk: WizardConversation) -> None:
    def read(text: str) -> Path:
        place = Path(text).expanduser().absolute()
        if not place.exists():
            raise ValueError(f"{place} is not there")
        return place

    typed = ask_text_or_go_back(talk.asker, "Where are your images? A directory, or empty", read, talk.say)
    if typed:
        for sentence in describe_expected_loading(sample_image_sizes(read(typed))):
            talk.say(sentence)


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
    """

    kind: str
    format: str
    below: float = math.inf
    build: float
    draft: float | None = None
    copies: float | None = None


LOADING = (
    LoadingFigures(kind="JPEG of 500 pixels", format="JPEG", below=1.0, build=1.9, copies=3.6),
    LoadingFigures(kind="JPEG of 1080p", format="JPEG", below=6.0, build=1.9),
    LoadingFigures(kind="JPEG of 12 megapixels", format="JPEG", build=1.3, draft=5.9, copies=220.0),
    LoadingFigures(kind="PNG of 800 pixels", format="PNG", build=1.3, copies=5.4),
)
_WORTH_TELLING = 1.5
"""Times as fast as the better one of build and draft, from which on copies are told of."""


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


def describe_expected_loading(sample: ExaminedImages) -> Iterator[str]:
    """What to expect: what the images are like, what helps with such, and how to know."""
    if not sample.files:
        yield "No images were found there."
        return
    found = f"{sample.files}{'' if sample.complete else ' or more'} image{'s' * (sample.files != 1)} found"
    if not sample.megapixels:
        yield f"{found}; none of those looked at is a JPEG or PNG, for which there are figures."
        return
    name, sizes = max(sample.megapixels.items(), key=lambda item: len(item[1]))
    middle, read = median(sizes), sum(map(len, sample.megapixels.values()))
    size = f"{middle:.1f}" if middle >= 1 else f"{middle:.2f}"
    yield f"{found}; {len(sizes)} of {read} looked at are {name}, typically of {size} megapixels."
    figures = choose_representative_images(name, middle)
    draft = figures.draft or 0.0
    if draft > figures.build:
        yield (
            f"Draft decoding, one line of code (image.draft), loaded such images {draft:g} times as fast, "
            f"the fast build alone {figures.build:g} times."
        )
    else:
        yield f"The fast build loaded such images {figures.build:g} times as fast: decoded, resized and cropped."
    if figures.copies is not None and figures.copies > max(figures.build, draft) * _WORTH_TELLING:
        yield f"Copies that were resized once before loaded {figures.copies:g} times as fast, but are of one size."
    if figures.format == "JPEG":
        yield "Decoding a JPEG is libjpeg-turbo with every build; what is faster is what comes after it."
    yield f"That was measured on {figures.kind} ({WHERE}); on your own: fastinstall bench DIR."


def choose_representative_images(name: str, megapixels: float) -> LoadingFigures:
    """The kind of images that stands for those of a format and a size."""
    return next(each for each in LOADING if each.format == name and megapixels < each.below)


_BOUNDS = SearchBounds(entries=50_000, seconds=2.0)
_LOOKED_AT = 24


def sample_image_sizes(place: Path) -> ExaminedImages:
    """Sizes of an even sample of the images in a directory, or of one image."""
    found = find_images([place], _BOUNDS)
    sizes: dict[str, tuple[float, ...]] = {}
    for path in spread_evenly(found.images)[:_LOOKED_AT]:
        size = read_dimensions(path)
        if size is not None:
            sizes[size.format] = (*sizes.get(size.format, ()), size.megapixels)
    return ExaminedImages(files=len(found.images), complete=found.complete, megapixels=sizes)
