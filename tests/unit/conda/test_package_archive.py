import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conda_package_streaming.package_streaming import stream_conda_component, stream_conda_info

from fastinstall.conda.channel import publish_packages, write_repodata
from fastinstall.conda.package import MOMENT, CondaPackageFile, pack_guard, write_archive
from fastinstall.core.errors import FailedError
from fastinstall.model.conda import CondaPackage

PACKAGE = CondaPackage(
    name="pillow",
    version="13.0.0",
    build="simd_v3_py311_0",
    build_number=3300,
    subdir="linux-64",
    depends=("python >=3.11,<3.12.0a0",),
    constrains=("pil <0.0.0a",),
)
GUARD = CondaPackage(name="fastinstall-guard", version="1", build="0", subdir="noarch", constrains=("pillow * simd_*",))
MEMBERS = {"lib/b.py": CondaPackageFile(content=b"2"), "bin/a": CondaPackageFile(content=b"1", mode=0o755)}


def written(channel: Path, package: CondaPackage = PACKAGE) -> Path:
    made = write_archive(package, MEMBERS, {"license": "MIT-CMU"}, channel)
    return Path(made.url.removeprefix("file://"))


def documents(file: Path) -> dict[str, Any]:
    return {
        member.name: json.loads((archive.extractfile(member) or pytest.fail(member.name)).read())
        for archive, member in stream_conda_info(file)
        if member.name.endswith(".json")
    }


def test_a_package_says_what_it_is_and_what_is_in_it(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert file == tmp_path / "linux-64/pillow-13.0.0-simd_v3_py311_0.conda"
    found = documents(file)
    index = found["info/index.json"]
    assert (index["name"], index["version"], index["build_number"], index["license"]) == (
        *("pillow", "13.0.0"),
        *(3300, "MIT-CMU"),
    )
    assert index["depends"] == ["python >=3.11,<3.12.0a0"]
    assert index["constrains"] == ["pil <0.0.0a"]
    paths = {each["_path"]: each for each in found["info/paths.json"]["paths"]}
    assert set(paths) == set(MEMBERS)
    assert paths["lib/b.py"]["sha256"] == "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"
    assert paths["lib/b.py"]["size_in_bytes"] == 1


def test_archived_files_keep_modes_with_one_date_and_no_owner(tmp_path: Path) -> None:
    members = [member for _, member in stream_conda_component(written(tmp_path), component="pkg")]
    assert [(member.name, member.mode) for member in members] == [("bin/a", 0o755), ("lib/b.py", 0o644)]
    assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {(MOMENT, 0, 0, "")}


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = (written(tmp_path / name).read_bytes() for name in ("one", "two"))
    assert first == second


def test_an_index_tells_every_package_with_its_sums(tmp_path: Path) -> None:
    file = written(tmp_path)
    write_repodata(tmp_path)
    index = json.loads((tmp_path / "linux-64/repodata.json").read_text())
    record = index["packages.conda"][file.name]
    assert record["size"] == file.stat().st_size
    assert {"md5", "sha256", "depends", "timestamp"} <= set(record)
    empty = json.loads((tmp_path / "noarch/repodata.json").read_text())
    assert (empty["info"], empty["packages.conda"], empty["packages"]) == ({"subdir": "noarch"}, {}, {})


def test_what_lay_in_the_channel_before_stays_in_its_index(tmp_path: Path) -> None:
    (tmp_path / "noarch").mkdir()
    foreign = tmp_path / "noarch/other-1.0-0.tar.bz2"
    (tmp_path / "index.json").write_text('{"name": "other", "version": "1.0", "build": "0"}')
    with tarfile.open(foreign, "w:bz2") as archive:
        archive.add(tmp_path / "index.json", "info/index.json")
    write_repodata(tmp_path)
    index = json.loads((tmp_path / "noarch/repodata.json").read_text())
    assert index["packages"][foreign.name]["name"] == "other"


@pytest.mark.parametrize("content", [b"", b"not an archive"])
def test_a_damaged_package_is_named(tmp_path: Path, content: bytes) -> None:
    file = written(tmp_path)
    file.write_bytes(content)
    with pytest.raises(FailedError, match=file.name):
        write_repodata(tmp_path)


def test_an_archive_that_is_no_package_is_named(tmp_path: Path) -> None:
    file = written(tmp_path)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme", "no package")
    with pytest.raises(FailedError, match=file.name):
        write_repodata(tmp_path)


@pytest.mark.parametrize("index", ["[]", "null", '"text"', "5"])
def test_a_package_whose_index_is_no_object_is_named(tmp_path: Path, index: str) -> None:
    (tmp_path / "noarch").mkdir()
    (tmp_path / "index.json").write_text(index)
    with tarfile.open(tmp_path / "noarch/other-1.0-0.tar.bz2", "w:bz2") as archive:
        archive.add(tmp_path / "index.json", "info/index.json")
    with pytest.raises(FailedError, match=r"other-1\.0-0\.tar\.bz2: .*is not an object"):
        write_repodata(tmp_path)


def test_the_guards_build_string_follows_what_is_in_it(tmp_path: Path) -> None:
    guard = pack_guard(GUARD, tmp_path)
    other = pack_guard(CondaPackage(**{**_fields(GUARD), "constrains": ("pillow * opt_*",)}), tmp_path)
    assert pack_guard(GUARD, tmp_path) == guard
    assert guard.build.partition("_")[0] != other.build.partition("_")[0]
    assert [(each.build_number, each.build[-2:]) for each in (guard, other)] == [(0, "_0"), (1, "_1")]
    index = documents(tmp_path / f"noarch/{guard.dist}.conda")["info/index.json"]
    assert (index["noarch"], index["constrains"], index["arch"]) == ("generic", ["pillow * simd_*"], None)


def test_packages_are_published_under_the_first_free_number(tmp_path: Path) -> None:
    def packed(content: bytes) -> CondaPackage:
        def pack(number: int, place: Path) -> CondaPackage:
            numbered = CondaPackage(**{**_fields(PACKAGE), "build": f"simd_v3_py311_{number}"})
            return write_archive(numbered, {"x": CondaPackageFile(content=content)}, {}, place)

        return publish_packages(pack, None, tmp_path).package

    made = [packed(content).build[-1] for content in (b"1", b"1", b"2", b"3", b"2")]
    assert made == ["0", "0", "1", "2", "1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linux-64", "noarch"]


def _fields(package: CondaPackage) -> dict[str, Any]:
    return {name: getattr(package, name) for name in package.__dataclass_fields__}
