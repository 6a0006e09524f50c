"""Run real operations with the staged PIL in the target, and refuse a build that fails them or lacks features."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import files, sealed_trees, temporary_directories
from fastinstall.core.codec import digest
from fastinstall.core.concurrency import RunningProbe
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Started
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Runtime
from fastinstall.observe.runtime import observe_runtime

_HEADERS_ONLY = {"zlib_ng"}
"""Features in `PIL.features` that only describe a header at compile time. The official wheels report zlib_ng, but load
the host's zlib (measured on Pillow 13.0.0), so a build that does not report zlib_ng loses nothing."""

_PARTS_OF_WEBP = {"transp_webp", "webp_anim", "webp_mux"}
"""Features that Pillow 12 no longer lists, because they are part of the feature webp since Pillow 11.

Source: Pillow's deprecations page.
"""


@immutable
class ProvenStack:
    """The wheel that is proven, and the circumstances of the proof; a successful proof holds for every equal instance.

    Attributes:
        wheel_sha256: SHA-256 of the built wheel, 64 hexadecimal digits.
        reference: the official wheel to compare pixels with; None to prove only that all operations run.
        python: version and ABI of the target's interpreter.
        cpu: name of the CPU; kernels may round differently on another CPU.
        level: the feature level that the CPU reports, which a virtual machine may change; None if unknown.
    """

    wheel_sha256: str
    reference: Artefact | None
    python: str
    cpu: str
    level: str | None


def prove(stage: Path, subject: ProvenStack, python: Path, run: Run) -> Runtime:
    """Run operations with the staged PIL in the target's interpreter, and compare the pixels with the reference.

    If an equal subject was proven before on this machine, some operations are run again, but their pixels are not
    compared.

    Args:
        stage: the directory that contains the staged PIL.
        subject: the wheel, its reference and the circumstances.
        python: path of the target's interpreter.
        run: provides the cache, the index, the time and the environment variables.

    Returns:
        The results of the operations; all of them succeeded.

    Raises:
        FailedError: an operation failed, crashed, or gave different pixels than the reference.
    """
    run.emit(Started(stage="stage", message="running real operations on the staged build"))
    compared = subject.reference.sha256 if subject.reference is not None else ""
    is_repeatable = subject.reference is None or bool(compared)  # False if the index gives no hash of the wheel
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
    from fastinstall.proof.judge import compare_pixels  # needed only if the subject was not proven before

    with temporary_directories.temporary_directory("proof", within=run.cache / "tmp") as scratch:
        ours, theirs = scratch / "ours", scratch / "reference"
        beside = RunningProbe(partial(observe, stage=unpack_official_wheel(reference, run), pixels=theirs))
        runtime = observe(stage=stage, pixels=ours)
        beside.result()
        _refuse_failures(runtime)
        # An operation that did not run needs a feature that this build lacks. `refuse_lost_features` reports such
        # features.
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
    """Raise if the build lacks a feature of the Pillow that it replaces.

    Args:
        before: the features of the installed Pillow, by name.
        after: the features of the build, by name.
        allowed: whether the user accepts the loss of features.

    Raises:
        RefusedError: a feature would be lost; the message names it.
    """
    lost = sorted(set(before) - set(after) - _HEADERS_ONLY - _PARTS_OF_WEBP)
    if lost and not allowed:
        raise RefusedError(
            f"the build lacks {', '.join(lost)}, which the installed Pillow has",
            hint="accept it with --allow feature-loss, or ask for the libraries with --require",
        )


def unpack_official_wheel(wheel: Artefact, run: Run) -> Path:
    """Unpack an official wheel into the cache, unless that was done before; return the directory, for `sys.path`."""
    if not wheel.sha256:  # the index gives no hash, so the wheel may have changed since it was unpacked
        wheel = replace(wheel, sha256=files.sha256(run.index.fetch(wheel, run.cache, run.emit)))

    def unpack(tree: Path) -> None:
        from fastinstall.core.archives import unpack_zip  # needed only if the wheel was not unpacked before

        unpack_zip(run.index.fetch(wheel, run.cache, run.emit), tree)

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
