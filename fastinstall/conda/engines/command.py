"""The engine that is the user's own conda, run as a program.

Runs the user's conda: always on a named prefix, always for JSON, never asking anything.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from fastinstall.conda.engines.choose import CondaTools
from fastinstall.conda.engines.failures import (
    Document,
    find_error,
    make_conda_failure,
    make_failure,
    make_wordless_failure,
    parse_actions,
    parse_documents,
    refuse_existing,
    refuse_frozen,
    refuse_protected,
)
from fastinstall.conda.engines.linked_records import (
    finalize_changed_records,
    finalize_linked_records,
    package_of,
    read_records,
    resolve_linked_paths,
    write_offered_channel,
)
from fastinstall.conda.history_file import remove_history_requests
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError, FastinstallError
from fastinstall.core.files import discard, temporary_directory, write_bytes, write_text
from fastinstall.core.process import run
from fastinstall.core.values import immutable
from fastinstall.index.offers import local_path
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaRequest, CondaTool

_SOLVING = 900.0  # seconds; the classic solver takes minutes on a large channel
_LINKING = 300.0
_CHANGING = 1800.0  # seconds; packages are downloaded


class CondaCommand:
    """The user's own conda.

    Args:
        tool: the executable.
        means: what it works with.
    """

    name = CondaInstaller.CONDA

    def __init__(self, *, tool: CondaTool, means: CondaTools) -> None:
        self._tool = tool
        self._means = means

    @property
    def description(self) -> str:
        """Its version, and the solver that it is set to."""
        version = f" {self._tool.version}" if self._tool.version else ""
        return f"conda{version}" + (f", {self._tool.solver} solver" if self._tool.solver else "")

    def preview(self, request: CondaRequest) -> CondaChange:
        """Solve by a dry run; a channel of an index alone stands for packages that are yet to be made."""
        prefix = Path(request.prefix)
        refuse_frozen(prefix)
        specs = (*(f"{each.name}={each.version}={each.build}" for each in request.ours), *request.specs)
        channels = (write_offered_channel(request.ours, self._means.cache), *request.channels)
        words = ("--dry-run", "--freeze-installed", *_format_channel_arguments(channels), *specs)
        invocation = Invocation(verb="install", prefix=prefix, words=words, seconds=_SOLVING)
        actions = parse_actions(invoke_conda(self._tool, invocation, self._means, offline=request.offline))
        return self._complete_change(actions, request)

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Have conda make an environment of exactly these files, and its records those of `prefix`.

        They are unpacked beside it for the time being. In the user's package cache, conda would take them for those
        of the same name that another environment has, when it is offline.
        """
        with _list_in_file(packages) as listing, temporary_directory("packages", within=scratch.parent) as cache:
            invocation = Invocation(
                verb="create",
                prefix=scratch,
                words=("--no-default-packages", "--file", str(listing)),
                seconds=_LINKING,
                environment=prefix,
                unlisted=True,
                bare=True,
                packages=cache,
            )
            invoke_conda(self._tool, invocation, self._means, offline=True)
        finalize_linked_records(scratch, prefix, packages)

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Remove without dependants, then install by URL."""
        refuse_protected(prefix)
        before = read_records(prefix)
        history = prefix / "conda-meta" / "history"
        said = _read_text(history)
        leaving = _list_leaving_names(change, before.keys())
        if leaving:
            words = ("--force", *leaving)
            invoke_conda(
                self._tool, Invocation(verb="remove", prefix=prefix, words=words, seconds=_LINKING), self._means
            )
        if change.linked:
            with _list_in_file(change.linked) as listing:
                words = ("--file", str(listing))
                come = Invocation(verb="install", prefix=prefix, words=words, seconds=_CHANGING)
                invoke_conda(self._tool, come, self._means)
        finalize_changed_records(prefix, change, before)
        text = remove_history_requests(said, _read_text(history), (each.name for each in change.linked))
        write_bytes(history, text.encode("utf-8", "surrogateescape"))

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Download it into conda's package cache, and read there what it has."""
        directory = self._find_extracted(package) or self._download_package(package)
        texts = {name: _read_text(directory / "info" / name) for name in ("paths.json", "link.json")}
        return resolve_linked_paths(texts["paths.json"], texts["link.json"], python)

    def create(self, prefix: Path, specs: Sequence[str], channels: Sequence[str], *, offline: bool) -> None:
        """Solve and install into a directory that is not there yet."""
        words = ("--no-default-packages", *_format_channel_arguments(channels), *specs)
        invocation = Invocation(verb="create", prefix=prefix, words=words, seconds=_CHANGING, unlisted=True)
        refuse_existing(prefix)
        try:
            invoke_conda(self._tool, invocation, self._means, offline=offline)
        except BaseException:
            discard(prefix)
            raise

    def _complete_change(self, actions: CondaChange, request: CondaRequest) -> CondaChange:
        """What conda says, with what is known of each package."""
        ours = {each.dist: each for each in request.ours}
        present = {name: package_of(document) for name, document in read_records(Path(request.prefix)).items()}
        return CondaChange(
            linked=tuple(ours.get(each.dist) or self._complete_package(each) for each in actions.linked),
            unlinked=tuple(present.get(each.name, each) for each in actions.unlinked),
        )

    def _complete_package(self, package: CondaPackage) -> CondaPackage:
        """A package that conda names without its URL, because it need not be downloaded."""
        if package.url:
            return package
        directory = self._find_extracted(package)
        documents = parse_documents(_read_text(directory / "info" / "repodata_record.json")) if directory else ()
        return package_of(documents[0]) if documents else package

    def _find_extracted(self, package: CondaPackage) -> Path | None:
        """Where conda's package cache has it."""
        candidates = (directory / package.dist for directory in self._caches)
        return next((each for each in candidates if _is_unpacked_package(each, package)), None)

    @cached_property
    def _caches(self) -> tuple[Path, ...]:
        return tuple(map(Path, read_information(self._tool, self._means).get("pkgs_dirs") or ()))

    def _download_package(self, package: CondaPackage) -> Path:
        problem: FastinstallError | None = None
        with _list_in_file((package,)) as listing:
            invocation = Invocation(
                verb="create",
                prefix=listing.parent / "nothing",
                words=("--no-default-packages", "--download-only", "--file", str(listing)),
                seconds=_CHANGING,
                unlisted=True,
            )
            try:
                invoke_conda(self._tool, invocation, self._means)
            except FastinstallError as error:
                problem = error  # some versions miss a Python in what they only download for
        directory = self._find_extracted(package)
        if directory is None:
            raise problem or FailedError(f"{package.dist}: conda downloaded it, and none of its package caches has it")
        return directory


