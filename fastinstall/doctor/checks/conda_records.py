"""Whether conda's records match the files that matter to PIL, and whether a package is known to cause trouble.

- error: conda's records cannot be read; conda refuses every command in this environment.
- warning: files of a package are missing, altered, or overwritten by another package. Or a package or a channel is
  known to cause trouble. Or the channel with the stack's packages is no longer registered.
- hint: two packages claim the same files; the files on disk are those of the right package.

`pillow-owner` and `pillow-files` check PIL's own files. `guards` checks the guard package, and `interrupted` the
leftovers of conda's transactions. The check is skipped if conda does not manage the environment.

Why it matters:
conda installs and removes files by its records, even if other programs have replaced the files. If two packages claim
the same files, the package installed last overwrites them. Removing either package deletes them for both. conda warns
once, during the installation. The packages `jpeg` and `libjpeg-turbo` contain headers of the same names. If those of
`jpeg` were installed last, programs are built for the IJG's library, which has no SIMD code. Outdated guides install
libraries that conda's solver cannot combine with later packages.

How to fix it:
`fastinstall doctor --fix` reinstalls packages that lost their files, libjpeg-turbo last. Packages that are known to
cause trouble must be removed by hand, since other packages may depend on them.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.messages import listing
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import describe_arrival, find_conda_package, is_registered
from fastinstall.doctor.remedies import offer_repair, show, show_files, show_text, suggest_conda_reinstall
from fastinstall.model.conda import Conda, CondaClash
from fastinstall.model.conda_packages import GUARD, TURBO, conda_command
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.finding import Finding, Remedy, Status, shorten_evidence

_SHOWN = 3
_NAMED = 2
_Paths = tuple[str, ...]
_CHANNELS = {
    "fastai/label/test": "comes from the channel fastai/label/test, whose builds are unmaintained experiments",
    "zegami": "comes from the channel zegami, whose builds match the libraries of their time",
}
_PACKAGES = {"libtiff-libjpeg-turbo": "overwrites the libtiff of conda's package libtiff, which no solver knows"}
_STANDS_FOR = {"libtiff-libjpeg-turbo": "libtiff"}


def check(context: CheckContext) -> Iterator[Finding]:
    """Check conda's records."""
    conda = context.facts.conda
    if conda is not None:
        judges = (_report_unreadable, _report_lost, _report_contested, _report_harmful, _report_unregistered)
        problems = [finding for judge in judges for finding in judge(context, conda)]
        yield from problems or (_report_success(context, conda),)
    elif context.facts.environment.kind is EnvironmentKind.CONDA:
        yield Finding.skipped("conda's records were not looked at")
    else:
        yield Finding.skipped("conda does not manage this environment: it has no conda-meta")


def _report_success(context: CheckContext, conda: Conda) -> Finding:
    claimed = len({path for claim in conda.claims for path in claim.files})
    message = f"the records of {len(conda.packages)} packages agree with the {claimed} files that matter to PIL"
    evidence = shorten_evidence(claim.dist for claim in conda.claims)
    return Finding.ok(message, evidence=evidence, verify=show_files(_locate_conda_meta(context)))


def _locate_conda_meta(context: CheckContext) -> PurePath:
    return context.facts.environment.prefix / "conda-meta"


