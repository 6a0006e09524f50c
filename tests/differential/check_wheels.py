"""Compare the model of the loader with the real loader, on the extension modules of real wheels.

Each module is opened in a fresh process of an interpreter, and then all modules of a wheel in one
process. Compared are the names in the link maps and their order. Run as a program, this module takes
the packages to download; without arguments it takes PACKAGES:

    PYTHONPATH=tests python -m differential.check_wheels [PACKAGE...]
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastinstall.elf.loader.process_settings import ProcessSettings, usable_hwcaps
from fastinstall.elf.loader.simulation import SimulatedProcess, start_process
from fastinstall.observe.cpu import observe_cpu

PACKAGES = (
    *("numpy", "scipy", "pandas", "pyarrow", "matplotlib", "contourpy", "kiwisolver", "scikit-image", "scikit-learn"),
    *("pillow", "opencv-python-headless", "imagecodecs", "simplejpeg", "jpeglib", "pyvips-binary", "av", "pyturbojpeg"),
    *("h5py", "tables", "netCDF4", "blosc2", "rasterio", "fiona", "pyproj", "shapely", "pyogrio", "lxml", "pyzmq"),
    *("psycopg2-binary", "cryptography", "pynacl", "bcrypt", "grpcio", "orjson", "msgpack", "zstandard", "lz4"),
    *(
        "brotli",
        "llvmlite",
        "numba",
        "onnxruntime",
        "tokenizers",
        "sentencepiece",
        "soundfile",
        "torchvision",
        "tiffile",
    ),
    *("imageio-ffmpeg", "pymupdf", "pikepdf", "freetype-py", "rawpy", "pillow-heif", "polars-runtime-32", "regex"),
)

# Forks for each group of modules, so that the process that opens them has loaded only the interpreter and ctypes.
OPEN_EACH = r"""
import ctypes, json, os, sys

class Info(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]

callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
def mapped():
    names = []
    def note(info, size, none):
        names.append(os.fsdecode(info.contents.name or b""))
        return 0
    ctypes.CDLL(None).dl_iterate_phdr(callback(note), None)
    return names

def open_all(modules):
    errors = {}
    for module in modules:
        try:
            ctypes.CDLL(module)
        except OSError as error:
            errors[module] = str(error)
    return {"files": mapped(), "errors": errors}

def in_child(modules):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(writing, "w") as stream:
            json.dump(open_all(modules), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None

processes = json.load(sys.stdin)
mapped()
json.dump({"before": mapped(), "processes": [in_child(modules) for modules in processes]}, sys.stdout)
"""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The agreement of model and loader on one wheel.

    Attributes:
        modules: number of extension modules, each opened in a process of its own.
        refused: number of modules that both the loader and the model refused.
        undefined: number of modules that the loader refused for an undefined symbol, which the model does not check.
        crashed: number of modules that killed the process that opened them.
        differences: one sentence per difference.
    """

    modules: int
    refused: int = 0
    undefined: int = 0
    crashed: int = 0
    differences: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = (
            f"{self.modules:4} modules {self.refused:3} refused {self.undefined:3} undefined {self.crashed:2} crashed"
        )
        return "\n  ".join((f"{told} {len(self.differences):3} different", *self.differences[:3]))


def main(packages: Sequence[str]) -> int:
    """Download and compare the packages one by one, and return 1 if model and loader differ on any."""
    compared = []
    for package in packages:
        with tempfile.TemporaryDirectory(prefix="wheels-") as directory:
            try:
                (tree,) = unpack([package], Path(directory))
                comparison = compare_modules(tree)
            except subprocess.CalledProcessError as error:
                _say(f"{package:24} not to be had: {str(error.stderr).strip().splitlines()[-1:]}")
                continue
        _say(f"{package:24} {comparison}")
        compared += [comparison] if comparison.modules else []
    modules, different = sum(each.modules for each in compared), sum(bool(each.differences) for each in compared)
    _say(f"{len(compared)} wheels, {modules} modules, {different} wheels with a difference")
    return int(different > 0)


def unpack(packages: Sequence[str], directory: Path) -> list[Path]:
    """Download the newest wheels of packages for this interpreter, without dependencies, and unpack each."""
    command = (sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "-q", "-d", directory)
    subprocess.run([*command, *packages], capture_output=True, text=True, check=True)
    trees = []
    for wheel in sorted(directory.glob("*.whl")):
        trees.append(directory.resolve() / wheel.stem)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(trees[-1])
        wheel.unlink()
    return trees


def compare_modules(tree: Path) -> Comparison:
    """Compare model and loader on every extension module below a directory: each alone, then all in one process."""
    modules = sorted(str(path) for path in tree.rglob("*.so") if path.is_file())
    if not modules:
        return Comparison(modules=0)
    groups = [*([module] for module in modules), modules]
    done = subprocess.run(
        [sys.executable, "-S", "-c", OPEN_EACH],
        input=json.dumps(groups),
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    outcomes = [_outcome(answer["before"], *pair) for pair in zip(groups, answer["processes"], strict=True)]
    apart = outcomes[:-1]
    return Comparison(
        modules=len(modules),
        refused=apart.count("refused"),
        undefined=apart.count("undefined"),
        crashed=apart.count("crashed"),
        differences=tuple(outcome for outcome in outcomes if " " in outcome),
    )


def _outcome(before: Sequence[str], modules: Sequence[str], truth: dict[str, object] | None) -> str:
    """Return "crashed", "refused", "undefined" or "equal", or a sentence that says how the link maps differ."""
    if truth is None:
        return "crashed"
    errors = truth["errors"]
    assert isinstance(errors, dict)
    # The model does not check for undefined symbols. The loader unloads such a module, so the model must not open it.
    opened = [module for module in modules if "undefined symbol" not in errors.get(module, "")]
    process, refused = simulate(before, opened)
    names = ["" if file is process.main else file.path for file in process.files]
    files = truth["files"]
    assert isinstance(files, list)
    really = [name for name in files if "vdso" not in name]
    if names != really or refused != [module for module in opened if module in errors]:
        return _difference(modules, names, really, errors, refused)
    if len(modules) == 1 and errors:
        return "refused" if opened else "undefined"
    return "equal"


def simulate(before: Sequence[str], modules: Sequence[str]) -> tuple[SimulatedProcess, list[str]]:
    """Simulate a process of this interpreter that first opens the modules named in `before`, then `modules`."""
    process = start_process(ProcessSettings(program=Path(sys.executable), hwcaps=_usable()))
    known = {file.path for file in process.files}
    for name in before:
        if "/lib-dynload/" in name and name not in known:
            process.open(name)
    return process, [module for module in modules if process.open(module).file is None]


def _difference(
    modules: Sequence[str], names: list[str], really: list[str], errors: dict[str, str], refused: list[str]
) -> str:
    pairs = ((ours, theirs) for ours, theirs in zip([*names, None], [*really, None], strict=False) if ours != theirs)
    what = modules[0] if len(modules) == 1 else f"all {len(modules)} modules"
    return f"{what}: first (model, loader) {next(pairs, None)}; errors {errors}; refused {refused}"


@cache
def _usable() -> tuple[str, ...]:
    return usable_hwcaps(observe_cpu(allowed_cores=1).level)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a command-line program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PACKAGES))
