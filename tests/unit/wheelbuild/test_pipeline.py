"""The inputs that decide the bytes of a wheel, and so its key in the cache."""

from dataclasses import replace
from pathlib import Path

from support.values.build_requests import V3, build_request, build_step

from fastinstall.model.machine import Compiler
from fastinstall.wheelbuild.headers import Headers
from fastinstall.wheelbuild.pipeline import inputs_of
from fastinstall.wheelbuild.wheel_cache import key_of

HEADERS = Headers(directories=(), digest="d" * 64, versions={"jpeg": "2.1.5"}, jpeg_abi="62", gcc=True)


def test_everything_that_decides_the_bytes_changes_the_key(tmp_path: Path) -> None:
    request = build_request(tmp_path, base_wheel=None, library_prefix=None)
    request = replace(request, step=build_step(libraries=()))  # avoids looking for libraries of this machine
    base = key_of(inputs_of(request, HEADERS))
    python = request.interpreter
    others = [
        replace(request, step=build_step(libraries=(), targets=(replace(V3, cflags=("-O2",)),))),
        replace(request, step=build_step(libraries=(), targets=(replace(V3, ldflags=()),))),
        replace(request, step=build_step(libraries=(), targets=(replace(V3, level="x86-64-v2"), V3))),
        replace(request, step=build_step(libraries=(), distribution="pillow-simd")),
        replace(request, step=build_step(libraries=(), version="12.1.1+simd.v2")),
        replace(request, compiler=Compiler(command=("cc",), version="cc 13.1.0", accepts=())),
        replace(request, interpreter=replace(python, abi="cp311d")),
        replace(request, interpreter=replace(python, version="3.12.1")),
        replace(request, interpreter=replace(python, libc_version="2.31")),
        replace(request, recipe=replace(request.recipe, name="pillow")),
    ]
    keys = [key_of(inputs_of(other, HEADERS)) for other in others]
    keys.append(key_of(inputs_of(request, replace(HEADERS, digest="e" * 64))))
    request.source.write_bytes(b"another source")
    keys.append(key_of(inputs_of(request, HEADERS)))
    assert len({base, *keys}) == len(keys) + 1


def test_jobs_reason_and_place_do_not_change_the_key(tmp_path: Path) -> None:
    request = replace(build_request(tmp_path), step=build_step(libraries=()))
    other = replace(request, cache=tmp_path / "elsewhere", step=build_step(libraries=(), jobs=9, reason="another"))
    assert inputs_of(request, HEADERS) == inputs_of(other, HEADERS)
