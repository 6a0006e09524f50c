"""Damage to a real PIL by installers, people and full disks: one function for each kind."""

import os
import shutil
import sys

from integration.damage.scene import Scene, Variables
from support.elf.linked_pillow import SUFFIX
from support.index.wheels import write_files_wheel
from support.sandbox import Result, run

_PIL_OF_RUST = ("Image.py", "ImageShow.py", "__init__.py")
"""Files that pillow-rs 12.2.3 from PyPI installs below `PIL/`; the rest of its wheel is in `pillow_rs/`."""

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
    """Change nothing."""
    return {}


def swapped_by_pip(scene: Scene) -> Variables:
    """Reinstall Pillow with pip, as people do who only want to be sure that it is installed."""
    _succeeds(scene.venv.pip("install", "--quiet", "--force-reinstall", "pillow"))
    return {}


def swapped_by_uv(scene: Scene) -> Variables:
    """Reinstall Pillow with uv."""
    _succeeds(scene.venv.uv("install", "--reinstall", "pillow"))
    return {}


def two_owners(scene: Scene) -> Variables:
    """Install Pillow over a fork, as installers do for a package that requires Pillow."""
    _succeeds(scene.venv.pip("install", "--quiet", "pillow"))
    return {}


def drop_in_replacement(scene: Scene) -> Variables:
    """Install a package that replaces some of PIL's modules and declares no relation to Pillow: pillow-rs."""
    modules = {f"PIL/{name}": (scene.site / "PIL" / name).read_bytes() + b"# by another\n" for name in _PIL_OF_RUST}
    own = {"pillow_rs/__init__.py": b"", "pillow_rs/image.py": b"", "pillow_rs/_core.abi3.so": b"no ELF file"}
    wheel = write_files_wheel(scene.root / "wheels", "pillow-rs", "12.2.3", {**modules, **own})
    _succeeds(scene.venv.pip("install", "--quiet", "--no-deps", str(wheel)))
    return {}


def dangling(scene: Scene) -> Variables:
    """Install Pillow over a fork, then uninstall Pillow, which removes files of the fork too."""
    two_owners(scene)
    _succeeds(scene.venv.pip("uninstall", "--quiet", "--yes", "pillow"))
    return {}


def mixed_core(scene: Scene) -> Variables:
    """Replace the core with that of another Pillow version."""
    shutil.copy2(scene.environments.other_version() / "PIL" / scene.core.name, scene.core)
    return {}


def mixed_module(scene: Scene) -> Variables:
    """Replace the WebP module with that of another Pillow version."""
    name = f"PIL/_webp{SUFFIX}"
    shutil.copy2(scene.environments.other_version() / name, scene.site / name)
    return {}


def unclaimed_module(scene: Scene) -> Variables:
    """Remove a module from the RECORD of its distribution."""
    _forget(scene, f"PIL/_avif{SUFFIX}")
    return {}


def core_missing(scene: Scene) -> Variables:
    """Delete the core."""
    scene.core.unlink()
    return {}


def core_empty(scene: Scene) -> Variables:
    """Empty the core file, as a full disk does."""
    scene.core.write_bytes(b"")
    return {}


def core_truncated(scene: Scene) -> Variables:
    """Truncate the core to half its size."""
    os.truncate(scene.core, scene.core.stat().st_size // 2)
    return {}


def init_missing(scene: Scene) -> Variables:
    """Delete PIL's `__init__.py`."""
    (scene.site / "PIL/__init__.py").unlink()
    return {}


def pip_killed_while_it_writes(scene: Scene) -> Variables:
    """Kill a real pip after it has written half of the files."""
    _killed_pip(scene, "open PIL/ImageFont.py")
    assert list(scene.site.glob("~*")), "pip had moved nothing aside"
    return {}


def pip_killed_while_it_cleans_up(scene: Scene) -> Variables:
    """Kill a real pip after it has written all files, before it removes the old ones."""
    _killed_pip(scene, "shutil.rmtree ~")
    assert list(scene.site.glob("~*")), "pip had moved nothing aside"
    return {}


def without_record(scene: Scene) -> Variables:
    """Delete the distribution's RECORD."""
    (scene.metadata / "RECORD").unlink()
    return {}


def for_another_python(scene: Scene) -> Variables:
    """Use site-packages made for another Python version, as in an image that was built with that version."""
    words = ("--target", str(scene.site), "--python-version", OTHER_PYTHON, "--only-binary", ":all:", "--no-deps")
    _succeeds(run((sys.executable, "-m", "pip", "install", "-q", *words, "pillow"), scene.venv.variables))
    return {}


def library_missing(scene: Scene) -> Variables:
    """Delete a library that is bundled with the wheel."""
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