def _format_channel_arguments(channels: Sequence[str]) -> tuple[str, ...]:
    return ("--override-channels", *(word for channel in channels for word in ("-c", channel)))


def _list_leaving_names(change: CondaChange, present: Iterable[str]) -> tuple[str, ...]:
    """Names to be removed beforehand: conda takes away by itself what it puts another build in place of."""
    coming = {each.name: each.dist for each in change.linked}
    removed = (each for each in change.unlinked if coming.get(each.name, each.dist) == each.dist)
    return tuple(each.name for each in removed if each.name in present)


@contextmanager
def _list_in_file(packages: Sequence[CondaPackage]) -> Iterator[Path]:
    """A file that has conda install exactly these."""
    with temporary_directory("conda") as directory:
        listing = directory / "packages.txt"
        write_text(listing, format_explicit_file([_format_package_line(each) for each in packages]), durable=False)
        yield listing


def _is_unpacked_package(directory: Path, package: CondaPackage) -> bool:
    """Whether this is the package, unpacked; another one may have the same name."""
    documents = parse_documents(_read_text(directory / "info" / "repodata_record.json"))
    digest = package_of(documents[0]).sha256 if documents else ""
    return (directory / "info" / "paths.json").is_file() and not (package.sha256 and digest not in ("", package.sha256))


def _format_package_line(package: CondaPackage) -> str:
    if not package.url:
        raise FailedError(f"{package.dist}: nothing says where it can be had")
    path = local_path(package.url)
    if path is None:
        return package.url
    # conda keeps files by their names: the hash tells it that one it has is another one
    return f"{package.url}#{hashlib.md5(_read_package(package, path), usedforsecurity=False).hexdigest()}"


def _read_package(package: CondaPackage, path: Path) -> bytes:
    try:
        content = foreign.read_bytes(path)
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror}") from error
    if package.sha256 and hashlib.sha256(content).hexdigest() != package.sha256:
        raise FailedError(f"{path}: it is another file than was chosen: its SHA-256 is not {package.sha256}")
    return content


def _read_text(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="surrogateescape")
    except OSError:
        return ""


