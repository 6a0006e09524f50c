"""What a wheel says about how it was built."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.values.build_requests import build_request, build_step

from fastinstall.model.artefact import Artefact
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import Headers
from fastinstall.wheelbuild.provenance import bill_of_materials, provenance, provenance_text
from fastinstall.wheelbuild.static_libraries import StaticLibrary

HEADERS = Headers(directories=(), digest="d" * 64, versions={"jpeg": "2.1.5"}, jpeg_abi="62", gcc=True)
FEATURES = {"JPEG": "", "LIBTIFF": None}


def base_wheel_request(directory: Path) -> BuildRequest:
    wheel = directory / "pillow-12.1.1-cp311-cp311-manylinux_2_27_x86_64.whl"
    wheel.write_bytes(b"official")
    artefact = Artefact(name="pillow", version="12.1.1", filename=wheel.name, url=wheel.as_uri(), sha256="")
    return build_request(directory, base_wheel=wheel, step=build_step(base_wheel=artefact))


def test_provenance_names_inputs_by_the_digest_of_their_files(tmp_path: Path) -> None:
    request = base_wheel_request(tmp_path)
    document = json.loads(provenance_text(provenance(request, HEADERS, FEATURES, (), ("turn",))))
    assert document["schema"] == "fastinstall.provenance/1"
    assert document["source"]["sha256"] == hashlib.sha256(request.source.read_bytes()).hexdigest()
    assert document["base_wheel"]["sha256"] == hashlib.sha256(b"official").hexdigest()
    assert document["base_wheel"]["version"] == "12.1.1"
    (target,) = document["targets"]
    assert (target["level"], target["cflags"]) == ("x86-64-v3", ["-O3", "-march=x86-64-v3"])
    assert (document["kernels"], document["statics"]) == (["turn"], {})
    assert (document["features"], document["headers"]) == (FEATURES, {"jpeg": "2.1.5"})


def test_provenance_is_the_same_for_the_same_inputs(tmp_path: Path) -> None:
    request = base_wheel_request(tmp_path)
    texts = {provenance_text(provenance(request, HEADERS, FEATURES, (), ("turn",))) for _ in range(2)}
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


def bill(directory: Path) -> dict[str, Any]:
    """Return the bill of materials of an official wheel with our core in it and a static library."""
    request = base_wheel_request(directory)
    sdist = directory / "zlib_ng-1.1.0.tar.gz"
    sdist.write_bytes(b"zlib")
    artefact = Artefact(name="zlib-ng", version="1.1.0", filename=sdist.name, url=sdist.as_uri(), sha256="")
    step = replace(request.step, statics={"zlib": artefact})
    request = replace(request, statics={"zlib": sdist}, step=step)
    zlib = StaticLibrary(name="zlib", archive=directory / "libz.a", include=directory, version="2.3.3")
    made = provenance(request, HEADERS, FEATURES, (zlib,), ("turn",))
    text = bill_of_materials(made, "pillow", "13.0.0+simd.v2.v3")
    assert text == bill_of_materials(made, "pillow", "13.0.0+simd.v2.v3")
    document: dict[str, Any] = json.loads(text)
    return document


def test_the_bill_is_valid_by_the_schema_of_the_standard(tmp_path: Path) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill(tmp_path))) is None


def test_the_sbom_names_wheel_and_inputs_by_purl_and_hash(tmp_path: Path) -> None:
    document = bill(tmp_path)
    assert document["metadata"]["component"]["purl"] == "pkg:pypi/pillow@13.0.0%2Bsimd.v2.v3"
    source, base_wheel, _zlib = document["components"]
    assert source["hashes"][0]["content"] == hashlib.sha256(b"not unpacked by these tests").hexdigest()
    assert base_wheel["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"official").hexdigest()}]
    assert base_wheel["purl"].startswith("pkg:pypi/pillow@12.1.1?file_name=pillow-12.1.1-cp311-")


def test_the_sbom_names_a_linked_library_by_version_and_sdist(tmp_path: Path) -> None:
    zlib = bill(tmp_path)["components"][-1]
    assert (zlib["version"], zlib["purl"]) == ("2.3.3", "pkg:generic/zlib-ng@2.3.3")
    assert zlib["pedigree"]["ancestors"][0]["purl"].startswith("pkg:pypi/zlib-ng@1.1.0?")
