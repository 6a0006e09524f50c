from pathlib import Path

from builders import healthy_facts

from fastinstall.verbs.bench_stacks import find_cached_build, find_official_wheel
from fastinstall.wheelbuild.wheel_cache import store

INTERPRETER = healthy_facts().interpreter
TAG = f"{INTERPRETER.abi}-{INTERPRETER.abi}-manylinux_2_27_x86_64"
INPUTS = {"recipe": "pillow-merged", "link": "bundle", "python": "cpython 3.11 cp311"}


def fetched(cache: Path, filename: str) -> None:
    digest = filename.encode().hex()[-64:].zfill(64)
    path = cache / "downloads" / digest[:2] / digest / filename
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def built(cache: Path, version: str, **changes: str) -> None:
    wheel = cache / f"pillow-{version}-{TAG}.whl"
    cache.mkdir(exist_ok=True)
    wheel.write_text(version)
    store(cache, {**INPUTS, "distribution": f"pillow {version}", **changes}, wheel, {})


def test_the_newest_official_wheel_that_fits_is_found_by_names_alone(tmp_path: Path) -> None:
    assert find_official_wheel(tmp_path, INTERPRETER) is None
    for name in (
        f"pillow-9.5.0-{TAG}.whl",
        f"pillow-12.1.1-{TAG}.whl",
        f"pillow-13.0.0+simd.v3-{TAG}.whl",
        "pillow-13.0.0-cp399-cp399-manylinux_2_27_x86_64.whl",
        "pillow-13.0.0.tar.gz",
    ):
        fetched(tmp_path, name)
    found = find_official_wheel(tmp_path, INTERPRETER)
    assert found is not None
    assert (found.version, found.filename) == ("12.1.1", f"pillow-12.1.1-{TAG}.whl")
    assert found.sha256 in found.url


def test_the_newest_build_of_the_usual_recipe_for_this_python_is_found(tmp_path: Path) -> None:
    assert find_cached_build(tmp_path, INTERPRETER) is None
    built(tmp_path, "9.9.0+simd.v2.v3")
    built(tmp_path, "12.1.1+simd.v3")
    built(tmp_path, "12.1.1+simd.v2.v3")
    built(tmp_path, "13.0.0+opt.v2", recipe="pillow")
    built(tmp_path, "13.0.0+simd.v2", python="cpython 3.13 cp313")
    built(tmp_path, "13.0.0+simd.v3", link="env")
    found = find_cached_build(tmp_path, INTERPRETER)
    assert found is not None
    assert found.name == f"pillow-12.1.1+simd.v2.v3-{TAG}.whl"


def test_a_damaged_entry_is_no_build(tmp_path: Path) -> None:
    built(tmp_path, "12.1.1+simd.v3")
    (result,) = tmp_path.glob("wheels/*/result.json")
    result.write_text("{")
    assert find_cached_build(tmp_path, INTERPRETER) is None
