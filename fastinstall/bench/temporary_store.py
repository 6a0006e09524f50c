"""Makes a temporary store of the images that are measured: bounded, told before, and gone when it was measured."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from fastinstall.bench.catalogue import SizedImage, StoreKind
from fastinstall.bench.loading import ImageStore, NotLoadedError, explain_end
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core import files, process
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.model.history import format_bytes

MOST_BYTES = 1 << 30
PART_OF_FREE = 10
_BASE = 1 << 16
"""What an empty store takes."""
_OVERHEAD = 3 * 4096
"""What is around an image: parts of pages (LMDB), a header and padding (tar), its entry in an index."""


@immutable
class StoreBounds:
    """What a store may take.

    Attributes:
        most_bytes: of one store; they are made one at a time.
        free_bytes: that are free on its disk.
    """

    most_bytes: int
    free_bytes: int = 0


@immutable
class Estimate:
    """What a store would come to, before it is made.

    Attributes:
        indexes: of the images that have room, spread evenly where that is not all of them.
        most_bytes: what these take at most.
        all_bytes: what all of them would.
    """

    indexes: tuple[int, ...]
    most_bytes: int
    all_bytes: int


def bounds_of(directory: Path) -> StoreBounds:
    """1 GiB, or a tenth of what is free on this disk where that is less.

    Raises:
        OSError: the directory is not there.
    """
    disk = os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    return StoreBounds(most_bytes=min(MOST_BYTES, free // PART_OF_FREE), free_bytes=free)


def estimate_store(
    kind: StoreKind, images: Sequence[SizedImage], pipeline: ImagePipeline, bounds: StoreBounds
) -> Estimate:
    """What a store of this kind would take, and which images it can hold.

    Args:
        kind: which one.
        images: in the order of their indexes.
        pipeline: what is done to every image.
        bounds: that it has to keep.
    """
    wanted = {"shorter": pipeline.shorter, "filter": pipeline.filter}
    sizes = [kind.most_bytes(each, wanted) + _OVERHEAD for each in images]
    count = len(images)
    while count and _BASE + sum(sizes[index] for index in _spread(count, len(images))) > bounds.most_bytes:
        count -= 1
    indexes = _spread(count, len(images))
    return Estimate(
        indexes=indexes,
        most_bytes=_BASE + sum(sizes[index] for index in indexes),
        all_bytes=_BASE + sum(sizes),
    )


def _spread(count: int, whole: int) -> tuple[int, ...]:
    return tuple(number * whole // count for number in range(count))


_MARK = "prepared.json"
"""What a script leaves in what it has made; see `_stores/preparing.py`."""
_PROGRAM = Path(__file__).with_name("_storage.py")


@immutable
class Maker:
    """How a store is made.

    Attributes:
        python: the target's interpreter.
        variables: the whole environment of the process.
        directory: in which the store gets a directory of its own.
        pipeline: what is done to every image.
        site: directories that go in front of the path: another PIL, packages that were brought.
        bounds: that it has to keep; None for those of the directory's disk.
        processes: that work on it.
        seconds: after which it is given up.
        emit: hears what is about to be written, and where.
    """

    python: Path
    variables: Mapping[str, str]
    directory: Path
    pipeline: ImagePipeline = ImagePipeline()
    site: tuple[Path, ...] = ()
    bounds: StoreBounds | None = None
    processes: int = 2
    seconds: float = 120.0
    emit: Emit = ignore


@immutable
class MadeStore:
    """A store that is there.

    Attributes:
        store: for `Job.store`. Images have the indexes in it that they have among all of them.
        indexes: of the images that are in it; any other fails when it is read.
        bytes: what it takes.
        files_bytes: what these images take in their files.
        seconds: that it took.
        skipped: indexes of images that could not be stored, and why.
    """

    store: ImageStore
    indexes: tuple[int, ...]
    bytes: int
    files_bytes: int
    seconds: float
    skipped: dict[int, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times the room of the files it takes."""
        return self.bytes / max(1, self.files_bytes)


@contextmanager
def temporary_store(kind: StoreKind, images: Sequence[SizedImage], maker: Maker) -> Iterator[MadeStore]:
    """A store that is removed when the block ends; see `make_store`."""
    made = make_store(kind, images, maker)
    try:
        yield made
    finally:
        files.discard(made.store.path)


