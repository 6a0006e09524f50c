"""What several checks read from a stack: who owns PIL's files and core, and how to name the owner.

An owner is a distribution, a conda package, or one that is both. The module also reads a core of which a wheel holds
one copy per CPU level, conda's records of files that matter to PIL, and what keeps conda from replacing the stack: the
guard package, and the channel that has ours.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext
from fastinstall.elf.description import CoreLevel, ImagingCore
from fastinstall.model.conda import CondaClaim, CondaPackage, CondaRevision
from fastinstall.model.facts import Facts, InstalledStack, Owner
from fastinstall.model.receipt import Receipt
from fastinstall.model.request import EnvironmentKind


@immutable
class _OtherLibc:
    """What files for the other C library look like.

    Attributes:
        other: it, for people.
        tag: the end of the file names of its extension modules.
        soname: what its own begins with.
    """

    other: str
    tag: str
    soname: str


_LIBCS = {
    "glibc": _OtherLibc(other="musl (a musllinux wheel, as for Alpine Linux)", tag="musl", soname="libc.musl-"),
    "musl": _OtherLibc(other="glibc (a manylinux wheel)", tag="gnu", soname="libc.so.6"),
}
"""By the C library that a Python runs on."""


def describe(owner: Owner) -> str:
    """Name an owner for a person: "pillow 13.0.0, installed by pip at 2026-11-21T10:00:00+00:00"."""
    distribution = owner.distribution
    tool = distribution.installer or "a tool that left no name"
    when = f" at {owner.installed_at}" if owner.installed_at else ""
    return f"{distribution.name} {distribution.version}, installed by {tool}{when}"


def is_core_from_owner(owner: Owner, core: ImagingCore | None) -> bool:
    """Tell whether the core on disk is the one that this owner's RECORD lists."""
    if core is None or owner.recorded_core is None or not core.sha256:
        return False
    return _convert_digest(owner.recorded_core) == core.sha256


def is_whole_enough(stack: InstalledStack) -> bool:
    """Whether there is more of PIL than a directory."""
    return stack.directory is not None and (stack.has_init or stack.core is not None)


def is_of_the_system(facts: Facts) -> bool:
    """Whether PIL is a package of the operating system.

    Those leave out RECORD, or all metadata, so that pip keeps its hands off (PEP 668). What conda marks so is conda's.
    """
    is_conda = facts.environment.kind is EnvironmentKind.CONDA
    managed = facts.interpreter.externally_managed is not None and not is_conda
    return managed and is_whole_enough(facts.stack) and not any(owner.has_record for owner in facts.stack.owners)


def why_no_stack(facts: Facts) -> str:
    """Say why there are no files of PIL to judge; an operating system keeps its own beside site-packages."""
    runtime = facts.runtime
    if runtime is not None and runtime.imported and facts.stack.directory is None:
        return f"PIL is imported from {runtime.location}, and only {facts.interpreter.site_packages} is looked into"
    return "there is no PIL in this environment"


def why_no_core(facts: Facts) -> str:
    """Say why there is no core to judge."""
    return why_no_stack(facts) if facts.stack.directory is None else "there is no readable imaging core"


def version_conflict(stack: InstalledStack) -> str:
    """Say how the core and `PIL/_version.py` disagree; empty if they don't or cannot be compared."""
    compiled = stack.core.version if stack.core is not None else ""
    if not compiled or stack.version is None or compiled == stack.version:
        return ""
    return f"the core was built for {compiled}, PIL/_version.py says {stack.version}"


def other_libc(facts: Facts) -> str:
    """Say that the core is for the C library that this Python does not run on; empty if it is not."""
    core, here = facts.stack.core, facts.interpreter.libc
    if core is not None:
        found = any(is_other_libc(facts, each.soname) for each in core.libraries if each.path is None)
    else:
        found = bool(names_of_other_libc(facts, facts.stack.foreign_cores))
    return f"the core was built for {_LIBCS[here].other}, and this Python runs on {here}" if found else ""


def names_of_other_libc(facts: Facts, names: Iterable[str]) -> tuple[str, ...]:
    """Those of extension modules that are for this very Python, but for the other C library."""
    interpreter, other = facts.interpreter, _LIBCS.get(facts.interpreter.libc)
    if other is None:
        return ()
    python = interpreter.extension_suffix.partition("-linux-")[0]
    return tuple(name for name in names if name.endswith(f"{python}-linux-{other.tag}.so"))


def is_other_libc(facts: Facts, name: str) -> bool:
    """Whether a library that is asked for is the C library that this Python does not run on."""
    other = _LIBCS.get(facts.interpreter.libc)
    return other is not None and name.startswith(other.soname)


def minor(version: str) -> str:
    """The part of a Python version that its packages depend on: "3.11" of "3.11.7"."""
    return ".".join(version.split(".")[:2])


def _convert_digest(recorded: str) -> str:
    """The digest of a RECORD line (URL-safe base64 without padding) in hexadecimal."""
    _algorithm, _, digest = recorded.partition("=")
    try:
        return base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""