def _report_unreadable(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    if names := tuple(conda.unreadable):
        those, them = (names[0], "it") if len(names) == 1 else (f"{names[0]} and {len(names) - 1} more", "them")
        yield Finding.error(
            f"conda's records cannot be read: {those}; conda refuses every command in this environment",
            evidence=shorten_evidence(f"{name}: {problem}" for name, problem in conda.unreadable.items()),
            remedy=Remedy(text=f"move {them} out of conda-meta, and have conda install the same packages again"),
            verify=show_text(*(_locate_conda_meta(context) / name for name in names[:_SHOWN])),
        )


def _report_harmful(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    """Report installed packages that are known to cause trouble, by their name or their channel."""
    facts, usual = context.facts, ("install", "--override-channels", "--channel", "conda-forge")
    for package in conda.packages:
        name, place = package.name, f"/{package.channel}/{package.url}"
        channels = (reason for channel, reason in _CHANNELS.items() if f"/{channel}/" in place)
        reason = _PACKAGES.get(name) or next(channels, "")
        if not reason:
            continue
        # The replacement comes from conda-forge. It has the same name, or is the package that the harmful one imitates.
        instead = _STANDS_FOR.get(name, name)
        words = conda_command(facts, *usual, instead)
        if instead != name:
            remove = conda_command(facts, "remove", "--force", name)
            words = f"{remove} && {conda_command(facts, *usual, '--force-reinstall', '--no-deps', instead)}"
        yield Finding.warning(
            f"{package.dist} {reason}",
            evidence=(f"installed from {package.channel or 'an unknown channel'}",),
            remedy=Remedy(text=f"have {instead} in its place", command=words),
            verify=show_files(_locate_conda_meta(context) / package.record),
        )


def _report_unregistered(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    from fastinstall.conda.reinstall import channel_of  # needed only in conda environments

    receipt, facts = context.receipt, context.facts
    if receipt is None or receipt.conda is None or is_registered(facts, receipt):
        return
    channel = channel_of(receipt.conda, facts.environment.prefix)
    change = " any more" if receipt.conda.channel == channel else ", which is a copy"
    if find_conda_package(facts, receipt.conda.package.dist) is not None:
        yield Finding.warning(
            f"the channel that has {receipt.conda.package.dist} is not registered for this environment{change}: "
            "conda's solver does not find the package, and may replace it",
            evidence=tuple(f"registered: {registered}" for registered in conda.channels),
            expected=str(channel),
            observed="not registered",
            remedy=offer_repair(context),
            verify=show("grep", "-rlF", str(channel), facts.environment.prefix / "condarc.d"),
        )


def _report_lost(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    """Report missing or altered files that only one package claims, except those of PIL and of the guard package."""
    from fastinstall.conda.reinstall import name_of_dist, provides_pil  # needed only in conda environments

    contested, prefix = {clash.path for clash in conda.clashes}, context.facts.environment.prefix
    for claim in conda.claims:
        missing = tuple(path for path in claim.missing if path not in contested)
        altered = tuple(path for path in claim.altered if path not in contested)
        name, paths, what = name_of_dist(claim.dist), missing or altered, "gone" if missing else "altered"
        if paths and not provides_pil(claim) and name != GUARD:
            told = (*(f"{path} is gone" for path in missing), *(f"{path} is altered" for path in altered))
            yield Finding.warning(
                f"{_join_names(paths)} of {claim.dist} {_choose_verb(paths)} {what}, but conda believes that the "
                "package is intact",
                evidence=shorten_evidence(told),
                remedy=suggest_conda_reinstall(context, f"install {name} again", name),
                verify=show_files(*(prefix / path for path in paths[:_SHOWN])),
            )


def _report_contested(context: CheckContext, conda: Conda) -> Iterator[Finding]:
    """Report files that several packages claim, grouped by claimants and by the package whose content is on disk."""
    from fastinstall.conda.reinstall import find_rightful_owner, is_taken, name_of_dist  # only in conda environments

    groups: dict[tuple[_Paths, str], list[CondaClash]] = {}
    for clash in conda.clashes:
        if "/site-packages/" not in f"/{clash.path}":  # the check `pillow-owner` reports PIL's own files
            groups.setdefault((clash.claimants, clash.holder), []).append(clash)
    for (claimants, holder), clashes in groups.items():
        paths = tuple(clash.path for clash in clashes)
        right, is_wrong = find_rightful_owner(clashes[0]), is_taken(clashes[0])
        whose, name = f"of {holder}" if holder else "of neither", name_of_dist(right)
        next_build = "; what is built here next is made for another libjpeg" if is_wrong and name == TURBO else ""
        arrival = describe_arrival(context.facts, holder)
        yield Finding.of(
            Status.WARNING if is_wrong else Status.HINT,
            f"{listing(claimants)} claim the same files: {_join_names(paths)} {_choose_verb(paths)} {whose}, "
            f"and removing one package removes the other's files{next_build}",
            evidence=(*shorten_evidence(paths), *((f"{holder} was installed{arrival}",) if arrival else ())),
            expected=right,
            observed=holder or "the content of neither",
            remedy=suggest_conda_reinstall(context, f"install {name} again", name) if is_wrong else None,
            verify=show_files(*(context.facts.environment.prefix / path for path in paths[:_SHOWN])),
        )


def _join_names(paths: _Paths) -> str:
    return listing((path.rpartition("/")[2] for path in paths), most=_NAMED)


def _choose_verb(paths: _Paths) -> str:
    return "is" if len(paths) == 1 else "are"
