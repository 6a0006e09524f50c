"""The probe that uses PIL in a subprocess: with a healthy PIL, a broken one, and one that kills the process."""

import os
import shutil
from pathlib import Path

import pytest
from support.environments.guarded import python_at_hand
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages

from fastinstall.model.facts import Runtime
from fastinstall.observe import runtime as probe
from fastinstall.observe.runtime import observe_runtime
from fastinstall.proof.judge import compare_pixels


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with stock Pillow; tests may not change it."""
    python = python_at_hand("3.11")
    if python is None:
        pytest.skip("no Python 3.11 here")
    made = make_environment(tmp_path_factory.mktemp("stock") / "env é", python)
    install_wheel(made, f"pillow=={PILLOW}")
    return made


@pytest.fixture
def stage(stock: Path, tmp_path: Path) -> Path:
    """Return a copy of stock Pillow that a test may damage; the interpreter of `stock` runs it."""
    staged = tmp_path / "stage dir"
    shutil.copytree(site_packages(stock), staged)
    return staged


def _observe(python: Path, stage: Path | None = None, *, quick: bool = True) -> Runtime:
    return observe_runtime(python, stage=stage, environment=os.environ, quick=quick)


def _append(path: Path, text: str) -> None:
    with path.open("a") as stream:
        stream.write(f"\n{text}\n")


def _core(stage: Path) -> Path:
    return next((stage / "PIL").glob("_imaging.*.so"))


def test_stock_pillow_does_everything(stock: Path) -> None:
    seen = _observe(stock, quick=False)
    assert (seen.imported, seen.error, seen.signal, seen.during) == (True, "", "", "")
    assert (seen.version, Path(seen.location)) == (PILLOW, site_packages(stock) / "PIL/__init__.py")
    assert Path(seen.core) == _core(site_packages(stock))
    assert [result for result in seen.operations if not result.ok] == []
    names = {result.name for result in seen.operations}
    codecs = {"jpeg-round-trip", "jpeg-draft", "png-round-trip", "tiff-lzw-round-trip", "webp-round-trip"}
    assert codecs <= names
    assert {f"resize-lanczos-{mode}" for mode in ("L", "RGB", "RGBA")} <= names


def test_a_quick_look_is_a_part_of_the_whole(stock: Path) -> None:
    quick, whole = _observe(stock), _observe(stock, quick=False)
    imports = [result for result in quick.operations if result.name.startswith("import-")]
    assert len(quick.operations) - len(imports) == 8
    assert len(imports) >= 5
    assert set(quick.operations) < set(whole.operations)
    assert quick.features == whole.features
    assert {"jpg", "zlib", "libtiff", "webp", "libjpeg_turbo"} <= set(quick.features)


def test_what_is_mapped_is_named_after_the_import_and_at_the_end(stock: Path) -> None:
    seen, site = _observe(stock), site_packages(stock)
    at_first, at_last = set(seen.mapped_by_import), set(seen.mapped)
    assert len(at_first) == len(seen.mapped_by_import) < len(seen.mapped) == len(at_last)
    assert at_first < at_last
    assert seen.mapped[0] == stock.resolve()
    assert _core(site) in at_first
    bundled = {path.name.partition("-")[0] for path in at_first if path.parent == site / "pillow.libs"}
    assert {"libjpeg", "libtiff"} <= bundled
    webp = set((site / "PIL").glob("_webp.*.so"))
    assert webp <= at_last - at_first


def test_a_look_writes_no_bytecode(stock: Path, stage: Path) -> None:
    _observe(stock, stage)
    assert list(stage.rglob("*.pyc")) == list(site_packages(stock).rglob("*.pyc")) == []


def test_a_stage_comes_before_what_is_installed(stock: Path, stage: Path) -> None:
    assert Path(_observe(stock, stage).location) == stage / "PIL/__init__.py"


def test_no_pillow_is_an_import_that_failed(stock: Path, tmp_path: Path) -> None:
    seen = _observe(make_environment(tmp_path / "empty", stock))
    assert not seen.imported
    assert seen.error == "ModuleNotFoundError: No module named 'PIL'"
    assert (seen.operations, seen.features) == ((), {})


def test_a_truncated_core_kills_the_subprocess_alone(stock: Path, stage: Path) -> None:
    core = _core(stage)
    with core.open("r+b") as stream:
        stream.truncate(core.stat().st_size // 2)
    seen = _observe(stock, stage)
    assert not seen.imported
    assert seen.signal == "SIGBUS" or "ImportError" in seen.error


def test_an_empty_core_is_an_import_that_failed(stock: Path, stage: Path) -> None:
    _core(stage).write_bytes(b"")
    seen = _observe(stock, stage)
    assert (seen.imported, seen.signal) == (False, "")
    assert "ImportError" in seen.error


def test_a_missing_init_is_an_import_that_failed(stock: Path, stage: Path) -> None:
    python = make_environment(stage.parent / "env", stock)
    shutil.copytree(stage, site_packages(python), dirs_exist_ok=True)
    (site_packages(python) / "PIL/__init__.py").unlink()
    assert not _observe(python).imported


def test_a_stage_is_never_judged_by_what_is_installed(stock: Path, stage: Path) -> None:
    (stage / "PIL/__init__.py").unlink()
    seen = _observe(stock, stage)
    assert not seen.imported
    assert f"not from {stage}" in seen.error


def test_a_core_of_another_version_is_an_import_that_failed(stock: Path, stage: Path) -> None:
    (stage / "PIL/_version.py").write_text('__version__ = "1.0"\n')
    seen = _observe(stock, stage)
    assert not seen.imported
    assert "another version" in seen.error


def test_a_death_by_signal_in_the_import_is_named(stock: Path, stage: Path) -> None:
    _append(stage / "PIL/Image.py", "import signal; os.kill(os.getpid(), signal.SIGILL)")
    seen = _observe(stock, stage)
    assert (seen.imported, seen.signal, seen.during) == (False, "SIGILL", "import")


def test_a_death_by_signal_names_the_operation(stock: Path, stage: Path) -> None:
    deadly = "def alpha_composite(*_):\n    import signal\n    os.kill(os.getpid(), signal.SIGILL)"
    _append(stage / "PIL/Image.py", deadly)
    seen = _observe(stock, stage)
    assert (seen.imported, seen.signal, seen.during) == (True, "SIGILL", "alpha-composite")
    assert seen.error == "killed by SIGILL"
    assert "resize-lanczos-RGB" in {result.name for result in seen.operations if result.ok}


def test_a_death_while_a_feature_is_loaded_names_the_feature(stock: Path, stage: Path) -> None:
    next((stage / "PIL").glob("_webp.*.so")).unlink()
    (stage / "PIL/_webp.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    seen = _observe(stock, stage)
    assert (seen.signal, seen.during) == ("SIGSEGV", "feature webp")


def test_a_module_that_cannot_be_imported_is_a_failed_operation(stock: Path, stage: Path) -> None:
    next((stage / "PIL").glob("_imagingcms.*.so")).write_bytes(b"")
    next((stage / "PIL").glob("_avif.*.so")).unlink()
    seen = _observe(stock, stage)
    failed = [result for result in seen.operations if not result.ok]
    assert [(result.name, result.error.split(":")[0]) for result in failed] == [("import-_imagingcms", "ImportError")]
    assert "import-_avif" not in {result.name for result in seen.operations}


def test_without_ctypes_the_kernels_mappings_are_reported(stock: Path, stage: Path) -> None:
    python = make_environment(stage.parent / "env", stock)
    (site_packages(python) / "without.pth").write_text("import sys; sys.modules['ctypes'] = None\n")
    seen = _observe(python, stage)
    assert (seen.error, seen.signal, Path(seen.core)) == ("", "", _core(stage))
    assert {_core(stage), stock.resolve()} <= set(seen.mapped_by_import) < set(seen.mapped)
    _append(stage / "PIL/ImageFilter.py", "class GaussianBlur:\n    def __init__(self, _): os.kill(os.getpid(), 11)")
    _append(stage / "PIL/ImageFilter.py", "import os")
    dead = _observe(python, stage)
    assert dead.signal == "SIGSEGV"


def test_an_operation_that_fails_is_named_and_the_others_go_on(stock: Path, stage: Path) -> None:
    _append(stage / "PIL/Image.py", "def alpha_composite(*_):\n    raise OSError('broken')")
    seen = _observe(stock, stage)
    failed = [result for result in seen.operations if not result.ok]
    assert [(result.name, result.error) for result in failed] == [("alpha-composite", "OSError: broken")]
    assert (seen.during, seen.error) == ("alpha-composite", "")
    assert seen.operations[-1].name.startswith("import-")


def test_what_a_package_prints_does_not_confuse(stock: Path, stage: Path) -> None:
    _append(stage / "PIL/Image.py", "print('hello'); print('[1, 2]'); print('{')")
    assert _observe(stock, stage).imported


def test_one_that_hangs_is_given_up(stock: Path, stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_QUICK_TIMEOUT", 3.0)
    _append(stage / "PIL/Image.py", "import time; time.sleep(60)")
    seen = _observe(stock, stage)
    assert (seen.imported, seen.signal, seen.during) == (False, "", "import")
    assert "no answer within 3 s" in seen.error


def test_an_interpreter_that_is_gone_is_a_result(tmp_path: Path) -> None:
    seen = _observe(tmp_path / "python")
    assert not seen.imported
    assert "cannot be started" in seen.error


def test_the_same_stack_makes_the_same_pixels(stock: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        observe_runtime(stock, pixels=tmp_path / name, environment=os.environ)
    found = compare_pixels(tmp_path / "one", tmp_path / "other")
    assert len(found) > 60
    assert all(difference.largest == 0 and difference.is_tolerable for difference in found)


def test_a_stack_that_computes_something_else_is_told(stock: Path, stage: Path, tmp_path: Path) -> None:
    observe_runtime(stock, pixels=tmp_path / "reference", environment=os.environ)
    _append(stage / "PIL/Image.py", "merge_, merge = merge, lambda mode, bands: merge_(mode, bands[::-1])")
    observe_runtime(stock, stage=stage, pixels=tmp_path / "ours", environment=os.environ)
    found = compare_pixels(tmp_path / "ours", tmp_path / "reference")
    assert "resize-lanczos-RGB" in {difference.operation for difference in found if not difference.is_tolerable}


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_the_operations_run_on_the_oldest_and_newest_python(tmp_path: Path, version: str) -> None:
    base = python_at_hand(version)
    if base is None:
        pytest.skip(f"no Python {version} here")
    python = make_environment(tmp_path / "env", base)
    install_wheel(python, "pillow")
    seen = _observe(python, quick=False)
    assert (seen.imported, seen.error) == (True, "")
    assert Path(seen.core) == _core(site_packages(python)).resolve()
    assert [result for result in seen.operations if not result.ok] == []
