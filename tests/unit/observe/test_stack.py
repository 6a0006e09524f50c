"""PIL in site-packages, intact and in every damaged state, from files alone."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.environments.site_packages import CORE, PIL_FILES, install, record_line
from support.values.builders import healthy_facts

from fastinstall.core.errors import UndeterminedError
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.model.facts import InstalledStack
from fastinstall.observe.stack import observe_distributions, observe_stack

REPLACES = ("pillow", "pillow-simd", "pil")
SETTINGS = ProcessSettings(program=None)


def _observe(site_packages: Path) -> InstalledStack:
    interpreter = replace(healthy_facts().interpreter, site_packages=site_packages)
    return observe_stack(interpreter, REPLACES, (), observe_distributions(site_packages), settings=SETTINGS)


@pytest.fixture
def site_packages(tmp_path: Path) -> Path:
    """Return an environment with Pillow as pip leaves it."""
    install(tmp_path, "pillow", "12.1.1", PIL_FILES)
    cache = tmp_path / "PIL/__pycache__"
    cache.mkdir()
    (cache / "Image.cpython-311.pyc").write_bytes(b"")
    return tmp_path


def test_an_intact_stack_has_one_owner_and_no_problems(site_packages: Path) -> None:
    stack = _observe(site_packages)
    (owner,) = stack.owners
    assert (stack.directory, stack.has_init, stack.version) == (site_packages / "PIL", True, "12.1.1")
    assert (owner.mismatched, owner.missing, owner.outside) == ((), (), ())
    assert owner.entries == ("PIL", "pillow-12.1.1.dist-info", "pillow.libs")
    assert owner.recorded_core == record_line(CORE, PIL_FILES[CORE]).split(",")[1]
    assert owner.files == len(PIL_FILES) + 3
    assert (stack.unclaimed, stack.debris, stack.foreign_cores) == ((), (), ())


def test_the_time_of_installation_is_when_record_was_written(site_packages: Path) -> None:
    from os import utime

    utime(site_packages / "pillow-12.1.1.dist-info/RECORD", (1_800_000_000, 1_800_000_000))
    assert _observe(site_packages).owners[0].installed_at == "2027-01-15T08:00:00+00:00"


def test_no_pillow_is_an_empty_stack(tmp_path: Path) -> None:
    assert _observe(tmp_path) == InstalledStack(directory=None)


def test_a_core_that_is_no_elf_file_is_there_but_not_readable(site_packages: Path) -> None:
    core = _observe(site_packages).core
    assert core is not None
    assert (core.readable, core.size) == (False, len(PIL_FILES[CORE]))
    assert core.problem


def test_files_of_another_size_or_content_differ(site_packages: Path) -> None:
    (site_packages / "PIL/Image.py").write_bytes(b"longer")
    (site_packages / CORE).write_bytes(PIL_FILES[CORE][::-1])
    assert set(_observe(site_packages).owners[0].mismatched) == {"PIL/Image.py", CORE}


def test_a_shake_hash_differs_and_an_endless_record_is_empty(site_packages: Path) -> None:
    record = next(site_packages.glob("*.dist-info/RECORD"))
    whole = record.read_text()
    record.write_text(whole.replace("PIL/Image.py,sha256=", "PIL/Image.py,shake_128="))
    assert _observe(site_packages).owners[0].mismatched == ("PIL/Image.py",)
    record.write_text(whole + '"' + "x" * 200_000)
    assert _observe(site_packages).owners[0].files == 0


def test_a_directory_in_the_place_of_a_file_differs(site_packages: Path) -> None:
    (site_packages / "PIL/Image.py").unlink()
    (site_packages / "PIL/Image.py").mkdir()
    assert _observe(site_packages).owners[0].mismatched == ("PIL/Image.py",)


def test_a_missing_init_is_told(site_packages: Path) -> None:
    (site_packages / "PIL/__init__.py").unlink()
    stack = _observe(site_packages)
    assert not stack.has_init
    assert stack.owners[0].missing == ("PIL/__init__.py",)


def test_a_missing_core_is_told(site_packages: Path) -> None:
    (site_packages / CORE).unlink()
    stack = _observe(site_packages)
    assert stack.core is None
    assert stack.owners[0].missing == (CORE,)


def test_a_dangling_metadata_directory_owns_only_missing_files(site_packages: Path) -> None:
    for path in PIL_FILES:
        (site_packages / path).unlink()
    stack = _observe(site_packages)
    assert set(stack.owners[0].missing) == set(PIL_FILES)


def test_two_distributions_claiming_the_same_files_both_own_them(site_packages: Path) -> None:
    install(site_packages, "pillow-simd", "12.1.1.post0", {**PIL_FILES, CORE: b"another core, longer"})
    stock, simd = _observe(site_packages).owners
    assert (stock.distribution.name, stock.mismatched) == ("pillow", (CORE,))
    assert (simd.distribution.name, simd.mismatched) == ("pillow-simd", ())


def test_any_distribution_that_records_files_of_pil_is_an_owner(tmp_path: Path) -> None:
    install(tmp_path, "fast-images", "1.0", PIL_FILES)
    install(tmp_path, "other", "1.0", {"other/PIL/x.py": b""})
    assert [owner.distribution.name for owner in _observe(tmp_path).owners] == ["fast-images"]


def test_metadata_without_record_is_an_owner_of_unclaimed_files(site_packages: Path) -> None:
    (site_packages / "pillow-12.1.1.dist-info/RECORD").unlink()
    stack = _observe(site_packages)
    (owner,) = stack.owners
    assert (owner.has_record, owner.recorded_core, owner.files) == (False, None, 0)
    assert CORE in stack.unclaimed


def test_a_core_of_another_abi_is_foreign(site_packages: Path) -> None:
    foreign = "PIL/_imaging.cpython-310-x86_64-linux-gnu.so"
    (site_packages / CORE).rename(site_packages / foreign)
    stack = _observe(site_packages)
    assert stack.core is None
    assert stack.foreign_cores == (foreign,)
    assert stack.unclaimed == (foreign,)


def test_other_extensions_of_pillow_are_not_taken_for_the_core(site_packages: Path) -> None:
    (site_packages / "PIL/_imagingft.cpython-310-x86_64-linux-gnu.so").write_bytes(b"")
    assert _observe(site_packages).foreign_cores == ()


def test_an_untagged_core_is_used_if_no_tagged_one_exists(site_packages: Path) -> None:
    (site_packages / CORE).rename(site_packages / "PIL/_imaging.so")
    core = _observe(site_packages).core
    assert core is not None
    assert core.path == site_packages / "PIL/_imaging.so"


@pytest.mark.parametrize(
    "name",
    ["~IL", "~-L", "~illow-12.1.1.dist-info", "~illow.libs", "~~llow-11.0.dist-info", "~illow_simd-9.0.dist-info"],
)
def test_what_an_interrupted_pip_leaves_is_debris(site_packages: Path, name: str) -> None:
    (site_packages / name).mkdir()
    assert _observe(site_packages).debris == (name,)


@pytest.mark.parametrize("name", ["~umpy", "~illow_heif-1.0.dist-info", "~ILmore", "~", "~illows"])
def test_what_others_left_is_not_our_debris(site_packages: Path, name: str) -> None:
    (site_packages / name).mkdir()
    assert _observe(site_packages).debris == ()


def test_recorded_files_outside_site_packages_are_kept_apart(tmp_path: Path) -> None:
    site_packages = tmp_path / "lib/python3.11/site-packages"
    metadata = install(site_packages, "pillow", "12.1.1", PIL_FILES)
    script = tmp_path / "bin/pilfile"
    script.parent.mkdir()
    script.write_bytes(b"#!")
    with (metadata / "RECORD").open("a") as record:
        record.write(record_line("../../../bin/pilfile", b"#!") + "\n")
    (owner,) = _observe(site_packages).owners
    assert owner.outside == ("../../../bin/pilfile",)
    assert owner.entries == ("PIL", "pillow-12.1.1.dist-info", "pillow.libs")
    assert (owner.missing, owner.mismatched) == ((), ())


def test_names_with_commas_quotes_and_other_alphabets_are_found(tmp_path: Path) -> None:
    files = {**PIL_FILES, "PIL/é.py": b"1"}
    metadata = install(tmp_path, "pillow", "12.1.1", files)
    (tmp_path / "PIL/a,b.py").write_bytes(b"2")
    with (metadata / "RECORD").open("a", encoding="utf-8") as record:
        record.write(record_line('"PIL/a,b.py"', b"2") + "\n")
    stack = _observe(tmp_path)
    assert stack.unclaimed == ()
    assert (stack.owners[0].missing, stack.owners[0].mismatched) == ((), ())


@pytest.mark.parametrize("content", [b"", b"__version__ = None\n", b"\xff\xfe"])
def test_a_version_file_that_says_nothing_gives_no_version(site_packages: Path, content: bytes) -> None:
    (site_packages / "PIL/_version.py").write_bytes(content)
    assert _observe(site_packages).version is None


def _observe_in_passing(site_packages: Path) -> InstalledStack:
    interpreter = replace(healthy_facts().interpreter, site_packages=site_packages)
    distributions = observe_distributions(site_packages)
    return observe_stack(interpreter, REPLACES, (), distributions, settings=SETTINGS, thorough=False)


def _record_in_the_future(site_packages: Path) -> None:
    """Make RECORD newer than all files, as if they had been installed before it was written."""
    record = site_packages / "pillow-12.1.1.dist-info/RECORD"
    os.utime(record, ns=(0, time.time_ns() + 10**12))


def test_a_quick_check_reads_a_file_later_than_its_record(site_packages: Path) -> None:
    os.utime(site_packages / "pillow-12.1.1.dist-info/RECORD", ns=(0, 1))
    (site_packages / CORE).write_bytes(PIL_FILES[CORE][::-1])
    os.utime(site_packages / CORE, ns=(0, 0))
    assert _observe_in_passing(site_packages).owners[0].mismatched == (CORE,)


def test_a_quick_check_ignores_times_for_sizes_and_missing_files(site_packages: Path) -> None:
    (site_packages / CORE).write_bytes(b"short")
    (site_packages / "PIL/__init__.py").unlink()
    _record_in_the_future(site_packages)
    owner = _observe_in_passing(site_packages).owners[0]
    assert (owner.mismatched, owner.missing) == ((CORE,), ("PIL/__init__.py",))


def test_a_quick_check_reads_no_older_file_of_the_recorded_size(site_packages: Path) -> None:
    (site_packages / CORE).write_bytes(PIL_FILES[CORE][::-1])
    _record_in_the_future(site_packages)
    assert _observe_in_passing(site_packages).owners[0].mismatched == ()
    assert _observe(site_packages).owners[0].mismatched == (CORE,)


def test_a_pil_that_this_user_may_not_read_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "PIL").mkdir()
    # A real mode would not stop root, who may run the tests.
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path / "PIL")
    with pytest.raises(UndeterminedError, match="this user may not read it") as caught:
        _observe(tmp_path)
    assert f"chmod -R go+rX {tmp_path / 'PIL'}" in (caught.value.hint or "")
