"""The model of the loader against the loader, on the extension modules of real wheels.

Each module is opened in a fresh process of an interpreter, and then all modules of a wheel in one
process; compared are the link maps, name by name in their order. As a program it takes the packages
to download, or a list of its own:

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

# Forks for each module, so that each is opened by a process with nothing but the interpreter and ctypes in it.
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
    """How model and loader agree on one wheel.

    Attributes:
        modules: how many extension modules were opened in a process of their own.
        refused: how many of them the loader refused, and the model too.
        undefined: how many it refused for a symbol without a definition, which the model does not look for.
        crashed: how many killed their process.
        differences: what differs, in words.
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
    """Download and compare one package after the other; 1 if any is different."""
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
    """The newest wheels of packages for this interpreter, without what they depend on, each unpacked."""
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
    """Open every extension module below a directory, apart and together."""
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
    """One of the words of `Comparison`, "equal", or in what the link maps differ."""
    if truth is None:
        return "crashed"
    errors = truth["errors"]
    assert isinstance(errors, dict)
    # What has an undefined symbol is left to the loader: it refuses such a module as if it had not been opened.
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
    """A process of this interpreter that opens what the other one had open already, and then the modules."""
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
    print(text, flush=True)  # noqa: T201 (a program: it talks to whoever runs it)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PACKAGES))
