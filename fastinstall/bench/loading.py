"""One way of loading images, running in a process of its own inside the target, and its rates with worker processes.

What kills the process is an answer. Two of them are compared in `comparison`.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.catalogue import all_adapters
from fastinstall.bench.report import CandidateOutcome, ImagePipeline, LoadingEngine, LoadingRate, WorkerStart
from fastinstall.core import process
from fastinstall.core.values import immutable
from fastinstall.model.machine import LoaderLimits

_PROGRAM = Path(__file__).with_name("_loading.py")
START_SECONDS = 60.0
"""Until a process is ready: torch takes some seconds on a cold disk."""


class NotLoadedError(Exception):
    """A way of loading ended or never began. A verdict about it, not a failure of ours.

    Attributes:
        outcome: what became of it.
        reason: in words.
    """

    def __init__(self, outcome: CandidateOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@immutable
class ImageStore:
    """Where images lie, when not in files of their own.

    Attributes:
        kind: as `_storage.py` knows it.
        path: file or directory.
    """

    kind: str
    path: Path


@immutable
class Job:
    """What a process loads, and how.

    Attributes:
        python: the target's interpreter.
        images: files, in the order of their indexes.
        adapter: its name.
        site: directories that go in front of the path: another PIL, packages that were brought.
        loader: FILE[:FUNCTION] of the user's own, path in, array, Pillow image or tensor out; empty for the adapter.
        store: where the images lie; None for the files.
        pipeline: what is done to every image.
        tensor: whether a tensor is made, where torch is there.
        variables: the whole environment of the process.
    """

    python: Path
    images: tuple[Path, ...]
    adapter: str = "pillow"
    site: tuple[Path, ...] = ()
    loader: str = ""
    store: ImageStore | None = None
    pipeline: ImagePipeline = ImagePipeline()
    tensor: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)


@immutable
class LoadingReady:
    """What a process says of itself when it is ready.

    Attributes:
        versions: of the packages that take part.
        numpy: whether numpy is there.
        torch: whether torch takes part.
        images: how many it has.
    """

    versions: dict[str, str]
    numpy: bool
    torch: bool
    images: int


@immutable
class LoadingMeasurement:
    """One measurement of one process.

    Attributes:
        ms: milliseconds an image: the mean over the images, each with the median of its passes.
        least_ms: the same, each with the shortest of its passes.
        stages: the same for each stage, in order; they add up to `ms`.
        images: how many were loaded.
        passes: how often each.
        peak_bytes: the most memory meanwhile; since the start where the kernel does not tell.
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
    """What came out for one image.

    Attributes:
        shape: height, width, channels; (length,) where there is no numpy.
        data: the bytes.
    """

    shape: tuple[int, ...]
    data: bytes


