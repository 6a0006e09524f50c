"""Which packages claim files of PIL, the state of these files, and which package owns a file that several claim."""

import json
import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.conda.written_records import SITE, add_package, add_record, file_path, link_path, record
from support.environments.site_packages import install

from fastinstall.model.conda import CondaClaim, CondaClash
from fastinstall.model.facts import Distribution
from fastinstall.observe.conda.claims import observe_claims
from fastinstall.observe.conda.records import read_records
from fastinstall.observe.stack import observe_distributions

REPLACED = ("pillow", "pil", "pillow-simd")
CORE = f"{SITE}/PIL/_imaging.so"
PILLOW = {f"{SITE}/PIL/Image.py": b"image", CORE: b"core", "share/pillow/licence": b"free"}
TEXT = file_path("", b"libjpeg.so.62")["sha256"]
METADATA = f"{SITE}/pillow-1.0.dist-info"


class Claims(NamedTuple):
    claims: tuple[CondaClaim, ...]
    clashes: tuple[CondaClash, ...]
    unreadable: dict[str, str]


def _observe(prefix: Path, *, thorough: bool = True) -> Claims:
    distributions = observe_distributions(prefix / SITE)
    claiming = tuple(each for each in distributions if each.name in REPLACED)
    records = read_records(prefix / "conda-meta")
    return Claims(*observe_claims(prefix, records, REPLACED, SITE, claiming, thorough=thorough))


def _claim(prefix: Path, *, thorough: bool = True) -> CondaClaim:
    (claim,) = _observe(prefix, thorough=thorough).claims
    return claim


def _pillow_with_metadata(prefix: Path) -> str:
    """Add conda's Pillow with a dist-info directory, as conda's Python packages have one."""
    metadata = install(prefix / SITE, "pillow", "1.0", {"PIL/Image.py": b"image"}, installer="conda")
    own = {f"{METADATA}/{name}": (metadata / name).read_bytes() for name in ("METADATA", "INSTALLER", "RECORD")}
    return add_package(prefix, "pillow", {**PILLOW, **own})


