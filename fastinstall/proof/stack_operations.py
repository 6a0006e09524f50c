"""Import the staged PIL in the target's interpreter, run real operations with it, and refuse what fails or is lost."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import files, sealed_trees, temporary_directories
from fastinstall.core.codec import digest
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Started
from fastinstall.core.running_probe import RunningProbe
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Runtime
from fastinstall.observe.runtime import observe_runtime

_HEADERS_ONLY = {"zlib_ng"}
"""What `PIL.features` says of the header that was compiled against: the official wheels say it and load the
host's zlib all the same (measured on Pillow 13.0.0), so nothing is lost with it."""

_PARTS_OF_WEBP = {"transp_webp", "webp_anim", "webp_mux"}
"""Pillow 12 has no names of their own for them: since 11 they come with webp. Source: Pillow's deprecations page."""


@immutable
class ProvenStack:
    """What is proven; two equal ones need one proof.

    Attributes:
        wheel_sha256: of the built wheel, 64 hexadecimal digits.
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


def prove(stage: Path, subject: ProvenStack, python: Path, run: Run) -> Runtime:
    """Import the staged PIL in the target's interpreter and use it.

    What was proven before on this machine, the same wheel with the same Python, is used once more
    but not compared again.

    Args:
        stage: a directory to search for PIL first.
        subject: what is proven, and against what.
        run: gives the cache, the index, the time and the environment variables.

    Returns:
        What happened, all of it well.

    Raises:
        FailedError: an operation failed, died, or gave other pixels than the reference.
    """
    run.emit(Started(stage="stage", message="running real operations on the staged build"))
    compared = subject.reference.sha256 if subject.reference is not None else ""
    is_repeatable = subject.reference is None or bool(compared)  # else the index tells no hash of what it gives
    note = run.cache / "proofs" / digest((replace(subject, reference=None), compared))
    if is_repeatable and note.is_file():
        runtime = observe_runtime(python, stage=stage, environment=run.variables, quick=True)
        _refuse_failures(runtime)
        return runtime
    runtime = _run_comparison(stage, subject.reference, python, run)
    if is_repeatable:
        files.write_text(note, f"{subject.wheel_sha256} proven at {run.session.now().isoformat(timespec='seconds')}\n")
    return runtime


def _run_comparison(stage: Path, reference: Artefact | None, python: Path, run: Run) -> Runtime:
    observe = partial(observe_runtime, python, environment=run.variables)
    if reference is None:
        runtime = observe(stage=stage)
        _refuse_failures(runtime)
        return runtime
    from fastinstall.proof.judge import compare_pixels  # noqa: PLC0415 (only for what was not proven before)

    with temporary_directories.temporary_directory("proof", within=run.cache / "tmp") as scratch:
        ours, theirs = scratch / "ours", scratch / "reference"
        beside = RunningProbe(partial(observe, stage=unpack_official_wheel(reference, run), pixels=theirs))
        runtime = observe(stage=stage, pixels=ours)
        beside.result()
        _refuse_failures(runtime)
        # An operation that did not run needs a feature that this build is without: that is judged as a feature.
        ran = {operation.name for operation in runtime.operations}
        compared = (each for each in compare_pixels(ours, theirs) if each.operation in ran)
        wrong = tuple(each.text for each in compared if not each.is_tolerable)
    if wrong:
        raise FailedError(
            f"{len(wrong)} operations give different pixels than {reference.filename}",
            hint="the build was not installed: please report it",
            details=wrong,
        )
    return runtime


def refuse_lost_features(before: Mapping[str, str], after: Mapping[str, str], *, allowed: bool) -> None:
    """Raise if a feature of the replaced Pillow is gone, unless that risk is allowed.

    Raises:
        RefusedError: names what would be lost.
    """
    lost = sorted(set(before) - set(after) - _HEADERS_ONLY - _PARTS_OF_WEBP)
    if lost and not allowed:
        raise RefusedError(
            f"the build lacks {', '.join(lost)}, which the installed Pillow has",
            hint="accept it with --allow feature-loss, or ask for the libraries with --require",
        )


def unpack_official_wheel(wheel: Artefact, run: Run) -> Path:
    """Unpack an official wheel into a directory that can go on `sys.path`; kept in the cache."""
    if not wheel.sha256:  # of an index that tells none: what it gives now is another file than the one before, perhaps
        wheel = replace(wheel, sha256=files.sha256(run.index.fetch(wheel, run.cache, run.emit)))

    def unpack(tree: Path) -> None:
        from fastinstall.wheelbuild.wheel_files import unpack_wheel  # noqa: PLC0415 (only when a reference is needed)

        unpack_wheel(run.index.fetch(wheel, run.cache, run.emit), tree)

    return sealed_trees.make_once(run.cache / "unpacked" / wheel.sha256, unpack, cache=run.cache)


def _refuse_failures(runtime: Runtime) -> None:
    if runtime.signal:
        raise FailedError(
            f"the build crashes with {runtime.signal} in {runtime.during or 'the import'}",
            hint="the CPU may lack what the level needs: try a lower one with --level",
        )
    if not runtime.imported:
        raise FailedError(f"the build cannot be imported: {runtime.error}")
    failed = [f"{operation.name}: {operation.error}" for operation in runtime.operations if not operation.ok]
    if failed:
        raise FailedError(f"{len(failed)} operations fail on the build", details=tuple(failed))
