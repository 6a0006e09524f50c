#!/usr/bin/python
# MIT licence, see LICENSE of fastinstall.
"""The host's part of `fastinstall_wheelhouse`: report missing or damaged files, and install the files that are sent."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fastinstall_wheelhouse
short_description: Ship what a host needs of a wheelhouse
version_added: 0.1.0
description:
  - Copies wheels made by C(fastinstall build), and fastinstall itself, from the controller to a host. It sends only
    what fits the host and is missing or damaged there, in one archive.
  - If the wheelhouse has a C(fleet.json) (from C(fastinstall build --hosts)), the host gets the wheel meant for it. A
    host that was left out fails with the reason.
  - Removes files from the directory that are not part of the wheelhouse.
attributes:
  check_mode:
    description: Reports what would be sent, and sends nothing.
    support: full
  diff_mode:
    description: Shows the names of the wheels.
    support: full
  action:
    description: The controller chooses, checks and packs the wheels.
    support: full
options:
  src:
    description: The wheelhouse, on the controller.
    type: path
    required: true
  dest:
    description: The directory on the host. Only its owner may be able to write there.
    type: path
    required: true
  host:
    description: The name of the host in C(fleet.json); the default is its name in the inventory.
    type: str
  tool_only:
    description: Ship fastinstall itself without the stack's wheels, to inspect a host before building for it.
    type: bool
    default: false
  tool_python:
    description: The interpreter that runs fastinstall on the host, Python 3.11 or later; the default is any that fits.
    type: path
  manifest:
    description: Set by the controller. What the wheelhouse has for this host.
    type: dict
  archive:
    description: Set by the controller. A zip archive on the host with the missing files.
    type: path
author:
  - fastinstall (@fastinstall)
"""

EXAMPLES = r"""
- name: Ship the wheelhouse
  fastinstall.stack.fastinstall_wheelhouse:
    src: ./wheelhouse
    dest: /var/lib/fastinstall/wheelhouse
"""

RETURN = r"""
missing:
  description: Files that were missing or damaged; relative paths.
  returned: always
  type: list
  elements: str
removed:
  description: Files that were not part of the wheelhouse.
  returned: always
  type: list
  elements: str
directory:
  description: The directory on the host.
  returned: always
  type: str
tool_checksum:
  description: SHA-256 of C(tool/SHA256SUMS), for the module M(fastinstall.stack.fastinstall).
  returned: if fastinstall itself is in the wheelhouse
  type: str
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fastinstall.stack.plugins.module_utils.errors import ToolError
from ansible_collections.fastinstall.stack.plugins.module_utils.unpacking import choose

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MEGABYTE = 1024 * 1024
_COPIES = 2  # the archive stays on the disk until all its files are extracted
_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o644


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path", "required": True},
            "dest": {"type": "path", "required": True},
            "host": {"type": "str"},
            "tool_only": {"type": "bool", "default": False},
            "tool_python": {"type": "path"},
            "manifest": {"type": "dict"},
            "archive": {"type": "path"},
        },
        supports_check_mode=True,
    )
    if module.params["manifest"] is None:
        module.fail_json(
            msg="the controller's part did not run: call the module by its full name, "
            "fastinstall.stack.fastinstall_wheelhouse"
        )
    try:
        module.exit_json(**_brought(module))
    except ToolError as error:
        module.fail_json(msg=error.message, hint=error.hint, details=error.details, exit_code=error.exit_code)
    except OSError as error:
        place = error.filename or module.params["dest"]
        module.fail_json(msg=f"{place}: {error.strerror or error}", hint=f"df -h {place}; ls -ld {place}")


def _brought(module: AnsibleModule) -> dict[str, Any]:
    """Compare the directory with the manifest, install the files that were sent, and return the module's result."""
    manifest, dest = module.params["manifest"], Path(module.params["dest"])
    wanted = _wanted(manifest, module.params["tool_python"])
    there = {path for path in _there(dest) if path.startswith("tool/") or not module.params["tool_only"]}
    missing = sorted(path for path, (digest, _size) in wanted.items() if _digest(dest / path) != digest)
    strange = sorted(there - set(wanted) - set(manifest["sums"]))
    stale = [path for path, text in manifest["sums"].items() if _content(dest / path) != text.encode()]
    changed = bool(missing or strange or stale)
    if missing and not module.params["archive"]:
        _refuse_little_space(dest, sum(wanted[path][1] for path in missing) * _COPIES)
    elif changed and not module.check_mode:
        _put(dest, {path: wanted[path][0] for path in missing}, module.params["archive"])
        _tidy(dest, strange, manifest["sums"])
    diff = {"before": _lines(there - set(missing) - set(manifest["sums"])), "after": _lines(wanted)}
    return {"changed": changed, "missing": missing, "removed": strange, "directory": str(dest), "diff": diff}


def _wanted(manifest: Mapping[str, Any], python: str | None) -> dict[str, tuple[str, int]]:
    """Return the SHA-256 and the size of each wheel that the host needs, by relative path.

    These are all wheels of the stack in the manifest, and those wheels of fastinstall itself that fit the host's
    Python.
    """
    tool = manifest["tool"]
    chosen = choose(Path("wheelhouse/tool"), tool, python)[1] if tool else []
    return {**manifest["wanted"], **{f"tool/{name}": tool[name] for name in chosen}}


def _there(dest: Path) -> set[str]:
    """Return the relative paths of all files below a directory."""
    found = (Path(base, name) for base, _directories, names in os.walk(str(dest)) for name in names)
    return {str(path.relative_to(dest)) for path in found}


def _digest(path: Path) -> str | None:
    content = _content(path)
    return None if content is None else hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _lines(paths: Collection[str]) -> str:
    return "".join(f"{path}\n" for path in sorted(paths))


def _refuse_little_space(dest: Path, needed: int) -> None:
    """Refuse a directory with too little free space for `needed` bytes."""
    place = next(parent for parent in (dest, *dest.parents) if parent.is_dir())
    free = shutil.disk_usage(place).free
    if free < needed:
        sizes = f"{free // _MEGABYTE} MB are free, and the wheels need {needed // _MEGABYTE + 1} MB"
        raise ToolError(f"{dest}: {sizes}", f"df -h {place}")


def _put(dest: Path, missing: Mapping[str, str], archive: str) -> None:
    """Extract the missing files from an archive into a directory; refuse a file that does not match its SHA-256."""
    if not missing:
        return
    with zipfile.ZipFile(archive) as packed:
        for path, digest in missing.items():
            content = packed.read(path)
            if hashlib.sha256(content).hexdigest() != digest:
                raise ToolError(f"{path}: changed in transit", "run the play again")
            _write(dest / path, content)


def _tidy(dest: Path, strange: Collection[str], sums: Mapping[str, str]) -> None:
    """Remove files that do not belong to the wheelhouse, and write the SHA256SUMS files."""
    for path in strange:
        (dest / path).unlink()
    for path, text in sums.items():
        _write(dest / path, text.encode())


def _write(path: Path, content: bytes) -> None:
    """Write a temporary file and rename it, so that no process sees an incomplete file."""
    path.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(prefix=".coming-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
        Path(beside).chmod(_FILE_MODE)
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink()
        raise


if __name__ == "__main__":
    main()
