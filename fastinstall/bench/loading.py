"""One way of loading images, in its own process inside the target, and its rates with worker processes or threads.

The death of the process is a result. `comparison` compares two of them.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.report import CandidateOutcome, ImagePipeline, LoadingEngine, LoadingRate
from fastinstall.core import process
from fastinstall.core.codec import encode
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

_PROGRAM = Path(__file__).with_name("_loading.py")
_POOL_PROGRAM = Path(__file__).with_name("_pool_main.py")
START_SECONDS = 60.0
"""Time for a process to get ready: torch takes seconds on a cold disk."""


_REFUSALS = {
    "missing": CandidateOutcome.MISSING,
    "unsuited": CandidateOutcome.UNSUITED,
    "error": CandidateOutcome.FAILED,
}


class NotLoadedError(Exception):
    """A way of loading ended or never started. It is a verdict, not a failure of ours.

    Attributes:
        outcome: what kind of end it was.
        reason: why nothing was loaded, in words.
    """

    def __init__(self, outcome: CandidateOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@immutable
class ImageStore:
    """Where images are stored, if not in separate files.

    Attributes:
        kind: a kind of `_storage.py`.
        path: the file or the directory that the store is.
    """

    kind: str
    path: Path


@immutable
class Job:
    """What a process loads, and how.

    Attributes:
        python: path of the target's interpreter, which loads.
        images: files, in the order of their indexes.
        formats: of each, by Pillow's names, if they affect the candidates.
        adapter: name of the decoder, as in `adapters/`.
        site: directories for the front of the path: another PIL, fetched packages.
        loader: FILE:FUNCTION of the user, from path to array, Pillow image or tensor; empty for the adapter.
        store: where the images are stored; None for the files.
        pipeline: what is done to every image.
        tensor: whether to make a tensor, if torch is installed.
        variables: the complete environment of the process.
    """

    python: Path
    images: tuple[Path, ...]
    formats: tuple[str, ...] = ()
    adapter: str = "pillow"
    site: tuple[Path, ...] = ()
    loader: str = ""
    store: ImageStore | None = None
    pipeline: ImagePipeline = ImagePipeline()
    tensor: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)


@immutable
class LoadingMeasurement:
    """One measurement of one process.

    Attributes:
        ms: milliseconds per image: the mean over the images, each with its median pass.
        least_ms: the same, each with its shortest pass (per group, their mean).
        stages: the same for each stage, in order; they add up to `ms`.
        images: how many were loaded.
        passes: how often each was loaded.
        peak_bytes: the peak memory; since the start if the kernel cannot reset it.
        failed: indexes of images that could not be loaded, and why.
        was_cold: whether the files were out of the page cache, or None if not requested.
    """

    ms: float
    least_ms: float
    stages: dict[str, float]
    images: int
    passes: int
    peak_bytes: int
    failed: dict[str, str]
    was_cold: bool | None = None


@immutable
class Picture:
    """The result for one image.

    Attributes:
        shape: height, width, channels; (length,) without numpy.
        data: samples, row by row, channels interleaved.
    """

    shape: tuple[int, ...]
    data: bytes


class LoadingProcess:
    """A process that loads images and answers; `versions` are those of its packages."""

    def __init__(self, talk: process.Conversation, versions: dict[str, str]) -> None:
        self._talk = talk
        self.versions = versions

    def measure(
        self, seconds: float, *, cold: bool = False, indexes: Sequence[int] = (), timeout: float = 120.0, group: int = 0
    ) -> LoadingMeasurement:
        """Load images, as often as fits into `seconds`, at least once.

        Args:
            seconds: how long to repeat, at least one pass.
            cold: drop the files from the page cache before each pass.
            indexes: of the images; empty for all.
            timeout: seconds before it counts as hung.
            group: passes of which the shortest counts; 0 for all of them.

        Raises:
            NotLoadedError: it died, hung, or could load none.
        """
        request = {"do": "measure", "seconds": seconds, "cold": cold, "indexes": list(indexes) or None, "group": group}
        answer = self.ask(request, timeout)
        if not answer["images"]:
            example = next(iter(answer["failed"].values()), "no image")
            raise NotLoadedError(CandidateOutcome.FAILED, f"it could not load any image: {example}")
        return LoadingMeasurement(**answer)

    def pictures(self, indexes: Sequence[int], timeout: float = 60.0) -> tuple[Picture, ...]:
        """Return the results for some images.

        Raises:
            NotLoadedError: it died, hung, or failed on one of them.
        """
        answer = self.ask({"do": "arrays", "indexes": list(indexes)}, timeout)
        return tuple(
            Picture(shape=tuple(each["shape"]), data=base64.b64decode(each["data"])) for each in answer["arrays"]
        )

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send a request of `_loading.py` or `_pool_main.py`.

        Raises:
            NotLoadedError: it died, hung, or failed.
        """
        try:
            answer: dict[str, Any] = json.loads(self._talk.ask(json.dumps(request), timeout))
        except process.CommandError as error:
            raise explain_end(error) from error
        refuse(answer)
        return answer


@contextmanager
def start_loading(job: Job, patience: float = START_SECONDS, *, with_workers: bool = False) -> Iterator[LoadingProcess]:
    """Start a process for a job; it is killed when the block ends.

    Args:
        job: interpreter, decoder and images.
        patience: seconds to get ready.
        with_workers: whether it only measures rates: then it never loads an image itself.

    Raises:
        NotLoadedError: a package is missing, it does not run on this machine, or it died.
    """
    request = {
        "site": [str(each) for each in job.site],
        "adapter": job.adapter,
        "loader": job.loader,
        "images": [str(each) for each in job.images],
        "store": encode(job.store),
        "wanted": {**encode(job.pipeline), "tensor": job.tensor},
    }
    try:
        with converse(_POOL_PROGRAM if with_workers else _PROGRAM, job.python, job.variables) as talk:
            answer = json.loads(talk.ask(json.dumps(request), patience))
            refuse(answer)
            yield LoadingProcess(talk, answer["versions"])
    except process.CommandError as error:
        raise explain_end(error) from error


