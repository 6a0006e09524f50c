"""Start a process in the target that loads or examines images, generates photos, or writes stores, on request.

The death of the process is a result of the measurement. `comparison` runs two such processes in turn. The process runs
`_loading.py`, whose docstring describes the requests.
"""

import base64
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core import files, process
from fastinstall.core.codec import encode
from fastinstall.core.events import Emit, Noted
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable

_PROGRAM = Path(__file__).with_name("_loading.py")
START_SECONDS = 60.0
"""Seconds that a process may take to start: importing torch takes long from a cold disk."""
_STORE_SECONDS = 120.0
_STORE_BYTES = 1 << 30
_STORE_PART = 10
"""A store takes at most `_STORE_BYTES`, and at most this fraction (1/10) of the free space."""


class NotLoadedError(Exception):
    """A loader could not start, failed, died or hung: a result of the measurement, not a fault of fastinstall.

    Attributes:
        outcome: the outcome of the candidate.
        reason: why nothing was loaded, in words.
        ending: how the process ended: "SIGSEGV", "exit code 3"; empty if it is still running.
    """

    def __init__(self, outcome: CandidateOutcome, reason: str, ending: str = "") -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.ending = ending


@immutable
class Job:
    """The images that a process loads, and the way to load them.

    Attributes:
        python: path of the target's interpreter, which runs the process.
        images: paths of the images; their positions are their indexes.
        formats: format of each image, by Pillow's names; empty if no candidate depends on formats.
        adapter: name of the adapter, a file in `adapters/`.
        site: directories for the front of `sys.path`, with another PIL or fetched packages.
        loader: the user's FILE:FUNCTION, which takes a path and returns an array, a Pillow image or a tensor; empty to
            use the adapter.
        store: kind and path of the store that holds the images; None if they are separate files.
        pipeline: resize and crop of every image.
        tensor: whether to convert results to tensors, if torch is installed.
        variables: the complete environment of the process.
    """

    python: Path
    images: tuple[Path, ...]
    formats: tuple[str, ...] = ()
    adapter: str = "pillow"
    site: tuple[Path, ...] = ()
    loader: str = ""
    store: tuple[str, Path] | None = None
    pipeline: ImagePipeline = ImagePipeline()
    tensor: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)


