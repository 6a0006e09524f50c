import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.ansible.collection_parts import interpreter, part

unpacking = part("unpacking")
ToolError = part("errors").ToolError
FILES = {
    "fastinstall/__init__.py": b"",
    "fastinstall-1.0.data/scripts/helper": b"#!/bin/sh\n",
    "fastinstall-1.0.data/purelib/beside.py": b"",
    "fastinstall-1.0.data/headers/left_out.h": b"",
}


def wheels_with(directory: Path, files: Mapping[str, bytes] = FILES) -> dict[str, str]:
    """Write a wheel with these files, and SHA256SUMS; return its checksum, by file name."""
    directory.mkdir(parents=True)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    name, content = "fastinstall-1.0-py3-none-any.whl", archive.getvalue()
    (directory / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    (directory / "SHA256SUMS").write_text(f"{digest}  {name}\n")
    return {name: digest}


def test_a_wheel_becomes_an_environment_of_its_own(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    root = unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    site = root / "lib" / "python3.11" / "site-packages"
    assert (site / "fastinstall" / "__init__.py").is_file()
    assert (site / "beside.py").is_file()
    assert os.access(root / "bin" / "helper", os.X_OK)
    assert not list(root.rglob("left_out.h"))
    assert (root / "bin" / "python").readlink() == Path(interpreter()["executable"])
    assert f"home = {Path(interpreter()['executable']).parent}\n" in (root / "pyvenv.cfg").read_text()


def test_the_same_wheels_are_unpacked_once_and_not_read_again(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    first = unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    next((tmp_path / "tool").glob("*.whl")).unlink()
    assert unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools") == first


def test_another_interpreter_gets_another_environment(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    both = {
        unpacking.unpack(tmp_path / "tool", sums, interpreter(version), tmp_path / "tools")
        for version in ((3, 11, 7), (3, 12, 1))
    }
    assert len(both) == 2


def test_several_at_once_share_what_one_of_them_has_unpacked(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(unpacking.unpack, tmp_path / "tool", sums, interpreter(), tmp_path / "tools") for _ in range(8)
        ]
    assert len({each.result() for each in asked}) == 1
    assert len(list((tmp_path / "tools").iterdir())) == 1


def test_a_changed_wheel_is_refused_and_nothing_of_it_remains(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    next((tmp_path / "tool").glob("*.whl")).write_bytes(b"something else")
    with pytest.raises(ToolError, match="does not match SHA256SUMS"):
        unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    assert list((tmp_path / "tools").iterdir()) == []


@pytest.mark.parametrize("name", ["../beyond.py", "/beyond.py", "fastinstall/../../beyond.py"])
def test_a_wheel_does_not_write_beyond_its_environment(name: str, tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool", {name: b""})
    with pytest.raises(ToolError, match="must not contain"):
        unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    assert not list(tmp_path.rglob("beyond.py"))


def test_too_little_space_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = wheels_with(tmp_path / "tool")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(ToolError, match="0 MB are free") as caught:
        unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    assert caught.value.exit_code == 6
    assert list((tmp_path / "tools").iterdir()) == []


def test_sums_that_are_not_those_that_were_sent_are_refused(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    sent = hashlib.sha256((tmp_path / "tool" / "SHA256SUMS").read_bytes()).hexdigest()
    assert unpacking.read_sums(tmp_path / "tool", sent) == sums
    with pytest.raises(ToolError, match="does not match tool_checksum"):
        unpacking.read_sums(tmp_path / "tool", "0" * 64)


def test_a_directory_without_sums_is_no_wheelhouse(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="SHA256SUMS: No such file"):
        unpacking.read_sums(tmp_path, None)


@pytest.mark.parametrize("shared", ["tool", "tools"])
def test_nothing_is_run_from_where_everybody_may_write(shared: str, tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    root = unpacking.unpack(tmp_path / "tool", sums, interpreter(), tmp_path / "tools")
    (tmp_path / "tool" if shared == "tool" else root).chmod(0o777)
    with pytest.raises(ToolError, match="everybody can write there"):
        unpacking.unpack(
            tmp_path / "tool", unpacking.read_sums(tmp_path / "tool", None), interpreter(), tmp_path / "tools"
        )


def test_an_open_wheelhouse_is_trusted_with_the_checksums_sent(tmp_path: Path) -> None:
    sums = wheels_with(tmp_path / "tool")
    (tmp_path / "tool").chmod(0o777)
    sent = hashlib.sha256((tmp_path / "tool" / "SHA256SUMS").read_bytes()).hexdigest()
    assert unpacking.read_sums(tmp_path / "tool", sent.upper()) == sums


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_users_files_in_an_open_directory_are_untrusted(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    wheels_with(tmp_path / "open" / "wheelhouse" / "tool")
    os.chown(tmp_path / "open" / "wheelhouse", 12345, 12345)
    assert unpacking.read_sums(tmp_path / "open" / "wheelhouse" / "tool", None)
    (tmp_path / "open").chmod(0o1777)
    with pytest.raises(ToolError, match=rf"^{tmp_path}/open/wheelhouse: "):
        unpacking.read_sums(tmp_path / "open" / "wheelhouse" / "tool", None)