def make_store(kind: StoreKind, images: Sequence[SizedImage], maker: Maker) -> MadeStore:
    """Put images into a store; where it comes to nothing, nothing is left behind.

    Args:
        kind: which one.
        images: that may be measured, in the order of their indexes.
        maker: how.

    Raises:
        NotLoadedError: it has no room, it cannot be written there, a package is missing, or it failed.
    """
    out = maker.directory / f"store-{kind.name}"
    try:
        bounds = maker.bounds or bounds_of(maker.directory)
        out.mkdir()
    except OSError as error:
        raise NotLoadedError(CandidateOutcome.FAILED, f"nothing can be written there: {error}") from error
    try:
        estimate = _require_room(kind, images, maker.pipeline, bounds)
        _tell(kind, len(images), estimate, maker)
        return _make_store_result(
            out, images, estimate, _run_job(_encode_job(kind, images, estimate, maker, out), maker)
        )
    except BaseException:
        files.discard(out)
        raise


def _require_room(
    kind: StoreKind, images: Sequence[SizedImage], pipeline: ImagePipeline, bounds: StoreBounds
) -> Estimate:
    estimate = estimate_store(kind, images, pipeline, bounds)
    if not estimate.indexes:
        needed, granted = format_bytes(estimate.all_bytes), format_bytes(bounds.most_bytes)
        reason = f"{len(images)} images would take up to {needed}, and a temporary store may take {granted}"
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"{reason} ({format_bytes(bounds.free_bytes)} are free)")
    return estimate


def _tell(kind: StoreKind, count: int, estimate: Estimate, maker: Maker) -> None:
    part = "" if len(estimate.indexes) == count else f" of {count}"
    most, place = format_bytes(estimate.most_bytes), maker.directory
    message = f"{kind.title}: {len(estimate.indexes)}{part} images, at most {most} in {place}, removed when measured"
    maker.emit(Noted(message=message))


def _encode_job(
    kind: StoreKind, images: Sequence[SizedImage], estimate: Estimate, maker: Maker, out: Path
) -> dict[str, Any]:
    wanted = maker.pipeline
    return {
        "kind": kind.name,
        "images": [str(each.path) for each in images],
        "indexes": list(estimate.indexes),
        "out": str(out),
        "site": [str(each) for each in maker.site],
        "limit_bytes": estimate.most_bytes,
        "wanted": {
            "shorter": wanted.shorter,
            "filter": wanted.filter,
            "processes": maker.processes,
        },
    }


def _run_job(job: dict[str, Any], maker: Maker) -> dict[str, Any]:
    words = (maker.python, "-I", "-B", _PROGRAM)
    variables = {**maker.variables, "FASTINSTALL_GUARD": "0"}
    try:
        done = process.run(words, environment=variables, stdin=json.dumps(job) + "\n", timeout=maker.seconds)
    except process.CommandError as error:
        raise explain_end(error) from error
    answer: dict[str, Any] = json_data(done.stdout.strip().rpartition("\n")[2])
    if "missing" in answer:
        raise NotLoadedError(CandidateOutcome.MISSING, answer["missing"])
    if "limit" in answer:
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"it would take more than {format_bytes(answer['limit'])}")
    if "error" in answer:
        raise NotLoadedError(CandidateOutcome.FAILED, answer["error"])
    return answer


def _make_store_result(
    out: Path, images: Sequence[SizedImage], estimate: Estimate, answer: dict[str, Any]
) -> MadeStore:
    skipped = {int(index): why for index, why in answer["skipped"].items()}
    held = tuple(index for index in estimate.indexes if index not in skipped)
    if not held:
        raise NotLoadedError(
            CandidateOutcome.FAILED, f"it could store none of the images: {next(iter(skipped.values()))}"
        )
    return MadeStore(
        store=ImageStore(kind=answer["kind"], path=out),
        indexes=held,
        bytes=answer["bytes"],
        files_bytes=sum(images[index].size_bytes for index in held),
        seconds=answer["seconds"],
        skipped=skipped,
    )
