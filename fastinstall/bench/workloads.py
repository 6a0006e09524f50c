"""A workload: images that are chosen and judged, or generated, and how processes load them.

What a workload is for the report stands in `report`; how it is measured, in `workload_comparison`.

How many images a second a training step takes is the rate that a loader has to reach.
"""

import json
import os
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from fastinstall.bench.comparison import JobTemplate
from fastinstall.bench.effort import BenchContext, sample_size
from fastinstall.bench.image_search import ImageSearch, filesystem_of, find_images, spread_evenly
from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.report import Unmeasured, Workload
from fastinstall.bench.survey import WORKLOADS, SurveyedImage, generate_photos, judge_images
from fastinstall.core import process
from fastinstall.core.errors import FailedError, UndeterminedError, UsageError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable

_QUICK_PHOTOS = {"500px": 12, "12mp": 2, "png": 6}
_JUDGED_FOR_EACH = 3
_LEAST_JUDGED = 16
_NAMED = 2


@immutable
class ImageSample:
    """Images that stand for all of them.

    Attributes:
        name: for people: "images of ./train".
        directory: that all lie in.
        files: how many were found.
        chosen: those that may be measured, and that there is time for.
        refused: those that may not be measured, of the ones that were looked at.
        is_generated: whether they were made for the measurement.
    """

    name: str
    directory: Path
    files: int
    chosen: tuple[SurveyedImage, ...]
    refused: tuple[SurveyedImage, ...]
    is_generated: bool = False


def generate_sample(context: BenchContext, name: str) -> ImageSample:
    """Photos of a generated workload, in the temporary directory.

    Raises:
        FailedError: none could be made, or they cannot be looked at.
    """
    directory = context.space / name
    directory.mkdir(exist_ok=True)
    context.session.emit(Started(stage="photos", message=f"generating photos: {WORKLOADS[name]}"))
    try:
        count = context.wish.samples or (_QUICK_PHOTOS.get(name) if context.wish.quick else None)
        paths = generate_photos(name, directory, context.python, context.session.variables, count)
    except NotLoadedError as error:
        raise FailedError(f"no photos can be generated: {error.reason}", hint="fastinstall doctor") from error
    found = tuple(each for each in _judge_images(context, paths) if not each.reason)
    chosen = found[: sample_size(context.effort, [megapixels(each) for each in found], context.wish.samples)]
    return ImageSample(
        name=WORKLOADS[name], directory=directory, files=len(paths), chosen=chosen, refused=(), is_generated=True
    )


def choose_sample(context: BenchContext) -> ImageSample:
    """Images below the places that were named.

    Raises:
        UndeterminedError: there is none, or none that can be measured.
        FailedError: they cannot be looked at.
    """
    places = [Path(each) for each in context.wish.paths]
    context.session.emit(Started(stage="search", message=f"looking for images in {_format_places(places)}"))
    found = find_images(places)
    if not found.images:
        raise UndeterminedError(
            f"no images in {_format_places(places)}: {_describe_counts(found)}",
            hint="fastinstall bench DIR, with images in DIR",
        )
    if not found.complete:
        context.remark(f"the search for images ended early, after {len(found.images)} of them")
    if found.unreadable:
        context.remark(f"{len(found.unreadable)} directories could not be read: {found.unreadable[0]}, ...")
    chosen, refused = _choose_images(context, spread_evenly(found.images))
    if not chosen:
        raise UndeterminedError(
            f"none of the images in {_format_places(places)} can be measured: {_describe_refusals(refused)}",
            hint="fastinstall bench DIR, with whole images in DIR",
        )
    return ImageSample(
        name=f"images of {_format_places(places)}",
        directory=_find_common_directory(places),
        files=len(found.images),
        chosen=chosen,
        refused=refused,
    )


def _choose_images(
    context: BenchContext, ordered: Sequence[Path]
) -> tuple[tuple[SurveyedImage, ...], tuple[SurveyedImage, ...]]:
    """Enough of them to measure, and those that were refused on the way; a bounded number is looked at."""
    step = context.wish.samples or context.effort.sample
    bound = min(len(ordered), max(_LEAST_JUDGED, _JUDGED_FOR_EACH * step))
    good: list[SurveyedImage] = []
    refused: list[SurveyedImage] = []
    size = 0
    for start in range(0, bound, step):
        for each in _judge_images(context, ordered[start : min(start + step, bound)]):
            (refused if each.reason else good).append(each)
        size = sample_size(context.effort, [megapixels(each) for each in good], context.wish.samples)
        if len(good) >= step or size < len(good):
            break
    return tuple(good[:size]), tuple(refused)


