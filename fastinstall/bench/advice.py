"""What to do about loading images, by measured gain: each advice is a command or code, with its cost. Pure.

Candidates that change the pictures, fail on some, or do not fit on the disk are shown with their gain, but never
recommended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fastinstall.bench import report
from fastinstall.bench.bottleneck import (
    describe_worker_rate,
    find_best_rate,
    format_rate,
    measure_cold_delay,
    reads_from_disk,
)
from fastinstall.bench.catalogue import Way, way_named
from fastinstall.core.messages import format_bytes, quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.machine import LoaderLimits

_CHECK = "data-loading"
_WORTHWHILE = 1.05
"""The smallest worthwhile gain."""
_BEYOND_NOISE = 1.02
_WIDE = 1.5
"""If a control's highest round exceeds its lowest by this factor, ranges mean nothing."""
_NEARLY = 0.8
"""Share of the largest gain: what gains less is not comparable, whatever the ranges."""
_LIKE = 1.0
"""Two pictures count as the same up to this mean difference of a channel, in levels of 0 to 255."""
_MANY_TIMES = 4.0
"""The files' size, beyond which a store is not advised: what fits into memory today may come from disk tomorrow."""
_PLACE_LEFT = 0.9
"""The part of a disk that may be filled."""
_AS_GOOD = 0.95


@immutable
class AdviceContext:
    """The facts behind advice.

    Attributes:
        baseline: what the candidates are compared with.
        workload: the images that were measured, and where they lie.
        machine: the limits of loaders on the measured machine.
        environment: the one to advise on.
        pipeline: what was done to every image.
        pillow: the requirement for the newest Pillow that dependants allow ("pillow<13").
        has_pip: whether the environment has its own pip.
    """

    baseline: report.CandidateResult
    workload: report.Workload
    machine: LoaderLimits
    environment: Environment
    pipeline: report.ImagePipeline = report.ImagePipeline()
    pillow: str = "pillow"
    has_pip: bool = True


def advice_for(
    candidates: Sequence[report.CandidateResult], verdict: report.BottleneckVerdict, context: AdviceContext
) -> tuple[report.SpeedAdvice, ...]:
    """Return what helps, the largest gain first.

    If controls show that the machine was too busy, say so first and recommend nothing.

    Args:
        candidates: everything that was tried.
        verdict: what limits the loading.
        context: the baseline, the place and the audience.
    """
    if context.baseline.timing is None:
        return ()
    measured = [each for each in candidates if each.gain is not None and not each.is_control]
    controls = [each for each in candidates if each.gain is not None and each.is_control]
    known = tuple(_tell_present_gain(measured))
    if verdict.bound is report.LoadingLimit.FAST_ENOUGH:
        reached, target = format_rate(verdict.reached_rate), format_rate(verdict.target_rate or 0.0)
        return (*known, _leave_alone(f"you load {reached} images/s and need {target}", measured))
    noise = max((each.gain.high for each in controls if each.gain), default=0.0)
    better = [each for each in measured if is_worthwhile(each, noise)]
    advised = (*(_make_advice(each, context) for each in better), *_advise_workers(context))
    ranked = sorted(advised, key=lambda each: each.gain.ratio if each.gain else 0.0, reverse=True)
    if disturbance := find_disturbance(controls):
        message = "busy machine, ranges unreliable: nothing is recommended; run it again on an idle machine"
        finding = Finding.hint(message, evidence=(disturbance,)).by(_CHECK)
        return (report.SpeedAdvice(candidate="", gain=None, finding=finding), *ranked)
    alike = [each for each in measured if not _list_flaws(each, context)]
    best = _choose_simplest([each for each in alike if each in better])
    if best is not None:
        marked = (replace(each, recommended=each.candidate == best.candidate.name) for each in ranked)
        return (*known, *marked)
    if not measured:
        return (*known, *ranked)
    highest = max((each.ratio for each in alike), default=0.0)
    outlook = f"you would gain {highest - 1:.0%} at most" if highest > 1 else "nothing else is faster"
    outlook = "no gain exceeds the noise of the measurement" if highest >= _WORTHWHILE else outlook
    others = "" if len(alike) == len(measured) else "without changing pictures, "
    return (*known, _leave_alone(f"{others}{outlook}", alike), *ranked)


