"""What conda keeps account of against what lies in a conda environment, as far as it matters to PIL.

- error: records that cannot be read; conda refuses every command in this environment.
- warning: files of a package are gone, altered, or another package's; a package or a channel that is known to do harm;
  a pin that the installed Pillow contradicts; the channel that has the stack's packages is no longer registered.
- hint: two packages claim the same files, and the right one has them; a pin that something else contradicts.

Of files, PIL's own are the matter of `pillow-owner` and `pillow-files`, and headers of libjpeg that are not
libjpeg-turbo's that of `jpeg-library`. Whether the guard package is there says `guards`, and what an interrupted
transaction of conda's left behind, `interrupted`. Skipped where conda does not manage the environment.

Why it matters:
conda installs and removes by its records, whatever lies there by now. Two packages that claim the same files write
them over each other's, and removing one takes the other's along; conda mentions it once, when it happens. Of an old
recipe, libraries remain that no solver puts together again; and a pin that cannot be kept makes the next transaction
of conda's change something else, or fail.

How to fix it:
`fastinstall doctor --fix` has packages reinstalled that lost their files, libjpeg-turbo last. What is advised against
has to be removed by hand, since something may rest on it.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePath

from fastinstall.conda.reinstall import channel_of, find_rightful_owner, is_taken, name_of, provides_pil
from fastinstall.core.messages import listing as joined
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import contains, is_specifier, is_version
from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.owners import find_conda_package, is_registered
from fastinstall.doctor.remedies import find_text, repair, show_files, show_text, suggest_conda_reinstall
from fastinstall.model.conda import Conda, CondaClash, CondaPackage
from fastinstall.model.conda_packages import GUARD, TURBO, build_asked, conda_command, version_asked
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import EnvironmentKind

NAME = "conda-records"
SUMMARY = "Conda's records against the files that matter to PIL, its pins and channels, and what is known to do harm."
NEEDS_RUNTIME = False
ORDER = 20
VERIFIES_SETUP = False
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_SHOWN = 3


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge what conda keeps account of."""
    conda = context.facts.conda
    if conda is None:
        yield _SAY.skipped(_explain_missing_records(context))
        return
    judges = (_report_unreadable, _report_files, _report_harmful, _report_pinned, _report_unregistered)
    problems = tuple(finding for judge in judges for finding in judge(context, conda))
    yield from problems or (_report_success(context, conda),)


def _explain_missing_records(context: CheckContext) -> str:
    if context.facts.environment.kind is EnvironmentKind.CONDA:
        return "conda's records were not looked at"
    return "conda does not manage this environment: it has no conda-meta"


def _report_success(context: CheckContext, conda: Conda) -> Finding:
    claimed = len({path for claim in conda.claims for path in claim.files})
    message = f"the records of {len(conda.packages)} packages agree with the {claimed} files that matter to PIL"
    evidence = listing(tuple(claim.dist for claim in conda.claims))
    return _SAY.ok(message, evidence=evidence, verify=show_files(_locate_conda_meta(context)))


def _locate_conda_meta(context: CheckContext) -> PurePath:
    return context.facts.environment.prefix / "conda-meta"


