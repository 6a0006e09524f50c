"""Run real operations on a staged tree, and hold their pixels and features against what they must be."""

from collections.abc import Collection, Mapping
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.errors import FailedError, RefusedError
from fastinstall.model.artefact import Artefact
from fastinstall.model.codec import digest
from fastinstall.model.event import Started
from fastinstall.model.facts import Runtime
from fastinstall.model.immutable import immutable
from fastinstall.probes.pixels import PixelDifference, compare_pixels
from fastinstall.probes.runtime import observe_runtime
from fastinstall.system import files

_HEADERS_ONLY = {"zlib_ng"}
"""What `PIL.features` says of the header that was compiled against: the official wheels say it and load the
host's zlib all the same (measured on Pillow 13.0.0), so nothing is lost with it."""

_PARTS_OF_WEBP = {"transp_webp", "webp_anim", "webp_mux"}
"""Pillow 12 has no names of their own for them: since 11 they come with webp. Source: Pillow's deprecations page."""


@immutable
class Subject:
    """What is proven; two equal ones need one proof.

    Attributes:
        wheel_sha256: of the build.
        reference: the official wheel whose pixels are the standard; None: only that everything runs.
        python: version and ABI of the target's interpreter.
        cpu: name of the CPU, as kernels round differently on others.
        level: that the CPU shows, which a virtual machine may change.
    """

    wheel_sha256: str
    reference: Artefact | None
    python: str
    cpu: str
    level: str | None


def prove(stage: Path, subject: Subject, python: Path, workshop: Workshop) -> Runtime:
    """Import the staged PIL in the target's interpreter and use it.

    What was proven before on this machine, the same wheel with the same Python, is used once more
    but not compared again.

    Args:
        stage: the staged tree.
        subject: what is proven, and against what.
        python: the target's interpreter.
        workshop: tools.

    Returns:
        What happened, all of it well.

    Raises:
        FailedError: an operation failed, died, or gave other pixels than the reference.
    """
    workshop.emit(Started(stage="prove", message="running real operations on the staged build"))
    note = workshop.cache / "proofs" / digest(subject)
    if note.is_file():
        runtime = observe_runtime(python, stage=stage, environment=workshop.variables, quick=True)
        _refuse_failures(runtime)
        return runtime
    runtime = _compared(stage, subject.reference, python, workshop)
    files.write_text(note, f"{subject.wheel_sha256} proven at {workshop.now.isoformat(timespec='seconds')}\n")
    return runtime


def _compared(stage: Path, reference: Artefact | None, python: Path, workshop: Workshop) -> Runtime:
    with files.temporary_directory("proof", within=workshop.cache / "tmp") as scratch:
        ours = scratch / "ours"
        runtime = observe_runtime(python, stage=stage, pixels=ours, environment=workshop.variables)
        _refuse_failures(runtime)
        if reference is not None:
            theirs = scratch / "reference"
            official = unpacked(reference, workshop)
            observe_runtime(python, stage=official, pixels=theirs, environment=workshop.variables)
            ran = {operation.name for operation in runtime.operations}
            _refuse_differences(ours, theirs, reference, ran)
    return runtime


def refuse_lost_features(before: Mapping[str, str], after: Mapping[str, str], *, allowed: bool) -> None:
    """Raise where a feature of the replaced Pillow is gone, unless that risk is allowed.

    Raises:
        RefusedError: names what would be lost.
    """
    lost = sorted(set(before) - set(after) - _HEADERS_ONLY - _PARTS_OF_WEBP)
    if lost and not allowed:
        raise RefusedError(
            f"the build lacks {', '.join(lost)}, which the Pillow in place has",
            hint="accept it with --allow feature-loss, or ask for the libraries with --require",
        )


def unpacked(wheel: Artefact, workshop: Workshop) -> Path:
    """An official wheel as a directory that can go on `sys.path`; kept in the cache."""
    target = workshop.cache / "unpacked" / (wheel.sha256 or wheel.filename)
    if target.is_dir():
        return target
    archive = workshop.index.fetch(wheel, workshop.cache, workshop.emit)
    target.parent.mkdir(parents=True, exist_ok=True)
    with files.temporary_directory("unpack", within=workshop.cache / "tmp") as scratch:
        from fastinstall.build.wheel import unpack_wheel  # noqa: PLC0415 (only when a reference is needed)

        tree = scratch / "tree"
        unpack_wheel(archive, tree)
        if not target.exists():
            files.rename(tree, target)
    return target


def _refuse_failures(runtime: Runtime) -> None:
    if runtime.signal:
        raise FailedError(
            f"the build dies of {runtime.signal} in {runtime.during or 'the import'}",
            hint="the CPU may lack what the level needs: try --level x86-64-v2",
        )
    if not runtime.imported:
        raise FailedError(f"the build cannot be imported: {runtime.error}")
    failed = [f"{operation.name}: {operation.error}" for operation in runtime.operations if not operation.ok]
    if failed:
        raise FailedError(f"{len(failed)} operations fail on the build", details=tuple(failed))


def _refuse_differences(ours: Path, theirs: Path, reference: Artefact, ran: Collection[str]) -> None:
    """Operations that did not run need a feature that this build is without: that is judged as a feature."""
    compared = (difference for difference in compare_pixels(ours, theirs) if difference.operation in ran)
    wrong = [difference for difference in compared if not difference.is_tolerable]
    if wrong:
        raise FailedError(
            f"{len(wrong)} operations give other pixels than {reference.filename}",
            hint="report this build: it is not installed",
            details=tuple(_difference_text(item) for item in wrong),
        )


def _difference_text(item: PixelDifference) -> str:
    return f"{item.operation}: {item.problem or f'differs by {item.largest:g}, allowed {item.tolerance:g}'}"
