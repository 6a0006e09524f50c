"""Reports of `bench` as they come from a machine: three workloads, what was missing or crashed, hostile names."""

from dataclasses import replace
from pathlib import PurePath

from fastinstall.bench.report import (
    BenchReport,
    BottleneckVerdict,
    Candidate,
    CandidateKind,
    CandidateOutcome,
    CandidateResult,
    Difference,
    Gain,
    ImagePipeline,
    LoadingEngine,
    LoadingLimit,
    LoadingRate,
    SpeedAdvice,
    Stage,
    StageTime,
    Timing,
    Unmeasured,
    Workload,
    WorkloadResult,
)
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.machine import Filesystem, LoaderLimits
from fastinstall.model.speed import SpeedRow, SpeedTable

MACHINE = LoaderLimits(
    cpu="AMD EPYC 9B45",
    cores=2,
    quota=2.0,
    memory_bytes=25_769_803_776,
    huge_pages="madvise",
    libc_version="2.36",
)
HOSTILE = ("\x1b[2Jcleared.jpg", "<script>alert(1)</script>.jpg", '=HYPERLINK("http://x","y").jpg', "a\nb.jpg")
DISK = Filesystem(mount=PurePath("/data"), type="ext4", free_bytes=80_000_000_000)
NUMPY = {"pillow": "13.0.0", "numpy": "2.4.1"}


def timing(*ms: float, peak: int = 88_000_000, cold: float | None = None) -> Timing:
    """One process whose stages take these milliseconds, from `read` on."""
    whole = sum(ms)
    stages = tuple(
        StageTime(stage=stage, ms=each, share=each / whole) for stage, each in zip(Stage, ms, strict=False) if each
    )
    return Timing(stages=stages, ms=whole, images_per_second=1000 / whole, peak_bytes=peak, cold_read_ms=cold)


def gain(ratio: float, spread: float = 0.03) -> Gain:
    """A gain of five rounds."""
    return Gain(ratio=ratio, low=ratio - spread, high=ratio + spread, rounds=5)


def candidate(
    name: str, kind: CandidateKind = CandidateKind.DECODER, *, title: str = "", aliased: bool = False
) -> Candidate:
    """One that loads from files."""
    adapter = name if kind is CandidateKind.DECODER else "pillow"
    return Candidate(name=name, title=title or name, kind=kind, adapter=adapter, variables={}, aliased=aliased)


def absent(name: str, outcome: CandidateOutcome, reason: str) -> CandidateResult:
    """One that was not measured."""
    return CandidateResult(candidate=candidate(name), outcome=outcome, reason=reason, versions={})


def advice(name: str, brings: Gain | None, message: str, command: str | None = None, code: str = "") -> SpeedAdvice:
    """What to do about it."""
    remedy = Remedy(text="apply it", command=command)
    finding = Finding(check="data-loading", status=Status.HINT, message=message, remedy=remedy)
    return SpeedAdvice(candidate=name, gain=brings, finding=finding, code=code)


def _rates(alone: float) -> tuple[LoadingRate, ...]:
    def rate(workers: int, factor: float) -> LoadingRate:
        return LoadingRate(
            workers=workers,
            engine=LoadingEngine.TORCH,
            images_per_second=alone * factor,
            first_batch_seconds=0.04,
            peak_bytes=210_000_000 * (workers + 1),
        )

    return rate(0, 0.98), rate(1, 0.93), rate(2, 1.81)


def _baseline(timed: Timing, title: str = "pillow 13.0.0 (in place)") -> CandidateResult:
    return CandidateResult(
        candidate=candidate("baseline", CandidateKind.BASELINE, title=title),
        outcome=CandidateOutcome.MEASURED,
        versions=NUMPY,
        timing=timed,
        rates=_rates(timed.images_per_second),
    )


def _measured(who: Candidate, timed: Timing, brings: Gain, difference: Difference | None) -> CandidateResult:
    return CandidateResult(
        candidate=who,
        outcome=CandidateOutcome.MEASURED,
        versions={},
        timing=timed,
        gain=brings,
        rates=_rates(timed.images_per_second)[2:3],
        difference=difference,
    )


