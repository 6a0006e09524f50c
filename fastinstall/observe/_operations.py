"""Import PIL and run real operations with it, in a subprocess of the target's Python, because PIL may crash.

The script prints one line of JSON before and after each operation. If a signal kills the process, the last line names
the operation that was running. Other lines list the files mapped into memory. The script uses only the standard
library, for Python 3.7 to 3.14. Operations whose results are known to differ between Pillow-SIMD and Pillow are left
out.

Without `-I`, Python starts as it does for a user's program, and this script first reports which PIL a program finds. If
that PIL is not in site-packages, it is not imported: the script starts again with `-I`, and uses the PIL in
site-packages.

    python _operations.py [--quick] [--stage DIR] [--pixels FILE]

--quick: run only a few operations, for a health check.
--stage DIR: look for PIL in DIR first.
--pixels FILE: also write the resulting pixels to a zip file, with one member "NAME/MODE" for each operation.
"""

# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH118, PTH119, PTH120, PTH121, PTH123, PTH208 (importing pathlib is slow)

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import io
import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Image = Any  # the class `Image` of the Pillow that is imported
WIDTH, HEIGHT = 163, 117
MODES = {"L": 1, "RGB": 3, "RGBA": 4}
CONVERSIONS = (("RGB", "L"), ("RGBA", "L"), ("L", "RGB"), ("RGB", "YCbCr"), ("RGB", "CMYK"), ("RGBA", "RGBa"))
EXTENSIONS = ("_webp", "_avif", "_imagingft", "_imagingcms", "_imagingmath", "_imagingmorph")
QUICK = frozenset(
    {
        *("resize-lanczos-RGB", "resize-bicubic-RGBA", "filter-3x3-RGB", "gaussian-blur-RGB", "alpha-composite"),
        *("convert-RGB-L", "jpeg-round-trip", "png-round-trip"),
    }
)


def main(arguments: list[str]) -> None:
    """Import PIL and run the operations that the command-line arguments select; report every step."""
    if not sys.flags.isolated:
        _leave_to_isolated_if_foreign(arguments)
    stage, pixels = _get_option(arguments, "--stage"), _get_option(arguments, "--pixels")
    if stage:
        sys.path.insert(0, stage)
    report(event="begin", name="import")
    try:
        package = _import_package(stage)
        _import_pil_module("Image")
    except BaseException as error:  # noqa: BLE001 (any error is the result of the import)
        report(event="failed", error=_describe(error))
        return
    report(event="imported", version=getattr(package, "__version__", ""), location=package.__file__ or "")
    report(event="begin", name="core")
    core = core_file(getattr(_import_pil_module("_imaging"), "__file__", None) or "")
    report(event="core", path=core)
    report(event="mapped", when="import", files=mapped_files())
    quick = "--quick" in arguments
    made = perform(operation for operation in operations() if not quick or operation[0] in QUICK)
    if pixels:
        write_pixels(pixels, made)
    import_extensions()
    report_features()
    report(event="mapped", when="end", files=mapped_files())