def loaded_copy(core: ImagingCore) -> CoreLevel | None:
    """Return the copy that the loader takes here, or None if it takes none."""
    return next((copy for copy in core.levels if copy.loaded), None)


def loaded_file(core: ImagingCore) -> PurePath:
    """Give the file that holds the code that runs here: the copy that the loader takes, or the core itself."""
    copy = loaded_copy(core)
    return copy.path if copy is not None else core.path


def loaded_name(core: ImagingCore | None) -> str:
    """Name the copy that the loader takes here; empty if there is none."""
    copy = loaded_copy(core) if core is not None else None
    return name_core_copy(core, copy) if core is not None and copy is not None else ""


def name_core_copy(core: ImagingCore, copy: CoreLevel) -> str:
    """Name a copy for a person: "the copy for x86-64-v3", "the baseline (x86-64-v2)"."""
    if copy != core.levels[0]:
        return f"the copy for {copy.level}"
    return f"the baseline ({copy.isa_note})" if copy.isa_note else "the baseline"


def whole_copies(core: ImagingCore) -> tuple[CoreLevel, ...]:
    """Give the copies that can be judged: neither missing nor damaged, nor another library."""
    return tuple(copy for copy in core.levels if not copy.problem)


def list_core_copies(core: ImagingCore | None) -> tuple[str, ...]:
    """List the copies as evidence, one line each."""
    if core is None:
        return ()
    return tuple(
        f"{name_core_copy(core, copy)}{', loaded here' if copy.loaded else ''}: {copy.path}" for copy in core.levels
    )


_SHARED_LIBRARY = re.compile(r"lib(jpeg|turbojpeg|tiff)\b[^/]*")
_TAIL = 2


def relative_to_prefix(facts: Facts, path: PurePath) -> str:
    """Give a path as records have it, relative to the prefix; empty for one outside.

    A prefix that is reached by a link may stand in a path as the directory that it is in truth: then the last two of
    its parts tell.
    """
    homes = (facts.environment.prefix, facts.interpreter.prefix)
    inside = (path.relative_to(home) for home in homes if path.is_relative_to(home))
    return str(next(inside, None) or _relativize_through_link(path, facts.environment.prefix) or "")


def package_of(context: CheckContext, path: PurePath) -> str:
    """Give the package, by `dist`, whose content a file has; empty if none claims it, or no records were read."""
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    if conda is None or not name:
        return ""
    clash = next((clash for clash in conda.clashes if clash.path == name), None)
    if clash is not None:
        return clash.holder if not clash.holder.startswith("pip: ") else ""
    return next((claim.dist for claim in conda.claims if name in claim.files), "")


def is_unclaimed(context: CheckContext, path: PurePath) -> bool:
    """Whether a library whose claims would be known (libjpeg, libtiff) is no package's."""
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    if conda is None or conda.unreadable or not name or not _SHARED_LIBRARY.fullmatch(path.name):
        return False
    if any(clash.path == name for clash in conda.clashes):
        return False
    return not any(name in claim.files for claim in conda.claims)


def packages_of_pil(facts: Facts) -> Iterator[tuple[CondaPackage, CondaClaim]]:
    """Give the packages that claim files of the PIL of this Python, with what they claim."""
    conda = facts.conda
    below = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/PIL/"
    for claim in conda.claims if conda is not None else ():
        package = find_conda_package(facts, claim.dist)
        if package is not None and any(name.startswith(below) for name in claim.files):
            yield package, claim


def find_conda_package(facts: Facts, dist: str) -> CondaPackage | None:
    """Give an installed package by its `dist`."""
    packages = facts.conda.packages if facts.conda is not None else ()
    return next((package for package in packages if package.dist == dist), None)


def describe_conda_package(package: CondaPackage) -> str:
    """Name a package for a person: "pillow 12.1.1 (py311h1234567_0 of conda-forge)"."""
    from fastinstall.model.conda_packages import CHANNEL  # noqa: PLC0415 (only in conda environments)

    channel = "the channel inside this environment" if package.channel.endswith(CHANNEL) else package.channel
    return f"{package.name} {package.version} ({package.build}{f' of {channel}' if channel else ''})"


def find_bringing_revision(facts: Facts, dist: str) -> CondaRevision | None:
    """Give the last transaction of conda's that brought a package."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    return next((each for each in reversed(revisions) if dist in each.linked), None)


def find_removing_revision(facts: Facts, dist: str) -> CondaRevision | None:
    """Return the conda transaction that removed a package, or None if the package came back."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    last = next((each for each in reversed(revisions) if dist in (*each.linked, *each.unlinked)), None)
    return last if last is not None and dist not in last.linked else None