def test_all_files_of_pil_providers_count_but_not_all_others(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", PILLOW)
    add_package(tmp_path, "thing", {"lib/libtiff.so": b"tiff", "bin/thing": b"thing"})
    add_package(tmp_path, "harmless", {"bin/harmless": b""})
    pillow, thing = _observe(tmp_path).claims
    assert pillow == CondaClaim(dist="pillow-1.0-h0_0", files=tuple(PILLOW))
    assert thing == CondaClaim(dist="thing-1.0-h0_0", files=("lib/libtiff.so",))


def test_missing_and_altered_files_are_told_by_size_and_by_hash(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", PILLOW)
    (tmp_path / CORE).write_bytes(b"roce")
    (tmp_path / f"{SITE}/PIL/Image.py").write_bytes(b"longer")
    (tmp_path / "share/pillow/licence").unlink()
    claim = _claim(tmp_path)
    assert (set(claim.altered), claim.missing) == ({CORE, f"{SITE}/PIL/Image.py"}, ("share/pillow/licence",))


def test_what_is_no_regular_file_any_more_is_altered(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", PILLOW)
    (tmp_path / CORE).unlink()
    os.mkfifo(tmp_path / CORE)
    (tmp_path / f"{SITE}/PIL/Image.py").unlink()
    (tmp_path / f"{SITE}/PIL/Image.py").mkdir()
    assert _claim(tmp_path).altered == (f"{SITE}/PIL/Image.py", CORE)


def test_bytecode_and_directories_are_no_claims(tmp_path: Path) -> None:
    cache = {"_path": f"{SITE}/PIL/__pycache__/Image.cpython-311.pyc", "path_type": "pyc_file"}
    add_record(tmp_path, record("pillow", paths=[cache]))
    assert _observe(tmp_path) == Claims(claims=(), clashes=(), unreadable={})


def test_a_file_containing_the_prefix_is_compared_as_rewritten(tmp_path: Path) -> None:
    text = f"#!{tmp_path}/bin/python".encode()
    entry = file_path("bin/tool", b"#!/opt/placeholder/bin/python", prefix_placeholder="/opt/placeholder")
    in_prefix = {"sha256_in_prefix": file_path("", text)["sha256"]}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").write_bytes(text)
    for more, altered in ((in_prefix, ()), ({}, ()), ({"sha256_in_prefix": "0" * 64}, ("bin/tool",))):
        add_record(tmp_path, record("pillow", paths=[{**entry, **more}]))
        assert _claim(tmp_path).altered == altered


def test_noarch_files_are_found_where_their_python_puts_them(tmp_path: Path) -> None:
    paths = [file_path("site-packages/PIL/Image.py", b"image"), file_path("python-scripts/pil", b"script")]
    files = [f"{SITE}/PIL/Image.py", "bin/pil"]
    add_record(tmp_path, record("pillow", paths=paths, files=files, noarch="python"))
    (tmp_path / SITE / "PIL").mkdir(parents=True)
    (tmp_path / f"{SITE}/PIL/Image.py").write_bytes(b"egami")
    assert _claim(tmp_path) == CondaClaim(
        dist="pillow-1.0-h0_0", files=tuple(files), missing=("bin/pil",), altered=(f"{SITE}/PIL/Image.py",)
    )


@pytest.mark.parametrize(
    ("described", "target", "altered"),
    [
        (link_path("lib/libjpeg.so", b"turbo"), "libjpeg.so.62", False),
        (link_path("lib/libjpeg.so", b"turbo"), "libjpeg.so.9", True),
        (link_path("lib/libjpeg.so"), "libjpeg.so.62", False),
        (link_path("lib/libjpeg.so"), "libjpeg.so.9", True),
        (link_path("lib/libjpeg.so"), "nowhere", True),
        (
            link_path("lib/libjpeg.so", sha256_in_prefix=TEXT),
            "libjpeg.so.62",
            False,
        ),
        (link_path("lib/libjpeg.so", sha256_in_prefix=TEXT), "libjpeg.so.9", True),
    ],
    ids=["content", "other content", "of conda", "elsewhere", "nowhere", "of py-rattler", "of py-rattler, elsewhere"],
)
def test_symbolic_links_are_compared_by_where_they_lead(
    tmp_path: Path, described: dict[str, Any], target: str, *, altered: bool
) -> None:
    add_record(tmp_path, record("turbo", paths=[described, file_path("lib/libjpeg.so.62", b"turbo")]))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libjpeg.so.62").write_bytes(b"turbo")
    (tmp_path / "lib/libjpeg.so.9").write_bytes(b"ijg")
    (tmp_path / "lib/libjpeg.so").symlink_to(target)
    assert _claim(tmp_path).altered == (("lib/libjpeg.so",) if altered else ())


def test_a_link_replaced_by_a_file_of_equal_content_is_unaltered(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libjpeg.so").write_bytes(b"turbo")
    add_record(tmp_path, record("turbo", paths=[link_path("lib/libjpeg.so", b"turbo")]))
    assert _claim(tmp_path).altered == ()


def test_a_header_of_two_packages_is_held_by_the_matching_one(tmp_path: Path) -> None:
    turbo = add_package(tmp_path, "libjpeg-turbo", {"include/jpeglib.h": b"turbo", "include/jerror.h": b"same"})
    jpeg = add_package(tmp_path, "jpeg", {"include/jpeglib.h": b"ijg", "include/jerror.h": b"same"})
    found = _observe(tmp_path)
    assert found.clashes == (
        CondaClash(path="include/jerror.h", claimants=(jpeg, turbo), holder=jpeg),
        CondaClash(path="include/jpeglib.h", claimants=(jpeg, turbo), holder=jpeg),
    )
    assert [claim.altered for claim in found.claims] == [(), ("include/jpeglib.h",)]


def test_a_file_that_is_nobodys_any_more_has_no_holder(tmp_path: Path) -> None:
    add_package(tmp_path, "libjpeg-turbo", {"include/jpeglib.h": b"turbo"})
    add_package(tmp_path, "jpeg", {"include/jpeglib.h": b"ijg"})
    (tmp_path / "include/jpeglib.h").write_bytes(b"mine")
    assert [clash.holder for clash in _observe(tmp_path).clashes] == [""]
    (tmp_path / "include/jpeglib.h").unlink()
    assert [clash.holder for clash in _observe(tmp_path).clashes] == [""]


def test_a_clobbered_file_is_claimed_aside_and_clashes_at_target(tmp_path: Path) -> None:
    aside = "__clobbers__/libjpeg-turbo/include/jpeglib.h"
    jpeg = add_package(tmp_path, "jpeg", {"include/jpeglib.h": b"ijg"})
    turbo = add_package(tmp_path, "libjpeg-turbo", {aside: b"turbo"})
    add_record(tmp_path, record("libjpeg-turbo", paths=[file_path(aside, b"turbo", original_path="include/jpeglib.h")]))
    found = _observe(tmp_path)
    assert found.claims[1] == CondaClaim(dist=turbo, files=(aside,))
    assert found.clashes == (CondaClash(path="include/jpeglib.h", claimants=(jpeg, turbo), holder=jpeg),)


def test_a_package_with_its_own_metadata_is_one_claimant(tmp_path: Path) -> None:
    _pillow_with_metadata(tmp_path)
    assert _observe(tmp_path).clashes == ()


def test_a_package_named_unlike_its_distribution_is_one_claimant(tmp_path: Path) -> None:
    metadata = install(tmp_path / SITE, "pillow", "1.0", {"PIL/Image.py": b"image"}, installer="conda")
    own = {f"{METADATA}/{name}": (metadata / name).read_bytes() for name in ("METADATA", "INSTALLER", "RECORD")}
    dist = add_package(tmp_path, "my-image-tools", {f"{SITE}/PIL/Image.py": b"image", **own})
    found = _observe(tmp_path)
    assert (found.claims, found.clashes) == ((CondaClaim(dist=dist, files=(f"{SITE}/PIL/Image.py",)),), ())


def test_pip_files_over_condas_clash_and_are_held_by_content(tmp_path: Path) -> None:
    dist = _pillow_with_metadata(tmp_path)
    install(tmp_path / SITE, "pillow-simd", "1.0.post0", {"PIL/Image.py": b"image", "PIL/_imaging.so": b"simd"})
    pip = "pip: pillow-simd 1.0.post0"
    assert _observe(tmp_path).clashes == (
        CondaClash(path=f"{SITE}/PIL/Image.py", claimants=(dist, pip), holder=dist),
        CondaClash(path=CORE, claimants=(dist, pip), holder=pip),
    )


def test_the_same_version_reinstalled_by_pip_is_another_claimant(tmp_path: Path) -> None:
    dist = _pillow_with_metadata(tmp_path)
    install(tmp_path / SITE, "pillow", "1.0", {"PIL/Image.py": b"image", "PIL/_imaging.so": b"of the wheel"})
    clashes = {clash.path: clash for clash in _observe(tmp_path).clashes}
    assert clashes[CORE] == CondaClash(path=CORE, claimants=(dist, "pip: pillow 1.0"), holder="pip: pillow 1.0")


def test_pips_files_alone_clash_with_nothing(tmp_path: Path) -> None:
    install(tmp_path / SITE, "pillow", "1.0", {"PIL/Image.py": b"image"})
    assert _observe(tmp_path) == Claims(claims=(), clashes=(), unreadable={})


def test_a_distribution_without_record_claims_nothing(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", PILLOW)
    metadata = install(tmp_path / SITE, "pillow-simd", "1.0", {"PIL/Image.py": b"simd"})
    (metadata / "RECORD").write_text('"' + "x" * 200_000 + '",,\n"unclosed')
    assert _observe(tmp_path).clashes == ()
    (metadata / "RECORD").unlink()
    assert _observe(tmp_path).clashes == ()


class TestQuickly:
    """Files unchanged since their record was written are not read, unless several packages claim them."""

    def _later(self, prefix: Path) -> None:
        moment = time.time_ns() + 10**9
        for path in prefix.glob("conda-meta/*.json"):
            os.utime(path, ns=(moment, moment))

    def test_an_old_file_of_the_right_size_counts_as_recorded(self, tmp_path: Path) -> None:
        add_package(tmp_path, "pillow", PILLOW)
        (tmp_path / CORE).write_bytes(b"roce")
        self._later(tmp_path)
        assert (_claim(tmp_path, thorough=False).altered, _claim(tmp_path).altered) == ((), (CORE,))

    def test_a_file_that_was_touched_since_is_read(self, tmp_path: Path) -> None:
        add_package(tmp_path, "pillow", PILLOW)
        time.sleep(0.02)
        (tmp_path / CORE).write_bytes(b"roce")
        assert _claim(tmp_path, thorough=False).altered == (CORE,)

    def test_a_file_that_two_packages_claim_is_read(self, tmp_path: Path) -> None:
        add_package(tmp_path, "libjpeg-turbo", {"include/jpeglib.h": b"turbo"})
        add_package(tmp_path, "jpeg", {"include/jpeglib.h": b"other"})
        self._later(tmp_path)
        assert [claim.altered for claim in _observe(tmp_path, thorough=False).claims] == [(), ("include/jpeglib.h",)]


ODD: Mapping[str, Any] = {
    "files": [None, 5, "x", [], [5], ["\ud800"], ["a\0b"], ["../../etc/passwd"], ["/etc/passwd"], [""]],
    "paths_data": [None, 5, [], {}, {"paths": 5}, {"paths": [5, {}, {"_path": 5}, {"_path": "x", "sha256": 5}]}],
}


@pytest.mark.parametrize(("field", "odd"), [(field, odd) for field, several in ODD.items() for odd in several])
def test_odd_paths_never_raise_anything(tmp_path: Path, field: str, odd: object) -> None:
    made = record("pillow", paths=[file_path(path, content) for path, content in PILLOW.items()])
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta/pillow-1.0-h0_0.json").write_text(json.dumps({**made, field: odd}, indent=2))
    assert not _observe(tmp_path).unreadable


def test_a_garbled_record_never_raises_anything(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", {**PILLOW, **{f"{SITE}/PIL/Plugin{number}.py": b"" for number in range(120)}})
    path = tmp_path / "conda-meta/pillow-1.0-h0_0.json"
    content, chance = path.read_bytes(), random.Random(5)  # noqa: S311 (the same damages each time)
    for _ in range(60):
        place, length = chance.randrange(len(content)), chance.choice((1, 2, 30, 3000))
        path.write_bytes(content[:place] + chance.randbytes(length) + content[place + length :])
        found = _observe(tmp_path)
        assert len(found.claims) <= 1


def test_a_distribution_of_nobody_known_is_passed_over(tmp_path: Path) -> None:
    add_package(tmp_path, "pillow", PILLOW)
    gone = Distribution(name="pillow", version="2.0", metadata="pillow-2.0.dist-info")
    records = read_records(tmp_path / "conda-meta")
    _, clashes, _ = observe_claims(tmp_path, records, REPLACED, SITE, (gone,))
    assert clashes == ()


@pytest.mark.parametrize("path", ["../victim/PIL/x", "lib/../../victim/PIL/x", "/victim/site-packages/PIL/x"])
def test_a_recorded_path_outside_the_environment_is_no_claim(tmp_path: Path, path: str) -> None:
    prefix, inside = tmp_path / "env", file_path(f"{SITE}/PIL/Image.py", b"")
    add_record(prefix, record("pillow", paths=(inside, file_path(path, b""))))
    (claim,), _, _ = observe_claims(prefix, read_records(prefix / "conda-meta"), ("pillow",), SITE, ())
    assert claim.files == (f"{SITE}/PIL/Image.py",)