_DROPPED = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "__PYVENV_LAUNCHER__",
        # what belongs to a shell's active environment, which need not be the one that is worked on
        "CONDA_DEFAULT_ENV",
        "CONDA_PROMPT_MODIFIER",
        "CONDA_SHLVL",
        # settings of conda, each of which is also a variable, that would make it do something else
        "CONDA_CLOBBER",
        "CONDA_CREATE_DEFAULT_PACKAGES",
        "CONDA_DEBUG",
        "CONDA_DEPS_MODIFIER",
        "CONDA_DISALLOWED_PACKAGES",
        "CONDA_DOWNLOAD_ONLY",
        "CONDA_DRY_RUN",
        "CONDA_FORCE",
        "CONDA_FORCE_REINSTALL",
        "CONDA_FORCE_REMOVE",
        "CONDA_IGNORE_PINNED",
        "CONDA_JSON",
        "CONDA_QUIET",
        "CONDA_SUBDIR",
        "CONDA_TARGET_PREFIX_OVERRIDE",
        "CONDA_TRACE",
        "CONDA_UPDATE_MODIFIER",
        "CONDA_VERBOSE",
        "CONDA_VERBOSITY",
    }
)
_OURS = {
    "CONDA_ADD_PIP_AS_PYTHON_DEPENDENCY": "false",
    "CONDA_AGGRESSIVE_UPDATE_PACKAGES": "",
    "CONDA_AUTO_UPDATE_CONDA": "false",
    "CONDA_NOTIFY_OUTDATED_CONDA": "false",
    "CONDA_NUMBER_CHANNEL_NOTICES": "0",
    "CONDA_REPORT_ERRORS": "false",
    "FASTINSTALL_GUARD": "0",
    "PYTHONIOENCODING": "utf-8",
}
_OVERRIDDEN_PIN = re.compile(r"pinned spec .* conflicts with explicit specs")
"""The classic solver installs what somebody has pinned away, and says so in a warning."""

_UNLISTED = {"CONDA_REGISTER_ENVS": "false"}
_NO_PLUGINS = {"CONDA_NO_PLUGINS": "true"}


@immutable
class Invocation:
    """A command of conda.

    Attributes:
        verb: "install", "create", "remove".
        prefix: what it works on.
        words: further arguments.
        seconds: before it is killed.
        environment: whose settings apply, as if it were active; None for that of `prefix`.
        unlisted: whether the prefix stays out of the user's list of environments.
        bare: leave plugins out: for work that needs neither a solver nor the network.
        packages: a package cache of its own, before the user's; None for the user's alone.
    """

    verb: str
    prefix: Path
    words: tuple[str, ...]
    seconds: float
    environment: Path | None = None
    unlisted: bool = False
    bare: bool = False
    packages: Path | None = None


def invoke_conda(
    tool: CondaTool, invocation: Invocation, means: CondaTools, *, offline: bool = False
) -> tuple[Document, ...]:
    """Run it to its end.

    Returns:
        What it printed.

    Raises:
        CommandError: it cannot be started, does not end in time, or fails without a reason in JSON.
        FailedError: it fails; with its own message.
        RefusedError: the environment is frozen, locked, or not writable.
    """
    place = ("-p", str(invocation.prefix))
    network = ("--offline",) if offline or means.offline else ()
    argv = (*tool.command, invocation.verb, "--json", "-q", "-y", *place, *network, *invocation.words)
    completed = run(argv, environment=_make_variables(invocation, means), check=False, timeout=invocation.seconds)
    documents = parse_documents(completed.stdout)
    error = find_error(documents)
    if error is not None:
        raise make_conda_failure(error, invocation.environment or invocation.prefix)
    if completed.exit_code != 0:
        raise make_wordless_failure(completed, "conda")
    overridden = _OVERRIDDEN_PIN.search(completed.stderr)
    if overridden:
        raise make_failure("SpecsConfigurationConflictError", overridden[0], "conda", invocation.prefix)
    return documents


def read_information(tool: CondaTool, means: CondaTools) -> Document:
    """Return the output of `conda info`, empty if it gives none."""
    environment = make_conda_variables(means.variables)
    completed = run((*tool.command, "info", "--json"), environment=environment, check=False, timeout=60)
    found = parse_documents(completed.stdout)
    return found[-1] if found else {}


def make_conda_variables(variables: Mapping[str, str], more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for the user's conda: the user's own, less what would lead it elsewhere."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    return {**kept, **_OURS, **(more or {})}


def _make_variables(invocation: Invocation, means: CondaTools) -> dict[str, str]:
    more = {"CONDA_PREFIX": str(invocation.environment or invocation.prefix)}
    if invocation.environment is not None:
        more["CONDA_TARGET_PREFIX_OVERRIDE"] = str(invocation.environment)
    if invocation.packages is not None:
        more["CONDA_PKGS_DIRS"] = str(invocation.packages)
    unlisted = _UNLISTED if invocation.unlisted else {}
    return make_conda_variables(means.variables, {**more, **unlisted, **(_NO_PLUGINS if invocation.bare else {})})


def format_explicit_file(lines: Sequence[str]) -> str:
    """The text of a file that has conda install exactly these URLs."""
    return "".join(f"{line}\n" for line in ("@EXPLICIT", *lines))
