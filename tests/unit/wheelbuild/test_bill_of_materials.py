"""The bill of materials: true, deterministic, and after the standard's schema."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.values.build_requests import wheel_tree

from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.bill_of_materials import WheelComponents, bill_of_materials
from fastinstall.wheelbuild.provenance import Ingredient, Provenance
from fastinstall.wheelbuild.static_libraries import StaticLibrary

JPEG = "pillow.libs/libjpeg-32d42e18.so.62.4.0"
OFFICIAL = {
    "components": [
        {"type": "library", "bom-ref": "pkg:pypi/pillow@13.0.0#c-ext/PIL._imaging", "name": "PIL._imaging"},
        {"type": "library", "bom-ref": "pkg:generic/libjpeg", "name": "libjpeg-turbo", "version": "3.2.0"},
        {"type": "library", "bom-ref": "pkg:generic/littlecms2", "name": "Little CMS 2", "version": "2.19.1"},
        {"type": "library", "bom-ref": "pkg:generic/zlib", "name": "zlib", "version": "2.3.3"},
        {"type": "library", "bom-ref": "pkg:pypi/pillow@13.0.0#thirdparty/raqm", "name": "raqm", "version": "0.11.0"},
        {"type": "library", "bom-ref": "pkg:rpm/x/libXau@1.0.9#ac", "name": "libXau", "purl": "pkg:rpm/x/libXau@1.0.9"},
    ]
}


def sdist(name: str, version: str) -> Ingredient:
    filename = f"{name.replace('-', '_')}-{version}.tar.gz"
    return Ingredient(
        name=name, version=version, filename=filename, sha256=hashlib.sha256(filename.encode()).hexdigest()
    )


MADE = Provenance(
    tool_version="1.0",
    pipeline=3,
    recipe="pillow",
    source=sdist("pillow", "13.0.0"),
    kernels=("resize", "turn"),
    without=(),
    statics={"zlib": sdist("zlib-ng", "1.1.0")},
    base_wheel=replace(sdist("pillow", "13.0.0"), filename="pillow-13.0.0-cp311-cp311-manylinux_2_27_x86_64.whl"),
    targets=(),
    link=LinkMode.BUNDLE,
    compiler="cc (Debian 12.2.0-14) 12.2.0",
    features={},
    headers={},
    python="3.11.7",
    abi="cp311",
    platform="linux-x86_64",
    libc="glibc 2.36",
)
ZLIB = StaticLibrary(name="zlib", archive=Path("libz.a"), include=Path("include"), version="2.3.3", sha256="c" * 64)


def contents(**changes: Any) -> WheelComponents:
    value = WheelComponents(
        distribution="pillow",
        version="13.0.0+simd.v2.v3",
        made=MADE,
        statics=(ZLIB,),
        requirements=(("setuptools-84.2.1-py3-none-any.whl", "e" * 64),),
    )
    return replace(value, **changes)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A wheel with bundled libraries, one of them in a directory of the loader's, and with its official bill."""
    tree = wheel_tree(tmp_path / "tree")
    for name in (JPEG, "pillow.libs/liblcms2-88eaba2f.so.2", "pillow.libs/glibc-hwcaps/x86-64-v3/lib_core.so"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())
    bill = next(tree.glob("*.dist-info")) / "sboms/pillow.cdx.json"
    bill.parent.mkdir()
    bill.write_text(json.dumps(OFFICIAL))
    return tree


