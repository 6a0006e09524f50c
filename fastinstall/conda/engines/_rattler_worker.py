"""Run py-rattler in a separate process, with a JSON request on stdin and a JSON answer on stdout.

The request comes on stdin because its URLs may contain credentials, and other users can read a process's arguments.
The script is run by its path and imports nothing of fastinstall.
"""

import asyncio
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import rattler
from rattler.exceptions import SolverError
from rattler.networking import Client
from rattler.package_streaming import PackageArchive, download_to_path

Request = dict[str, Any]
Records = Sequence[rattler.RepoDataRecord]
Installed = Sequence[rattler.PrefixRecord]


async def preview_change(request: Request) -> Request:
    """Return the packages that installing the specs adds and removes, with as few other changes as possible."""
    present = _read_installed(request)
    found = await _solve_gently(request, present)
    before, after = (
        {(each.name.normalized, str(each.version), str(each.build), each.subdir): each for each in records}
        for records in (present, found)
    )
    gone, come = before.keys() - after.keys(), after.keys() - before.keys()
    return {
        "linked": [_make_document(each) for key, each in after.items() if key in come],
        "unlinked": [_make_document(each) for key, each in before.items() if key in gone],
    }


def _make_document(record: rattler.RepoDataRecord) -> Request:
    document = json.loads(record.to_json())
    keys = "name version build build_number subdir channel url sha256 depends constrains"
    return {key: document.get(key) for key in keys.split()}


async def _solve_gently(request: Request, present: list[rattler.PrefixRecord]) -> list[rattler.RepoDataRecord]:
    """Return the packages of the solution that changes the fewest other packages.

    Three solves are tried in order: 1. other packages must stay as they are; 2. they may change version; 3. packages
    that were never requested, but are dependencies of others, may also be removed.

    Raises:
        PinnedError: a solution exists only without the environment's pins.
        SolverError: no solution exists.
    """
    others = [each for each in present if each.name.normalized not in request["replaced"]]
    needed = {line.split()[0] for each in others for line in each.depends}
    asked = [
        each for each in others if each.requested_specs or each.requested_spec or each.name.normalized not in needed
    ]
    specs = [*request["specs"], *(each.name.normalized for each in others)]
    wanted = [*request["specs"], *(each.name.normalized for each in asked)]
    for tried, bound in ((specs, {"kept": others}), (specs, {"locked": present}), (wanted, {"locked": present})):
        try:
            return await _solve(request, tried, **bound)
        except SolverError as error:
            reason = str(error)
    pins = _read_pins(request)
    if not pins:
        raise SolverError(reason)
    await _solve({**request, "unpinned": True}, wanted, locked=present)
    raise PinnedError("\n".join(["pinned:", *pins, reason]))


class PinnedError(Exception):
    """A solution exists only without the environment's pins."""


async def link_packages(request: Request) -> Request:
    """Install packages into the empty directory `scratch`, with the prefix's path written into their files."""
    records = [await _fetch_record(request, package) for package in request["packages"]]
    await rattler.install(
        records,
        request["scratch"],
        cache_dir=request["unpacked"],
        installed_packages=[],
        show_progress=False,
        alternative_target_prefix=request["prefix"],
    )
    return {}


async def change_packages(request: Request) -> Request:
    """Remove packages but not their dependants, then install others. Reinstall a package that is in both lists."""
    present = _read_installed(request)
    coming = {package["name"]: await _fetch_record(request, package) for package in request["packages"]}
    going = {*request["removed"], *coming}
    kept: Records = [each for each in present if each.name.normalized not in going]
    await _install(request, [*kept, *coming.values()], installed_packages=present, reinstall_packages=set(coming))
    return {}


async def _install(request: Request, records: Records, **options: Any) -> None:  # noqa: ANN401 (rattler's)
    await rattler.install(
        list(records),
        request["prefix"],
        cache_dir=Path(request["cache"], "pkgs"),
        show_progress=False,
        **options,
    )


async def read_contents(request: Request) -> Request:
    """Return the texts of a package's `info/paths.json` and `info/link.json`."""
    (package,) = request["packages"]
    archive = await PackageArchive.from_path(await _fetch_file(request, package))
    found = await archive.read_files(["info/paths.json", "info/link.json"])
    return {name: (found.get(f"info/{name}") or b"").decode() for name in ("paths.json", "link.json")}


async def create_environment(request: Request) -> Request:
    """Create an environment from specs."""
    records = await _solve(request, request["specs"])
    # `install` requires py-rattler's internal type of specs
    specs = [rattler.MatchSpec(spec)._match_spec for spec in request["specs"]]  # noqa: SLF001 (no other way)
    await _install(request, records, installed_packages=[], requested_specs=specs)
    return {}


