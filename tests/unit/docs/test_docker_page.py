"""The Dockerfile that the documentation explains is the one that `plan --format dockerfile` prints."""

from pathlib import Path, PurePath

from fastinstall.export.dockerfile import dockerfile
from fastinstall.export.plan_elsewhere import PlanExport
from fastinstall.model.artefact import Artefact
from fastinstall.model.request import Request

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "images.md"
FILES = {
    "pillow-13.0.0.tar.gz": "cdcd1ba258178f7356d74170c9a81ba4eab6a5d55748bc402a5a2a6fe6be3510",
    "pillow_simd-12.1.1.post0.tar.gz": "8e9694ec94c59d12f16753cbf48a3080266bdd704b0c51a630318c7a325625b1",
    "pillow-12.1.1.tar.gz": "9ad8fa5937ab05218e2b6a4cff30295ad35afd2f83ac592e68c0d871bb0fdbc4",
    "zlib_ng-1.1.0.tar.gz": "08a3a8468d4f130e3dc80d28ec42fcc7a878a57dfed616233e791066327d78a3",
    "pillow-13.0.0-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl": (
        "42d63be3af4f9b951b199b0a9d23365d37ab14687e6d77b74940432c8515c4ca"
    ),
}
LEVELS = ("x86-64-v2", "x86-64-v3")
EXAMPLE = PlanExport(
    python="3.12",
    prefix=PurePath("/opt/fast-env"),
    wish=Request(version="13.0.0", levels=LEVELS, pin=True),
    flags=("--version", "13.0.0", "--levels", ",".join(LEVELS), "--pin"),
    distribution="pillow",
    version="13.0.0+simd.v2.v3",
    sources=tuple(
        Artefact(name="", version="", filename=name, url="", sha256=sha256) for name, sha256 in FILES.items()
    ),
    packages=("gcc", "libc6-dev", "libjpeg-dev", "libtiff-dev", "libopenjp2-7-dev", "libxcb1-dev"),
    wheelhouse=None,
    tool="fastinstall==1.0.0",
    tool_pins=("auditwheel==6.8.2", "installer==1.1.0", "packaging==26.3", "pip==26.3", "rich==15.0.0"),
    command="fastinstall plan --format dockerfile --new-env /opt/fast-env --python python3.12"
    " --version 13.0.0 --levels x86-64-v2,x86-64-v3 --pin",
)


def test_the_page_shows_what_the_command_prints() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition("```dockerfile\n")[2].partition("```")[0]
    assert shown == dockerfile(EXAMPLE)
