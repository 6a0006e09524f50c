"""What PIL's files are held against: the RECORD of a distribution, or conda's record of a package.

conda writes its own prefix into the files of a package when it links them, so the RECORD that came with it is not true
of them; conda's own record is.
"""

from fastinstall.model.immutable import immutable
from fastinstall.rules.checks._claimants import Claimant, claimants
from fastinstall.rules.checks._conda import records, relative_to_prefix
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._verify import compare_with_conda, compare_with_record


@immutable
class Recorded:
    """The files that one claimant recorded.

    Attributes:
        title: whose they are: "pillow 12.1.1".
        place: where it is recorded.
        files: how many.
        altered: those whose contents differ, relative to site-packages where they lie there.
        missing: those that are not on disk, likewise.
        verify: a command that compares them.
    """

    title: str
    place: str
    files: int
    altered: tuple[str, ...]
    missing: tuple[str, ...]
    verify: str


def recorded(context: CheckContext) -> Recorded | None:
    """Return the record that fits PIL's files best, or None if there is none."""
    found = (_record(context, claimant) for claimant in claimants(context.facts))
    kept = (record for record in found if record is not None)
    return min(kept, key=lambda record: len(record.altered) + len(record.missing), default=None)


def unclaimed(context: CheckContext) -> tuple[str, ...]:
    """Give the files below `PIL/` that neither a RECORD nor a record of conda's names."""
    claims = (claimant.claim for claimant in claimants(context.facts) if claimant.claim is not None)
    known = {path for claim in claims for path in _in_packages(context, claim.files)}
    return tuple(name for name in context.facts.stack.unclaimed if name not in known)


def _record(context: CheckContext, claimant: Claimant) -> Recorded | None:
    owner, claim = claimant.owner, claimant.claim
    if claim is not None and claimant.package is not None:
        return Recorded(
            title=claimant.title,
            place=claimant.place,
            files=len(claim.files),
            altered=_in_packages(context, claim.altered),
            missing=_in_packages(context, claim.missing),
            verify=compare_with_conda(context, records(context, claimant.package)[0]),
        )
    if owner is None or not owner.has_record:
        return None
    return Recorded(
        title=claimant.title,
        place=claimant.place,
        files=owner.files,
        altered=owner.mismatched,
        missing=owner.missing,
        verify=compare_with_record(context, claimant.name),
    )


def _in_packages(context: CheckContext, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths of the prefix as a RECORD has them; compiled modules aside, which Python writes anew as it likes."""
    packages = f"{relative_to_prefix(context.facts, context.facts.interpreter.site_packages)}/"
    return tuple(path.removeprefix(packages) for path in paths if not path.endswith(".pyc"))