@immutable
class LoadingMeasurement:
    """One measurement of one process.

    Attributes:
        ms: milliseconds per image: each image's median pass, averaged over the images.
        least_ms: milliseconds per image: the shortest pass of each group of passes, averaged over groups and images.
        stages: milliseconds per image of each stage, in order of loading; they add up to `ms`.
        images: number of images that were loaded.
        passes: number of times that each image was loaded.
        peak_bytes: peak memory of the measurement, or of the process so far if the kernel cannot reset the peak.
        failed: error texts of images that could not be loaded, by index.
        was_cold: whether the files had left the page cache; None if that was not requested.
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
    """The result of loading one image.

    Attributes:
        shape: height, width and channels; (length of `data`,) without numpy, or if the result is not a picture.
        data: samples, row by row, channels interleaved.
    """

    shape: tuple[int, ...]
    data: bytes


class LoadingProcess:
    """A running process that answers requests.

    Once a job has started, `versions` has the versions of the packages that the process uses.
    """

    def __init__(self, talk: process.Conversation) -> None:
        self._talk = talk
        self.versions: dict[str, str] = {}

    def ask(self, function: str, timeout: float, **arguments: object) -> Any:  # noqa: ANN401 (any function's result)
        """Call a function in the process ("_timing.measure") and return its result.

        Raises:
            NotLoadedError: the process died or hung, or the function failed.
        """
        request = {"do": function, "arguments": arguments}
        try:
            answer = json.loads(self._talk.ask(json.dumps(request), timeout))
        except process.CommandError as error:
            raise _explain_end(error) from error
        if "refused" in answer:
            outcome, reason = answer["refused"]
            raise NotLoadedError(CandidateOutcome(outcome), reason)
        return answer["answer"]

    def measure(
        self, seconds: float, *, cold: bool = False, indexes: Sequence[int] = (), timeout: float = 120.0, group: int = 0
    ) -> LoadingMeasurement:
        """Load images repeatedly for some seconds, at least once, and return the times.

        Args:
            seconds: how long to repeat; at least one pass is made.
            cold: whether to drop the files from the page cache before each pass.
            indexes: indexes of the images to load; empty for all.
            timeout: seconds after which the process counts as hung.
            group: number of passes per group; the shortest pass of each group counts for `least_ms`. 0 for one group.

        Raises:
            NotLoadedError: the process died or hung, or could load no image.
        """
        chosen = list(indexes) or None
        answer = self.ask("_timing.measure", timeout, seconds=seconds, cold=cold, indexes=chosen, group=group)
        if not answer["images"]:
            example = next(iter(answer["failed"].values()), "no image")
            raise NotLoadedError(CandidateOutcome.FAILED, f"it could not load any image: {example}")
        return LoadingMeasurement(**answer)

    def pictures(self, indexes: Sequence[int], timeout: float = 60.0) -> tuple[Picture, ...]:
        """Load some images, and return the results.

        Raises:
            NotLoadedError: the process died or hung, or could not load one of the images.
        """
        arrays = self.ask("_loading.arrays", timeout, indexes=list(indexes))
        return tuple(Picture(shape=tuple(each["shape"]), data=base64.b64decode(each["data"])) for each in arrays)


@contextmanager
def start_target(python: Path, variables: Mapping[str, str], site: Sequence[Path] = ()) -> Iterator[LoadingProcess]:
    """Start a process of the target that answers requests; kill it when the `with` block ends.

    Args:
        python: path of the target's interpreter.
        variables: the complete environment of the process.
        site: directories for the front of `sys.path`: another PIL, fetched packages.

    Raises:
        NotLoadedError: the process cannot be started.
    """
    environment = {**variables, "FASTINSTALL_GUARD": "0"}
    try:
        with process.conversation((python, "-I", "-B", _PROGRAM, *site), environment=environment) as talk:
            yield LoadingProcess(talk)
    except process.CommandError as error:
        raise _explain_end(error) from error


@contextmanager
def start_loading(job: Job, patience: float = START_SECONDS) -> Iterator[LoadingProcess]:
    """Start a process for a job; kill it when the `with` block ends.

    Args:
        job: interpreter, decoder and images.
        patience: seconds that the process may take to start.

    Raises:
        NotLoadedError: a package is missing, the decoder does not run on this machine, or the process died.
    """
    request = {
        "adapter": job.adapter,
        "loader": job.loader,
        "images": [str(each) for each in job.images],
        "store": job.store and [job.store[0], str(job.store[1])],
        "wanted": {**encode(job.pipeline), "tensor": job.tensor},
    }
    with start_target(job.python, job.variables, job.site) as loading:
        loading.versions = loading.ask("_loading.start", patience, job=request)
        yield loading


@contextmanager
def temporary_store(kind: str, title: str, job: Job, space: Path, emit: Emit) -> Iterator[tuple[Job, list[int], int]]:
    """Write as many images into a store as its size limit allows; remove the store when the `with` block ends.

    Args:
        kind: name of the store: a file in `_stores/`.
        title: name of the store, for people.
        job: the images, and the interpreter, packages and pipeline that write the store.
        space: a directory, in which the store gets its own directory.
        emit: receives an event about the store's maximum size and its directory.

    Yields:
        The job that loads from the store, the indexes of the images in the store, and its size in bytes.

    Raises:
        NotLoadedError: the store cannot be written or contains no image, or a package is missing.
    """
    out = space / f"store-{kind}"
    try:
        limit = min(_STORE_BYTES, shutil.disk_usage(space).free // _STORE_PART)
        out.mkdir()
    except OSError as error:
        raise NotLoadedError(CandidateOutcome.FAILED, f"cannot write the store: {error}") from error
    emit(Noted(message=f"{title}: at most {format_bytes(limit)} in {space}, removed after measuring"))
    images, wanted = [str(each) for each in job.images], encode(job.pipeline)
    request = {"kind": kind, "images": images, "out": str(out), "limit_bytes": limit, "wanted": wanted}
    try:
        with start_target(job.python, job.variables, job.site) as target:
            store = target.ask("_storage.make", _STORE_SECONDS, **request)
        if not store["held"]:
            problem = f"it could not store any image: {store['skipped'][0]}"
            raise NotLoadedError(CandidateOutcome.FAILED, problem)
        yield replace(job, store=(kind, out)), store["held"], store["bytes"]
    finally:
        files.discard(out)


def _explain_end(error: process.CommandError) -> NotLoadedError:
    if error.timed_out:
        return NotLoadedError(CandidateOutcome.HUNG, error.message.rpartition(": ")[2])
    said = next((line for line in reversed(error.details) if line.strip()), "").removeprefix("stderr: ")
    ending = error.completed.signal_name or f"exit code {error.completed.exit_code}"
    how = f"killed by {ending}" if error.completed.signal_name else f"it ended with {ending}"
    return NotLoadedError(CandidateOutcome.CRASHED, f"{how}: {said}" if said else how, ending)