def bill(value: WheelComponents, tree: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(bill_of_materials(value, tree))
    return document


def by_reference(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {component["bom-ref"]: component for component in document["components"]}


def test_it_is_valid_by_the_schema_of_the_standard(tree: Path) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    for value in (contents(), contents(made=replace(MADE, kernels=(), base_wheel=None), statics=(), requirements=())):
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill_of_materials(value, tree))
        assert error is None, error


def test_the_same_contents_give_the_same_text_and_other_contents_another_number(tree: Path) -> None:
    assert bill_of_materials(contents(), tree) == bill_of_materials(contents(), tree)
    numbers = {bill(contents(version=version), tree)["serialNumber"] for version in ("1", "2")}
    assert len(numbers) == 2


def test_the_wheel_itself_is_named_with_what_it_descends_from(tree: Path) -> None:
    own = bill(contents(), tree)["metadata"]["component"]
    assert own["purl"] == "pkg:pypi/pillow@13.0.0%2Bsimd.v2.v3"
    assert [each["version"] for each in own["pedigree"]["ancestors"]] == ["13.0.0"]
    assert "kernels resize, turn" in own["pedigree"]["notes"]


def test_sources_and_chassis_are_components_by_purl_and_hash(tree: Path) -> None:
    found = by_reference(bill(contents(), tree))
    source = found[f"fastinstall:from/{MADE.source.filename}"]
    assert source["hashes"] == [{"alg": "SHA-256", "content": MADE.source.sha256}]
    assert source["purl"] == "pkg:pypi/pillow@13.0.0?file_name=pillow-13.0.0.tar.gz"
    assert {name for name in found if name.startswith("fastinstall:from/pillow-13")} == {
        "fastinstall:from/pillow-13.0.0.tar.gz",
        "fastinstall:from/pillow-13.0.0-cp311-cp311-manylinux_2_27_x86_64.whl",
    }


def test_the_tools_are_no_components(tree: Path) -> None:
    document = bill(contents(), tree)
    assert "84.2.1" not in {component.get("version") for component in document["components"]}
    made_with = {(each["name"], each.get("version")) for each in document["formulation"][0]["components"]}
    assert ("setuptools", "84.2.1") in made_with
    assert ("C compiler", "cc (Debian 12.2.0-14) 12.2.0") in made_with


def test_a_library_inside_the_core_is_named_by_its_own_version_and_its_sdist(tree: Path) -> None:
    found = by_reference(bill(contents(), tree))["fastinstall:static/zlib-ng"]
    assert (found["version"], found["purl"]) == ("2.3.3", "pkg:generic/zlib-ng@2.3.3")
    assert found["pedigree"]["ancestors"][0]["purl"].startswith("pkg:pypi/zlib-ng@1.1.0?")


def test_a_bundled_library_has_its_digest_and_the_name_that_the_official_bill_gives(tree: Path) -> None:
    found = by_reference(bill(contents(), tree))
    jpeg, lcms = found[f"file:{JPEG}"], found["file:pillow.libs/liblcms2-88eaba2f.so.2"]
    assert (jpeg["name"], jpeg["version"], jpeg["purl"]) == ("libjpeg-turbo", "3.2.0", "pkg:generic/libjpeg@3.2.0")
    assert jpeg["hashes"][0]["content"] == hashlib.sha256((tree / JPEG).read_bytes()).hexdigest()
    assert jpeg["evidence"] == {"occurrences": [{"location": JPEG}]}
    assert lcms["name"] == "Little CMS 2"


def test_a_file_that_no_bill_knows_is_named_by_its_path(tree: Path) -> None:
    found = by_reference(bill(contents(), tree))["file:pillow.libs/glibc-hwcaps/x86-64-v3/lib_core.so"]
    assert (found["type"], found["name"]) == ("file", "pillow.libs/glibc-hwcaps/x86-64-v3/lib_core.so")


def test_of_the_official_bill_only_what_is_in_the_wheel_is_kept(tree: Path) -> None:
    names = {component["name"] for component in bill(contents(), tree)["components"]}
    assert "raqm" in names
    assert not {"zlib", "libXau", "PIL._imaging"} & names


def test_an_official_bill_that_cannot_be_read_tells_nothing(tree: Path) -> None:
    next(tree.glob("*.dist-info/sboms/*.json")).write_text("{")
    assert by_reference(bill(contents(), tree))[f"file:{JPEG}"]["name"] == JPEG


def test_everything_in_the_wheel_is_what_the_wheel_depends_on(tree: Path) -> None:
    document = bill(contents(), tree)
    (dependency,) = document["dependencies"]
    assert dependency["ref"] == document["metadata"]["component"]["bom-ref"]
    assert set(dependency["dependsOn"]) == set(by_reference(document))
    assert len(dependency["dependsOn"]) == len(document["components"])
