"""Measure loaders with worker processes and with threads: how many, for how long, and which loaders."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from fastinstall.bench.advice import describe_picture_difference
from fastinstall.bench.catalogue import way_named
from fastinstall.bench.effort import BenchContext
from fastinstall.bench.loading import START_SECONDS, Job, LoadingProcess, NotLoadedError, start_loading
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome, LoadingEngine, LoadingRate
from fastinstall.core.events import Started
from fastinstall.model.machine import LoaderLimits

_LARGEST_BATCH = 32
_BATCHES = 8
"""Batches per worker in the counted time."""
_FORK_SECONDS = 0.2


def choose_worker_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of workers to try: none, and one per usable CPU; a full run also tries 1, 2, 4, ..."""
    cpus = machine.usable_cpus
    powers = () if quick else (1 << exponent for exponent in range(cpus.bit_length()))
    return (0, *(each for each in powers if each < cpus), cpus)


def choose_thread_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of threads of one process to try: one, and one per usable CPU; a quick run tries none."""
    return () if quick else tuple(sorted({1, machine.usable_cpus}))


def choose_rated(context: BenchContext, candidates: Sequence[Candidate]) -> list[str]:
    """Return the names to measure with workers too: the best few, the named ones, and those with batches.

    Candidates that loaded fewer images than the baseline are left out: their rates would not be comparable.

    Args:
        context: what was asked for, and the effort.
        candidates: as measured, the largest gain first.
    """
    request = context.request
    able = [
        each
        for each in candidates
        if each.gain and not each.left_out and each.storage == "files" and each.kind is not CandidateKind.CONTROL
    ]
    if request.workers or request.threads:
        return [each.name for each in able]
    chosen = set(request.candidates)
    if not request.quick:
        alike = [each.name for each in able if not describe_picture_difference(each)]
        chosen.update(alike[: context.effort.rated - 1])
        chosen.update(each.name for each in able if (way := way_named(each.name)) and way.batched)
    return [each.name for each in able if each.name in chosen]


class Rater:
    """Measures loaders with workers and threads, in processes after the comparison: they take memory, and may hang."""

    def __init__(self, context: BenchContext, indexes: Sequence[int], patience: float) -> None:
        """Choose the numbers of workers and threads.

        Args:
            context: what was asked for, the machine and the effort.
            indexes: of the images to load.
            patience: seconds for a process to get ready.
        """
        self.context, self.indexes, self.patience = context, indexes, patience
        request, machine = context.request, context.machine
        self.workers = request.workers or choose_worker_counts(machine, quick=request.quick)
        self.threads = request.threads or choose_thread_counts(machine, quick=request.quick)

    def estimate_seconds(self, start_seconds: float, pass_seconds: float) -> float:
        """Estimate the time to measure one loader, which takes so long to start, and for all images once."""
        each = self.context.effort.rate_seconds + _FORK_SECONDS + pass_seconds
        return 2 * start_seconds + (len(self.workers) + len(self.threads)) * each

    def measure(self, job: Job, candidate: Candidate) -> Candidate:
        """Return a measured candidate with its rates."""
        self.context.session.emit(Started(stage="workers", message=f"{candidate.title}, with workers"))
        measured = partial(
            measure_rates,
            seconds=self.context.effort.rate_seconds,
            remark=self.context.remark,
            ms=1000 / candidate.images_per_second,
            images=self.indexes,
        )
        try:
            with start_loading(job, self.patience) as process:
                rates, by_threads = measured(process, self.workers), measured(process, self.threads, in_threads=True)
                return replace(candidate, rates=rates, thread_rates=by_threads)
        except NotLoadedError as error:
            self.context.remark(f"{candidate.title}: not measured with workers: {error.reason}")
            return candidate


def measure_rates(  # noqa: PLR0913 (what is loaded, by how many, and for how long)
    loading: LoadingProcess,
    counts: Sequence[int],
    seconds: float,
    remark: Callable[[str], None],
    *,
    in_threads: bool = False,
    ms: float | None = None,
    images: Sequence[int] = (),
    patience: float = 60.0,
) -> tuple[LoadingRate, ...]:
    """Measure with each number of workers or threads; those that fail are left out.

    Args:
        loading: a process that has started, and never loads an image itself.
        counts: numbers of workers, in the order of the answer; 0 loads in the process itself.
        seconds: to count, for each number.
        remark: receives a sentence about each number that was left out.
        in_threads: whether they are threads of one process, which end in arrays.
        ms: milliseconds per image in one process, to choose small enough batches; None if unknown.
        images: indexes of the images; empty for all.
        patience: extra seconds for a rate: every worker imports packages, and a round of batches may take as
            long as the counted time.
    """
    batch = max(1, min(_LARGEST_BATCH, int(1000 * seconds / ms / _BATCHES))) if ms else _LARGEST_BATCH
    request = {"threads": in_threads, "seconds": seconds, "batch": batch, "images": list(images)}
    limit = patience + 4 * seconds
    rates = []
    for workers in counts:
        try:
            answer = loading.ask("_pool.rate", START_SECONDS + limit, limit=limit, workers=workers, **request)
        except NotLoadedError as error:
            remark(f"{workers or 'no'} {'threads' if in_threads else 'workers'}: not measured: {error.reason}")
            if error.outcome is not CandidateOutcome.FAILED:
                break  # the process is gone
            continue
        rate = {key: answer[key] for key in ("images_per_second", "first_batch_seconds", "peak_bytes")}
        rates.append(LoadingRate(workers=workers, engine=LoadingEngine[answer["engine"].upper()], **rate))
    return tuple(rates)
