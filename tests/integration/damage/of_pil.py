"""What installers, people and full disks do to a PIL, done to real ones: one function for each damage."""

import os
import shutil
import sys

from integration.damage.scene import Scene, Variables
from support.elf.linked_pillow import SUFFIX
from support.index.wheels import write_files_wheel
from support.sandbox import Result, run

_PIL_OF_RUST = ("Image.py", "ImageShow.py", "__init__.py")
"""What pillow-rs 12.2.3 from PyPI installs below `PIL/`; the rest of its wheel lies in `pillow_rs/`."""

OTHER_PYTHON = "3.10"

_KILLER = """
import os, signal, sys

def _watch(event, arguments):
    words = os.environ["KILLED_AT"].split()
    if event == words[0] and isinstance(arguments[0], (str, bytes, os.PathLike)):
        mode = arguments[1] if event == "open" else ""
        written = event != "open" or (isinstance(mode, str) and "w" in mode)
        if written and words[1] in os.fspath(arguments[0]) and os.fspath(arguments[0]).startswith(sys.prefix):
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(_watch)
"""


def nothing(_scene: Scene) -> Variables:
    """Leave it as it is."""
    return {}


def swapped_by_pip(scene: Scene) -> Variables:
    """Somebody makes sure that they have Pillow."""
    _succeeds(scene.venv.pip("install", "--quiet", "--force-reinstall", "pillow"))
    return {}


def swapped_by_uv(scene: Scene) -> Variables:
    """The same with uv."""
    _succeeds(scene.venv.uv("install", "--reinstall", "pillow"))
    return {}


def two_owners(scene: Scene) -> Variables:
    """Over a fork, something asks for Pillow by its name."""
    _succeeds(scene.venv.pip("install", "--quiet", "pillow"))
    return {}


def drop_in_replacement(scene: Scene) -> Variables:
    """A package that replaces some of PIL's modules by its own, and names no relation to Pillow: pillow-rs."""
    modules = {f"PIL/{name}": (scene.site / "PIL" / name).read_bytes() + b"# by another\n" for name in _PIL_OF_RUST}
    own = {"pillow_rs/__init__.py": b"", "pillow_rs/image.py": b"", "pillow_rs/_core.abi3.so": b"no ELF file"}
    wheel = write_files_wheel(scene.root / "wheels", "pillow-rs", "12.2.3", {**modules, **own})
    _succeeds(scene.venv.pip("install", "--quiet", "--no-deps", str(wheel)))
    return {}


def dangling(scene: Scene) -> Variables:
    """Then somebody takes Pillow away again, and with it the files of the fork."""
    two_owners(scene)
    _succeeds(scene.venv.pip("uninstall", "--quiet", "--yes", "pillow"))
    return {}


def mixed_core(scene: Scene) -> Variables:
    """The core of another version."""
    shutil.copy2(scene.environments.other_version() / "PIL" / scene.core.name, scene.core)
    return {}


def mixed_module(scene: Scene) -> Variables:
    """The WebP module of another version."""
    name = f"PIL/_webp{SUFFIX}"
    shutil.copy2(scene.environments.other_version() / name, scene.site / name)
    return {}


def unclaimed_module(scene: Scene) -> Variables:
    """A module of which the distribution in place knows nothing."""
    _forget(scene, f"PIL/_avif{SUFFIX}")
    return {}


def core_missing(scene: Scene) -> Variables:
    """No core."""
    scene.core.unlink()
    return {}


def core_empty(scene: Scene) -> Variables:
    """A full disk, and a file without content."""
    scene.core.write_bytes(b"")
    return {}


def core_truncated(scene: Scene) -> Variables:
    """Half of the core."""
    os.truncate(scene.core, scene.core.stat().st_size // 2)
    return {}


def init_missing(scene: Scene) -> Variables:
    """PIL without what makes it a package."""
    (scene.site / "PIL/__init__.py").unlink()
    return {}


def pip_killed_while_it_writes(scene: Scene) -> Variables:
    """A real pip, killed when it has written half of the files."""
    _killed_pip(scene, "open PIL/ImageFont.py")
    assert list(scene.site.glob("~*")), "pip had moved nothing aside"
    return {}


def pip_killed_while_it_cleans_up(scene: Scene) -> Variables:
    """A real pip, killed when all is written and the old files are about to be removed."""
    _killed_pip(scene, "shutil.rmtree ~")
    assert list(scene.site.glob("~*")), "pip had moved nothing aside"
    return {}


def without_record(scene: Scene) -> Variables:
    """A distribution whose RECORD is gone."""
    (scene.metadata / "RECORD").unlink()
    return {}


def for_another_python(scene: Scene) -> Variables:
    """Site-packages filled for another Python, as in an image that was built with one."""
    words = ("--target", str(scene.site), "--python-version", OTHER_PYTHON, "--only-binary", ":all:", "--no-deps")
    _succeeds(run((sys.executable, "-m", "pip", "install", "-q", *words, "pillow"), scene.venv.variables))
    return {}


def library_missing(scene: Scene) -> Variables:
    """A library that the wheel brought is gone."""
    scene.bundled("libtiff").unlink()
    return {}


def _killed_pip(scene: Scene, place: str) -> None:
    hook = scene.root / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_KILLER)
    variables = {**scene.venv.variables, "PYTHONPATH": str(hook), "KILLED_AT": place}
    words = ("install", "--quiet", "--force-reinstall", "pillow")
    done = run((sys.executable, "-m", "pip", "--python", scene.venv.python, *words), variables)
    assert done.exit_code != 0, "pip was not killed"


def _forget(scene: Scene, name: str) -> None:
    lines = (scene.metadata / "RECORD").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(f"{name},")]
    assert len(kept) == len(lines) - 1
    (scene.metadata / "RECORD").write_text("\n".join((*kept, "")))


def _succeeds(result: Result) -> None:
    assert result.exit_code == 0, result.text
