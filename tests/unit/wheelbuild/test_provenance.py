"""What a wheel says about its own making."""

import hashlib
import json
from pathlib import Path

from support.values.build_requests import build_request, build_step

from fastinstall.model.artefact import Artefact
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers.probe import Headers
from fastinstall.wheelbuild.provenance import provenance, provenance_text

HEADERS = Headers(directories=(), digest="d" * 64, versions={"jpeg": "2.1.5"}, jpeg_abi="62", gcc=True)
FEATURES = {"JPEG": "", "LIBTIFF": None}


def chassis_request(directory: Path) -> BuildRequest:
    wheel = directory / "pillow-12.1.1-cp311-cp311-manylinux_2_27_x86_64.whl"
    wheel.write_bytes(b"official")
    artefact = Artefact(name="pillow", version="12.1.1", filename=wheel.name, url=wheel.as_uri(), sha256="")
    return build_request(directory, base_wheel=wheel, step=build_step(base_wheel=artefact))


def test_provenance_names_inputs_by_the_digest_of_the_file_on_disk(tmp_path: Path) -> None:
    request = chassis_request(tmp_path)
    document = json.loads(provenance_text(provenance(request, HEADERS, FEATURES, (), ("turn",))))
    assert document["schema"] == "fastinstall.provenance/1"
    assert document["source"]["sha256"] == hashlib.sha256(request.source.read_bytes()).hexdigest()
    assert document["chassis"]["sha256"] == hashlib.sha256(b"official").hexdigest()
    assert document["chassis"]["version"] == "12.1.1"
    (target,) = document["targets"]
    assert (target["level"], target["cflags"]) == ("x86-64-v3", ["-O3", "-march=x86-64-v3"])
    assert (document["kernels"], document["statics"]) == (["turn"], {})
    assert (document["features"], document["headers"]) == (FEATURES, {"jpeg": "2.1.5"})


def test_provenance_is_the_same_for_the_same_inputs(tmp_path: Path) -> None:
    request = chassis_request(tmp_path)
    texts = {provenance_text(provenance(request, HEADERS, FEATURES, (), ("turn",))) for _ in range(2)}
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()
