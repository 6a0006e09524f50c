"""Start a process in the target that loads images, judges them, and makes photos and stores on request.

The death of the process is a result. `comparison` compares two of them. `_loading.py` describes the requests.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core import process
from fastinstall.core.codec import encode
from fastinstall.core.values import immutable

_PROGRAM = Path(__file__).with_name("_loading.py")
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
        ending: how the process ended: "SIGSEGV", "exit code 3"; empty if it lives.
    """

    def __init__(self, outcome: CandidateOutcome, reason: str, ending: str = "") -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.ending = ending


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
        store: kind and path of the store that holds the images; None for the files.
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
    store: tuple[str, Path] | None = None
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
    """A process that answers; `versions` are those of its packages, once a job has started."""

    def __init__(self, talk: process.Conversation) -> None:
        self._talk = talk
        self.versions: dict[str, str] = {}

    def ask(self, function: str, timeout: float, **arguments: object) -> Any:  # noqa: ANN401 (whatever it returns)
        """Call a function in the process ("_timing.measure") and return its result.

        Raises:
            NotLoadedError: the process died, hung, failed or refused.
        """
        request = {"do": function, "arguments": arguments}
        try:
            answer = json.loads(self._talk.ask(json.dumps(request), timeout))
        except process.CommandError as error:
            raise _explain_end(error) from error
        for key, outcome in _REFUSALS.items():
            if key in answer:
                raise NotLoadedError(outcome, answer[key])
        return answer["answer"]

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
        chosen = list(indexes) or None
        answer = self.ask("_timing.measure", timeout, seconds=seconds, cold=cold, indexes=chosen, group=group)
        if not answer["images"]:
            example = next(iter(answer["failed"].values()), "no image")
            raise NotLoadedError(CandidateOutcome.FAILED, f"it could not load any image: {example}")
        return LoadingMeasurement(**answer)

    def pictures(self, indexes: Sequence[int], timeout: float = 60.0) -> tuple[Picture, ...]:
        """Return the results for some images.

        Raises:
            NotLoadedError: it died, hung, or failed on one of them.
        """
        arrays = self.ask("_loading.arrays", timeout, indexes=list(indexes))
        return tuple(Picture(shape=tuple(each["shape"]), data=base64.b64decode(each["data"])) for each in arrays)


@contextmanager
def start_target(python: Path, variables: Mapping[str, str], site: Sequence[Path] = ()) -> Iterator[LoadingProcess]:
    """Start a process of the target that answers requests; it is killed when the block ends.

    Args:
        python: path of the target's interpreter.
        variables: the complete environment of the process.
        site: directories for the front of the path: another PIL, fetched packages.

    Raises:
        NotLoadedError: it cannot be started.
    """
    environment = {**variables, "FASTINSTALL_GUARD": "0"}
    try:
        with process.conversation((python, "-I", "-B", _PROGRAM, *site), environment=environment) as talk:
            yield LoadingProcess(talk)
    except process.CommandError as error:
        raise _explain_end(error) from error


@contextmanager
def start_loading(job: Job, patience: float = START_SECONDS) -> Iterator[LoadingProcess]:
    """Start a process for a job; it is killed when the block ends.

    Args:
        job: interpreter, decoder and images.
        patience: seconds to get ready.

    Raises:
        NotLoadedError: a package is missing, it does not run on this machine, or it died.
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


def _explain_end(error: process.CommandError) -> NotLoadedError:
    if error.timed_out:
        return NotLoadedError(CandidateOutcome.HUNG, error.message.rpartition(": ")[2])
    said = next((line for line in reversed(error.details) if line.strip()), "").removeprefix("stderr: ")
    ending = error.completed.signal_name or f"exit code {error.completed.exit_code}"
    how = f"killed by {ending}" if error.completed.signal_name else f"it ended with {ending}"
    return NotLoadedError(CandidateOutcome.CRASHED, f"{how}: {said}" if said else how, ending)
