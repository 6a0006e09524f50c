"""A workload: images that are chosen and judged, or generated, and how processes load them.

`report` holds its value for the report, `workload_comparison` measures it.
"""

import os
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastinstall.bench.effort import BenchContext, sample_size
from fastinstall.bench.filesystem import filesystem_of
from fastinstall.bench.image_search import find_images, spread_evenly
from fastinstall.bench.loading import Job, NotLoadedError
from fastinstall.bench.photos import WORKLOADS, generate_photos
from fastinstall.bench.report import Unmeasured, Workload
from fastinstall.bench.survey import SurveyedImage, judge_images
from fastinstall.core.errors import FailedError, UndeterminedError, UsageError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.values import immutable

_QUICK_PHOTOS = {"500px": 12, "12mp": 2, "png": 6}
_JUDGED_FOR_EACH = 3
_LEAST_JUDGED = 16
_NAMED = 2
_EXAMPLES = 3


@immutable
class WorkloadTask:
    """A workload, and how its images are loaded.

    Attributes:
        workload: as it is reported.
        job: what the baseline loads.
        images: facts about each, in the order of their indexes.
    """

    workload: Workload
    job: Job
    images: tuple[SurveyedImage, ...]


def task_names(context: BenchContext) -> tuple[str, ...]:
    """Return what to measure: names of generated workloads, or one empty name for the user's own images.

    Raises:
        UsageError: no workload has that name.
    """
    if context.request.paths:
        return ("",)
    for name in context.request.workloads:
        if name not in WORKLOADS:
            raise UsageError(f"no workload is named {name!r}", hint=f"choose from: {', '.join(WORKLOADS)}")
    return context.request.workloads or tuple(WORKLOADS)


def task_of(context: BenchContext, name: str) -> WorkloadTask:
    """Return the images of a workload, chosen and judged.

    Args:
        context: where it is measured.
        name: of a generated workload; empty for the user's own images.

    Raises:
        UndeterminedError: there is no image, or none that can be measured.
        FailedError: no photos could be generated, or the images cannot be judged.
    """
    images, workload = _generate_images(context, name) if name else _find_images(context)
    job = Job(
        python=context.python,
        images=tuple(each.path for each in images),
        formats=tuple(each.format for each in images),
        pipeline=context.request.pipeline,
        variables=context.session.variables,
        loader=context.request.loader,
        tensor=not context.request.quick,
    )
    return WorkloadTask(workload=workload, job=job, images=images)


def narrow_workload(task: WorkloadTask, indexes: Sequence[int], failed: Mapping[str, str]) -> Workload:
    """Return the workload as measured.

    Args:
        task: the images, as the user has chosen them.
        indexes: of the measured images.
        failed: errors of images that the baseline could not load, by index.
    """
    chosen = tuple(task.images[index] for index in indexes)
    whose = "your loader fails: " if task.job.loader else ""
    refused = [replace(task.images[int(index)], reason=f"{whose}{reason}") for index, reason in failed.items()]
    unmeasured = (*task.workload.unmeasured, *_group_unmeasured(refused))
    return replace(task.workload, unmeasured=unmeasured, **_compute_figures(chosen))


def _generate_images(context: BenchContext, name: str) -> tuple[tuple[SurveyedImage, ...], Workload]:
    """Generate a workload's photos in the temporary directory."""
    directory = context.space / name
    directory.mkdir(exist_ok=True)
    context.session.emit(Started(stage="photos", message=f"generating photos: {WORKLOADS[name]}"))
    try:
        count = context.request.samples or (_QUICK_PHOTOS.get(name) if context.request.quick else None)
        paths = generate_photos(name, directory, context.python, context.session.variables, count)
    except NotLoadedError as error:
        raise FailedError(f"cannot generate photos: {error.reason}", hint="fastinstall doctor") from error
    found = tuple(each for each in _judge_images(context, paths) if not each.reason)
    chosen = found[: _count_fitting(context, found)]
    workload = Workload(
        name=WORKLOADS[name],
        directory=directory,
        files=len(paths),
        generated=True,
        filesystem=filesystem_of(directory),
        **_compute_figures(chosen),
    )
    return chosen, workload


