"""A workload: the images that were chosen, as a value for the report, and how processes load them."""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_images import Sample, choose_sample, generate_sample, megapixels
from fastinstall.bench.photos import WORKLOADS
from fastinstall.bench.runs import JobTemplate
from fastinstall.bench.surveying import Judged
from fastinstall.errors import UsageError
from fastinstall.model.images import Unmeasured, Workload
from fastinstall.model.immutable import immutable

_EXAMPLES = 3


@immutable
class Task:
    """A workload, and how its images are loaded.

    Attributes:
        workload: as it is reported.
        template: what every process loads.
        images: what is known of each, in the order of their indexes.
    """

    workload: Workload
    template: JobTemplate
    images: tuple[Judged, ...]


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


def task_of(context: BenchContext, name: str) -> Task:
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
    return Task(workload=_workload(sample), template=template, images=images)


def narrow_workload(task: Task, indexes: Sequence[int], failed: Mapping[str, str]) -> Workload:
    """The workload as it is measured.

    Args:
        task: as it was chosen.
        indexes: of the images that are measured.
        failed: what was wrong with those that the baseline could not load, by index.
    """
    chosen = tuple(task.images[index] for index in indexes)
    whose = "your loader fails: " if task.template.loader else ""
    refused = [replace(task.images[int(index)], reason=f"{whose}{reason}") for index, reason in failed.items()]
    unmeasured = (*task.workload.unmeasured, *_unmeasured(refused))
    return replace(task.workload, unmeasured=unmeasured, **_figures(chosen))


def _workload(sample: Sample) -> Workload:
    from fastinstall.probes.filesystems import filesystem_of  # noqa: PLC0415 (only bench looks at it)

    return Workload(
        name=sample.name,
        directory=sample.directory,
        files=sample.files,
        generated=sample.is_generated,
        unmeasured=tuple(_unmeasured(sample.refused)),
        filesystem=filesystem_of(sample.directory),
        **_figures(sample.chosen),
    )


def _figures(chosen: Sequence[Judged]) -> "_Figures":
    return {
        "images": len(chosen),
        "formats": dict(Counter(each.format for each in chosen).most_common()),
        "mean_bytes": round(statistics.fmean(each.size_bytes for each in chosen)),
        "megapixels": round(statistics.fmean(map(megapixels, chosen)), 4),
        "width": round(statistics.median(each.width for each in chosen)),
        "height": round(statistics.median(each.height for each in chosen)),
    }


def _unmeasured(refused: Sequence[Judged]) -> Iterator[Unmeasured]:
    for reason, count in Counter(each.reason for each in refused).most_common():
        examples = [str(each.path) for each in refused if each.reason == reason][:_EXAMPLES]
        yield Unmeasured(reason=reason, count=count, examples=tuple(examples))
