"""Makes a temporary store of the measured images: bounded, announced, and removed after the measurement."""

import json
import mmap
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from fastinstall.bench.catalogue import StoreKind
from fastinstall.bench.loading import ImageStore, NotLoadedError, run_program
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.bench.surveyed_image import SurveyedImage
from fastinstall.core import files
from fastinstall.core.codec import encode
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.messages import format_bytes
from fastinstall.core.values import immutable

MOST_BYTES = 1 << 30
PART_OF_FREE = 10
_BASE = 1 << 16
"""Size of an empty store."""
_OVERHEAD = 3 * min(mmap.PAGESIZE, 32768)
"""Overhead per image: parts of pages (LMDB), a header and padding (tar), its entry in an index."""


@immutable
class Estimate:
    """A store's expected size.

    Attributes:
        indexes: of the images that fit, spread evenly if not all do.
        most_bytes: how many bytes the stores may take at most.
        all_bytes: the maximum size of all images.
    """

    indexes: tuple[int, ...]
    most_bytes: int
    all_bytes: int


def estimate_store(
    kind: StoreKind, images: Sequence[SurveyedImage], pipeline: ImagePipeline, bound: int = MOST_BYTES
) -> Estimate:
    """Return what a store of this kind would take, and which images it can hold.

    Args:
        kind: the kind of store.
        images: in the order of their indexes.
        pipeline: what is done to every image.
        bound: the size limit, in bytes.
    """
    sizes = [kind.most_bytes(each, encode(pipeline)) + _OVERHEAD for each in images]
    count = len(images)
    indexes: Sequence[int] = range(count)
    while indexes and _BASE + sum(sizes[index] for index in indexes) > bound:
        kept = len(indexes) - 1
        indexes = [number * count // kept for number in range(kept)]
    most = _BASE + sum(sizes[index] for index in indexes)
    return Estimate(indexes=tuple(indexes), most_bytes=most, all_bytes=_BASE + sum(sizes))


_PROGRAM = Path(__file__).with_name("_storage.py")
_SECONDS = 120.0
"""Seconds before giving up a store."""


@immutable
class Maker:
    """How to make a store.

    Attributes:
        python: path of the target's interpreter, which makes it.
        variables: the complete environment of the process.
        directory: where the store gets its own directory.
        pipeline: what is done to every image.
        site: directories for the front of the path: another PIL, fetched packages.
        most_bytes: its size limit; None for 1 GiB, or a tenth of the free disk space if that is less.
        processes: number of processes that work on it.
        emit: receives an event about what is written, and where.
    """

    python: Path
    variables: Mapping[str, str]
    directory: Path
    pipeline: ImagePipeline = ImagePipeline()
    site: tuple[Path, ...] = ()
    most_bytes: int | None = None
    processes: int = 2
    emit: Emit = ignore


@immutable
class MadeStore:
    """A finished store.

    Attributes:
        store: for `Job.store`. Images keep the indexes that they have among all images.
        indexes: of the images in it; reading any other fails.
        bytes: size of the store on disk.
        ratio: the same, as a multiple of these images' files.
        skipped: indexes of images that could not be stored, and why.
    """

    store: ImageStore
    indexes: tuple[int, ...]
    bytes: int
    ratio: float
    skipped: dict[int, str] = field(default_factory=dict)


@contextmanager
def temporary_store(kind: StoreKind, images: Sequence[SurveyedImage], maker: Maker) -> Iterator[MadeStore]:
    """Put images into a store; it is removed when the block ends, or on failure.

    Args:
        kind: the kind of store.
        images: measurable images, in the order of their indexes.
        maker: how to make it.

    Raises:
        NotLoadedError: there is no space, it cannot be written, a package is missing, or it failed.
    """
    out = maker.directory / f"store-{kind.name}"
    try:
        free = shutil.disk_usage(maker.directory).free
        out.mkdir()
    except OSError as error:
        raise NotLoadedError(CandidateOutcome.FAILED, f"cannot write the store: {error}") from error
    try:
        yield _fill(kind, images, maker, out, free)
    finally:
        files.discard(out)


def _fill(kind: StoreKind, images: Sequence[SurveyedImage], maker: Maker, out: Path, free: int) -> MadeStore:
    bound = min(MOST_BYTES, free // PART_OF_FREE) if maker.most_bytes is None else maker.most_bytes
    estimate = estimate_store(kind, images, maker.pipeline, bound)
    if not estimate.indexes:
        needed, granted = format_bytes(estimate.all_bytes), format_bytes(bound)
        reason = f"{len(images)} images would take up to {needed}, but a temporary store may take {granted}"
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"{reason} ({format_bytes(free)} are free)")
    part = "" if len(estimate.indexes) == len(images) else f" of {len(images)}"
    most, place = format_bytes(estimate.most_bytes), maker.directory
    message = f"{kind.title}: {len(estimate.indexes)}{part} images, at most {most} in {place}, removed after measuring"
    maker.emit(Noted(message=message))
    job = {
        "kind": kind.name,
        "images": [str(each.path) for each in images],
        "indexes": list(estimate.indexes),
        "out": str(out),
        "site": [str(each) for each in maker.site],
        "limit_bytes": estimate.most_bytes,
        "wanted": {**encode(maker.pipeline), "processes": maker.processes},
    }
    answer = run_program((maker.python, _PROGRAM), maker.variables, _SECONDS, json.dumps(job) + "\n")
    if "limit" in answer:
        raise NotLoadedError(CandidateOutcome.UNSUITED, f"it would take more than {format_bytes(answer['limit'])}")
    skipped = {int(index): why for index, why in answer["skipped"].items()}
    held = tuple(index for index in estimate.indexes if index not in skipped)
    if not held:
        reason = next(iter(skipped.values()))
        raise NotLoadedError(CandidateOutcome.FAILED, f"it could not store any image: {reason}")
    ratio = answer["bytes"] / max(1, sum(images[index].size_bytes for index in held))
    store = ImageStore(kind=kind.name, path=out)
    return MadeStore(store=store, indexes=held, bytes=answer["bytes"], ratio=ratio, skipped=skipped)
