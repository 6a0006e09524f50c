"""Damage to real libraries and builds: one function for each kind."""

import os
import shutil
from pathlib import Path

import pytest
from integration.damage.scene import Scene, Variables
from support.elf.jpeg_libraries import gcc, linked_by_name, needed_by, patchelf
from support.elf.linked_pillow import BY_RPATH_OF_WHEELS, BY_RUNPATH, LIKE_CONDA, SYSTEM_TIFF
from support.environments.site_packages import rerecord

_READER = """
#include <stdio.h>
#include <jpeglib.h>
int TIFFReadsJpeg(void) {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_destroy_decompress(&info);
  return JPEG_LIB_VERSION;
}
"""


def jpeg_of_ijg(scene: Scene) -> Variables:
    """Replace libjpeg-turbo with IJG's libjpeg of the same soname and interface, as conda's package `jpeg` did."""
    asked = _asked_jpeg(scene)
    scene.environments.jpegs().put(_of_ijg(asked), _shared(scene, asked))
    return {}


def jpeg_truncated(scene: Scene) -> Variables:
    """Truncate a bundled libjpeg to half its size."""
    library = scene.bundled("libjpeg")
    os.truncate(library, library.stat().st_size // 2)
    return {}


def jpeg_of_another_pillow(scene: Scene) -> Variables:
    """Replace the bundled libjpeg-turbo with that of another Pillow, under the same soname."""
    (other,) = scene.environments.other_version().glob("pillow.libs/libjpeg-*")
    place = scene.bundled("libjpeg")
    shutil.copy2(other, place)
    patchelf("--set-soname", place.name, place)
    return {}


def jpeg_without_simd(scene: Scene) -> Variables:
    """Use a libjpeg-turbo built without its assembler code, and link the core to it."""
    jpeg = _shared(scene, "libjpeg.so.7")
    scene.environments.jpegs().put("turbo210", jpeg)
    scene.environments.source().link(scene.core, jpeg, linker=BY_RUNPATH)
    rerecord(scene.metadata, scene.core)
    return {}


def built_as_guides_say(scene: Scene) -> Variables:
    """Use a core built with `CFLAGS=-mavx2`, which drops the default optimisation."""
    jpeg, tiff = scene.bundled("libjpeg"), scene.bundled("libtiff")
    scene.environments.careless_source().link(scene.core, jpeg, tiff=tiff, linker=BY_RPATH_OF_WHEELS)
    rerecord(scene.metadata, scene.core)
    return {}


def tiff_of_the_system(scene: Scene) -> Variables:
    """Use conda's libjpeg-turbo, and a core that was linked to the system's libtiff because conda's was missing."""
    if "libjpeg.so.62" not in needed_by(linked_by_name("tiff")):
        pytest.skip("this system's libtiff does not ask for libjpeg.so.62")
    library = scene.venv.prefix / "lib"
    jpeg = library / "libjpeg.so.8"
    shutil.copy2(scene.environments.jpegs().conda, jpeg)
    (library / "libtiff.so.6").unlink()
    (library / "libjpeg.so.62").unlink()
    scene.environments.source().link(scene.core, jpeg, tiff=SYSTEM_TIFF, linker=BY_RUNPATH)
    rerecord(scene.metadata, scene.core)
    return {}


def jpeg_of_mozilla(scene: Scene) -> Variables:
    """Replace the libjpeg with Mozilla's, which also has a different ABI."""
    scene.environments.jpegs().put("mozjpeg403", _shared(scene, "libjpeg.so.8"))
    return {}


def redirected(scene: Scene) -> Variables:
    """Set LD_LIBRARY_PATH to a directory with a libjpeg of the same soname, as some programs' start scripts do."""
    directory = scene.root / "elsewhere"
    asked = _asked_jpeg(scene)
    scene.environments.jpegs().put(_of_ijg(asked), directory / asked)
    return {"LD_LIBRARY_PATH": str(directory)}


def redirected_before_rpath(scene: Scene) -> Variables:
    """Set LD_LIBRARY_PATH as `redirected` does, but for a core whose DT_RPATH takes precedence over it."""
    patchelf("--force-rpath", "--set-rpath", LIKE_CONDA, scene.core)
    rerecord(scene.metadata, scene.core)
    return redirected(scene)


def preloaded(scene: Scene) -> Variables:
    """Set LD_PRELOAD to a libjpeg without symbol versions."""
    return {"LD_PRELOAD": str(scene.environments.jpegs().ijg9_unversioned)}


def second_jpeg_with_versions(scene: Scene) -> Variables:
    """Load IJG's libjpeg as a second one, through a library that the core needs; symbol versions keep both apart."""
    _bring_second(scene, scene.environments.jpegs().ijg9)
    return {}


def second_jpeg_without_versions(scene: Scene) -> Variables:
    """Load a second libjpeg without symbol versions, so that its callers are bound to the first libjpeg."""
    _bring_second(scene, scene.environments.jpegs().ijg9_unversioned)
    return {}


def _bring_second(scene: Scene, jpeg: Path) -> None:
    """Put a second libjpeg beside the core's libraries, and make the core need a library that loads this libjpeg."""
    reader, source = _shared(scene, "libtiff.so.6"), scene.root / "reader.c"
    source.write_text(_READER)
    shutil.copy2(jpeg, reader.with_name(jpeg.name))
    search = ("-Wl,-rpath,$ORIGIN", f"-Wl,-soname,{reader.name}")
    include = f"-I{scene.environments.jpegs().headers}"
    gcc("-shared", "-fPIC", include, source, reader.with_name(jpeg.name), *search, "-o", reader)
    patchelf("--add-needed", reader.name, scene.core)
    rerecord(scene.metadata, scene.core)


def _shared(scene: Scene, name: str) -> Path:
    return scene.venv.prefix / "lib" / name


def _asked_jpeg(scene: Scene) -> str:
    bundled = sorted(path.name for path in scene.site.glob("pillow.libs/libjpeg-*"))
    linked = sorted(path.name for path in (scene.venv.prefix / "lib").glob("libjpeg.so.*"))
    return (linked or bundled)[0]


def _of_ijg(asked: str) -> str:
    """Return the IJG release that has the interface of a soname."""
    return "6b" if ".so.62" in asked else "8d"
