"""One way of loading images, running in a process of its own inside the target; what kills it is an answer."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.adapting import all_adapters
from fastinstall.model.images import Pipeline
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import Outcome
from fastinstall.system import process

_PROGRAM = Path(__file__).with_name("_loading.py")
START_SECONDS = 60.0
"""Until a process is ready: torch takes some seconds on a cold disk."""


class NotLoadedError(Exception):
    """A way of loading ended or never began. A verdict about it, not a failure of ours.

    Attributes:
        outcome: what became of it.
        reason: in words.
    """

    def __init__(self, outcome: Outcome, reason: str) -> None:
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
    pipeline: Pipeline = Pipeline()
    tensor: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)


@immutable
class Ready:
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
class Measured:
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


class Loading:
    """A process that loads images and answers."""

    def __init__(self, talk: process.Conversation, ready: Ready) -> None:
        self._talk = talk
        self.ready = ready

    def measure(
        self, seconds: float, *, cold: bool = False, indexes: Sequence[int] = (), timeout: float = 120.0
    ) -> Measured:
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
            raise NotLoadedError(Outcome.FAILED, f"it could load none of the images: {example}")
        return Measured(**answer)

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
            raise NotLoadedError(Outcome.FAILED, answer["error"])
        return answer


@contextmanager
def start_loading(job: Job, patience: float = START_SECONDS) -> Iterator[Loading]:
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
            answer = json.loads(talk.ask(json.dumps(_job(job)), patience))
            yield Loading(talk, _ready(answer))
    except process.CommandError as error:
        raise explain_end(error) from error


def _job(job: Job) -> dict[str, Any]:
    pipeline = job.pipeline
    return {
        "site": [str(each) for each in job.site],
        "adapter": job.adapter,
        "file": _foreign_file(job.adapter),
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


def _foreign_file(adapter: str) -> str:
    """The file of an adapter of another distribution, which the target does not have; empty for one of ours."""
    return next((str(each.file) for each in all_adapters() if each.distribution and each.name == adapter), "")


def _ready(answer: dict[str, Any]) -> Ready:
    if "missing" in answer:
        raise NotLoadedError(Outcome.MISSING, answer["missing"])
    if "unsuited" in answer:
        raise NotLoadedError(Outcome.UNSUITED, answer["unsuited"])
    if "error" in answer:
        raise NotLoadedError(Outcome.FAILED, answer["error"])
    return Ready(**{name: answer[name] for name in ("versions", "numpy", "torch", "images")})


def explain_end(error: process.CommandError) -> NotLoadedError:
    """What the end of a process in the target says of it."""
    if error.timed_out:
        return NotLoadedError(Outcome.HUNG, error.message.rpartition(": ")[2])
    said = next((line for line in reversed(error.details) if line.strip()), "")
    name = error.completed.signal_name
    how = f"killed by {name}" if name else f"it ended with exit code {error.completed.exit_code}"
    return NotLoadedError(Outcome.CRASHED, f"{how}: {said.removeprefix('stderr: ')}" if said else how)
