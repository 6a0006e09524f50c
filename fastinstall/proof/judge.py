"""Hold what one stack gave against another's, case by case; leave out what the witness does not know itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fastinstall.model.immutable import immutable
from fastinstall.model.proof import CaseDifference
from fastinstall.probes.concurrently import Running
from fastinstall.proof.catalogue import operation_of, pixels_of
from fastinstall.proof.compare import Distance, distance
from fastinstall.proof.results import Results, calm, disturbed
from fastinstall.proof.runs import Outcomes, Stack, Work, is_death, is_digest, sample_cases
from fastinstall.proof.tolerances import EQUAL, FEWEST_PIXELS, FEWEST_SAMPLES, tolerance_of
from fastinstall.system.together import awaited


@immutable
class Comparison:
    """Two stacks to compare.

    Attributes:
        ours: what is judged.
        standard: what it has to agree with.
        witness: the official wheel; where it gives something else each time, nothing is expected. None: nobody.
        exact: whether results have to be equal, whatever the operation's bound.
    """

    ours: Stack
    standard: Stack
    witness: Stack | None
    exact: bool = False


def judge(comparison: Comparison, work: Work, results: Results) -> tuple[CaseDifference, ...]:
    """The cases in which our stack is further from the standard than it may be.

    A case in which the standard dies is none: ours cannot be worse.

    Raises:
        FailedError: PIL cannot be imported on one of them.
    """
    ours, standard = calm(comparison.ours), calm(comparison.standard)
    mine, theirs = results.outcomes(ours, work), results.outcomes(standard, work)
    differing = [case for case in work.cases if mine[case] != theirs[case] and not is_death(theirs[case])]
    distances = _distances((ours, standard), replace(work, cases=[c for c in differing if _both(c, mine, theirs)]))
    wrong = [
        *(_unlike(case, mine, theirs) for case in differing if not _both(case, mine, theirs)),
        *_too_far(distances, exact=comparison.exact),
    ]
    return determinate(wrong, comparison.witness, work)


def determinate(wrong: Sequence[CaseDifference], witness: Stack | None, work: Work) -> tuple[CaseDifference, ...]:
    """Leave out the cases whose result depends on what was in the memory before, even on the official wheel."""
    known = set(work.cases)
    cases = [found.case for found in wrong if found.case in known]
    if witness is None or not cases:
        return tuple(wrong)
    with Results(None) as again:
        one, other = (again.start(how(witness), replace(work, cases=cases)) for how in (calm, disturbed))
        return tuple(item for item in wrong if awaited(one).get(item.case) == awaited(other).get(item.case))


def _both(case: str, mine: Outcomes, theirs: Outcomes) -> bool:
    return is_digest(mine[case]) and is_digest(theirs[case])


def _distances(stacks: tuple[Stack, Stack], work: Work) -> Mapping[str, Distance]:
    beside = Running(lambda: sample_cases(stacks[1], work))
    mine, theirs = sample_cases(stacks[0], work), beside.result()
    nothing = Distance(problem="it does not make the same twice")
    return {
        case: distance(mine[case], theirs[case]) if case in mine and case in theirs else nothing for case in work.cases
    }


def _unlike(case: str, mine: Outcomes, theirs: Outcomes) -> CaseDifference:
    words = ["makes a picture" if is_digest(outcome) else outcome for outcome in (mine[case], theirs[case])]
    return _finding(case, problem=f"{words[0]}; the reference {words[1]}")


def _too_far(distances: Mapping[str, Distance], *, exact: bool) -> Iterator[CaseDifference]:
    for case, apart in distances.items():
        tolerance = EQUAL if exact else tolerance_of(case)
        if apart.problem or apart.largest > tolerance.largest:
            yield _finding(case, largest=round(apart.largest, 2), allowed=tolerance.largest, problem=apart.problem)
        elif _is_typical(case, apart) and abs(apart.bias) > tolerance.bias:
            problem = f"lies {apart.bias:+.2f} to one side on average, allowed {tolerance.bias:g}"
            yield _finding(case, largest=round(apart.largest, 2), allowed=tolerance.largest, problem=problem)


def _is_typical(case: str, apart: Distance) -> bool:
    """Whether so much went in and came out that an average says something."""
    return pixels_of(case) >= FEWEST_PIXELS and apart.samples >= FEWEST_SAMPLES


def _finding(case: str, *, largest: float = 0.0, allowed: float = 0.0, problem: str = "") -> CaseDifference:
    return CaseDifference(case=case, operation=operation_of(case), largest=largest, allowed=allowed, problem=problem)