def _judge_images(context: BenchContext, paths: Sequence[Path]) -> tuple[SurveyedImage, ...]:
    try:
        return judge_images(paths, context.python, context.session.variables)
    except NotLoadedError as error:
        raise FailedError(f"the images cannot be looked at: {error.reason}", hint="fastinstall doctor") from error


def _describe_refusals(refused: Sequence[SurveyedImage]) -> str:
    counted = Counter(each.reason for each in refused).most_common()
    return f"of {len(refused)} looked at, " + listing(f"{count} {reason}" for reason, count in counted)


def _describe_counts(found: ImageSearch) -> str:
    others = f"{found.others} other file{'s' * (found.others > 1)}" if found.others else "nothing"
    unreadable = f", and {len(found.unreadable)} directories that cannot be read" if found.unreadable else ""
    return others + unreadable


def _format_places(places: Sequence[Path]) -> str:
    few = [str(each) for each in places[:_NAMED]]
    return listing(few) if len(places) <= _NAMED else f"{', '.join(few)} and {len(places) - _NAMED} more"


def _find_common_directory(places: Sequence[Path]) -> Path:
    common = Path(os.path.commonpath([each.absolute() for each in places]))
    return common if common.is_dir() else common.parent


def megapixels(image: SurveyedImage) -> float:
    """Of an image."""
    return image.width * image.height / 1e6


_EXAMPLES = 3


@immutable
class WorkloadTask:
    """A workload, and how its images are loaded.

    Attributes:
        workload: as it is reported.
        template: what every process loads.
        images: what is known of each, in the order of their indexes.
    """

    workload: Workload
    template: JobTemplate
    images: tuple[SurveyedImage, ...]


class _Figures(TypedDict):
    images: int
    formats: dict[str, int]
    mean_bytes: int
    megapixels: float
    width: int
    height: int


def task_names(context: BenchContext) -> tuple[str, ...]:
    """What there is to measure: names of generated workloads, or an empty one for the user's own images.

    Raises:
        UsageError: no workload has that name.
    """
    if context.wish.paths:
        return ("",)
    for name in context.wish.workloads:
        if name not in WORKLOADS:
            raise UsageError(f"no workload is called {name!r}", hint=f"there are: {', '.join(WORKLOADS)}")
    return context.wish.workloads or tuple(WORKLOADS)


def task_of(context: BenchContext, name: str) -> WorkloadTask:
    """The images of a workload, chosen and judged.

    Args:
        context: where it is measured.
        name: of a generated workload; empty for the user's own images.

    Raises:
        UndeterminedError: there is no image, or none that can be measured.
        FailedError: no photos could be generated, or the images cannot be judged.
    """
    sample = generate_sample(context, name) if name else choose_sample(context)
    images = sample.chosen
    template = JobTemplate(
        python=context.python,
        images=tuple(each.path for each in images),
        formats=tuple(each.format for each in images),
        pipeline=context.wish.pipeline,
        variables=context.session.variables,
        loader=context.wish.loader,
        tensor=not context.wish.quick,
    )
    return WorkloadTask(workload=_make_workload(sample), template=template, images=images)


def narrow_workload(task: WorkloadTask, indexes: Sequence[int], failed: Mapping[str, str]) -> Workload:
    """The workload as it is measured.

    Args:
        task: as it was chosen.
        indexes: of the images that are measured.
        failed: what was wrong with those that the baseline could not load, by index.
    """
    chosen = tuple(task.images[index] for index in indexes)
    whose = "your loader fails: " if task.template.loader else ""
    refused = [replace(task.images[int(index)], reason=f"{whose}{reason}") for index, reason in failed.items()]
    unmeasured = (*task.workload.unmeasured, *_group_unmeasured(refused))
    return replace(task.workload, unmeasured=unmeasured, **_compute_figures(chosen))


def _make_workload(sample: ImageSample) -> Workload:
    return Workload(
        name=sample.name,
        directory=sample.directory,
        files=sample.files,
        generated=sample.is_generated,
        unmeasured=tuple(_group_unmeasured(sample.refused)),
        filesystem=filesystem_of(sample.directory),
        **_compute_figures(sample.chosen),
    )