def is_worthwhile(result: report.CandidateResult, noise: float = 0.0) -> bool:
    """Return whether a gain exceeds the noise, and is worth the effort.

    Args:
        result: a candidate's, with its gain over the baseline.
        noise: the largest gain of a control in any round.
    """
    gain = result.gain
    return gain is not None and gain.ratio >= _WORTHWHILE and gain.low > _BEYOND_NOISE and gain.ratio > noise


def find_disturbance(controls: Iterable[report.CandidateResult]) -> str:
    """Explain how a control shows that ranges are unreliable: off 1.0 by more than its spread, or spread too wide.

    Args:
        controls: results of candidates that cannot change anything.

    Returns:
        A sentence; empty if they are all normal.
    """
    for each in controls:
        if gain := each.gain:
            is_off = not gain.low <= 1.0 <= gain.high and abs(gain.ratio - 1) > _WORTHWHILE - 1
            if is_off or gain.high > gain.low * _WIDE:
                return f"{each.candidate.name} cannot change anything here, but measured {_describe_gain(gain)}"
    return ""


def describe_picture_difference(result: report.CandidateResult) -> str:
    """Return how its pictures differ from the baseline's; empty if they are practically the same."""
    difference = result.difference
    if difference is not None and not difference.same_shape:
        return "not the same picture: it has another size"
    far = "" if difference is None else f"mean difference {difference.mean:.1f} levels"
    if result.candidate.aliased:
        return ", ".join(filter(None, ("aliased: not the same picture", far)))
    return f"not the same picture: {far}" if difference is not None and difference.mean > _LIKE else ""


def rank_simplicity(candidate: report.Candidate) -> int:
    """Return how much a candidate changes, the simplest first; the guide on bench lists the same order.

    A line of Pillow code; a variable; another build of Pillow; an installed library; one to install; a pipeline of
    batches instead of a DataLoader; prepared images.
    """
    if candidate.kind is report.CandidateKind.DECODER:
        way = way_named(candidate.adapter)
        if way is not None and way.batched:
            return 5
        return 0 if candidate.adapter.startswith("pillow") else 3 + (candidate.stack == "its own")
    return {report.CandidateKind.SETTING: 1, report.CandidateKind.STACK: 2}.get(candidate.kind, 6)


def _choose_simplest(better: Sequence[report.CandidateResult]) -> report.CandidateResult | None:
    """Choose the simplest of those whose ranges overlap that of the largest gain."""
    best = max(better, key=lambda each: each.ratio, default=None)
    if best is None or best.gain is None:
        return None
    low = best.gain.low
    near = [each for each in better if each.gain and each.gain.ratio >= _NEARLY * best.ratio and each.gain.high >= low]
    return min(near, key=lambda each: (rank_simplicity(each.candidate), -each.ratio))


def _describe_gain(gain: report.Gain) -> str:
    bounds = f" ({gain.low:.2f} to {gain.high:.2f} in {gain.rounds} rounds)" if gain.rounds > 1 else ""
    return f"{gain.ratio:.2f} times as fast{bounds}"


def _tell_present_gain(measured: Sequence[report.CandidateResult]) -> Iterator[report.SpeedAdvice]:
    """Tell what the installed stack has gained already, if the official wheel is slower."""
    for each in measured:
        gain = each.gain
        if each.candidate.stack == "official wheel" and gain is not None and gain.high * _WORTHWHILE <= 1:
            bounds = f"{1 / gain.high:.2f} to {1 / gain.low:.2f}"
            message = f"your build is already {1 / gain.ratio:.1f}x stock ({bounds}): {each.candidate.title}"
            yield report.SpeedAdvice(candidate=each.candidate.name, gain=None, finding=Finding.ok(message).by(_CHECK))


def _leave_alone(reason: str, measured: Sequence[report.CandidateResult]) -> report.SpeedAdvice:
    best = max(measured, key=lambda each: each.ratio, default=None)
    evidence = ""
    if best is not None and best.gain is not None:
        fastest = f"{best.candidate.title}, {_describe_gain(best.gain)}"
        evidence = f"the fastest of {len(measured)} candidates: {fastest}"
    finding = Finding.ok(f"leave it alone: {reason}", evidence=(evidence,) if evidence else ()).by(_CHECK)
    return report.SpeedAdvice(candidate="", gain=None, finding=finding)


