"""Measure loaders with worker processes and with threads, and choose which loaders to measure in this way."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fastinstall.bench import report
from fastinstall.bench.advice import describe_picture_difference
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.effort import BenchContext
from fastinstall.bench.loading import START_SECONDS, Job, LoadingProcess, NotLoadedError, start_loading
from fastinstall.core.events import Started
from fastinstall.model.machine import LoaderLimits

_LARGEST_BATCH = 32
_BATCHES = 8
"""Number of batches per worker that should fit into the measured time."""
_FORK_SECONDS = 0.2


def choose_counts(request: report.BenchRequest, machine: LoaderLimits) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of workers to try, and the numbers of threads: those that the user requested, or defaults.

    Default numbers of workers: 0 and the number of usable CPUs; in a full run, also 1, 2, 4, ... Default numbers of
    threads: 1 and the number of usable CPUs; in a quick run, no threads are tried.
    """
    cpus = machine.usable_cpus
    powers = [1 << exponent for exponent in range(cpus.bit_length()) if 1 << exponent < cpus and not request.quick]
    threads = () if request.quick else tuple(sorted({1, cpus}))
    return request.workers or (0, *powers, cpus), request.threads or threads


def choose_rated(context: BenchContext, candidates: Sequence[report.Candidate]) -> list[str]:
    """Return the names of candidates to measure with workers too.

    These are: 1. the candidates that the user named; 2. except in a quick run, the best few that keep the pictures, and
    those that load whole batches. If the user requested numbers of workers or threads, all candidates are measured.
    Candidates that use a store, or that failed on some images, are always left out.

    Args:
        context: the request and the effort.
        candidates: the measured candidates, the largest gain first.
    """
    request = context.request
    able = [
        each
        for each in candidates
        if each.gain and not each.left_out and each.storage == "files" and each.kind is not report.CandidateKind.CONTROL
    ]
    if request.workers or request.threads:
        return [each.name for each in able]
    chosen = set(request.candidates)
    if not request.quick:
        alike = [each.name for each in able if not describe_picture_difference(each)]
        chosen.update(alike[: context.effort.rated - 1])
        chosen.update(each.name for each in able if all_ways()[each.name].batched)
    return [each.name for each in able if each.name in chosen]


def estimate_rating_seconds(context: BenchContext, start_seconds: float, pass_seconds: float) -> float:
    """Estimate the seconds to measure one loader.

    Args:
        context: the request, the machine and the effort.
        start_seconds: time that the loader takes to start.
        pass_seconds: time that the loader takes to load all images once.
    """
    numbers = sum(len(each) for each in choose_counts(context.request, context.machine))
    return 2 * start_seconds + numbers * (context.effort.rate_seconds + _FORK_SECONDS + pass_seconds)


def rate_candidate(
    context: BenchContext, job: Job, candidate: report.Candidate, indexes: Sequence[int], patience: float
) -> report.Candidate:
    """Measure a candidate with workers and threads; return it with its rates, or unchanged if it fails.

    This is done after the comparison, because the processes take memory, and may hang.

    Args:
        context: the request, the machine and the effort.
        job: the job of the candidate.
        candidate: the candidate, with its rate in one process.
        indexes: indexes of the images to load.
        patience: seconds that a process may take to start.
    """
    context.session.emit(Started(stage="workers", message=f"{candidate.title}, with workers"))
    seconds, ms = context.effort.rate_seconds, 1000 / candidate.images_per_second
    batch = max(1, min(_LARGEST_BATCH, int(1000 * seconds / ms / _BATCHES)))
    workers, threads = choose_counts(context.request, context.machine)
    given: dict[str, Any] = {"seconds": seconds, "batch": batch, "images": list(indexes)}
    try:
        with start_loading(job, patience) as process:
            rates = measure_rates(process, workers, context.remark, threads=False, **given)
            thread_rates = measure_rates(process, threads, context.remark, threads=True, **given)
    except NotLoadedError as error:
        context.remark(f"{candidate.title}: not measured with workers: {error.reason}")
        return candidate
    return replace(candidate, rates=rates, thread_rates=thread_rates)


def measure_rates(
    loading: LoadingProcess,
    counts: Sequence[int],
    remark: Callable[[str], None],
    *,
    patience: float = 60.0,
    **request: Any,  # noqa: ANN401 (arguments of another function)
) -> tuple[report.LoadingRate, ...]:
    """Measure the rate with each number of workers or threads; numbers that fail are left out.

    Args:
        loading: a process that has started its job, and that loads no image itself.
        counts: numbers of workers or threads, in the order of the result; 0 stands for one process without workers.
        remark: receives a sentence about each number that was left out.
        patience: extra seconds for each number: every worker imports packages, and a round of batches may take as long
            as the measured time.
        request: the other arguments of `count` in `_pool.py`.
    """
    limit = patience + 4 * request["seconds"]
    rates = []
    for workers in counts:
        try:
            answer = loading.ask("_pool.rate", START_SECONDS + limit, limit=limit, workers=workers, **request)
        except NotLoadedError as error:
            remark(f"{workers or 'no'} {'threads' if request['threads'] else 'workers'}: not measured: {error.reason}")
            if error.outcome is not report.CandidateOutcome.FAILED:
                break  # the process has died or was killed
        else:
            engine = report.LoadingEngine[answer.pop("engine").upper()]
            rates.append(report.LoadingRate(workers=workers, engine=engine, **answer))
    return tuple(rates)
