"""Facts of two conda environments for tests of checks: one with conda-forge's Pillow, one with fastinstall's.

The facts are not observed on a machine, but derived from the values of `builders`.
"""

import json
from typing import Any

from support.values.builders import PREFIX, SITE_PACKAGES, changed, healthy_facts, receipt, stock_facts

from fastinstall.core.codec import decode, encode
from fastinstall.core.file_url import file_url
from fastinstall.model.conda import CondaInstaller, CondaPackage, CondaStack
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt

SITE = "lib/python3.11/site-packages"
CHANNEL = PREFIX / "share/fastinstall/channel"
STOCK = CondaPackage(name="pillow", version="12.1.1", build="py311h1234567_0", channel="conda-forge")
OURS = CondaPackage(name="pillow", version="12.1.1", build="simd_v3_py311_0", channel=file_url(CHANNEL))
GUARD = CondaPackage(
    name="fastinstall-guard",
    version="1",
    build="0",
    subdir="noarch",
    channel=file_url(CHANNEL),
    constrains=("pillow * simd_*",),
)
_PYTHON = CondaPackage(name="python", version="3.11.7", build="hab00c5b_0_cpython", channel="conda-forge")
_TURBO = CondaPackage(name="libjpeg-turbo", version="3.1.3", build="hb9d3cd8_0", channel="conda-forge")
_TIFF = CondaPackage(name="libtiff", version="4.7.1", build="h8261f1e_0", channel="conda-forge")
_WEBP = CondaPackage(name="libwebp-base", version="1.6.0", build="hd42ef1d_0", channel="conda-forge")
_OF_TURBO = ("include/jconfig.h", "include/jpeglib.h", "lib/libjpeg.so", "lib/libjpeg.so.8")
_OF_TIFF = ("include/tiffio.h", "lib/libtiff.so", "lib/libtiff.so.6")
_BUNDLED = {
    "pillow.libs/libjpeg-0d45d2bd.so.62.4.0": ("libjpeg.so.8", "libjpeg.so.8"),
    "pillow.libs/libtiff-0d45d2bd.so.6.2.0": ("libtiff.so.6", "libtiff.so.6"),
    "pillow.libs/libwebp-0d45d2bd.so.7.2.0": ("libwebp.so.7", "libwebp.so.7"),
}


def conda_facts() -> Facts:
    """Return the facts of an environment with conda's own Pillow, linked with the environment's libraries."""
    facts = stock_facts()
    text = json.dumps(encode(facts))
    for bundled, (name, soname) in _BUNDLED.items():
        text = text.replace(f"{SITE_PACKAGES}/{bundled}", f"{PREFIX}/lib/{name}")
        text = text.replace(bundled.partition("/")[2], soname)
    linked = decode(Facts, json.loads(text), file="linked")
    owner = {"distribution": {"installer": "conda"}, "entries": ["PIL", "pillow-12.1.1.dist-info"]}
    return changed(linked, {**_environment(STOCK, "pillow-12.1.1.dist-info"), "stack": {"owners": {"0": owner}}})


def ours_in_conda_facts() -> Facts:
    """Return the facts of an environment set up with our conda packages; see `ours_in_conda_receipt()`."""
    changes = _environment(OURS, "pillow-12.1.1+simd.v3.dist-info", GUARD)
    return changed(healthy_facts(), {**changes, "interpreter": _interpreter()})


def ours_in_conda_receipt() -> Receipt:
    """Return the receipt of the setup behind `ours_in_conda_facts()`."""
    stack = CondaStack(package=OURS, guard=GUARD, channel=CHANNEL)
    return changed(
        receipt(), {"environment": {"kind": "conda"}, "engine": CondaInstaller.CONDA.value, "conda": encode(stack)}
    )


def _environment(pillow: CondaPackage, metadata: str, *more: CondaPackage) -> dict[str, Any]:
    packages = (*more, _TURBO, _TIFF, _WEBP, pillow, _PYTHON)
    claims = {_TURBO: _OF_TURBO, _TIFF: _OF_TIFF, pillow: _of_pil(metadata)}
    return {
        "environment": {"kind": "conda"},
        "active": {"$replace": {"CONDA_PREFIX": str(PREFIX)}},
        "interpreter": _interpreter(),
        "conda": {
            "packages": [encode(package) for package in packages],
            "unreadable": {},
            "claims": [{"dist": package.dist, "files": list(files)} for package, files in claims.items()],
            "channels": [file_url(CHANNEL)] if more else [],
            "has_channels": True,
        },
    }


def _interpreter() -> dict[str, str]:
    return {"base_prefix": str(PREFIX)}


def _of_pil(metadata: str) -> tuple[str, ...]:
    own = (f"{metadata}/{name}" for name in ("INSTALLER", "METADATA", "RECORD"))
    core = "PIL/_imaging.cpython-311-x86_64-linux-gnu.so"
    return tuple(f"{SITE}/{path}" for path in ("PIL/__init__.py", "PIL/_version.py", core, *own))