def _make_advice(result: report.CandidateResult, context: AdviceContext) -> report.SpeedAdvice:
    """Create the advice; the gain is beside the message, not in it."""
    changes = list(_list_changes(result, context))
    texts, commands, codes = ([change[part] for change in changes] for part in range(3))
    gain = (_describe_gain(result.gain),) if result.gain else ()
    evidence = (*gain, *_list_evidence(result, context))
    remedy = Remedy(text="; then ".join(texts) or result.candidate.title, command=" && ".join(commands) or None)
    message = "; ".join((result.candidate.title, *_list_flaws(result, context)))
    return report.SpeedAdvice(
        candidate=result.candidate.name,
        gain=result.gain,
        finding=Finding.hint(message, evidence=evidence, remedy=remedy).by(_CHECK),
        code="\n".join(filter(None, codes)),
    )


def _list_flaws(result: report.CandidateResult, context: AdviceContext) -> tuple[str, ...]:
    """Return why this candidate is not to recommend, whatever its gain; empty if it is."""
    flaws = [describe_picture_difference(result)]
    if result.left_out:
        flaws.append(f"{result.left_out} images cannot be loaded this way")
    need, place = _count_stored_bytes(result, context), context.workload.filesystem
    if place is not None and place.free_bytes and need > place.free_bytes * _PLACE_LEFT:
        flaws.append(f"needs {format_bytes(need)}, but only {format_bytes(place.free_bytes)} are free")
    if (result.stored_ratio or 0.0) > _MANY_TIMES:
        flaws.append(f"takes {result.stored_ratio:.1f} times the space: reading from disk becomes slower")
    return tuple(filter(None, flaws))


def _count_stored_bytes(result: report.CandidateResult, context: AdviceContext) -> int:
    """Return the bytes that a store takes for all found files; 0 for files."""
    return round((result.stored_ratio or 0.0) * context.workload.files * context.workload.mean_bytes)


def _list_evidence(result: report.CandidateResult, context: AdviceContext) -> Iterator[str]:
    timing, usual, gain = result.timing, context.baseline.timing, result.gain
    rate, usual_rate = find_best_rate(result.rates), find_best_rate(context.baseline.rates)
    if rate is not None and usual_rate is not None:
        yield f"{describe_worker_rate(rate)}; currently {describe_worker_rate(usual_rate)}"
    is_cold = usual is not None and usual.cold_read_ms is not None and result.candidate.storage == "files"
    if is_cold and usual and gain and reads_from_disk(context.workload, context.machine):
        longer = measure_cold_delay(usual)
        left = (usual.ms + longer) / (usual.ms / gain.ratio + longer)
        yield f"measured with the files in memory; from disk, as in training, about {left:.2f} times as fast"
    if (difference := result.difference) and difference.same_shape:
        far = f"mean difference {difference.mean:.2f} levels, {difference.highest} at most"
        yield f"{far if difference.highest else 'identical pictures'}, on {difference.images} images"
    if timing and usual and timing.peak_bytes and usual.peak_bytes:
        peak, usual_peak = map(format_bytes, (timing.peak_bytes, usual.peak_bytes))
        yield f"peak memory of one process: {peak}; currently {usual_peak}"
    if result.versions:
        yield ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))


Change = tuple[str, str, str]
"""What to do in words, with its cost; a command to paste; the line of code, or an empty text."""


def _list_changes(result: report.CandidateResult, context: AdviceContext) -> Iterator[Change]:
    """Yield everything needed to load like this candidate, in order."""
    candidate, place = result.candidate, context.environment
    if candidate.stack == "fastinstall" and place.kind is EnvironmentKind.SYSTEM:
        text = "set up the fastinstall build in a new environment: this one belongs to the operating system"
        yield text, "fastinstall setup --new-env ./fast-env", ""
    elif candidate.stack == "fastinstall":
        text = "set up the fastinstall build here; `fastinstall rollback` undoes it"
        yield text, f"fastinstall setup --prefix {quote(place.prefix)}", ""
    elif candidate.stack == "official wheel":
        yield "install the newest official Pillow", _format_pillow_command(context), ""
    store = way_named(candidate.storage)
    is_other_adapter = candidate.adapter != context.baseline.candidate.adapter
    adapter = way_named(candidate.adapter) if is_other_adapter and not store else None
    way = store or adapter
    if way is not None and way.brings and candidate.stack == "its own":
        text = f"install {' and '.join(way.brings)}, fetched only for this measurement"
        yield text, _format_install_command(context, *way.brings), ""
    if adapter is not None:
        text = "call `load(path)` from the printed loader.py in your loader"
        if adapter.batched:
            text = "use `batches(lists)` from the printed loader.py instead of your DataLoader"
        yield text, f"{_format_printing(adapter.name, context)} > loader.py", adapter.code
    if store is not None:
        yield _change_storage(store, result, context)
    if candidate.variables:
        assigned = " ".join(f"{name}={quote(value)}" for name, value in sorted(candidate.variables.items()))
        cost = "it costs some memory: large blocks take complete huge pages"
        text = f"set it in the shell that starts training; {cost}"
        yield text, f"export {assigned}", f"{assigned} python train.py"


