"""What a process has mapped, held against the simulation."""

from pathlib import PurePath, PurePosixPath

from support.values.builders import LIBC, PYTHON, SITE_PACKAGES, SUFFIX, linkage

from fastinstall.doctor.loader_agreement import Disagreement, find_disagreements
from fastinstall.elf.description import Linkage, LoadedFile, MissingLibrary

CORE = SITE_PACKAGES / f"PIL/_imaging{SUFFIX}"
WEBP = SITE_PACKAGES / f"PIL/_webp{SUFFIX}"
LIBS = SITE_PACKAGES / "pillow.libs"
SIMULATED = linkage(CORE)
EVERYTHING = tuple(file.path for file in SIMULATED.files)
SYSTEM_ZLIB = PurePosixPath("/lib/x86_64-linux-gnu/libz.so.1")


def with_zlib(path: PurePosixPath = SYSTEM_ZLIB) -> Linkage:
    """The simulation of a core that needs the system's zlib too."""
    zlib = LoadedFile(path=path, name="libz.so.1", soname="libz.so.1", reason="ld.so.cache", needed_by=CORE)
    return Linkage(modules=SIMULATED.modules, files=(*SIMULATED.files, zlib))


def test_the_same_files_agree() -> None:
    assert find_disagreements(SIMULATED, EVERYTHING) == ()
    assert find_disagreements(SIMULATED, tuple(reversed(EVERYTHING))) == ()


def test_what_the_interpreter_brings_for_itself_is_none_of_the_simulations() -> None:
    own = PurePosixPath("/usr/local/lib/python3.11/lib-dynload")
    others = (own / f"_ctypes{SUFFIX}", PurePosixPath("/lib/x86_64-linux-gnu/libffi.so.8"), own / f"zlib{SUFFIX}")
    assert find_disagreements(SIMULATED, (*EVERYTHING, *others)) == ()


def test_what_another_package_brings_is_none_of_the_simulations() -> None:
    others = (SITE_PACKAGES / "cv2/cv2.abi3.so", SITE_PACKAGES / "opencv_python.libs/libjpeg-f1a2b3c4.so.62.4.0")
    assert find_disagreements(SIMULATED, (*EVERYTHING, *others)) == ()


def test_a_library_from_another_place_is_named_with_both() -> None:
    mapped = PurePosixPath("/srv/hpc/lib/libz.so.1")
    found = find_disagreements(with_zlib(), (*EVERYTHING, mapped))
    assert found == (Disagreement(name="libz.so.1", simulated=SYSTEM_ZLIB, mapped=mapped),)


def test_another_package_that_was_first_is_named() -> None:
    mapped = SITE_PACKAGES / "torch/lib/libz.so.1"
    (found,) = find_disagreements(with_zlib(), (*EVERYTHING, mapped))
    assert (found.mapped, found.package) == (mapped, "torch")


def test_one_that_another_package_bundled_under_a_name_with_a_hash_is_found_in_its_place() -> None:
    mapped = SITE_PACKAGES / "torchvision.libs/libz.def23b81.so.1"
    (found,) = find_disagreements(with_zlib(), (*EVERYTHING, mapped))
    assert (found.name, found.mapped, found.package) == ("libz.so.1", mapped, "torchvision.libs")


def test_of_two_that_could_have_taken_its_place_none_is_accused() -> None:
    mapped = (
        SITE_PACKAGES / "torchvision.libs/libz.def23b81.so.1",
        SITE_PACKAGES / "h5py.libs/libz-1b114ebb.so.1.2.11",
    )
    (found,) = find_disagreements(with_zlib(), (*EVERYTHING, *mapped))
    assert (found.simulated, found.mapped) == (SYSTEM_ZLIB, None)


def test_a_library_that_the_process_lacks_is_named() -> None:
    (found,) = find_disagreements(with_zlib(), EVERYTHING)
    assert (found.simulated, found.mapped) == (SYSTEM_ZLIB, None)


def test_what_a_module_needs_is_not_missed_before_it_is_imported() -> None:
    imported = tuple(path for path in EVERYTHING if path != WEBP and "libwebp" not in path.name)
    assert find_disagreements(SIMULATED, imported) == ()


def test_what_a_module_needs_is_missed_once_it_is_imported() -> None:
    imported = tuple(path for path in EVERYTHING if "libwebp" not in path.name)
    assert [found.simulated for found in find_disagreements(SIMULATED, imported)] == [EVERYTHING[-1]]


def test_a_bundled_library_that_the_simulation_lacks_is_named() -> None:
    surplus = LIBS / "libsharpyuv-0d45d2bd.so.0.1.1"
    found = find_disagreements(SIMULATED, (*EVERYTHING, surplus))
    assert found == (Disagreement(name=surplus.name, simulated=None, mapped=surplus),)


def test_a_library_that_the_simulation_did_not_find_and_the_process_did_is_named() -> None:
    missing = MissingLibrary(name="libxcb.so.1", needed_by=CORE, problem="not found")
    lacking = Linkage(modules=SIMULATED.modules, files=SIMULATED.files, missing=(missing,))
    mapped = PurePosixPath("/opt/x/lib/libxcb.so.1")
    assert [found.mapped for found in find_disagreements(lacking, (*EVERYTHING, mapped))] == [mapped]


def test_a_second_copy_of_a_library_is_named() -> None:
    second = PurePosixPath("/opt/x/lib/libz.so.1.3.1")
    found = find_disagreements(with_zlib(), (*EVERYTHING, SYSTEM_ZLIB, second))
    assert found == (Disagreement(name="libz.so.1.3.1", simulated=None, mapped=second),)


def test_the_kernels_names_for_linked_files_are_the_same_files() -> None:
    usr = PurePosixPath("/usr/lib/x86_64-linux-gnu")
    real: dict[PurePath, PurePath] = {LIBC: usr / "libc.so.6", SYSTEM_ZLIB: usr / "libz.so.1.2.13"}
    mapped = tuple(real.get(path, path) for path in (*EVERYTHING, SYSTEM_ZLIB))
    assert find_disagreements(with_zlib(), mapped) == ()


def test_the_loader_itself_is_known_by_any_path() -> None:
    named, real = "/lib64/ld-linux-x86-64.so.2", PurePosixPath("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    loader = LoadedFile(path=PurePosixPath(named), name=named, soname=real.name, reason="the loader", needed_by=PYTHON)
    simulated = Linkage(modules=SIMULATED.modules, files=(*SIMULATED.files, loader))
    assert find_disagreements(simulated, (*EVERYTHING, real)) == ()


def test_nothing_is_said_where_names_cannot_be_compared() -> None:
    elsewhere = tuple(PurePosixPath("/real", *path.parts[1:]) for path in EVERYTHING)
    assert find_disagreements(SIMULATED, elsewhere) == ()
    assert find_disagreements(SIMULATED, ()) == ()
    assert find_disagreements(Linkage(problem="a script"), EVERYTHING) == ()
