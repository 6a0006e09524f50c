"""Find and name the owners of PIL's files, and answer other questions about a stack that several checks ask.

An owner is a distribution, a conda package, or a conda package with the metadata of a distribution. The other questions
concern the core's copies for CPU levels, conda's records of files that matter to PIL, and the channel of our packages.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext
from fastinstall.elf.description import CoreLevel, ImagingCore
from fastinstall.model.conda import CondaClaim, CondaPackage, CondaRevision
from fastinstall.model.facts import EnvironmentKind, Facts, InstalledStack, Owner
from fastinstall.model.receipt import Receipt

_SHARED_LIBRARY = re.compile(r"lib(jpeg|turbojpeg|tiff)\b[^/]*")
_ABI_FLAGS = re.compile(r"\.cpython-\d+([a-z]*)-")
_TAIL = 2
_WRITTEN_BY_INSTALLERS = ("METADATA", "RECORD", "INSTALLER")


def describe_owner(owner: Owner) -> str:
    """Return an owner as text: "pillow 13.0.0, installed by pip at 2026-11-21T10:00:00+00:00"."""
    distribution = owner.distribution
    tool = distribution.installer or "an unknown tool"
    when = f" at {owner.installed_at}" if owner.installed_at else ""
    return f"{distribution.name} {distribution.version}, installed by {tool}{when}"


def is_whole_enough(stack: InstalledStack) -> bool:
    """Return whether PIL's directory has `__init__.py` or a core; without both, PIL counts as missing."""
    return stack.directory is not None and (stack.has_init or stack.core is not None)


def is_of_the_system(facts: Facts) -> bool:
    """Return whether PIL is a package of the operating system.

    This is assumed if the Python has a PEP 668 marker and no owner of PIL has a RECORD. In a conda environment, the
    marker does not count, since conda wrote it.
    """
    is_conda = facts.environment.kind is EnvironmentKind.CONDA
    managed = facts.interpreter.externally_managed is not None and not is_conda
    return managed and is_whole_enough(facts.stack) and not any(owner.has_record for owner in facts.stack.owners)


def explain_no_stack(facts: Facts) -> str:
    """Return why there are no files of PIL to check: PIL is missing, or it is imported from another directory."""
    runtime = facts.runtime
    if runtime is not None and runtime.imported and facts.stack.directory is None:
        return f"PIL is imported from {runtime.location}, but only {facts.interpreter.site_packages} is examined"
    return "there is no PIL in this environment"


def explain_no_core(facts: Facts) -> str:
    """Return why there is no core to check."""
    return explain_no_stack(facts) if facts.stack.directory is None else "there is no readable imaging core"


def explain_conflict(stack: InstalledStack) -> str:
    """Return how the versions of the core and of `PIL/_version.py` differ; empty if equal, or if one is unknown."""
    compiled = stack.core.version if stack.core is not None else ""
    if not compiled or stack.version is None or compiled == stack.version:
        return ""
    return f"the core was built for {compiled}, PIL/_version.py says {stack.version}"


def explain_broken_core(facts: Facts) -> str:
    """Return why the core cannot be loaded, judged by its file's content and name; empty if both are right."""
    core, foreign = facts.stack.core, facts.stack.foreign_cores
    if core is None and foreign:
        here = " on ".join(filter(None, (facts.interpreter.abi, facts.interpreter.libc)))
        return f"the core is for another Python ({', '.join(foreign)}) than {here}"
    if core is None:
        return "the imaging core is missing"
    return "" if core.readable else f"the imaging core is damaged: {core.problem}"


def get_minor(version: str) -> str:
    """Return the part of a Python version that compiled packages depend on: "3.11" of "3.11.7".

    >>> get_minor("3.11.7")
    '3.11'
    """
    return ".".join(version.split(".")[:2])


def find_changed_python(facts: Facts, receipt: Receipt) -> tuple[str, str] | None:
    """Return the version of the Python that the stack was set up for, and the current one; None if compatible.

    They are incompatible if their minor versions differ, or if only one is free-threaded, such as ("3.14.7",
    "free-threaded 3.14.7").
    """
    python, flags = facts.interpreter, _ABI_FLAGS.search(receipt.core.path)
    was_free_threaded = "t" in flags[1] if flags else python.free_threaded
    is_same_minor = get_minor(receipt.python_version) == get_minor(python.version)
    if is_same_minor and was_free_threaded is python.free_threaded:
        return None
    before = f"free-threaded {receipt.python_version}" if was_free_threaded else receipt.python_version
    return before, f"free-threaded {python.version}" if python.free_threaded else python.version


def name_loaded_copy(core: ImagingCore | None) -> str:
    """Return the name of the copy that the loader chooses on this CPU; empty if the core has no copies."""
    copy = core.loaded_copy if core is not None else None
    return name_core_copy(core, copy) if core is not None and copy is not None else ""


