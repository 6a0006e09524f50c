"""Files of conda's packages that are gone, altered, or another package's, for the check of conda's records."""

from collections.abc import Iterator

from fastinstall.model.conda import Conda, CondaClash
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import reinstalled
from fastinstall.rules.checks._verify import show_files
from fastinstall.rules.checks._voice import Voice, listing
from fastinstall.rules.conda_names import TURBO
from fastinstall.rules.conda_repair import is_taken, name_of, provides_pil, rightful
from fastinstall.rules.conda_stack import GUARD
from fastinstall.rules.messages import listing as joined

_NAMED = 2
_SHOWN = 3
_Paths = tuple[str, ...]


def lost_of_packages(context: CheckContext, conda: Conda, say: Voice) -> Iterator[Finding]:
    """Tell of files that one package alone claims, and that are gone or altered; PIL's own and the guard's aside."""
    contested = {clash.path for clash in conda.clashes}
    for claim in conda.claims:
        missing = tuple(path for path in claim.missing if path not in contested)
        altered = tuple(path for path in claim.altered if path not in contested)
        if (missing or altered) and not provides_pil(claim) and name_of(claim.dist) != GUARD:
            yield _lost(context, say, claim.dist, missing, altered)


def contested_files(context: CheckContext, conda: Conda, say: Voice) -> Iterator[Finding]:
    """Tell of files that several packages claim: at once those that have the same claimants and holder."""
    groups: dict[tuple[_Paths, str], list[CondaClash]] = {}
    for clash in conda.clashes:
        if not _is_told_elsewhere(clash):
            groups.setdefault((clash.claimants, clash.holder), []).append(clash)
    return (_contested(context, say, clashes) for clashes in groups.values())


def _lost(context: CheckContext, say: Voice, dist: str, missing: _Paths, altered: _Paths) -> Finding:
    name, prefix = name_of(dist), context.facts.environment.prefix
    paths, what = (missing, "gone") if missing else (altered, "altered")
    return say.warning(
        f"{_names(paths)} of {dist} {_are(paths)} {what}, and conda takes the package for whole",
        evidence=listing((*(f"{path} is gone" for path in missing), *(f"{path} is altered" for path in altered))),
        expected="every file as it was installed",
        observed=f"{len(missing)} gone, {len(altered)} altered",
        remedy=reinstalled(context, f"install {name} again", name),
        verify=show_files(*(prefix / path for path in paths[:_SHOWN])),
    )


def _contested(context: CheckContext, say: Voice, clashes: list[CondaClash]) -> Finding:
    first, paths = clashes[0], tuple(clash.path for clash in clashes)
    right, is_wrong = rightful(first), is_taken(first)
    whose = f"of {first.holder}" if first.holder else "of neither"
    tell = say.warning if is_wrong else say.hint
    return tell(
        f"{joined(first.claimants)} claim the same files: {_names(paths)} {_are(paths)} {whose}, and removing one "
        "package takes the other's along",
        evidence=listing(paths),
        expected=right,
        observed=first.holder or "the content of neither",
        remedy=reinstalled(context, f"install {name_of(right)} again", name_of(right)) if is_wrong else None,
        verify=show_files(*(context.facts.environment.prefix / path for path in paths[:_SHOWN])),
    )


def _is_told_elsewhere(clash: CondaClash) -> bool:
    """What was taken from libjpeg-turbo is told with the libjpeg, PIL's own with its owners."""
    is_turbo = any(name_of(dist) == TURBO for dist in clash.claimants)
    return (is_turbo and is_taken(clash)) or "/site-packages/" in f"/{clash.path}"


def _names(paths: _Paths) -> str:
    names = [path.rpartition("/")[2] for path in paths]
    rest = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return joined([*names[:_NAMED], *rest])


def _are(paths: _Paths) -> str:
    return "is" if len(paths) == 1 else "are"