def _report_unreadable(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    if conda.unreadable:
        names = tuple(conda.unreadable)
        those, them = (names[0], "it") if len(names) == 1 else (f"{names[0]} and {len(names) - 1} more", "them")
        yield _SAY.error(
            f"conda's records cannot be read: {those}; conda refuses every command in this environment",
            evidence=listing(tuple(f"{name}: {problem}" for name, problem in conda.unreadable.items())),
            expected="one JSON document for each package, named after it",
            observed=conda.unreadable[names[0]],
            remedy=Remedy(text=f"move {them} out of conda-meta, and have conda install the same packages again"),
            verify=show_text(*(_locate_conda_meta(context) / name for name in names[:_SHOWN])),
        )


def _report_files(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    yield from lost_of_packages(context, conda, _SAY)
    yield from contested_files(context, conda, _SAY)


def _report_harmful(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    for advice in advised_against(conda):
        yield _SAY.warning(
            f"{advice.package.dist} {advice.reason}",
            evidence=(f"installed from {advice.package.channel or 'an unknown channel'}",),
            expected=advice.instead,
            observed=advice.package.dist,
            remedy=Remedy(text=f"have {advice.instead} in its place", command=advice.command(context)),
            verify=show_files(_locate_conda_meta(context) / advice.package.record),
        )


def _report_pinned(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    for pin, package in find_contradicted_pins(conda):
        matters = any(claim.dist == package.dist for claim in conda.claims)
        say = _SAY.warning if matters else _SAY.hint
        yield say(
            f"{package.name} is pinned to {pin!r}, and {package.version} {package.build} is installed: conda's next "
            "transaction changes it, or fails",
            evidence=(f"conda-meta/pinned: {pin}",),
            expected=pin,
            observed=package.dist,
            remedy=Remedy(text="take the line out of conda-meta/pinned, or install what it asks for"),
            verify=show_text(_locate_conda_meta(context) / "pinned"),
        )


def _describe_channel_change(receipt: Receipt, channel: PurePath) -> str:
    return " any more" if receipt.conda is not None and receipt.conda.channel == channel else ", which is a copy"


def _report_unregistered(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    receipt, facts = context.receipt, context.facts
    if receipt is None or receipt.conda is None or is_registered(facts, receipt):
        return

    channel = channel_of(receipt.conda, facts.environment.prefix)
    here = f"this environment{_describe_channel_change(receipt, channel)}"
    if find_conda_package(facts, receipt.conda.package.dist) is not None:
        yield _SAY.warning(
            f"the channel that has {receipt.conda.package.dist} is not registered for {here}: "
            "conda does not find the package when it solves, and may replace it",
            evidence=tuple(f"registered: {channel}" for channel in conda.channels),
            expected=str(channel),
            observed="not among the channels of this environment",
            remedy=repair(context),
            verify=find_text(str(channel), facts.environment.prefix / "condarc.d"),
        )


_CHANNELS = {
    "fastai/label/test": "comes from the channel fastai/label/test, whose builds were experiments and are not kept up",
    "zegami": "comes from the channel zegami, whose builds fit the libraries of their day",
}
_PACKAGES = {
    "libtiff-libjpeg-turbo": "writes its own libtiff over that of conda's package libtiff, which no solver knows",
}
_STANDS_FOR = {"libtiff-libjpeg-turbo": "libtiff"}


@immutable
class CondaAdvice:
    """What is advised against.

    Attributes:
        package: the one that is installed.
        reason: what follows its name in a sentence.
        instead: the package to have in its place.
    """

    package: CondaPackage
    reason: str
    instead: str

    def command(self, context: CheckContext) -> str:
        """Replace it: by the package of the same name out of the usual channels, or by the one that it stands for."""
        facts, usual = context.facts, ("--override-channels", "--channel", "conda-forge")
        if self.instead == self.package.name:
            return conda_command(facts, "install", *usual, self.instead)
        remove = conda_command(facts, "remove", "--force", self.package.name)
        return f"{remove} && {conda_command(facts, 'install', *usual, '--force-reinstall', '--no-deps', self.instead)}"


def advised_against(conda: Conda) -> Iterator[CondaAdvice]:
    """Give the installed packages that are known to do harm, by their name or by their channel."""
    for package in conda.packages:
        reason = _PACKAGES.get(package.name) or _explain_channel(package)
        if reason:
            yield CondaAdvice(package=package, reason=reason, instead=_STANDS_FOR.get(package.name, package.name))


def _explain_channel(package: CondaPackage) -> str:
    place = f"/{package.channel}/{package.url}"
    return next((reason for name, reason in _CHANNELS.items() if f"/{name}/" in place), "")


_NAMED = 2
_Paths = tuple[str, ...]


def lost_of_packages(context: CheckContext, conda: Conda, say: FindingFactory) -> Iterator[Finding]:
    """Tell of files that one package alone claims, and that are gone or altered; PIL's own and the guard's aside."""
    contested = {clash.path for clash in conda.clashes}
    for claim in conda.claims:
        missing = tuple(path for path in claim.missing if path not in contested)
        altered = tuple(path for path in claim.altered if path not in contested)
        if (missing or altered) and not provides_pil(claim) and name_of(claim.dist) != GUARD:
            yield _report_lost(context, say, claim.dist, missing, altered)


def contested_files(context: CheckContext, conda: Conda, say: FindingFactory) -> Iterator[Finding]:
    """Tell of files that several packages claim: at once those that have the same claimants and holder."""
    groups: dict[tuple[_Paths, str], list[CondaClash]] = {}
    for clash in conda.clashes:
        if not _is_told_elsewhere(clash):
            groups.setdefault((clash.claimants, clash.holder), []).append(clash)
    return (_report_contested(context, say, clashes) for clashes in groups.values())


def _report_lost(context: CheckContext, say: FindingFactory, dist: str, missing: _Paths, altered: _Paths) -> Finding:
    name, prefix = name_of(dist), context.facts.environment.prefix
    paths, what = (missing, "gone") if missing else (altered, "altered")
    return say.warning(
        f"{_join_names(paths)} of {dist} {_choose_verb(paths)} {what}, and conda takes the package for whole",
        evidence=listing((*(f"{path} is gone" for path in missing), *(f"{path} is altered" for path in altered))),
        expected="every file as it was installed",
        observed=f"{len(missing)} gone, {len(altered)} altered",
        remedy=suggest_conda_reinstall(context, f"install {name} again", name),
        verify=show_files(*(prefix / path for path in paths[:_SHOWN])),
    )


def _report_contested(context: CheckContext, say: FindingFactory, clashes: list[CondaClash]) -> Finding:
    first, paths = clashes[0], tuple(clash.path for clash in clashes)
    right, is_wrong = find_rightful_owner(first), is_taken(first)
    whose = f"of {first.holder}" if first.holder else "of neither"
    tell = say.warning if is_wrong else say.hint
    return tell(
        f"{joined(first.claimants)} claim the same files: {_join_names(paths)} {_choose_verb(paths)} {whose}, "
        "and removing one package takes the other's along",
        evidence=listing(paths),
        expected=right,
        observed=first.holder or "the content of neither",
        remedy=suggest_conda_reinstall(context, f"install {name_of(right)} again", name_of(right))
        if is_wrong
        else None,
        verify=show_files(*(context.facts.environment.prefix / path for path in paths[:_SHOWN])),
    )


def _is_told_elsewhere(clash: CondaClash) -> bool:
    """What was taken from libjpeg-turbo is told with the libjpeg, PIL's own with its owners."""
    is_turbo = any(name_of(dist) == TURBO for dist in clash.claimants)
    return (is_turbo and is_taken(clash)) or "/site-packages/" in f"/{clash.path}"


def _join_names(paths: _Paths) -> str:
    names = [path.rpartition("/")[2] for path in paths]
    rest = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return joined([*names[:_NAMED], *rest])


def _choose_verb(paths: _Paths) -> str:
    return "is" if len(paths) == 1 else "are"


def find_contradicted_pins(conda: Conda) -> Iterator[tuple[str, CondaPackage]]:
    """Give the pins that an installed package is not what they ask for; one that cannot be judged counts as kept."""
    for pin in conda.pins:
        name, specifier = version_asked(pin)
        package = conda.named(name)
        if package is not None and not (_has_version(package, specifier) and _has_build(package, pin)):
            yield pin, package


def _has_version(package: CondaPackage, specifier: str) -> bool:
    if not specifier or not is_version(package.version) or not is_specifier(specifier):
        return True
    return contains(specifier, package.version)


def _has_build(package: CondaPackage, pin: str) -> bool:
    _, build = build_asked(pin)
    return build.startswith("^") or fnmatchcase(package.build, build)