def _leave_to_isolated_if_foreign(arguments: list[str]) -> None:
    """Report which PIL a program finds; if it is not in site-packages, start this script again with `-I`."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]  # remove this script's own directory
    location = _locate_pil()
    import site  # already imported when the interpreter started

    packages = [os.path.realpath(os.path.join(directory, "PIL")) for directory in site.getsitepackages()]
    real = os.path.realpath(location)
    foreign = bool(location) and real not in packages and os.path.dirname(real) not in packages
    if foreign:
        # A PIL in a directory that a `.pth` file adds is not foreign: the directory comes after site-packages, so this
        # PIL does not hide the one in site-packages.
        package = os.path.dirname(location) if os.path.basename(location).startswith("__init__.") else location
        places = [os.path.realpath(entry) for entry in sys.path]
        entry, site_packages = (
            os.path.realpath(each) for each in (os.path.dirname(package), site.getsitepackages()[0])
        )
        is_behind = site_packages in places and entry in places[places.index(site_packages) :]
        foreign = not is_behind and (entry in places or os.path.isdir(packages[0]))
    report(event="located", location=location, foreign=foreign, startup=_list_startup_files() if foreign else [])
    if foreign:
        os.execv(sys.executable, [sys.executable, "-I", "-B", os.path.abspath(__file__), *arguments])  # noqa: S606


def _locate_pil() -> str:
    """Return the file of the PIL that `import PIL` finds; "" if it finds none.

    If that PIL has no `__init__.py`, return its directory.
    """
    known = sys.modules.get("PIL")  # code that runs when Python starts may have imported PIL
    specs = (finder.find_spec("PIL", None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    spec = getattr(known, "__spec__", None) or next((each for each in specs if each is not None), None)
    directories = iter(getattr(spec, "submodule_search_locations", None) or ())
    return str(getattr(spec, "origin", None) or getattr(known, "__file__", None) or next(directories, ""))


def _list_startup_files() -> list[str]:
    """List files whose code runs whenever Python starts. Source: Python's documentation of the module `site`."""
    import site  # already imported when the interpreter started

    modules = (sys.modules.get(name) for name in ("sitecustomize", "usercustomize"))
    files = [module.__file__ for module in modules if module is not None and module.__file__]
    for directory in (site.getusersitepackages(), *site.getsitepackages()):
        names = os.listdir(directory) if os.path.isdir(directory) else ()
        files += [os.path.join(directory, name) for name in sorted(names) if name.endswith(".pth")]
    return files


def _import_package(stage: str) -> Any:  # noqa: ANN401 (whichever Pillow is found)
    """Import PIL; if a stage is given, refuse an installed PIL.

    Python prefers an installed PIL if the PIL in the stage has no `__init__.py`.

    Args:
        stage: the directory given by `--stage`, which precedes all others on sys.path; empty without that option.

    Raises:
        ImportError: PIL cannot be imported, or does not come from the stage.
    """
    package = importlib.import_module("PIL")
    if stage and not (package.__file__ or "").startswith(stage + os.sep):
        raise ImportError(f"PIL comes from {package.__file__}, not from {stage}")
    return package


def report(**values: object) -> None:
    """Print one line of JSON and flush it, because the next operation may kill this process."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def mapped_files() -> list[str]:
    """List the program and its shared objects, each once.

    Returns:
        If the loader has `dl_iterate_phdr(3)`: paths as the loader names them, in the loader's order, without
        unnecessary `..`. Otherwise: the kernel's paths of mapped files, ordered by address; empty if they cannot be
        read.
    """
    try:
        names = _list_loaded_objects()
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without the function)
        names = _list_mapped_code()
    return list(dict.fromkeys(_tidy(name) for name in names if "/" in name))


def core_file(module: str) -> str:
    """Return the file with the code of the loaded core; the module's own file may be a stub that loads this code.

    Args:
        module: path of the module `PIL._imaging`, from its `__file__`.

    Returns:
        The real path of the file with the code; empty if unknown.
    """
    try:
        return _find_entry_file(module)
    except Exception:  # noqa: BLE001 (an interpreter without ctypes, a C library without dladdr)
        found = {os.path.basename(path): path for path in sorted(_list_mapped_code(), reverse=True)}
    cores = (name for start in ("lib_imaging_core-", "_imaging.") for name in found if name.startswith(start))
    return next((found[name] for name in cores), "")


def _find_entry_file(module: str) -> str:
    """Return the file that contains the core's entry point, `PyInit__imaging`. Source: dladdr(3)."""
    import ctypes  # not every interpreter has this module

    class Information(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("address", ctypes.c_void_p),
        )

    entry = ctypes.cast(ctypes.CDLL(module).PyInit__imaging, ctypes.c_void_p)
    information, dladdr = Information(), ctypes.CDLL(None).dladdr
    dladdr.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    if not dladdr(entry, ctypes.byref(information)):
        raise OSError("no file holds the entry of " + module)
    return os.path.realpath(os.fsdecode(information.file))


def _list_loaded_objects() -> list[str]:
    """Return the program's path, and its shared objects as the loader names them. Source: dl_iterate_phdr(3)."""
    import ctypes  # not every interpreter has this module

    class Information(ctypes.Structure):
        _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))

    names = []
    visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Information), ctypes.c_size_t, ctypes.c_void_p)

    def visit(information, _size, _data):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (called from C)
        names.append(os.fsdecode(information[0].name or b""))
        return 0

    if ctypes.CDLL(None).dl_iterate_phdr(visitor(visit), None) or not names:
        raise OSError("the loader's list cannot be walked")
    return [os.path.realpath("/proc/self/exe"), *names[1:]]


