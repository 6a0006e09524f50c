"""The engine that runs the user's own conda as a program.

Each command names its prefix, prints JSON and never prompts.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from fastinstall.conda.channel import write_offered_channel
from fastinstall.conda.engines import failures, linked_records
from fastinstall.conda.history_file import remove_history_requests
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError, FastinstallError
from fastinstall.core.files import write_bytes, write_text
from fastinstall.core.process import run
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.index.pip import local_path
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaRequest, CondaTool
from fastinstall.observe.conda.records import package_from_record

_SOLVING = 900.0  # seconds; the classic solver takes minutes on a large channel
_LINKING = 300.0  # seconds
_CHANGING = 1800.0  # seconds; includes the download of packages

_RECORD = "info/repodata_record.json"

Document = dict[str, Any]


class CondaCommand:
    """The user's own conda.

    Args:
        tool: the conda executable.
        variables: the caller's environment variables.
        cache: the directory in fastinstall's cache that is reserved for engines.
        offline: use only cached files, no channels on the network.
    """

    name = CondaInstaller.CONDA

    def __init__(self, tool: CondaTool, variables: Mapping[str, str], cache: Path, *, offline: bool) -> None:
        self._tool, self._variables, self._cache, self._offline = tool, variables, cache, offline

    @property
    def description(self) -> str:
        """Conda's version and configured solver, as text."""
        version = f" {self._tool.version}" if self._tool.version else ""
        return f"conda{version}" + (f", {self._tool.solver} solver" if self._tool.solver else "")

    def preview(self, request: CondaRequest) -> CondaChange:
        """Return the changes that a dry run of conda reports.

        Fastinstall's packages do not exist yet. A channel that consists only of an index offers them to the solver.
        """
        prefix = Path(request.prefix)
        specs = (*(f"{each.name}={each.version}={each.build}" for each in request.ours), *request.specs)
        channels = (write_offered_channel(request.ours, self._cache), *request.channels)
        named = (word for channel in channels for word in ("-c", channel))
        words = ("--dry-run", "--freeze-installed", "--override-channels", *named, *specs)
        actions = parse_actions(self._invoke("install", prefix, words, seconds=_SOLVING))
        ours = {each.dist: each for each in request.ours}
        present = {
            name: package_from_record(document) for name, document in linked_records.read_linked_records(prefix).items()
        }
        return CondaChange(
            linked=tuple(ours.get(each.dist) or self._complete_package(each) for each in actions.linked),
            unlinked=tuple(present.get(each.name, each) for each in actions.unlinked),
        )

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Let conda create an environment in `scratch` from exactly these packages, with records made for `prefix`.

        The packages are unpacked in a temporary package cache beside `scratch`. In the user's package cache, conda
        could confuse them with packages that have the same name but were made for another environment.
        """
        with _list_in_file(packages) as listing, temporary_directory("packages", within=scratch.parent) as cache:
            words = ("--offline", "--no-default-packages", "--file", str(listing))
            # Linking needs neither a solver nor the network, so plugins are disabled.
            settings = {
                "CONDA_REGISTER_ENVS": "false",
                "CONDA_NO_PLUGINS": "true",
                "CONDA_PKGS_DIRS": str(cache),
                "CONDA_TARGET_PREFIX_OVERRIDE": str(prefix),
            }
            self._invoke("create", scratch, words, seconds=_LINKING, prefix=prefix, **settings)
        linked_records.finalize_linked_records(scratch, prefix, packages)

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Remove packages but not their dependants, then install packages by URL."""
        failures.refuse_protected(prefix)
        before = linked_records.read_linked_records(prefix)
        history = prefix / "conda-meta" / "history"
        said = foreign.text_or_empty(history, "surrogateescape")
        # Leave out packages of which another build is installed: conda then removes the old build itself.
        coming = {each.name: each.dist for each in change.linked}
        leaving = [
            each.name
            for each in change.unlinked
            if each.name in before and coming.get(each.name, each.dist) == each.dist
        ]
        if leaving:
            self._invoke("remove", prefix, ("--force", *leaving), seconds=_LINKING)
        if change.linked:
            with _list_in_file(change.linked) as listing:
                self._invoke("install", prefix, ("--file", str(listing)), seconds=_CHANGING)
        linked_records.finalize_changed_records(prefix, change, before)
        now = foreign.text_or_empty(history, "surrogateescape")
        text = remove_history_requests(said, now, (each.name for each in change.linked))
        write_bytes(history, text.encode("utf-8", "surrogateescape"))

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Return the paths of a package's files; download the package if conda's package cache does not have it."""
        directory = self._find_extracted(package) or self._download_package(package)
        paths, link = (foreign.text_or_empty(directory / "info" / name) for name in ("paths.json", "link.json"))
        return linked_records.resolve_linked_paths(paths, link, python)

    def _invoke(
        self, verb: str, place: Path, words: Iterable[str], *, seconds: float, prefix: Path | None = None, **more: str
    ) -> tuple[Document, ...]:
        """Run a conda command, which names its prefix, prints JSON and never prompts, and wait until it ends.

        Args:
            verb: the command: "install".
            place: the prefix that the command names.
            words: further words of the command.
            seconds: the time limit in seconds, after which the command is killed.
            prefix: the environment whose settings apply, as if it were active; None for `place`.
            more: environment variables for conda, added to the user's variables; CONDA_REGISTER_ENVS stops conda from
                adding a prefix to the user's list of environments.

        Returns:
            The JSON objects that the command printed.

        Raises:
            CommandError: the command cannot be started, does not end in time, or fails without a reason in JSON.
            FailedError: the command fails; the error has conda's message.
            RefusedError: the environment is frozen, locked, or not writable.
        """
        prefix = prefix or place
        network = ("--offline",) if self._offline else ()
        argv = (*self._tool.command, verb, "--json", "-q", "-y", "-p", str(place), *network, *words)
        variables = make_conda_variables(self._variables, CONDA_PREFIX=str(prefix), **more)
        completed = run(argv, environment=variables, check=False, timeout=seconds)
        documents = parse_documents(completed.stdout)
        error = find_error(documents)
        if error is not None:
            raise failures.make_conda_failure(error, prefix)
        if completed.exit_code != 0:
            raise failures.make_wordless_failure(completed, "conda")
        # The classic solver violates a pin that conflicts with a requested spec, and only warns.
        overridden = re.search(r"pinned spec .* conflicts with explicit specs", completed.stderr)
        if overridden:
            raise failures.make_failure("SpecsConfigurationConflictError", overridden[0], "conda", prefix)
        return documents

    def _complete_package(self, package: CondaPackage) -> CondaPackage:
        """Add the URL to a package: conda's report leaves it out if conda's package cache has the package."""
        if package.url:
            return package
        directory = self._find_extracted(package)
        document = linked_records.read_linked_record(directory / _RECORD) if directory is not None else {}
        return package_from_record(document) if document else package

    def _find_extracted(self, package: CondaPackage) -> Path | None:
        """Return the directory of an unpacked package in conda's package caches, or None if no cache has it.

        A package of the same name with another hash does not count.
        """
        for directory in (cache / package.dist for cache in self._caches):
            digest = package_from_record(linked_records.read_linked_record(directory / _RECORD)).sha256
            same = not package.sha256 or digest in ("", package.sha256)
            if same and (directory / "info" / "paths.json").is_file():
                return directory
        return None

    @cached_property
    def _caches(self) -> tuple[Path, ...]:
        environment = make_conda_variables(self._variables)
        completed = run((*self._tool.command, "info", "--json"), environment=environment, check=False, timeout=60)
        told = parse_documents(completed.stdout)
        return tuple(map(Path, told[-1].get("pkgs_dirs") or ())) if told else ()

    def _download_package(self, package: CondaPackage) -> Path:
        problem: FastinstallError | None = None
        with _list_in_file((package,)) as listing:
            nothing = listing.parent / "nothing"
            words = ("--no-default-packages", "--download-only", "--file", str(listing))
            try:
                self._invoke("create", nothing, words, seconds=_CHANGING, CONDA_REGISTER_ENVS="false")
            except FastinstallError as error:
                problem = error  # some versions of conda fail after the download because the environment has no Python
        directory = self._find_extracted(package)
        if directory is None:
            raise problem or FailedError(f"{package.dist}: conda downloaded it, but no package cache has it")
        return directory


@contextmanager
def _list_in_file(packages: Sequence[CondaPackage]) -> Iterator[Path]:
    """Write an `@EXPLICIT` file, with which conda installs exactly these packages; delete it on exit."""
    with temporary_directory("conda") as directory:
        listing = directory / "packages.txt"
        lines = ("@EXPLICIT", *map(_format_package_line, packages), "")
        write_text(listing, "\n".join(lines), durable=False)
        yield listing


def _format_package_line(package: CondaPackage) -> str:
    if not package.url:
        raise FailedError(f"{package.dist}: its origin is unknown")
    path = local_path(package.url)
    if path is None:
        return package.url
    try:
        content = foreign.read_bytes(path)
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror}") from error
    if package.sha256 and hashlib.sha256(content).hexdigest() != package.sha256:
        raise FailedError(f"{path}: this is not the chosen file: its SHA-256 is not {package.sha256}")
    # conda looks up cached files by name; with the hash, it notices if the cached file of this name is another package
    return f"{package.url}#{hashlib.md5(content, usedforsecurity=False).hexdigest()}"


_DROPPED = frozenset(
    {
        *("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__"),
        # variables of the shell's active environment, which may differ from the command's environment
        *("CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL"),
        # conda's settings, given as variables, that would change the command
        *("CONDA_CLOBBER", "CONDA_CREATE_DEFAULT_PACKAGES", "CONDA_DEBUG", "CONDA_DEPS_MODIFIER"),
        *("CONDA_DISALLOWED_PACKAGES", "CONDA_DOWNLOAD_ONLY", "CONDA_DRY_RUN", "CONDA_FORCE", "CONDA_FORCE_REINSTALL"),
        *("CONDA_FORCE_REMOVE", "CONDA_IGNORE_PINNED", "CONDA_JSON", "CONDA_QUIET", "CONDA_SUBDIR"),
        *("CONDA_TARGET_PREFIX_OVERRIDE", "CONDA_TRACE", "CONDA_UPDATE_MODIFIER", "CONDA_VERBOSE", "CONDA_VERBOSITY"),
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


def make_conda_variables(variables: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return environment variables for conda: the user's variables and `more`.

    Variables that would change what a command does are removed, and settings that keep conda quiet are added.
    """
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    return {**kept, **_OURS, **more}


