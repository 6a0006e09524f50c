"""What a measurement of loading images asks for and says: verdict, advice, the whole report."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.finding import Finding
from fastinstall.model.images import Pipeline, Workload
from fastinstall.model.immutable import immutable
from fastinstall.model.loading import CandidateResult, Gain
from fastinstall.model.measured_machine import Machine
from fastinstall.model.receipt import SpeedTable


class Bound(StrEnum):
    """What limits the loading of images."""

    IO = "I/O-bound"
    DECODE = "decode-bound"
    RESIZE = "resize-bound"
    COPY = "copy-bound"
    FAST_ENOUGH = "fast enough"
    UNTOLD = "not told apart"
    """A loader of one piece, or none that could be measured."""


@immutable
class Verdict:
    """What limits the loading, in one sentence.

    Attributes:
        bound: which limit.
        sentence: for people.
        evidence: the figures that it rests on, a line each.
        target_rate: images per second that are wanted; None where nobody said.
        reached_rate: images per second of the best number of workers.
    """

    bound: Bound
    sentence: str
    evidence: tuple[str, ...] = ()
    target_rate: float | None = None
    reached_rate: float = 0.0


@immutable
class Advice:
    """Something to do about it, with what it would bring.

    Attributes:
        candidate: name of the candidate that shows it; empty where it is no candidate.
        gain: measured here; None where it is a pointer and no measurement.
        finding: check `data-loading`; its remedy holds the command, or says the line of code.
        code: the line of code; empty where a command does it.
        recommended: the one to begin with: the largest gain that leaves every picture as it is.
    """

    candidate: str
    gain: Gain | None
    finding: Finding
    code: str = ""
    recommended: bool = False


@immutable
class WorkloadResult:
    """Everything about one workload.

    Attributes:
        workload: the images.
        pipeline: what is done to them.
        baseline: the environment as it is, or the loader that was named.
        candidates: the others, in the order of their gain; those without one last.
        verdict: what limits it.
        advice: in the order of gain; pointers last.
    """

    workload: Workload
    pipeline: Pipeline
    baseline: CandidateResult
    candidates: tuple[CandidateResult, ...]
    verdict: Verdict
    advice: tuple[Advice, ...]


@immutable
class BenchReport:
    """What `bench` found.

    Attributes:
        prefix: the environment.
        python: its interpreter's version.
        machine: where it was measured.
        measured_at: ISO 8601, UTC.
        tool_version: of fastinstall.
        effort: "quick" or "full".
        seconds: how long it took.
        workloads: each with its verdict.
        operations: before and after, operation by operation; None where that was not asked for.
        remarks: what a reader should know: what was left out for the time, what was built or fetched.
    """

    prefix: PurePath
    python: str
    machine: Machine
    measured_at: str
    tool_version: str
    effort: str
    seconds: float
    workloads: tuple[WorkloadResult, ...]
    operations: SpeedTable | None = None
    remarks: tuple[str, ...] = ()


@immutable
class BenchWish:
    """What was asked for.

    Attributes:
        paths: directories and files with images; empty for generated ones.
        workloads: names of generated workloads; empty for all of them.
        pipeline: what is done to every image.
        quick: the answer in 20 seconds.
        samples: how many images to measure; None for a number that fits the time.
        workers: numbers of workers to try; empty for 0, 1, ... up to the usable CPUs.
        target_rate: images per second that training takes.
        step: FILE[:FUNCTION] of a training step, which gives the number of images that it took.
        loader: FILE[:FUNCTION] of the user's own loader (path in, array out); it becomes the baseline.
        candidates: names; empty for all that fit.
        bring: adapters and storages whose packages are brought to our cache; ("all",) for every one.
        build: whether the fastinstall build is made where it is not in the cache.
        loading: whether to measure workloads.
        operations: whether to measure the operations of PIL.
    """

    paths: tuple[PurePath, ...] = ()
    workloads: tuple[str, ...] = ()
    pipeline: Pipeline = Pipeline()
    quick: bool = False
    samples: int | None = None
    workers: tuple[int, ...] = ()
    target_rate: float | None = None
    step: str = ""
    loader: str = ""
    candidates: tuple[str, ...] = ()
    bring: tuple[str, ...] = ()
    build: bool = True
    loading: bool = True
    operations: bool = True