def name_core_copy(core: ImagingCore, copy: CoreLevel) -> str:
    """Return a copy's name for messages: "the copy for x86-64-v3", "the baseline (x86-64-v2)"."""
    if copy != core.levels[0]:
        return f"the copy for {copy.level}"
    return f"the baseline ({copy.isa_note})" if copy.isa_note else "the baseline"


def list_whole_copies(core: ImagingCore) -> tuple[CoreLevel, ...]:
    """Return the copies without a problem: neither missing, damaged, nor another library."""
    return tuple(copy for copy in core.levels if not copy.problem)


def list_core_copies(core: ImagingCore | None) -> tuple[str, ...]:
    """Return a line of evidence for each copy of the core."""
    if core is None:
        return ()
    named = ((name_core_copy(core, copy), ", loaded here" if copy.loaded else "", copy.path) for copy in core.levels)
    return tuple(f"{name}{loaded}: {path}" for name, loaded, path in named)


def relative_to_prefix(facts: Facts, path: PurePath) -> str:
    """Return a path relative to the environment's prefix, as conda records have it; empty if the path is outside."""
    prefix = facts.environment.prefix
    homes = (prefix, facts.interpreter.prefix, *list_linked_prefixes(path, prefix))
    return next((str(path.relative_to(home)) for home in homes if path.is_relative_to(home) and path != home), "")


def list_linked_prefixes(path: PurePath, prefix: PurePath) -> Iterator[PurePath]:
    """Yield the parents of a path that may be the prefix under another name, because of a symbolic link.

    These are the parents whose last two names are those of the prefix. For the prefix "/opt/conda/envs/fast", they end
    with "envs/fast".
    """
    end = prefix.parts[-_TAIL:]
    return (parent for parent in path.parents if parent.parts[-_TAIL:] == end and len(parent.parts) > len(end))


def find_owning_package(context: CheckContext, path: PurePath) -> str:
    """Return the `dist` of the conda package that a file came from; empty if unknown.

    If several packages claim the file, return the package whose content the file has.
    """
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    if conda is None or not name:
        return ""
    holders = [clash.holder for clash in conda.clashes if clash.path == name]
    holders += [claim.dist for claim in conda.claims if name in claim.files]
    return holders[0] if holders and not holders[0].startswith("pip: ") else ""


def is_unclaimed(context: CheckContext, path: PurePath) -> bool:
    """Return whether a file is a libjpeg or libtiff that no conda package claims.

    For other files the result is False, because conda's records are not searched for them. It is also False if the
    records cannot be read.
    """
    conda, name = context.facts.conda, relative_to_prefix(context.facts, path)
    if conda is None or conda.unreadable or not name or not _SHARED_LIBRARY.fullmatch(path.name):
        return False
    claimed = {clash.path for clash in conda.clashes}.union(*(claim.files for claim in conda.claims))
    return name not in claimed


def find_conda_package(facts: Facts, dist: str) -> CondaPackage | None:
    """Return the installed conda package with the given `dist`, or None if it is not installed."""
    packages = facts.conda.packages if facts.conda is not None else ()
    return next((package for package in packages if package.dist == dist), None)


def describe_conda_package(package: CondaPackage) -> str:
    """Return a package as text: "pillow 12.1.1 (py311h1234567_0 of conda-forge)"."""
    from fastinstall.model.conda_packages import CHANNEL  # needed only in conda environments

    channel = "the channel inside this environment" if package.channel.endswith(CHANNEL) else package.channel
    return f"{package.name} {package.version} ({package.build}{f' of {channel}' if channel else ''})"


def describe_arrival(facts: Facts, dist: str) -> str:
    """Return how conda installed a package, to append to a clause: ", by `conda install puretool` at 2026-11-21 12:30".

    The result is empty if conda's history does not have that installation.
    """
    revisions = facts.conda.revisions if facts.conda is not None else ()
    return _describe_revision(next((each for each in reversed(revisions) if dist in each.linked), None))


def describe_removal(facts: Facts, dist: str) -> str:
    """Return how conda removed a package, to append to a clause.

    The result is empty if the removal is unknown, or if the package is installed again.
    """
    return _describe_revision(_find_removal(facts, dist))


def list_removed_with(facts: Facts, dist: str) -> tuple[str, ...]:
    """Return the packages that conda removed together with a package, in one revision, and that are still missing."""
    removal, conda = _find_removal(facts, dist), facts.conda
    if removal is None or conda is None:
        return ()
    return tuple(each for each in removal.dropped if conda.named(each.rsplit("-", 2)[0]) is None)


def _find_removal(facts: Facts, dist: str) -> CondaRevision | None:
    revisions = facts.conda.revisions if facts.conda is not None else ()
    last = next((each for each in reversed(revisions) if dist in (*each.linked, *each.unlinked)), None)
    return last if last is not None and dist not in last.linked else None


def _describe_revision(revision: CondaRevision | None) -> str:
    if revision is None:
        return ""
    by, at = f"in revision {revision.number}", f" at {revision.at}" if revision.at else ""
    if revision.command:  # the command begins with the path of the program, or of its `__main__.py`
        program, _, words = revision.command.partition(" ")
        path = PurePath(program)
        by = f"by `{path.parent.name if path.stem == '__main__' else path.name} {words}".rstrip() + "`"
    return f", {by}{at}"