def _difference(mean: float, highest: int) -> Difference:
    return Difference(mean=mean, highest=highest, images=8)


def _candidates() -> tuple[CandidateResult, ...]:
    same = _difference(0.0, 0)
    store = replace(candidate("bmp", CandidateKind.STORAGE, title="uncompressed BMP copies"), storage="bmp")
    ours = candidate("fastinstall", CandidateKind.STACK, title="pillow 13.0.0 by fastinstall")
    huge = candidate("huge-pages", CandidateKind.SETTING, title="huge pages for malloc")
    linear = candidate("opencv-linear", title="OpenCV, linear resize", aliased=True)
    stored = _measured(store, timing(0.21, 0.35, 0.02, 0.66, 0.01, 0.03), gain(1.09), same)
    return (
        _measured(linear, timing(0.02, 0.43, 0, 0.07, 0, 0.01), gain(2.61, 0.2), _difference(6.4, 181)),
        _measured(ours, timing(0.02, 0.57, 0.01, 0.07, 0.01, 0.03), gain(1.97), _difference(0.01, 1)),
        replace(stored, stored_bytes=4_860_000_000, stored_ratio=13.9),
        _measured(huge, timing(0.02, 0.58, 0.01, 0.69, 0.01, 0.03), gain(1.02), same),
        absent("turbojpeg", CandidateOutcome.MISSING, "turbojpeg is not installed; fastinstall bench --with turbojpeg"),
        absent("imagecodecs", CandidateOutcome.CRASHED, "killed by signal SIGSEGV while it loaded image 3"),
        absent("pyvips", CandidateOutcome.HUNG, "gave no answer within 60 s"),
        absent("nvidia-dali", CandidateOutcome.UNSUITED, "there is no NVIDIA GPU"),
    )


def small_jpegs() -> WorkloadResult:
    """Resize-bound photos of a person's own, some of which cannot be measured."""
    setup = "fastinstall setup --prefix /envs/train"
    return WorkloadResult(
        workload=Workload(
            name="photos of ./train",
            directory=PurePath("/data/train"),
            files=5000,
            images=120,
            formats={"JPEG": 118, "PNG": 2},
            mean_bytes=45_312,
            megapixels=0.1875,
            width=500,
            height=375,
            unmeasured=(
                Unmeasured(reason="truncated", count=4, examples=HOSTILE),
                Unmeasured(reason="CMYK", count=1, examples=("/data/train/print.jpg",)),
            ),
            filesystem=DISK,
        ),
        pipeline=ImagePipeline(),
        baseline=_baseline(timing(0.02, 0.58, 0.01, 0.70, 0.01, 0.03, 0.05, cold=0.31)),
        candidates=_candidates(),
        verdict=BottleneckVerdict(
            bound=LoadingLimit.RESIZE,
            sentence="Resizing takes 50% of an image's time: 2 workers give 1293 images/s, 3000 are wanted.",
            evidence=("resize: 0.70 of 1.40 ms", "2 workers: 1.81 times as fast as none"),
            target_rate=3000.0,
            reached_rate=1293.0,
        ),
        advice=(
            advice("fastinstall", gain(1.97), "the fastinstall build resizes 10 times as fast", setup),
            advice(
                "opencv-linear",
                gain(2.61, 0.2),
                "OpenCV's linear resize is faster, and not the same picture",
                "fastinstall bench --print-code opencv-linear > loader.py",
                "cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)",
            ),
            advice("", None, "pin_memory=True and persistent_workers=True cost nothing"),
        ),
    )