def describe_revision(revision: CondaRevision | None) -> str:
    """Tell of a transaction, to be put behind what it did: ", by `conda install puretool` at 2026-11-21 12:30:00"."""
    if revision is None:
        return ""
    by = f"by `{_shorten_command(revision.command)}`" if revision.command else f"in revision {revision.number}"
    return f", {by}{f' at {revision.at}' if revision.at else ''}"


def records(context: CheckContext, *packages: CondaPackage) -> tuple[PurePath, ...]:
    """Give the files of records."""
    directory = context.facts.environment.prefix / "conda-meta"
    return tuple(directory / package.record for package in packages)


def _shorten_command(command: str) -> str:
    """A command line of conda's history by the name of its program: conda writes the path, of a module too."""
    program, _, words = command.partition(" ")
    path = PurePath(program)
    return f"{path.parent.name if path.stem == '__main__' else path.name} {words}".rstrip()


def _relativize_through_link(path: PurePath, prefix: PurePath) -> PurePath | None:
    end = prefix.parts[-_TAIL:]
    roots = (parent for parent in path.parents if parent.parts[-_TAIL:] == end and len(parent.parts) > len(end))
    return next((path.relative_to(root) for root in roots), None)


_WRITTEN_BY_INSTALLERS = ("METADATA", "RECORD", "INSTALLER")


@immutable
class Claimant:
    """One who claims PIL's files; at least one of the two sides is there.

    Attributes:
        owner: its metadata in site-packages.
        package: what conda has installed.
        claim: what that package claims.
    """

    owner: Owner | None = None
    package: CondaPackage | None = None
    claim: CondaClaim | None = None

    @property
    def name(self) -> str:
        """Of the distribution, or of the package where that is all there is."""
        if self.owner is not None:
            return self.owner.distribution.name
        return self.package.name if self.package is not None else ""

    @property
    def title(self) -> str:
        """For a sentence: "pillow 12.1.1", "conda's pillow 12.1.1"."""
        if self.package is not None:
            return f"conda's {self.package.name} {self.package.version}"
        return f"{self.name} {self.owner.distribution.version}" if self.owner is not None else ""

    @property
    def description(self) -> str:
        """Which it is, and who installed it."""
        if self.package is not None:
            return f"conda's {describe_conda_package(self.package)}"
        return describe(self.owner) if self.owner is not None else ""

    @property
    def place(self) -> str:
        """What says that it is installed: a metadata directory, or a record of conda's."""
        if self.package is not None:
            return f"conda-meta/{self.package.record}"
        return self.owner.distribution.metadata if self.owner is not None else ""


def claimants(facts: Facts) -> tuple[Claimant, ...]:
    """Give all who claim PIL's files: distributions first, then packages of conda's that left no metadata.

    A distribution is a package's own where that claims its metadata, and what lies there is what it put there: an
    installer that replaces one writes a directory of the same name where the version is the same.
    """
    packages = tuple(packages_of_pil(facts))
    found = tuple(_make_claimant(facts, owner, packages) for owner in facts.stack.owners)
    taken = {claimant.package.dist for claimant in found if claimant.package is not None}
    alone = (Claimant(package=package, claim=claim) for package, claim in packages if package.dist not in taken)
    return (*found, *alone)


def claimant_of(facts: Facts, owner: Owner) -> Claimant:
    """Give the claimant that a distribution is."""
    return _make_claimant(facts, owner, tuple(packages_of_pil(facts)))


def holds_core(claimant: Claimant, facts: Facts) -> bool:
    """Whether the core on disk is the one that a claimant brought."""
    core, claim = facts.stack.core, claimant.claim
    if claim is None or core is None:
        return claimant.owner is not None and is_core_from_owner(claimant.owner, core)
    name = relative_to_prefix(facts, core.path)
    return name in claim.files and name not in (*claim.altered, *claim.missing)


def _make_claimant(facts: Facts, owner: Owner, packages: tuple[tuple[CondaPackage, CondaClaim], ...]) -> Claimant:
    for package, claim in packages:
        if _is_of(facts, owner, claim):
            return Claimant(owner=owner, package=package, claim=claim)
    return Claimant(owner=owner)


def _is_of(facts: Facts, owner: Owner, claim: CondaClaim) -> bool:
    directory = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/{owner.distribution.metadata}"
    written = {f"{directory}/{name}" for name in _WRITTEN_BY_INSTALLERS}
    return bool(written & set(claim.files)) and not written & {*claim.altered, *claim.missing}


def lacks_guard(facts: Facts, receipt: Receipt) -> bool:
    """Whether the guard package was set up and is not installed."""
    guard = receipt.conda.guard if receipt.conda is not None else None
    return guard is not None and facts.conda is not None and facts.conda.named(guard.name) is None


def is_registered(facts: Facts, receipt: Receipt) -> bool:
    """Whether the environment's own configuration names the channel that was set up; true if none was."""
    if receipt.conda is None or facts.conda is None:
        return True
    from fastinstall.conda.reinstall import has_channel  # noqa: PLC0415 (only in conda environments)

    return has_channel(facts.conda, receipt.conda, facts.environment.prefix)