def _compute_figures(chosen: Sequence[SurveyedImage]) -> "_Figures":
    return {
        "images": len(chosen),
        "formats": dict(Counter(each.format for each in chosen).most_common()),
        "mean_bytes": round(statistics.fmean(each.size_bytes for each in chosen)),
        "megapixels": round(statistics.fmean(map(megapixels, chosen)), 4),
        "width": round(statistics.median(each.width for each in chosen)),
        "height": round(statistics.median(each.height for each in chosen)),
    }


def _group_unmeasured(refused: Sequence[SurveyedImage]) -> Iterator[Unmeasured]:
    for reason, count in Counter(each.reason for each in refused).most_common():
        examples = [str(each.path) for each in refused if each.reason == reason][:_EXAMPLES]
        yield Unmeasured(reason=reason, count=count, examples=tuple(examples))


_PROGRAM = Path(__file__).with_name("_step.py")
_FUNCTION = "step"
SECONDS = 3.0
LIMIT = 60.0


@immutable
class Span:
    """How long a step is measured.

    Attributes:
        seconds: calls are repeated for so long, after two that are not counted.
        limit: seconds for all of it, imports included.
    """

    seconds: float = SECONDS
    limit: float = LIMIT


def rate_of_step(python: Path, step: str, variables: Mapping[str, str], span: Span | None = None) -> float:
    """Images per second that a training step takes, one process, on its own.

    Args:
        python: the target's interpreter, which runs it as `python FILE` would: in the working directory of this
            process, with the directory of the file on its path.
        step: FILE or FILE:FUNCTION; the function takes no argument, does one step and returns how many images it took.
        variables: the whole environment of that process.
        span: how long.

    Raises:
        UsageError: there is no such file, or no such function in it.
        FailedError: the file or the function raises, dies, gives no number of images, or takes too long.
    """
    span = span or Span()
    file, function = parts_of(step)
    if not file.is_file():
        raise UsageError(f"--step {step}: there is no file {file}", hint=_format_hint(file))
    try:
        completed = process.run(
            (python, "-B", _PROGRAM, file.absolute(), function, str(span.seconds)),
            environment={**variables, "FASTINSTALL_GUARD": "0"},
            timeout=span.limit,
        )
    except process.CommandError as error:
        raise _explain_death(step, error, span) from error
    answer = json.loads(completed.stdout)
    if "error" in answer:
        raise _explain_failed_step(step, answer, completed)
    return float(answer["images_per_second"])


def parts_of(step: str) -> tuple[Path, str]:
    """The file and the function of FILE[:FUNCTION]; a colon may be part of the file's name."""
    file, colon, function = step.rpartition(":")
    if colon and function.isidentifier() and not Path(step).is_file():
        return Path(file), function
    return Path(step), _FUNCTION


def _explain_death(step: str, error: process.CommandError, span: Span) -> FailedError:
    if error.timed_out:
        hint = "give the rate itself: --target-rate IMAGES_PER_SECOND"
        return FailedError(f"--step {step}: no rate within {span.limit:g} s", hint=hint, details=error.details)
    name = error.completed.signal_name
    how = f"was killed by {name}" if name else f"ended with exit code {error.completed.exit_code}"
    return FailedError(f"--step {step}: it {how}", details=error.details)


def _explain_failed_step(step: str, answer: dict[str, str], completed: process.Completed) -> Exception:
    file, function = parts_of(step)
    text = answer["text"]
    said = tuple(f"stderr: {line}" for line in completed.stderr.rstrip().splitlines()[-12:])
    if answer["error"] == "function":
        return UsageError(f"--step {step}: {file} has no function {function}()", hint=_format_hint(file))
    if answer["error"] == "file":
        return FailedError(f"--step {step}: {file} cannot be imported: {text}", details=said)
    if answer["error"] == "number":
        hint = "the function returns how many images its step took, an int of 1 or more"
        return FailedError(f"--step {step}: {function}() gave {text}, no number of images", hint=hint, details=said)
    return FailedError(f"--step {step}: {function}() raises {text}", details=said)


def _format_hint(file: Path) -> str:
    return f"name a function that does one training step and returns how many images it took: --step {file}:FUNCTION"
