# MIT licence, see LICENSE of fastinstall.
"""The controller's part of `fastinstall_wheelhouse`: choose and check the wheels for a host, and send the missing ones.

First the module on the host reports which files are missing there. Then these files are sent in one archive.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUMS = "SHA256SUMS"
_MODULE = "fastinstall.stack.fastinstall_wheelhouse"
_NO_PROGRAM = (126, 127)
_PYTHON = "install Python 3.11 or later, or set ansible_python_interpreter in the inventory"
_AGAIN = "build it again: fastinstall build --with-tool -o DIR"


class ActionModule(ActionBase):
    """The action that Ansible runs for each host."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module on the host, send the files that it reports as missing, and return the module's result."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        given = dict(self._task.args)
        source = Path(self._loader.path_dwim(given.get("src") or "."))
        host = None if given.get("tool_only") else given.get("host") or variables["inventory_hostname"]
        manifest, paths = manifest_for(source, host)
        given["manifest"] = manifest
        result = self._asked(given, variables)
        if result.get("changed") and not self._task.check_mode:
            sent = self._sent({path: paths[path] for path in result["missing"]})
            result = {**result, **self._asked({**given, "archive": sent}, variables), "missing": result["missing"]}
        tool_sums = manifest["sums"].get(f"tool/{_SUMS}")
        checksum = {"tool_checksum": hashlib.sha256(tool_sums.encode()).hexdigest()} if tool_sums is not None else {}
        return {**result, **checksum}

    def _asked(self, given: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            result: dict[str, Any] = self._execute_module(module_name=_MODULE, module_args=given, task_vars=variables)
        except AnsibleConnectionFailure:
            # If the host has no Python, the shell may end before the whole module is sent. Ansible takes that for a
            # lost connection.
            python = getattr(self, "_discovered_interpreter", None) or "python3"
            result = self._low_level_execute_command(f"{shlex.quote(python)} -c pass")
            if result["rc"] not in _NO_PROGRAM:
                raise
            result["msg"] = result["stderr"]
        if result.get("rc") in _NO_PROGRAM and "msg" in result:
            said = str(result.get("module_stderr") or result.get("module_stdout") or result["msg"]).strip()
            result.update(failed=True, msg=f"this host has no Python for Ansible's modules: {said}", hint=_PYTHON)
        return result

    def _sent(self, missing: Mapping[str, Path]) -> str:
        """Send the missing files as an archive, and return its path on the host."""
        shell = self._connection._shell  # noqa: SLF001 (no public way; Ansible's own plugins do the same)
        remote = str(shell.join_path(self._make_tmp_path(), "wheels.zip"))
        with tempfile.TemporaryDirectory(prefix="fastinstall-") as space:
            archive = Path(space) / "wheels.zip"
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:  # wheels are already compressed
                for name, path in missing.items():
                    packed.write(path, name)
            self._transfer_file(str(archive), remote)
        self._fixup_perms2((shell.tmpdir, remote))
        return remote


def manifest_for(source: Path, host: str | None) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the manifest of a host's files, and the paths of these files on the controller.

    Args:
        source: the wheelhouse.
        host: the name of the host in the fleet; None to send only fastinstall itself, without wheels of the stack.

    Raises:
        AnsibleActionFail: the wheelhouse has no wheel for the host, or a wheel does not match its checksum.
    """
    if not source.is_dir():
        raise AnsibleActionFail(f"{source}: not a wheelhouse; {_AGAIN}")
    wheels = _stack(source, host) if host is not None else {}
    tool = _of_sums(source / "tool") if (source / "tool").is_dir() else {}
    wanted = {Path(path).name: _checked(source / path, digest) for path, digest in wheels.items()}
    sums = {_SUMS: "".join(f"{digest}  {name}\n" for name, (digest, _size) in sorted(wanted.items()))} if wanted else {}
    if tool:
        sums[f"tool/{_SUMS}"] = _read(source / "tool" / _SUMS)
    itself = {name: _checked(source / "tool" / name, digest) for name, digest in tool.items()}
    paths = {Path(path).name: source / path for path in wheels}
    paths.update({f"tool/{name}": source / "tool" / name for name in tool})
    return {"wanted": wanted, "tool": itself, "sums": sums}, paths


def _stack(source: Path, host: str) -> dict[str, str]:
    """Return the SHA-256 of a host's wheels, by relative path; with a fleet.json, only the wheel for this host."""
    file = source / "fleet.json"
    if not file.is_file():
        return _of_sums(source)
    try:
        return _of_fleet(json.loads(_read(file)), file, host)
    except (ValueError, KeyError, TypeError):
        raise AnsibleActionFail(f"{file}: damaged; {_AGAIN}") from None


def _of_fleet(fleet: Mapping[str, Any], file: Path, host: str) -> dict[str, str]:
    for left_out in fleet["left_out"]:
        if left_out["host"] == host:
            raise AnsibleActionFail(f"{host}: {left_out['reason']}\nhint: {left_out['hint']}")
    artefact = next((each for each in fleet["artefacts"] if host in each["hosts"]), None)
    if artefact is None:
        again = "gather its facts, then build again: fastinstall build --hosts DIR --with-tool -o DIR"
        raise AnsibleActionFail(f"{file} does not list {host}\nhint: {again}")
    if not artefact["wheel"]:
        raise AnsibleActionFail(f"{host}: {artefact['problem']}\nhint: {artefact['hint']}")
    return {artefact["wheel"]: artefact["sha256"]}


def _of_sums(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each wheel that a directory's SHA256SUMS lists, by the wheel's name."""
    lines = re.findall(r"^([0-9a-f]{64}) [ *]([^/\s]+\.whl)$", _read(directory / _SUMS), re.MULTILINE)
    return {name: digest for digest, name in lines}


def _checked(file: Path, digest: str) -> tuple[str, int]:
    """Check a wheel against its SHA-256, and return the SHA-256 and the size in bytes."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise AnsibleActionFail(f"{file}: {error.strerror}; {_AGAIN}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise AnsibleActionFail(f"{file} does not match its sum: it changed since it was built; {_AGAIN}")
    return digest, len(content)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise AnsibleActionFail(f"{file}: {error.strerror}; {_AGAIN}") from None