def _format_pillow_command(context: AdviceContext) -> str:
    if context.environment.kind is EnvironmentKind.CONDA:
        verb = "update" if context.pillow == "pillow" else "install"
        return f"conda {verb} --prefix {quote(context.environment.prefix)} {quote(context.pillow)}"
    return _format_install_command(context, "--upgrade", context.pillow)


def _format_install_command(context: AdviceContext, *words: str) -> str:
    python, named = quote(context.environment.python), " ".join(map(quote, words))
    return f"{python} -m pip install {named}" if context.has_pip else f"uv pip install --python {python} {named}"


def _format_printing(name: str, context: AdviceContext) -> str:
    """Return the command that prints a candidate's code, with flags for an unusual pipeline."""
    pipeline, usual = context.pipeline, report.ImagePipeline()
    fields = {"--size": "shorter", "--crop": "crop", "--filter": "filter"}
    changed = "".join(
        f" {flag} {getattr(pipeline, name)}"
        for flag, name in fields.items()
        if getattr(pipeline, name) != getattr(usual, name)
    )
    return f"fastinstall bench{changed} --print-code {quote(name)}"


def _change_storage(store: Way, result: report.CandidateResult, context: AdviceContext) -> Change:
    workload, where, size = context.workload, "DIR OUT", ""
    if not workload.generated:  # below the working directory, which may be another disk
        prepared = f"./{workload.directory.name or 'images'}-{store.name}"
        where = f"{quote(workload.directory)} {quote(prepared)}"
    if result.stored_ratio is not None:
        whole = f"{format_bytes(_count_stored_bytes(result, context))} for all {workload.files:,} files, "
        size = f"; it takes {'' if workload.generated else whole}{result.stored_ratio:.1f} times the size of the files"
    command = f"{_format_printing(store.name, context)} > prepare.py"
    command += f" && {quote(context.environment.python)} prepare.py {where}"
    text = f"prepare the images once, and read the prepared ones; {store.caveat}{size}"
    folder = 'torchvision.datasets.ImageFolder("OUT", transform)'
    reader = 'images = prepare.Reader("OUT")  # images.read(index), images.name(index)'
    return text, command, folder if store.in_files else reader


def _advise_workers(context: AdviceContext) -> Iterator[report.SpeedAdvice]:
    """Yield the fewest workers that match the best rate, compared with the process itself; nothing if none pays."""
    timing, machine, rates = context.baseline.timing, context.machine, context.baseline.rates
    alone = find_best_rate(rate for rate in rates if not rate.workers)
    with_workers = [rate for rate in rates if rate.workers]
    best = find_best_rate(with_workers)
    if best is None or timing is None:
        return
    good = (rate for rate in with_workers if rate.images_per_second >= best.images_per_second * _AS_GOOD)
    chosen = min(good, key=lambda rate: (rate.workers, -rate.images_per_second))
    ratio = chosen.images_per_second / (alone.images_per_second if alone else timing.images_per_second)
    if ratio < _WORTHWHILE:
        return
    evidence = list(map(describe_worker_rate, rates))
    if machine.quota is not None and machine.quota < machine.cores:
        evidence.append(f"{machine.cores} CPUs exist, {machine.quota:g} are granted")
    remedy = Remedy(text="give your DataLoader this number of workers; each takes the memory of another process")
    message = f"num_workers={chosen.workers}, compared with num_workers=0"
    finding = Finding.hint(message, evidence=tuple(evidence), remedy=remedy).by(_CHECK)
    gain = report.Gain(ratio=ratio, low=ratio, high=ratio, rounds=1)
    yield report.SpeedAdvice(candidate="", gain=gain, finding=finding, code=f"num_workers={chosen.workers}")