def list_records(context: CheckContext, *packages: CondaPackage) -> tuple[PurePath, ...]:
    """Return the paths of the records of conda packages."""
    directory = context.facts.environment.prefix / "conda-meta"
    return tuple(directory / package.record for package in packages)


@immutable
class Claimant:
    """An owner of PIL's files: a distribution, a conda package, or a conda package with a distribution's metadata.

    Attributes:
        owner: the distribution, from its metadata in site-packages; None for a conda package without metadata.
        package: the conda package; None for a distribution that another installer installed.
        claim: the files that the conda package claims; None if `package` is None.
    """

    owner: Owner | None = None
    package: CondaPackage | None = None
    claim: CondaClaim | None = None

    @property
    def name(self) -> str:
        """Name of the distribution; for a conda package without metadata, name of that package."""
        if self.owner is not None:
            return self.owner.distribution.name
        return self.package.name if self.package is not None else ""

    @property
    def title(self) -> str:
        """Name and version for a sentence: "pillow 12.1.1", "conda's pillow 12.1.1"."""
        if self.package is not None:
            return f"conda's {self.package.name} {self.package.version}"
        return f"{self.name} {self.owner.distribution.version}" if self.owner is not None else ""

    @property
    def description(self) -> str:
        """Name and version, for evidence; also the build of a conda package, or the installer of a distribution."""
        if self.package is not None:
            return f"conda's {describe_conda_package(self.package)}"
        return describe_owner(self.owner) if self.owner is not None else ""

    @property
    def place(self) -> str:
        """The metadata directory or conda record that proves the installation."""
        if self.package is not None:
            return f"conda-meta/{self.package.record}"
        return self.owner.distribution.metadata if self.owner is not None else ""


def list_claimants(facts: Facts) -> tuple[Claimant, ...]:
    """Return all claimants of PIL's files: distributions first, then conda packages without metadata.

    A distribution counts as part of a conda package only if the package claims the metadata files and these are
    unaltered. The name of a metadata directory proves nothing: all installers use the same name for the same version.
    """
    packages = tuple(_list_packages_of_pil(facts))
    found = tuple(_make_claimant(facts, owner, packages) for owner in facts.stack.owners)
    taken = {claimant.claim for claimant in found}
    return (*found, *(each for each in packages if each.claim not in taken))


def holds_core(claimant: Claimant, facts: Facts) -> bool:
    """Return whether the core on disk is the one that a claimant installed."""
    core, claim, owner = facts.stack.core, claimant.claim, claimant.owner
    if core is not None and claim is not None:
        name = relative_to_prefix(facts, core.path)
        return name in claim.files and name not in (*claim.altered, *claim.missing)
    if core is None or not core.sha256 or owner is None or owner.recorded_core is None:
        return False
    from fastinstall.observe.stack import decode_digest  # needed only if there are several owners

    return decode_digest(owner.recorded_core) == core.sha256


def _list_packages_of_pil(facts: Facts) -> Iterator[Claimant]:
    """Yield the conda packages that claim files of PIL in this Python's site-packages."""
    below = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/PIL/"
    for claim in facts.conda.claims if facts.conda is not None else ():
        package = find_conda_package(facts, claim.dist)
        if package is not None and any(name.startswith(below) for name in claim.files):
            yield Claimant(package=package, claim=claim)


def _make_claimant(facts: Facts, owner: Owner, packages: tuple[Claimant, ...]) -> Claimant:
    directory = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/{owner.distribution.metadata}"
    written = {f"{directory}/{name}" for name in _WRITTEN_BY_INSTALLERS}
    for each in packages:
        claim = each.claim
        if claim is not None and written & set(claim.files) and not written & {*claim.altered, *claim.missing}:
            return replace(each, owner=owner)
    return Claimant(owner=owner)


def find_foreign_owner(facts: Facts, receipt: Receipt) -> Owner | None:
    """Return the newest distribution, other than our stack, that owns files of PIL; None if there is none."""
    others = [owner for owner in facts.stack.owners if owner.distribution.metadata != receipt.metadata]
    return max(others, key=lambda owner: owner.installed_at, default=None)


def find_foreign_package(facts: Facts, receipt: Receipt) -> CondaPackage | None:
    """Return the conda package with our package's name but another version or build; None if none is installed."""
    if facts.conda is None or receipt.conda is None:
        return None
    found = facts.conda.named(receipt.conda.package.name)
    return found if found is not None and found.dist != receipt.conda.package.dist else None


def is_registered(facts: Facts, receipt: Receipt) -> bool:
    """Return whether the environment's conda configuration names the setup's channel; True if the setup used none."""
    if receipt.conda is None or facts.conda is None:
        return True
    from fastinstall.conda.reinstall import has_channel  # needed only in conda environments

    return has_channel(facts.conda, receipt.conda, facts.environment.prefix)
