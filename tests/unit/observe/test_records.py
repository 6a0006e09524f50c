"""Records of conda-meta: of every writer and every size, and damaged in every way."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from support.conda.written_records import CHANNEL, WRITERS, add_record, file_path, record
from support.suite.golden import Golden

from fastinstall.model.conda import CondaPackage
from fastinstall.observe.conda.records import CondaRecords, matters, read_records

MATTERING = (
    "lib/python3.11/site-packages/PIL/Image.py",
    "lib/libjpeg.so.62",
    "lib/libturbojpeg.so",
    "lib/libtiffxx.so.6",
    "include/jmorecfg.h",
    "include/tiffio.h",
)
OTHERS = (
    "lib/libjson.so",
    "lib/python3.11/site-packages/notPIL/Image.py",
    "lib/python3.11/site-packages/torchvision.libs/libjpeg.so",
    "include/json/value.h",
    "include/python3.11/tiff.h",
    "share/doc/libjpeg/libjpeg.txt",
)
MANY = [file_path(f"lib/python3.11/site-packages/big/module_{number}.py", b"") for number in range(3000)]


def _read(prefix: Path) -> CondaRecords:
    return read_records(prefix / "conda-meta")


def _only(prefix: Path) -> CondaPackage:
    (package,) = _read(prefix).packages
    return package


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("paths", [[], MANY[:2], MANY[:300], MANY], ids=["empty", "two", "hundreds", "thousands"])
def test_a_package_is_read_whatever_its_writer_or_file_count(
    tmp_path: Path, writer: str, paths: list[dict[str, Any]]
) -> None:
    specs = {"depends": ["python >=3.11", "jpeg >=9e,<10a"], "constrains": ["pillow * simd_*"]}
    made = record("py-thing", "1.2", "py311_3", paths=paths, build_number=3, noarch="python", **specs)
    add_record(tmp_path, made, writer)
    assert _only(tmp_path) == CondaPackage(
        name="py-thing",
        version="1.2",
        build="py311_3",
        build_number=3,
        subdir="linux-64",
        channel=CHANNEL,
        url=f"{CHANNEL}/linux-64/py-thing-1.2-py311_3.conda",
        sha256=made["sha256"],
        depends=("python >=3.11", "jpeg >=9e,<10a"),
        constrains=("pillow * simd_*",),
    )
    assert _read(tmp_path).claiming == frozenset()


def test_dashes_in_a_name_belong_to_the_name(tmp_path: Path) -> None:
    add_record(tmp_path, record("ca-certificates-mozilla", "2024.1", "0"))
    package = _only(tmp_path)
    assert (package.name, package.version, package.build) == ("ca-certificates-mozilla", "2024.1", "0")


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("path", [*MATTERING, "__clobbers__/thing/lib/libjpeg.so"])
def test_packages_that_name_files_which_matter_are_told(tmp_path: Path, writer: str, path: str) -> None:
    (tmp_path / "__clobbers__").mkdir()
    add_record(tmp_path, record("thing", paths=[*MANY[:200], file_path(path, b""), *MANY[200:400]]), writer)
    add_record(tmp_path, record("other", paths=[*MANY[:200], *(file_path(each, b"") for each in OTHERS)]), writer)
    assert _read(tmp_path).claiming == {"thing-1.0-h0_0"}


def test_which_files_matter() -> None:
    assert {path for path in (*MATTERING, *OTHERS, "include/tiffio.hxx") if matters(path)} == set(MATTERING)


def test_words_in_other_fields_are_no_files(tmp_path: Path) -> None:
    summary = 'has "lib/libjpeg.so" and "include/tiff.h",\n  "files": [\n    "lib/libjpeg.so"\n  ],\n  "name": "fooled"'
    add_record(tmp_path, record("thing", paths=MANY[:300], summary=summary, license=summary), "conda")
    add_record(tmp_path, record("other", paths=MANY[:300], summary=summary, license=summary), "conda, sorted")
    records = _read(tmp_path)
    assert [package.name for package in records.packages] == ["other", "thing"]
    assert records.claiming == frozenset()


def test_a_record_without_current_fields_is_read_all_the_same(tmp_path: Path) -> None:
    made = record("pillow", "5.0", "py36_0", paths=MANY[:300])
    for field in ("subdir", "url", "sha256", "channel", "paths_data", "link"):
        del made[field]
    add_record(tmp_path, made)
    assert _only(tmp_path).dist == "pillow-5.0-py36_0"
    assert (_only(tmp_path).url, _only(tmp_path).subdir, _only(tmp_path).sha256) == ("", "", "")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://me:secret@conda.example/t/tk-123/forge/linux-64", "https://conda.example/forge"),
        ("https://conda.example/t/tk-123/forge/linux-64", "https://conda.example/forge"),
        ("https://me:p@ss@conda.example/forge", "https://conda.example/forge"),
        ("file:///t/channel/linux-64", "file:///t/channel"),
        ("file:///srv/channel/", "file:///srv/channel"),
        ("conda-forge", "conda-forge"),
    ],
)
def test_channels_are_shown_without_credentials_or_subdirectory(tmp_path: Path, written: str, shown: str) -> None:
    add_record(tmp_path, record("thing", channel=written, url=f"{written}/thing-1.0-h0_0.conda"))
    package = _only(tmp_path)
    assert package.channel == shown
    assert package.url.endswith("/thing-1.0-h0_0.conda")
    assert not {word for word in ("secret", "tk-123", "p@ss") if word in package.url}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (bytes(5000), "only zero bytes"),
        (b'{"name": "thing"', "not valid JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b'"thing"', "not a JSON object"),
        (b'{"name": "\xff\xfe"}', "not UTF-8"),
        (b"[" * 200_000, "not valid JSON"),
        (b'{"name": 5}', "its name is not a string"),
        (b'{"name": "thing", "version": "1.0", "build": "h0_0", "depends": "x"}', "its depends is not a list"),
        (b'{"name": "thing", "version": "1.0", "build": "h0_0", "depends": [5]}', "its depends is not a list"),
        (b'{"name": "thing", "version": "1.0", "build": "h0_0", "build_number": "x"}', "its build_number is not a n"),
        (b'{"name": "thing", "version": "2.0", "build": "h0_0"}', "it describes thing-2.0-h0_0"),
    ],
)
def test_a_broken_record_is_named_and_the_others_are_read(tmp_path: Path, content: bytes, reason: str) -> None:
    add_record(tmp_path, record("other"))
    (tmp_path / "conda-meta/thing-1.0-h0_0.json").write_bytes(content)
    records = _read(tmp_path)
    assert [package.name for package in records.packages] == ["other"]
    assert list(records.unreadable) == ["thing-1.0-h0_0.json"]
    assert records.unreadable["thing-1.0-h0_0.json"].startswith(reason)


def test_what_is_no_file_is_named(tmp_path: Path, golden: Golden) -> None:
    meta = tmp_path / "conda-meta"
    (meta / "directory-1.0-0.json").mkdir(parents=True)
    (meta / "nowhere-1.0-0.json").symlink_to("gone")
    os.mkfifo(meta / "pipe-1.0-0.json")
    (meta / "nodashes.json").write_text("{}")
    unreadable = _read(tmp_path).unreadable
    golden("\n".join(f"{name}: {unreadable[name]}" for name in sorted(unreadable)))


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert _read(tmp_path) == CondaRecords(packages=(), unreadable={}, claiming=frozenset())


def test_what_macos_leaves_beside_records_is_none(tmp_path: Path) -> None:
    add_record(tmp_path, record("thing"))
    (tmp_path / "conda-meta/._thing-1.0-h0_0.json").write_bytes(b"\0\5\x16\7")
    assert (len(_read(tmp_path).packages), _read(tmp_path).unreadable) == (1, {})


def test_halves_of_characters_are_replaced(tmp_path: Path) -> None:
    add_record(tmp_path, record("thing", depends=["half \ud800 of one"]))
    assert _only(tmp_path).depends == ("half ? of one",)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_record_that_is_cut_off_anywhere_is_named(tmp_path: Path, writer: str) -> None:
    path = add_record(tmp_path, record("thing", paths=[*MANY[:120], file_path("lib/libjpeg.so", b"")]), writer)
    content = path.read_bytes()
    chance = random.Random(3)  # noqa: S311 (the same damages each time)
    for _ in range(30):
        path.write_bytes(content[: chance.randrange(len(content) - 1)])
        records = _read(tmp_path)
        assert (records.packages, list(records.unreadable)) == ((), [path.name])


@pytest.mark.parametrize("writer", WRITERS)
def test_a_garbled_record_never_raises_anything(tmp_path: Path, writer: str) -> None:
    path = add_record(tmp_path, record("thing", paths=MANY[:120], depends=["a >1", "b"]), writer)
    content = path.read_bytes()
    chance = random.Random(4)  # noqa: S311 (the same damages each time)
    for _ in range(50):
        place, length = chance.randrange(len(content)), chance.choice((1, 2, 30, 3000))
        path.write_bytes(content[:place] + chance.randbytes(length) + content[place + length :])
        records = _read(tmp_path)
        assert len(records.packages) + len(records.unreadable) == 1


def test_fields_of_any_type_never_raise_anything(tmp_path: Path) -> None:
    made = record("thing", paths=MANY[:3])
    odds: tuple[Any, ...] = (None, 5, 5.5, "x", [], {}, [None], [{}], True)
    (tmp_path / "conda-meta").mkdir()
    for field in made:
        for odd in odds:
            (tmp_path / "conda-meta/thing-1.0-h0_0.json").write_text(json.dumps({**made, field: odd}, indent=2))
            records = _read(tmp_path)
            assert len(records.packages) + len(records.unreadable) == 1