class LoadingProcess:
    """A process that loads images and answers."""

    def __init__(self, talk: process.Conversation, ready: LoadingReady) -> None:
        self._talk = talk
        self.ready = ready

    def measure(
        self, seconds: float, *, cold: bool = False, indexes: Sequence[int] = (), timeout: float = 120.0
    ) -> LoadingMeasurement:
        """Load images, as often as fits into `seconds`, at least once.

        Args:
            seconds: to spend.
            cold: drop the files from the page cache before each pass.
            indexes: of the images; empty for all.
            timeout: seconds before it counts as hung.

        Raises:
            NotLoadedError: it died, hung, or could load none.
        """
        answer = self.ask(
            {"do": "measure", "seconds": seconds, "cold": cold, "indexes": list(indexes) or None}, timeout
        )
        if not answer["images"]:
            example = next(iter(answer["failed"].values()), "no image")
            raise NotLoadedError(CandidateOutcome.FAILED, f"it could load none of the images: {example}")
        return LoadingMeasurement(**answer)

    def pictures(self, indexes: Sequence[int], timeout: float = 60.0) -> tuple[Picture, ...]:
        """What comes out for some images.

        Raises:
            NotLoadedError: it died, hung, or failed on one of them.
        """
        answer = self.ask({"do": "arrays", "indexes": list(indexes)}, timeout)
        return tuple(
            Picture(shape=tuple(each["shape"]), data=base64.b64decode(each["data"])) for each in answer["arrays"]
        )

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Ask for anything that `_loading.py` knows.

        Raises:
            NotLoadedError: it died, hung, or failed.
        """
        try:
            answer: dict[str, Any] = json.loads(self._talk.ask(json.dumps(request), timeout))
        except process.CommandError as error:
            raise explain_end(error) from error
        if "error" in answer:
            raise NotLoadedError(CandidateOutcome.FAILED, answer["error"])
        return answer


@contextmanager
def start_loading(job: Job, patience: float = START_SECONDS) -> Iterator[LoadingProcess]:
    """Start a process for a job; it is killed when the block ends.

    Args:
        job: what it loads.
        patience: seconds until it is ready.

    Raises:
        NotLoadedError: a package is missing, it does not suit this machine, or it died.
    """
    words = (job.python, "-I", "-B", _PROGRAM)
    variables = {**job.variables, "FASTINSTALL_GUARD": "0"}
    try:
        with process.conversation(words, environment=variables) as talk:
            answer = json.loads(talk.ask(json.dumps(_encode_job(job)), patience))
            yield LoadingProcess(talk, _parse_ready(answer))
    except process.CommandError as error:
        raise explain_end(error) from error


def _encode_job(job: Job) -> dict[str, Any]:
    pipeline = job.pipeline
    return {
        "site": [str(each) for each in job.site],
        "adapter": job.adapter,
        "file": _find_foreign_adapter_file(job.adapter),
        "loader": job.loader,
        "images": [str(each) for each in job.images],
        "store": {"kind": job.store.kind, "path": str(job.store.path)} if job.store else None,
        "wanted": {
            "shorter": pipeline.shorter,
            "crop": pipeline.crop,
            "filter": pipeline.filter,
            "tensor": job.tensor,
        },
    }


def _find_foreign_adapter_file(adapter: str) -> str:
    """The file of an adapter of another distribution, which the target does not have; empty for one of ours."""
    return next((str(each.file) for each in all_adapters() if each.distribution and each.name == adapter), "")


def _parse_ready(answer: dict[str, Any]) -> LoadingReady:
    if "missing" in answer:
        raise NotLoadedError(CandidateOutcome.MISSING, answer["missing"])
    if "unsuited" in answer:
        raise NotLoadedError(CandidateOutcome.UNSUITED, answer["unsuited"])
    if "error" in answer:
        raise NotLoadedError(CandidateOutcome.FAILED, answer["error"])
    return LoadingReady(**{name: answer[name] for name in ("versions", "numpy", "torch", "images")})


def explain_end(error: process.CommandError) -> NotLoadedError:
    """What the end of a process in the target says of it."""
    if error.timed_out:
        return NotLoadedError(CandidateOutcome.HUNG, error.message.rpartition(": ")[2])
    said = next((line for line in reversed(error.details) if line.strip()), "")
    name = error.completed.signal_name
    how = f"killed by {name}" if name else f"it ended with exit code {error.completed.exit_code}"
    return NotLoadedError(CandidateOutcome.CRASHED, f"{how}: {said.removeprefix('stderr: ')}" if said else how)


_ENGINES = {"own": LoadingEngine.OWN, "torch": LoadingEngine.TORCH}
_START = {WorkerStart.NONE: "none", WorkerStart.FORK: "fork", WorkerStart.SPAWN: "spawn"}
_LARGEST_BATCH = 32
_BATCHES = 8
"""Batches that one worker should give in the time that is counted."""


@immutable
class PoolRequest:
    """Workers to try.

    Attributes:
        workers: how many; 0 loads in the process itself.
        start: how they come to be.
        cold: whether the files are put out of the page cache first; then every image is loaded once.
    """

    workers: int
    start: WorkerStart = WorkerStart.FORK
    cold: bool = False


@immutable
class PoolWorkload:
    """What they load, and for how long.

    Attributes:
        seconds: that are counted, for each pool.
        ms: milliseconds an image takes in one process, by which the batches are made small enough; None if unknown.
        images: indexes of the images; empty for all.
        pinned: whether batches are copied to pinned memory, by torch, where there is a GPU.
        patience: seconds for a rate beside those that are counted: packages are imported, in every worker where it is
            spawned, and a round of batches may take as long as what is counted.
    """

    seconds: float = 2.0
    ms: float | None = None
    images: tuple[int, ...] = ()
    pinned: bool = False
    patience: float = 60.0


def measure_rates(
    loading: LoadingProcess,
    pools: Sequence[PoolRequest],
    load: PoolWorkload,
    remark: Callable[[str], None] | None = None,
) -> tuple[LoadingRate, ...]:
    """Measure each pool; one that cannot be had here is left out.

    Args:
        loading: whose images; the workers start from a process of their own, whatever it has loaded.
        pools: in the order of the answer.
        load: what they load.
        remark: is told why a pool was left out, in a sentence.
    """
    return tuple(_measure_rates(loading, pools, load, remark or _ignore_remark))


def choose_pool_requests(machine: LoaderLimits, *, quick: bool, workers: Sequence[int] = ()) -> tuple[PoolRequest, ...]:
    """Which workers to try on a machine.

    In short, none and one for each usable CPU. In full, 1, 2, 4, ... of them as well; the most of them spawned too,
    which differs in the time until they are ready and in memory; and the most of them once with a cold page cache.

    Args:
        machine: its usable CPUs bound the number.
        quick: whether to try few.
        workers: the numbers to try instead.
    """
    numbers = tuple(dict.fromkeys(workers)) or _choose_worker_counts(machine.usable_cpus, quick=quick)
    found = tuple(_make_pool_request(number) for number in numbers)
    most = max(numbers)
    if quick:
        return found
    spawned = (PoolRequest(workers=most, start=WorkerStart.SPAWN),) if most else ()
    return (*found, *spawned, _make_pool_request(most, cold=True))


def batch_size(load: PoolWorkload) -> int:
    """As many images as one worker loads in an eighth of the time, at most 32: several batches are counted."""
    if not load.ms:
        return _LARGEST_BATCH
    return max(1, min(_LARGEST_BATCH, int(1000 * load.seconds / load.ms / _BATCHES)))


def _choose_worker_counts(cpus: int, *, quick: bool) -> tuple[int, ...]:
    if quick:
        return (0, cpus)
    powers = [1 << exponent for exponent in range(cpus.bit_length()) if 1 << exponent < cpus]
    return (0, *powers, cpus)


def _make_pool_request(workers: int, *, cold: bool = False) -> PoolRequest:
    return PoolRequest(workers=workers, start=WorkerStart.FORK if workers else WorkerStart.NONE, cold=cold)


def _measure_rates(
    loading: LoadingProcess, pools: Sequence[PoolRequest], load: PoolWorkload, remark: Callable[[str], None]
) -> Iterator[LoadingRate]:
    for number, pool in enumerate(pools, 1):
        try:
            request = {**_encode_pool_request(pool, load), "last": number == len(pools)}
            answer = loading.ask(request, START_SECONDS + _compute_limit(load))
        except NotLoadedError as error:
            remark(f"{_format_pool_title(pool)}: not measured: {error.reason}")
            if error.outcome is not CandidateOutcome.FAILED:
                return  # there is nobody left to ask
            continue
        yield _decode_rate(pool, answer)


def _encode_pool_request(pool: PoolRequest, load: PoolWorkload) -> dict[str, Any]:
    return {
        "do": "pool",
        "workers": pool.workers,
        "start": _START[pool.start],
        "cold": pool.cold,
        "seconds": load.seconds,
        "batch": batch_size(load),
        "images": list(load.images),
        "pin_memory": load.pinned,
        "limit": _compute_limit(load),
    }


def _compute_limit(load: PoolWorkload) -> float:
    """Seconds until a rate is given up."""
    return load.patience + 4 * load.seconds


def _decode_rate(pool: PoolRequest, answer: dict[str, Any]) -> LoadingRate:
    return LoadingRate(
        workers=pool.workers,
        start=pool.start,
        engine=_ENGINES[answer["engine"]],
        cold=pool.cold,
        images_per_second=answer["images_per_second"],
        first_batch_seconds=answer["first_batch_seconds"],
        peak_bytes=answer["peak_bytes"],
    )


def _format_pool_title(pool: PoolRequest) -> str:
    count = f"{pool.workers} workers by {pool.start.value}" if pool.workers else "no workers"
    return f"{count}, cold" if pool.cold else count


def _ignore_remark(_sentence: str) -> None:
    """Nobody asked for remarks."""