def _list_mapped_code() -> list[str]:
    """List files that are mapped as code or named like shared objects. Source: proc_pid_maps(5)."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as stream:
            fields = [line.rstrip("\n").split(None, 5) for line in stream]
    except OSError:
        return []
    files = [(parts[5], parts[1]) for parts in fields if len(parts) > 5]  # noqa: PLR2004 (the path is the sixth)
    return [path for path, mode in files if "x" in mode or ".so" in os.path.basename(path)]


def _tidy(name: str) -> str:
    """Make a path absolute, and remove `..` from it if the shorter path leads to the same file."""
    name = name if name.startswith("/") else os.path.join(os.getcwd(), name)
    shorter = os.path.normpath(name)
    try:
        return shorter if shorter == name or os.path.samefile(shorter, name) else name
    except OSError:
        return name


def import_extensions() -> None:
    """Import PIL's other extension modules, each as a separate operation: an import fails if a library is missing."""
    directory = os.path.dirname(importlib.import_module("PIL").__file__ or "")
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    there = [
        name for name in EXTENSIONS if any(os.path.isfile(os.path.join(directory, name + end)) for end in suffixes)
    ]
    perform(("import-" + name, partial(_import_pil_module, name)) for name in there)


def report_features() -> None:
    """Report the features that `PIL.features` finds, with versions, except tkinter, which is not part of Pillow."""
    report(event="begin", name="features")
    features = _import_pil_module("features")
    names = (*features.modules, *features.codecs, *features.features)
    found = [name for name in names if name not in ("pil", "tkinter") and _has(name)]
    report(event="features", features={name: features.version(name) or "" for name in found})


def perform(chosen: Iterable[tuple[str, Callable[[], Image]]]) -> list[tuple[str, Image]]:
    """Run operations one by one, and return (name, image) for each operation that succeeds."""
    made = []
    for name, operation in chosen:
        report(event="begin", name=name)
        try:
            made.append((name, operation()))
        except Exception as error:  # noqa: BLE001 (any error is this operation's result)
            report(event="end", name=name, error=_describe(error))
        else:
            report(event="end", name=name, error="")
    return made


def write_pixels(path: str, made: list[tuple[str, Image]]) -> None:
    """Write the pixels of all images to an uncompressed zip file, which is either complete or absent."""
    import zipfile  # needed only if pixels are written

    with zipfile.ZipFile(path + ".part", "w") as archive:
        for name, image in made:
            archive.writestr(f"{name}/{image.mode}", image.tobytes())
    os.replace(path + ".part", path)


def operations() -> Iterator[tuple[str, Callable[[], Image]]]:
    """Yield (name, function) for every operation; the function takes no arguments and returns an image."""
    report(event="begin", name="make-pictures")
    pictures = {mode: picture(mode) for mode in MODES}
    for mode in MODES:
        yield from _list_resizes(mode, pictures[mode])
        yield from _list_filters(mode, pictures[mode])
    yield from _list_colour_operations(pictures)
    yield from _list_codec_operations(pictures)


def picture(mode: str) -> Image:
    """Return a test image with gradients, edges and noise, the same on every machine."""
    module = _import_pil_module("Image")
    bands = [module.frombytes("L", (WIDTH, HEIGHT), _make_samples(number)) for number in range(MODES[mode])]
    return module.merge(mode, bands) if len(bands) > 1 else bands[0]


def _make_samples(number: int) -> bytes:
    """Return the pixels of one band: gradients with edges on the left, noise on the right."""
    half, step = WIDTH // 2, number + 2
    slope = bytes(value % 251 for value in range(251 + half * step))
    noise = hashlib.shake_128(b"fastinstall %d" % number).digest(WIDTH * HEIGHT)
    starts = [3 * row % 251 for row in range(HEIGHT)]
    return b"".join(
        slope[start : start + half * step : step] + noise[row * WIDTH + half : (row + 1) * WIDTH]
        for row, start in enumerate(starts)
    )


