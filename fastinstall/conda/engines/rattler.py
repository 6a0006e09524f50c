"""The embedded engine: py-rattler, run in a separate process.

Starting the process takes 0.1 s. It keeps py-rattler's import, event loop, threads and crashes out of fastinstall's own
process. If fastinstall is interrupted, the process is killed with its children.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastinstall.conda.channel import write_offered_channel
from fastinstall.conda.engines import failures, linked_records
from fastinstall.conda.history_file import append_revision
from fastinstall.core import foreign
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import FailedError
from fastinstall.core.files import discard, write_bytes
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import run
from fastinstall.core.temporary_directories import temporary_directory
from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaRequest
from fastinstall.observe.conda.channels import ChannelSettings, add_credentials, channel_settings, channel_urls
from fastinstall.observe.conda.executable import find_conda
from fastinstall.observe.conda.records import package_from_record

_WORKER = Path(__file__).with_name("_rattler_worker.py")
_SECONDS = 1800.0
_TAG = "CACHEDIR.TAG"  # py-rattler leaves this file in every environment that it changes


def read_channel_settings(variables: Mapping[str, str], prefix: Path) -> ChannelSettings:
    """Read the channel settings in conda's configuration for an environment.

    If the environment does not exist yet, read the settings for the active environment.

    Raises:
        DocumentError: a configuration file cannot be read.
    """
    place = prefix if (prefix / "conda-meta").is_dir() else Path(variables.get("CONDA_PREFIX") or prefix)
    tool = find_conda(variables, place)
    return channel_settings(variables, place, Path(tool.root) if tool is not None else None)


class Rattler:
    """The engine py-rattler.

    Args:
        variables: the caller's environment variables.
        cache: the directory in fastinstall's cache that is reserved for engines.
        offline: use only cached files, no channels on the network.
    """

    name = CondaInstaller.RATTLER

    def __init__(self, variables: Mapping[str, str], cache: Path, *, offline: bool) -> None:
        self._variables, self._cache, self._offline = variables, cache, offline

    @property
    def description(self) -> str:
        """py-rattler's name and version, as text."""
        return f"py-rattler {version('py-rattler')}"

    def preview(self, request: CondaRequest) -> CondaChange:
        """Return the changes that the request needs, with as few changes to other packages as possible."""
        prefix = Path(request.prefix)
        ours = {each.dist: each for each in request.ours}
        answer = self._ask_worker(
            "preview",
            prefix,
            **self._list_channels(prefix, request.channels),
            offered=[write_offered_channel(request.ours, self._cache)],
            specs=[*(f"{each.name} =={each.version} {each.build}" for each in request.ours), *request.specs],
            replaced=[each.name for each in request.ours],
        )
        linked = [package_from_record(each) for each in answer["linked"]]
        return CondaChange(
            linked=tuple(ours.get(each.dist, each) for each in linked),
            unlinked=tuple(package_from_record(each) for each in answer["unlinked"]),
        )

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Install packages into `scratch`, with paths and records for `prefix`; unpack them in a temporary cache."""
        with temporary_directory("packages", within=scratch.parent) as cache:
            words = {"scratch": str(scratch), "unpacked": str(cache)}
            self._ask_worker("link", prefix, packages=self._list_packages(prefix, packages), **words)
        discard(scratch / _TAG)
        linked_records.finalize_linked_records(scratch, prefix, packages)

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Remove and install packages, then add a revision to the history as conda would."""
        failures.refuse_protected(prefix)
        before = linked_records.read_linked_records(prefix)
        texts = {path.name: foreign.read_bytes(path) for path in sorted((prefix / "conda-meta").glob("*.json"))}
        names = [each.name for each in change.unlinked]
        tagged = (prefix / _TAG).exists()
        self._ask_worker("change", prefix, packages=self._list_packages(prefix, change.linked), removed=names)
        if not tagged:
            discard(prefix / _TAG)
        linked_records.give_files_to_later(prefix, [each.record for each in change.linked], texts)
        linked_records.finalize_changed_records(prefix, change, before)
        # py-rattler does not write the history.
        present = tuple(package_from_record(before[name]) for name in names if name in before)
        history = prefix / "conda-meta" / "history"
        at = datetime.now()  # noqa: DTZ005 (conda writes local time)
        done = CondaChange(linked=change.linked, unlinked=present)
        text = append_revision(foreign.text_if_there(history), at, "fastinstall", done)
        write_bytes(history, text.encode("utf-8", "surrogateescape"))

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Return the paths of a package's files; download the package if fastinstall's cache does not have it."""
        answer = self._ask_worker("contents", Path(), packages=self._list_packages(Path(), [package]))
        return linked_records.resolve_linked_paths(answer["paths.json"], answer["link.json"], python)

    def create(self, prefix: Path, specs: Sequence[str], channels: Sequence[str]) -> None:
        """Create an environment from specs; after a failure, remove it again.

        Raises:
            FailedError: `prefix` already exists, there is no solution, or a channel cannot be reached.
        """
        if os.path.lexists(prefix):
            raise FailedError(f"{prefix}: already exists", hint=f"ls -la {quote(prefix)}")
        asked = self._list_channels(prefix, channels)
        try:
            self._ask_worker("create", prefix, specs=list(specs), **asked)
            linked_records.hide_credentials(prefix)
        except BaseException:
            discard(prefix)
            raise

    def _list_channels(self, prefix: Path, channels: Sequence[str]) -> dict[str, Any]:
        """Return URLs of the named channels, and of the channels that conda's configuration allows and denies."""
        settings = read_channel_settings(self._variables, prefix)
        return {
            "channels": channel_urls(channels, settings),
            "allowed": channel_urls(settings.allowed, settings),
            "denied": channel_urls(settings.denied, settings),
        }

    def _list_packages(self, prefix: Path, packages: Sequence[CondaPackage]) -> list[dict[str, Any]]:
        """Describe packages for the worker; the key "fetch" has the URL for downloading, with credentials."""
        afar = any(not each.url.startswith("file:") for each in packages)
        settings = read_channel_settings(self._variables, prefix) if afar else ChannelSettings()
        return [{**asdict(each), "fetch": add_credentials(each.url, settings)} for each in packages]

    def _ask_worker(self, operation: str, prefix: Path, **request: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
        """Let the worker process perform an operation, and return the worker's answer.

        Raises:
            FailedError: the operation failed (the error has py-rattler's message), or the worker crashed.
            RefusedError: the environment is frozen, locked, or not writable, or a channel is not allowed.
        """
        cache = str(self._cache)
        common = {"operation": operation, "prefix": str(prefix), "cache": cache, "offline": self._offline}
        platforms = [architecture_of(os.uname().machine).conda_subdir, "noarch"]
        words = json.dumps({**common, "platforms": platforms, **request})
        argv = (sys.executable, "-P", "-s", _WORKER)
        environment = {**self._variables, "PYTHONIOENCODING": "utf-8", "FASTINSTALL_GUARD": "0"}
        completed = run(argv, environment=environment, stdin=words, check=False, timeout=_SECONDS)
        answers = [line for line in completed.stdout.splitlines() if line.startswith('{"answer"')]
        if not answers:
            raise failures.make_wordless_failure(completed, "py-rattler")
        answer = json_data(answers[-1])["answer"]
        if "error" in answer:
            raise failures.make_failure(answer["error"], answer["message"], "py-rattler", prefix)
        return dict(answer)