def large_jpegs() -> WorkloadResult:
    """Decode-bound, on a network filesystem."""
    network = Filesystem(mount=PurePath("/mnt"), type="nfs4", network=True)
    code = 'image.draft("RGB", (512, 512))'
    draft = candidate("pillow-draft", title="Pillow, draft mode")
    return WorkloadResult(
        workload=Workload(
            name="12 MP JPEG (generated)",
            directory=PurePath("/mnt/photos"),
            files=12,
            images=12,
            formats={"JPEG": 12},
            mean_bytes=3_850_000,
            megapixels=12.2,
            width=4032,
            height=3024,
            generated=True,
            filesystem=network,
        ),
        pipeline=ImagePipeline(),
        baseline=_baseline(timing(0.9, 58.1, 0.01, 11.4, 0.01, 0.03)),
        candidates=(_measured(draft, timing(0.9, 14.9, 0.01, 1.4, 0.01, 0.03), gain(4.05), _difference(0.7, 22)),),
        verdict=BottleneckVerdict(
            bound=LoadingLimit.DECODE, sentence="Decoding takes 82% of an image's time.", reached_rate=26.1
        ),
        advice=(advice("pillow-draft", gain(4.05), "let the decoder give a smaller picture", None, code),),
    )


def nothing_helps() -> WorkloadResult:
    """Fast enough, from one candidate that was measured in one round."""
    once = Gain(ratio=1.01, low=1.01, high=1.01, rounds=1)
    plain = candidate("simplejpeg")
    return WorkloadResult(
        workload=Workload(
            name="PNG (generated)",
            directory=PurePath("/data/png"),
            files=20,
            images=20,
            formats={"PNG": 20},
            mean_bytes=301_000,
            megapixels=0.25,
            width=512,
            height=512,
            generated=True,
        ),
        pipeline=ImagePipeline(shorter=512, crop=0, filter="lanczos"),
        baseline=replace(_baseline(timing(0.03, 2.1, 0.3, 0, 0, 0.05)), rates=()),
        candidates=(_measured(plain, timing(0.03, 2.08, 0.3, 0, 0, 0.05), once, None),),
        verdict=BottleneckVerdict(
            bound=LoadingLimit.FAST_ENOUGH,
            sentence="403 images/s, 100 are wanted.",
            target_rate=100.0,
            reached_rate=403.0,
        ),
        advice=(advice("", None, "leave it alone: the best candidate would gain 1%"),),
    )


OPERATIONS = SpeedTable(
    baseline="pillow 13.0.0 (official wheel)",
    candidate="pillow 13.0.0+simd.v2.v3 (in place)",
    cpu=MACHINE.cpu,
    measured_at="2026-11-22T05:50:00+00:00",
    geomean=2.29,
    rows=(
        SpeedRow(operation="resize 1080p-256 RGB lanczos", before_ms=20.6, after_ms=2.0, low=10.1, high=10.4),
        SpeedRow(operation="jpeg decode 1080p", before_ms=6.1, after_ms=6.0, low=1.0, high=1.03),
        SpeedRow(operation="convert RGB-L", before_ms=1.38, after_ms=0.4),
        SpeedRow(operation="rotate 10 bicubic", before_ms=3.1, after_ms=4.0, low=0.75, high=0.79),
    ),
)


def report(*workloads: WorkloadResult, operations: SpeedTable | None = None, effort: str = "full") -> BenchReport:
    """A report with these workloads."""
    return BenchReport(
        prefix=PurePath("/envs/train"),
        python="3.11.7",
        machine=MACHINE,
        measured_at="2026-11-22T05:50:00+00:00",
        tool_version="1.4.0",
        effort=effort,
        seconds=212.4,
        workloads=workloads,
        operations=operations,
        remarks=("the fastinstall build was made for this, and is in the cache",),
    )


def whole_report() -> BenchReport:
    """Three workloads and the operations."""
    return report(small_jpegs(), large_jpegs(), nothing_helps(), operations=OPERATIONS)


def bare_report() -> BenchReport:
    """A baseline without numpy that crashed, and nothing else."""
    broken = CandidateResult(
        candidate=candidate("baseline", CandidateKind.BASELINE, title="pillow 13.0.0 (in place)"),
        outcome=CandidateOutcome.CRASHED,
        reason="killed by signal SIGILL",
        versions={"pillow": "13.0.0"},
    )
    return report(replace(small_jpegs(), baseline=broken, candidates=(), advice=()), effort="quick")