_DECODER = json.JSONDecoder()


def parse_documents(text: str) -> tuple[Document, ...]:
    """Return every JSON object in a command's output, ignoring other text around the objects.

    >>> parse_documents('warning {"success": true} done {"actions": {}}')
    ({'success': True}, {'actions': {}})
    """
    found: list[Document] = []
    position = text.find("{")
    while position >= 0:
        try:
            document, end = _DECODER.raw_decode(text, position)
            found.append(document)
        except ValueError:
            end = position + 1
        position = text.find("{", end)
    return tuple(found)


def find_error(documents: tuple[Document, ...]) -> Document | None:
    """Return the first document that reports a failure, or None; the normal end of a dry run does not count."""
    failures = (each for each in documents if "exception_name" in each or each.get("error"))
    return next((each for each in failures if each.get("exception_name") != "DryRunExit"), None)


def parse_actions(documents: tuple[Document, ...]) -> CondaChange:
    """Return the change in the last document that has one; fields that conda does not report stay empty."""
    told: Document = next(
        (each["actions"] for each in reversed(documents) if isinstance(each.get("actions"), dict)), {}
    )
    fetched, linked, unlinked = (
        [_parse_package(entry) for entry in told.get(kind) or () if isinstance(entry, dict) and entry.get("name")]
        for kind in ("FETCH", "LINK", "UNLINK")
    )
    whole = {package.dist: package for package in fetched}
    return CondaChange(linked=tuple(whole.get(each.dist, each) for each in linked), unlinked=tuple(unlinked))


def _parse_package(entry: Document) -> CondaPackage:
    channel = {"channel": entry["base_url"]} if entry.get("base_url") else {}
    return package_from_record({"subdir": entry.get("platform"), **entry, **channel})