def converse(
    program: Path, python: Path, variables: Mapping[str, str], *words: str | Path
) -> AbstractContextManager[process.Conversation]:
    """Start one of our programs inside the target, to talk to it."""
    environment = {**variables, "FASTINSTALL_GUARD": "0"}
    return process.conversation((python, "-I", "-B", program, *words), environment=environment)


def run_program(
    argv: Sequence[str | Path], variables: Mapping[str, str], timeout: float, stdin: str = ""
) -> dict[str, Any]:
    """Return the answer of one of our programs inside the target: its last line.

    Args:
        argv: the target's interpreter, the program and its arguments.
        variables: the complete environment of the process.
        timeout: seconds after which it is ended.
        stdin: text that it gets on its standard input.

    Raises:
        NotLoadedError: it died, hung, or reports a problem.
    """
    python, *words = argv
    environment = {**variables, "FASTINSTALL_GUARD": "0"}
    try:
        done = process.run((python, "-I", "-B", *words), environment=environment, stdin=stdin, timeout=timeout)
    except process.CommandError as error:
        raise explain_end(error) from error
    answer: dict[str, Any] = json_data(done.stdout.strip().rpartition("\n")[2])
    refuse(answer)
    return answer


def refuse(answer: Mapping[str, Any]) -> None:
    """Raise if one of our programs reports that it cannot continue.

    Raises:
        NotLoadedError: it reports so.
    """
    for key, outcome in _REFUSALS.items():
        if key in answer:
            raise NotLoadedError(outcome, answer[key])


def explain_end(error: process.CommandError) -> NotLoadedError:
    """Explain the end of a process in the target."""
    if error.timed_out:
        return NotLoadedError(CandidateOutcome.HUNG, error.message.rpartition(": ")[2])
    said = next((line for line in reversed(error.details) if line.strip()), "")
    name = error.completed.signal_name
    how = f"killed by {name}" if name else f"it ended with exit code {error.completed.exit_code}"
    return NotLoadedError(CandidateOutcome.CRASHED, f"{how}: {said.removeprefix('stderr: ')}" if said else how)


_LARGEST_BATCH = 32
_BATCHES = 8
"""Batches per worker in the counted time."""


@immutable
class PoolWorkload:
    """What they load, and for how long.

    Attributes:
        seconds: to count, for each pool.
        ms: milliseconds per image in one process, to choose small enough batches; None if unknown.
        images: indexes of the images; empty for all.
        patience: extra seconds for a rate: every worker imports packages, and a round of batches may take as
            long as the counted time.
    """

    seconds: float = 2.0
    ms: float | None = None
    images: tuple[int, ...] = ()
    patience: float = 60.0


def measure_rates(
    loading: LoadingProcess,
    counts: Sequence[int],
    load: PoolWorkload,
    remark: Callable[[str], None] | None = None,
    *,
    in_threads: bool = False,
) -> tuple[LoadingRate, ...]:
    """Measure with each number of workers or threads; those that fail are left out.

    Args:
        loading: has the images; started `with_workers`.
        counts: numbers of workers, in the order of the answer; 0 loads in the process itself.
        load: images that the workers load, and for how long.
        remark: receives a sentence about each number that was left out.
        in_threads: whether they are threads of one process, which end in arrays.
    """
    found = []
    for workers in counts:
        try:
            found.append(_measure_rate(loading, workers, load, in_threads=in_threads))
        except NotLoadedError as error:
            if remark is not None:
                remark(f"{workers or 'no'} {'threads' if in_threads else 'workers'}: not measured: {error.reason}")
            if error.outcome is not CandidateOutcome.FAILED:
                break  # the process is gone
    return tuple(found)


def choose_worker_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of workers to try on a machine.

    A quick run tries none, and one per usable CPU. A full run also tries 1, 2, 4, ... workers.

    Args:
        machine: its usable CPUs bound the number.
        quick: whether to try few.
    """
    cpus = machine.usable_cpus
    powers = () if quick else (1 << exponent for exponent in range(cpus.bit_length()))
    return (0, *(each for each in powers if each < cpus), cpus)


def choose_thread_counts(machine: LoaderLimits, *, quick: bool) -> tuple[int, ...]:
    """Choose the numbers of threads of one process to try: one, and one per usable CPU; a quick run tries none."""
    return () if quick else tuple(sorted({1, machine.usable_cpus}))


def batch_size(load: PoolWorkload) -> int:
    """Return how many images one worker loads in an eighth of the time, at most 32, to count several batches."""
    if not load.ms:
        return _LARGEST_BATCH
    return max(1, min(_LARGEST_BATCH, int(1000 * load.seconds / load.ms / _BATCHES)))


def _measure_rate(loading: LoadingProcess, workers: int, load: PoolWorkload, *, in_threads: bool) -> LoadingRate:
    limit = load.patience + 4 * load.seconds
    request = {
        "do": "pool",
        "workers": workers,
        "threads": in_threads,
        "seconds": load.seconds,
        "batch": batch_size(load),
        "images": list(load.images),
        "limit": limit,
    }
    answer = loading.ask(request, START_SECONDS + limit)
    return LoadingRate(
        workers=workers,
        engine=LoadingEngine[answer["engine"].upper()],
        images_per_second=answer["images_per_second"],
        first_batch_seconds=answer["first_batch_seconds"],
        peak_bytes=answer["peak_bytes"],
    )
