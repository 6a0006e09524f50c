"""Files of libjpeg-turbo over which another package of conda's wrote its own, for the check of the libjpeg."""

from fastinstall.model.conda import CondaClash
from fastinstall.model.immutable import immutable
from fastinstall.rules.checks._conda import bringer, told
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._verify import show_lines
from fastinstall.rules.checks._voice import listing
from fastinstall.rules.conda_names import TURBO
from fastinstall.rules.conda_repair import is_taken, name_of
from fastinstall.rules.messages import listing as joined

_NAMED = ("libjpeg.so", "jpeglib.h")
_VERBS = {
    (False, False): "is",
    (False, True): "is that of",
    (True, False): "are",
    (True, True): "are those of",
}
"""By whether there are several, and whether somebody has them."""


@immutable
class Taken:
    """What was taken from libjpeg-turbo.

    Attributes:
        files: for a sentence: "libjpeg.so and jpeglib.h".
        verb: what goes before the holder.
        holder: the package whose they are by now.
        loser: the libjpeg-turbo.
        evidence: each file, and who brought the holder.
        verify: a command that shows it.
    """

    files: str
    verb: str
    holder: str
    loser: str
    evidence: tuple[str, ...]
    verify: str


def taken_from_turbo(context: CheckContext) -> Taken | None:
    """Find what another package took from libjpeg-turbo, or return None if nothing was taken."""
    conda = context.facts.conda
    taken = tuple(clash for clash in (conda.clashes if conda is not None else ()) if _is_taken(clash))
    if not taken:
        return None
    names = _named(taken)
    holder, loser = taken[0].holder, next(filter(_is_turbo, taken[0].claimants))
    headers = tuple(clash.path for clash in taken if clash.path.startswith("include/"))
    prefix = context.facts.environment.prefix
    return Taken(
        files=joined(names),
        verb=_VERBS[len(names) > 1, bool(holder)],
        holder=holder or "nobody's",
        loser=loser,
        evidence=(*listing(tuple(map(_line, taken))), *_author(context, holder)),
        verify=show_lines("JPEG_LIB_VERSION\\|LIBJPEG_TURBO_VERSION", *(prefix / path for path in headers[:3]))
        if headers
        else show_lines('"lib/libjpeg', prefix / f"conda-meta/{loser}.json"),
    )


def _is_taken(clash: CondaClash) -> bool:
    return any(map(_is_turbo, clash.claimants)) and is_taken(clash)


def _is_turbo(dist: str) -> bool:
    return name_of(dist) == TURBO


def _named(taken: tuple[CondaClash, ...]) -> list[str]:
    """The two that matter to a build, or else the first ones."""
    names = [clash.path.rpartition("/")[2] for clash in taken]
    return [name for name in _NAMED if name in names] or names[:2]


def _line(clash: CondaClash) -> str:
    return f"{clash.path}: claimed by {joined(clash.claimants)}; it is that of {clash.holder or 'none of them'}"


def _author(context: CheckContext, holder: str) -> tuple[str, ...]:
    revision = bringer(context.facts, holder)
    return (f"{holder} was installed{told(revision)}",) if revision is not None else ()
