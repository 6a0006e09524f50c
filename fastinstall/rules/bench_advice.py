"""What to do about the loading of images, in the order of what was measured. Pure.

Advice rests on a measurement or says that it does not. What changes the pictures, cannot load all of them, or does not
fit on the disk is told with its gain, and is never what is recommended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall.model.bench import Advice, Bound, Verdict
from fastinstall.model.environment import Environment
from fastinstall.model.finding import Remedy
from fastinstall.model.images import Workload
from fastinstall.model.loading import CandidateResult, Gain, Outcome
from fastinstall.model.measured_machine import Machine
from fastinstall.rules import bench_advice_words as words
from fastinstall.rules.bench_advice_evidence import evidence_of, flaws_of, rate_with
from fastinstall.rules.bench_advice_pointers import list_pointers
from fastinstall.rules.bench_advice_ways import AdviceContext, Surroundings, ways_of
from fastinstall.rules.bench_advice_workers import advice_on_workers

_BEYOND_NOISE = 1.02


def advice_for(  # noqa: PLR0913, PLR0917 (what a workload's result is made of, and where it was measured)
    baseline: CandidateResult,
    candidates: Sequence[CandidateResult],
    verdict: Verdict,
    workload: Workload,
    machine: Machine,
    environment: Environment,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 (a value that never changes)
) -> tuple[Advice, ...]:
    """What helps, the largest gain first; then what is worth a look without having been measured.

    Args:
        baseline: what was compared with.
        candidates: everything that was tried.
        verdict: what limits the loading.
        workload: the images.
        machine: where it was measured.
        environment: that the advice is for.
        surroundings: what else has to be known to word it.
    """
    context = AdviceContext(
        baseline=baseline, workload=workload, machine=machine, environment=environment, surroundings=surroundings
    )
    if baseline.timing is None:
        return ()
    measured = [each for each in candidates if each.outcome is Outcome.MEASURED and each.gain is not None]
    if verdict.bound is Bound.FAST_ENOUGH:
        return (_fast_enough(measured, verdict), *list_pointers(context, verdict))
    gains = [_advice(each, gain, context) for each, gain in _worthwhile(measured)]
    ranked = sorted((*gains, *advice_on_workers(context)), key=_ratio, reverse=True)
    return (
        *_left_alone(measured, context),
        *_with_recommendation(ranked, measured, verdict, context),
        *list_pointers(context, verdict),
    )


def is_worthwhile(gain: Gain) -> bool:
    """Whether a gain is more than noise, and more than the trouble."""
    return gain.ratio >= words.WORTHWHILE and gain.low > _BEYOND_NOISE


def _worthwhile(measured: Sequence[CandidateResult]) -> Iterator[tuple[CandidateResult, Gain]]:
    for each in measured:
        if each.gain is not None and is_worthwhile(each.gain):
            yield each, each.gain


def _ratio(advice: Advice) -> float:
    return advice.gain.ratio if advice.gain is not None else 0.0


def _advice(result: CandidateResult, gain: Gain, context: AdviceContext) -> Advice:
    """The gain stands beside the message, and is not said in it."""
    ways = ways_of(result, context)
    remedy = Remedy(
        text="; then ".join(way.text for way in ways) or result.candidate.title,
        command=" && ".join(way.command for way in ways) or None,
    )
    message = "; ".join((result.candidate.title, *flaws_of(result, context)))
    return Advice(
        candidate=result.candidate.name,
        gain=gain,
        finding=words.SAY.hint(message, evidence=(words.times(gain), *evidence_of(result, context)), remedy=remedy),
        code="\n".join(way.code for way in ways if way.code),
    )


def _with_recommendation(
    ranked: Sequence[Advice], measured: Sequence[CandidateResult], verdict: Verdict, context: AdviceContext
) -> Iterator[Advice]:
    """Mark the first candidate without a flaw; say where it is all that is needed."""
    flawless = {each.candidate.name: each for each in measured if not flaws_of(each, context)}
    best = next((each for each in ranked if each.candidate in flawless), None)
    for each in ranked:
        yield each if each is not best else _recommended(each, flawless[each.candidate], verdict)


def _recommended(advice: Advice, result: CandidateResult, verdict: Verdict) -> Advice:
    reached, target, message = rate_with(result, verdict), verdict.target_rate, advice.finding.message
    if target is not None and reached >= target:
        alone = f"this alone brings about {words.rate(reached)} images/s, and {words.rate(target)} are wanted"
        message = f"{message}; {alone}: the rest is not needed"
    return replace(advice, recommended=True, finding=replace(advice.finding, message=message))


def _fast_enough(measured: Sequence[CandidateResult], verdict: Verdict) -> Advice:
    reached, target = words.rate(verdict.reached_rate), words.rate(verdict.target_rate or 0.0)
    message = f"leave it alone: {reached} images/s are loaded, and {target} are wanted"
    return Advice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_best_of(measured)))


def _left_alone(measured: Sequence[CandidateResult], context: AdviceContext) -> Iterator[Advice]:
    """Where nothing helps that leaves the pictures as they are."""
    alike = [each for each in measured if not flaws_of(each, context)]
    if not measured or any(is_worthwhile(each.gain) for each in alike if each.gain is not None):
        return
    others = "" if len(alike) == len(measured) else "with every picture as it is, "
    message = f"leave it alone: {others}{_at_most(alike)}"
    yield Advice(candidate="", gain=None, finding=words.SAY.ok(message, evidence=_best_of(alike)))


def _at_most(measured: Sequence[CandidateResult]) -> str:
    highest = max((each.gain.ratio for each in measured if each.gain is not None), default=0.0)
    if highest >= words.WORTHWHILE:
        return "no gain is more than the noise of the measurement"
    return f"you would gain {words.percent(highest - 1)} at most" if highest > 1 else "nothing else is faster"


def _best_of(measured: Sequence[CandidateResult]) -> tuple[str, ...]:
    gains = [(each.gain, each.candidate.title) for each in measured if each.gain is not None]
    if not gains:
        return ()
    gain, title = max(gains, key=lambda each: each[0].ratio)
    return (f"the fastest of {len(gains)} that were compared: {title}, {words.times(gain)}",)