def _find_images(context: BenchContext) -> tuple[tuple[SurveyedImage, ...], Workload]:
    """Find images below the named places."""
    places = [Path(each) for each in context.request.paths]
    named = _format_places(places)
    context.session.emit(Started(stage="search", message=f"looking for images in {named}"))
    found = find_images(places)
    if not found.images:
        others = f"{found.others} other file{'s' * (found.others > 1)}" if found.others else "no files"
        unreadable = f", and {len(found.unreadable)} unreadable directories" if found.unreadable else ""
        problem = f"no images in {named}: {others}{unreadable}"
        raise UndeterminedError(problem, hint="fastinstall bench DIR, with images in DIR")
    if not found.complete:
        context.remark(f"the search for images ended early, after {len(found.images)} of them")
    if found.unreadable:
        context.remark(f"{len(found.unreadable)} directories could not be read: {found.unreadable[0]}, ...")
    chosen, refused = _choose_images(context, spread_evenly(found.images))
    if not chosen:
        counted = Counter(each.reason for each in refused).most_common()
        reasons = listing(f"{count} {reason}" for reason, count in counted)
        problem = f"none of the images in {named} can be measured: {len(refused)} examined, {reasons}"
        raise UndeterminedError(problem, hint="fastinstall bench DIR, with intact images in DIR")
    common = Path(os.path.commonpath([each.absolute() for each in places]))
    directory = common if common.is_dir() else common.parent
    workload = Workload(
        name=f"images of {named}",
        directory=directory,
        files=len(found.images),
        unmeasured=tuple(_group_unmeasured(refused)),
        filesystem=filesystem_of(directory),
        **_compute_figures(chosen),
    )
    return chosen, workload


def _choose_images(
    context: BenchContext, ordered: Sequence[Path]
) -> tuple[tuple[SurveyedImage, ...], tuple[SurveyedImage, ...]]:
    """Return enough images to measure, and those refused on the way; a bounded number is examined."""
    step = context.request.samples or context.effort.sample
    bound = min(len(ordered), max(_LEAST_JUDGED, _JUDGED_FOR_EACH * step))
    good: list[SurveyedImage] = []
    refused: list[SurveyedImage] = []
    for start in range(0, bound, step):
        for each in _judge_images(context, ordered[start : min(start + step, bound)]):
            (refused if each.reason else good).append(each)
        if len(good) >= step or _count_fitting(context, good) < len(good):
            break
    return tuple(good[: _count_fitting(context, good)]), tuple(refused)


def _judge_images(context: BenchContext, paths: Sequence[Path]) -> tuple[SurveyedImage, ...]:
    try:
        return judge_images(paths, context.python, context.session.variables)
    except NotLoadedError as error:
        raise FailedError(f"cannot examine the images: {error.reason}", hint="fastinstall doctor") from error


def _count_fitting(context: BenchContext, images: Sequence[SurveyedImage]) -> int:
    """Return how many of these images fit into the time."""
    return sample_size(context.effort, [each.megapixels for each in images], context.request.samples)


def _format_places(places: Sequence[Path]) -> str:
    few = [str(each) for each in places[:_NAMED]]
    return listing(few) if len(places) <= _NAMED else f"{', '.join(few)} and {len(places) - _NAMED} more"


def _compute_figures(chosen: Sequence[SurveyedImage]) -> dict[str, Any]:
    """Return the figures of a Workload."""
    return {
        "images": len(chosen),
        "formats": dict(Counter(each.format for each in chosen).most_common()),
        "mean_bytes": round(statistics.fmean(each.size_bytes for each in chosen)),
        "megapixels": round(statistics.fmean(each.megapixels for each in chosen), 4),
        "width": round(statistics.median(each.width for each in chosen)),
        "height": round(statistics.median(each.height for each in chosen)),
    }


def _group_unmeasured(refused: Sequence[SurveyedImage]) -> Iterator[Unmeasured]:
    for reason, count in Counter(each.reason for each in refused).most_common():
        examples = [str(each.path) for each in refused if each.reason == reason][:_EXAMPLES]
        yield Unmeasured(reason=reason, count=count, examples=tuple(examples))