async def _solve(
    request: Request, specs: Iterable[str], *, locked: Installed = (), kept: Installed = ()
) -> list[rattler.RepoDataRecord]:
    """Solve the specs so that the `locked` packages are preferred and the `kept` packages do not change."""
    gateway = rattler.Gateway(
        cache_dir=_make_index_cache(request),
        default_config=rattler.SourceConfig(
            cache_action="force-cache-only" if request["offline"] else "cache-or-fetch"
        ),
        show_progress=False,
    )
    overrides = rattler.VirtualPackageOverrides.from_env()
    return await rattler.solve(
        _list_channels(request),
        list(specs),
        gateway=gateway,
        platforms=request["platforms"],
        virtual_packages=[each.into_generic() for each in rattler.VirtualPackage.detect(overrides=overrides)],
        constraints=_read_pins(request),
        locked_packages=locked,
        pinned_packages=kept,
    )


def _make_index_cache(request: Request) -> Path:
    """Create the cache of channel indices, readable only by this user because py-rattler stores credentials there."""
    directory = Path(request["cache"], "repodata")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    return directory


def _list_channels(request: Request) -> list[rattler.Channel]:
    """Return the channels to search: first the channel with offered packages, then the requested channels.

    Raises:
        ChannelNotAllowedError: conda's configuration does not allow a requested channel.
    """
    asked = {_strip_credentials(channel): rattler.Channel(channel) for channel in request["channels"]}
    allowed, denied = ({_strip_credentials(each) for each in request[key]} for key in ("allowed", "denied"))
    refused = [each for each in asked if each in denied or (allowed and each not in allowed)]
    if refused:
        raise ChannelNotAllowedError(", ".join(refused))
    return [*(rattler.Channel(channel) for channel in request.get("offered", ())), *asked.values()]


def _strip_credentials(channel: str) -> str:
    """Return a channel's URL without credentials."""
    parts = urlsplit(rattler.Channel(channel).base_url)
    path = re.sub(r"/t/[a-zA-Z0-9-]*", "", parts.path, count=1).rstrip("/")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], path=path).geturl()


class ChannelNotAllowedError(Exception):
    """Conda's configuration does not allow a channel."""


def _read_pins(request: Request) -> list[str]:
    """Return the specs in `conda-meta/pinned`; empty if the request says that pins do not count ("unpinned")."""
    if request.get("unpinned"):
        return []
    file = Path(request["prefix"], "conda-meta", "pinned")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _read_installed(request: Request) -> list[rattler.PrefixRecord]:
    found = []
    for path in sorted(Path(request["prefix"], "conda-meta").glob("*.json")):
        try:
            found.append(rattler.PrefixRecord.from_path(path))
        except Exception as error:
            raise InvalidRecordError(f"{path}: {error}") from error
    return found


class InvalidRecordError(Exception):
    """A record of an installed package cannot be read."""


async def _fetch_record(request: Request, package: Request) -> rattler.RepoDataRecord:
    """Return the record in a package's file, but with the dependencies, channel and URL that `package` gives."""
    file = await _fetch_file(request, package)
    record = await rattler.RepoDataRecord.from_package_archive(file)
    record.md5 = hashlib.md5(file.read_bytes(), usedforsecurity=False).digest()
    record.depends = list(package["depends"]) or record.depends
    record.constrains = list(package["constrains"]) or record.constrains
    record.channel = package["channel"]
    record.url = package["url"]
    return record


async def _fetch_file(request: Request, package: Request) -> Path:
    """Return the path of a package's file on this machine; download the package if it is not in the cache."""
    url = str(package["url"])
    if url.startswith("file:"):
        return _verified(Path(unquote(urlsplit(url).path)), package)
    file = _locate_download(request, url)
    if not file.is_file():
        if request["offline"]:
            raise DownloadError(f"{url}: not in the cache, and --offline forbids fetching it")
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}")
        address = str(package.get("fetch") or url)
        try:
            await download_to_path(Client.default_client(), address, partial)
        except Exception as error:
            raise DownloadError(f"{url}: {error}") from error
        os.replace(_verified(partial, package), file)
    return file


def _locate_download(request: Request, url: str) -> Path:
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    return Path(request["cache"], "files", name, url.rpartition("/")[2])


def _verified(file: Path, package: Request) -> Path:
    digest, expected = hashlib.sha256(file.read_bytes()).hexdigest(), package["sha256"]
    if expected and digest != expected:
        raise ValueError(f"{file.name}: its SHA-256 is {digest}, expected {expected}")
    return file


class DownloadError(Exception):
    """A package cannot be downloaded, or must not be because of --offline."""


_OPERATIONS = {
    "preview": preview_change,
    "link": link_packages,
    "change": change_packages,
    "contents": read_contents,
    "create": create_environment,
}


if __name__ == "__main__":
    asked = json.loads(sys.stdin.read())
    try:
        answer = asyncio.run(_OPERATIONS[asked["operation"]](asked))
    except Exception as error:  # noqa: BLE001 (reported to the parent process)
        answer = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps({"answer": answer}), flush=True)  # noqa: T201 (the answer to the parent process)
    os._exit(0)  # a normal exit sometimes crashes, because threads of py-rattler may still be running
