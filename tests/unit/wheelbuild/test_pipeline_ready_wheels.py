"""Which cached wheels equal the wheel that a plan would build; small files stand in for wheels."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.values.build_requests import V3, build_recipe, build_request, build_step

from fastinstall.core.files import sha256
from fastinstall.model.artefact import Artefact
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import StaticSource
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild import wheel_cache
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import Headers
from fastinstall.wheelbuild.pipeline import find_ready, inputs_of

NAME = "pillow-12.1.1+simd.v3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
HEADERS = Headers(directories=(), digest="d" * 64, versions={}, jpeg_abi="62", gcc=True)
ZLIB_NG = StaticSource(pypi="zlib-ng", directory="zlib-ng", configure=(), archive="libz.a", headers=(), reason="a test")


def _artefact(path: Path) -> Artefact:
    return Artefact(name="a", version="1", filename=path.name, url=path.as_uri(), sha256=sha256(path))


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., BuildRequest]:
    """Return a factory of requests for one recipe that links zlib-ng statically."""
    sdist, base_wheel = tmp_path / "zlib_ng-1.0.tar.gz", tmp_path / "pillow-12.1.1-cp311.whl"
    sdist.write_bytes(b"a library")
    base_wheel.write_bytes(b"an official wheel")
    known = build_recipe()
    recipe = replace(known, libraries={**known.libraries, "zlib": replace(known.libraries["zlib"], static=ZLIB_NG)})

    def made(**changes: Any) -> BuildRequest:
        request = build_request(tmp_path, recipe=recipe, base_wheel=base_wheel, statics={"zlib": sdist})
        linked = {"zlib": _artefact(sdist)}
        step = build_step(source=_artefact(request.source), base_wheel=_artefact(base_wheel), statics=linked)
        return replace(request, step=step, **changes)

    return made


def _store(request: BuildRequest, headers: Headers = HEADERS, name: str = NAME) -> str:
    wheel = request.cache / "tmp" / name
    wheel.parent.mkdir(parents=True, exist_ok=True)
    wheel.write_bytes(name.encode())
    return wheel_cache.store_wheel(request.cache, inputs_of(request, headers), wheel, {}).sha256


def _found(request: BuildRequest) -> list[str]:
    found = find_ready(request.cache, request.step, request.recipe, request.interpreter, request.wheelhouse)
    return [entry.sha256 for entry in found]


def test_a_wheel_serves_each_patch_release_wherever_python_is(
    request_of: Callable[..., BuildRequest],
) -> None:
    made = request_of()
    stored = _store(made)
    python = made.interpreter
    assert python.version == "3.11.7"
    other = replace(python, version="3.11.2", executable=Path("/opt/python/bin/python3"), include=Path("/opt/include"))
    assert _found(request_of(interpreter=other)) == [stored]
    assert _found(request_of(interpreter=replace(python, version="3.12.1"))) == []
    assert _found(request_of(interpreter=replace(python, libc_version="2.26"))) == [], "its tags ask for glibc 2.27"


def test_a_wheel_built_with_a_wheelhouse_serves_only_that_one(
    request_of: Callable[..., BuildRequest], tmp_path: Path
) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "setuptools-80.0-py3-none-any.whl").write_bytes(b"somebody's")
    made = request_of(wheelhouse=house)
    stored = _store(made)
    assert _found(request_of()) == []
    assert _found(made) == [stored]
    (house / "setuptools-80.0-py3-none-any.whl").write_bytes(b"another's")
    assert _found(made) == []
    own = _store(request_of())
    assert _found(request_of()) == _found(made) == [own]


def test_compiler_and_headers_are_those_of_its_making(request_of: Callable[..., BuildRequest]) -> None:
    made = request_of(compiler=Compiler(command=("/opt/a b/cc",), version="cc 14", accepts=()))
    stored = _store(made, replace(HEADERS, digest="e" * 64))
    assert _found(request_of()) == [stored]
    (ready,) = find_ready(made.cache, made.step, made.recipe, made.interpreter)
    assert ready.inputs["compiler"] == "'/opt/a b/cc': cc 14"


@pytest.mark.parametrize(
    "change",
    [
        {"version": "12.1.1+simd.v2"},
        {"distribution": "pillow-simd"},
        {"left_out": ("resize",)},
        {"libraries": ("jpeg", "zlib", "tiff")},
        {"targets": (replace(V3, cflags=("-O2",)),)},
        {"statics": {}},
        {"link": LinkMode.SYSTEM},
        {"base_wheel": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_plan_names_has_to_be_the_same(request_of: Callable[..., BuildRequest], change: dict[str, Any]) -> None:
    _store(request_of())
    request = request_of()
    assert _found(replace(request, step=replace(request.step, **change))) == []


def test_a_file_whose_hash_nobody_knows_yet_may_be_another_one(request_of: Callable[..., BuildRequest]) -> None:
    _store(request_of())
    request = request_of()
    assert request.step.base_wheel is not None
    unknown = replace(request.step.base_wheel, sha256="")
    assert _found(replace(request, step=replace(request.step, base_wheel=unknown))) == []


def test_a_build_for_one_cpu_is_not_looked_for(request_of: Callable[..., BuildRequest]) -> None:
    native = replace(V3, level="native", cflags=("-O3", "-march=native"))
    request = request_of()
    request = replace(request, step=replace(request.step, targets=(native,)))
    _store(request)
    assert _found(request) == []


def test_a_damaged_wheel_is_none(request_of: Callable[..., BuildRequest]) -> None:
    made = request_of()
    _store(made)
    (wheel,) = made.cache.glob("wheels/*/*.whl")
    wheel.write_bytes(b"damaged")
    assert _found(made) == []