def _list_resizes(mode: str, source: Image) -> Iterator[tuple[str, Callable[[], Image]]]:
    module = _import_pil_module("Image")
    for name, resample in _list_resamplings(module):
        yield f"resize-{name}-{mode}", partial(source.resize, (61, 47), resample)
        yield f"enlarge-{name}-{mode}", partial(source.resize, (211, 149), resample)
    for factor in (2, 3, 4):
        yield f"reduce-{factor}-{mode}", partial(source.reduce, factor)
    yield f"rotate-90-{mode}", partial(source.transpose, getattr(module, "Transpose", module).ROTATE_90)


def _list_resamplings(module: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 (whichever Pillow is found)
    """Yield the name and the value of each resampling filter; before Pillow 9.1, these are constants in a module."""
    if hasattr(module, "Resampling"):
        yield from ((name.lower(), int(member)) for name, member in module.Resampling.__members__.items())
    else:
        names = ("lanczos", "bicubic", "bilinear", "box", "hamming")
        yield from ((name, getattr(module, name.upper())) for name in names)


def _list_filters(mode: str, source: Image) -> Iterator[tuple[str, Callable[[], Image]]]:
    filters = _import_pil_module("ImageFilter")
    yield f"filter-3x3-{mode}", partial(source.filter, filters.SHARPEN)
    yield f"filter-5x5-{mode}", partial(source.filter, filters.BLUR)
    yield f"gaussian-blur-{mode}", partial(source.filter, filters.GaussianBlur(3))
    yield f"box-blur-{mode}", partial(source.filter, filters.BoxBlur(2))
    yield f"median-{mode}", partial(source.filter, filters.MedianFilter(3))
    if mode == "RGB":
        table = filters.Color3DLUT.generate(9, lambda red, green, blue: (green, blue * blue, red))
        yield "colour-table-RGB", partial(source.filter, table)


def _list_colour_operations(pictures: dict[str, Image]) -> Iterator[tuple[str, Callable[[], Image]]]:
    module = _import_pil_module("Image")
    front, opaque = pictures["RGBA"], pictures["RGB"]
    yield "alpha-composite", partial(module.alpha_composite, front.transpose(0), front)
    yield "blend-RGB", partial(module.blend, opaque.transpose(0), opaque, 0.3)
    for source, target in CONVERSIONS:
        yield f"convert-{source}-{target}", partial(pictures[source].convert, target)
    yield "split-merge-RGBA", partial(module.merge, "RGBA", front.split()[::-1])


def _list_codec_operations(pictures: dict[str, Image]) -> Iterator[tuple[str, Callable[[], Image]]]:
    source = pictures["RGB"]
    if _has("jpg"):
        yield "jpeg-round-trip", partial(_reopen, source, "JPEG", quality=90)
        yield "jpeg-progressive", partial(_reopen, source, "JPEG", quality=80, progressive=True)
        yield "jpeg-draft", partial(_reopen, source, "JPEG", draft=True, quality=90)
    if _has("zlib"):
        yield "png-round-trip", partial(_reopen, pictures["RGBA"], "PNG")
    yield "tiff-round-trip", partial(_reopen, source, "TIFF")
    if _has("libtiff"):
        yield "tiff-lzw-round-trip", partial(_reopen, source, "TIFF", compression="tiff_lzw")
    if _has("webp"):
        yield "webp-round-trip", partial(_reopen, source, "WEBP", lossless=True)


def _has(feature: str) -> bool:
    """Return whether Pillow has a feature. The check imports an extension module, which may kill this process."""
    report(event="begin", name="feature " + feature)
    there = bool(_import_pil_module("features").check(feature))
    report(event="loaded", name="feature " + feature)
    return there


def _reopen(source: Image, kind: str, *, draft: bool = False, **options: object) -> Image:
    stream = io.BytesIO()
    source.save(stream, kind, **options)
    stream.seek(0)
    opened = _import_pil_module("Image").open(stream)
    if draft:
        opened.draft("RGB", (WIDTH // 2, HEIGHT // 2))
    opened.load()
    return opened


def _import_pil_module(name: str) -> Any:  # noqa: ANN401 (a module of whichever Pillow is found)
    return importlib.import_module("PIL." + name)


def _get_option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else ""


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1:])
