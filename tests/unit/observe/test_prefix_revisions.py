"""The history and the pins of a conda environment."""

from pathlib import Path

import pytest

from fastinstall.model.conda import CondaRevision
from fastinstall.observe.conda.prefix import observe_revisions, read_pinned_specs

REPLACED = ("pillow", "pil", "pillow-simd")
COMMAND_WITHOUT_SECRETS = "/opt/conda/bin/conda create -n env -c https://conda.example/forge python pillow"
HISTORY = """\
# made by hand
==> 2024-01-01 12:00:00 <==
# cmd: /opt/conda/bin/conda create -n env -c https://me:secret@conda.example/t/tk-1/forge python pillow
# conda version: 24.7.1
+https://conda.example/forge/linux-64::pillow-10.1.0-py311h1_0
+https://conda.example/forge/linux-64::python-3.11.7-h1_0
+forge/linux-64::libjpeg-turbo-3.0.0-h2_0
# update specs: ['python', 'pillow']
==> 2024-02-01 12:00:00 <==
# cmd: /opt/conda/bin/conda install numpy
+forge/linux-64::numpy-1.26-py311_0
==> 2024-03-01 12:00:00 <==
-forge/linux-64::pillow-10.1.0-py311h1_0
+forge/linux-64::pillow-10.2.0-py311h1_0
+forge/noarch::fastinstall-guard-1-0
"""


def _observe(directory: Path, text: str | bytes) -> tuple[CondaRevision, ...]:
    content = text if isinstance(text, bytes) else text.encode()
    (directory / "history").write_bytes(content)
    return observe_revisions(directory, REPLACED)


def test_revisions_are_told_that_touch_what_matters_to_pil(tmp_path: Path) -> None:
    assert _observe(tmp_path, HISTORY) == (
        CondaRevision(
            number=0,
            at="2024-01-01 12:00:00",
            command=COMMAND_WITHOUT_SECRETS,
            linked=("pillow-10.1.0-py311h1_0", "libjpeg-turbo-3.0.0-h2_0"),
            unlinked=(),
        ),
        CondaRevision(
            number=2,
            at="2024-03-01 12:00:00",
            command="",
            linked=("pillow-10.2.0-py311h1_0", "fastinstall-guard-1-0"),
            unlinked=("pillow-10.1.0-py311h1_0",),
        ),
    )


def test_what_a_revision_removed_besides_and_for_good_is_named(tmp_path: Path) -> None:
    gone = "-forge::pillow-10.1.0-py311h1_0\n-forge::imageio-2.37.0-py_0\n-forge::zlib-1.3-0\n+forge::zlib-1.3-1\n"
    (revision,) = _observe(tmp_path, f"==> 2024-03-01 12:00:00 <==\n{gone}")
    assert (revision.unlinked, revision.dropped) == (("pillow-10.1.0-py311h1_0",), ("imageio-2.37.0-py_0",))


@pytest.mark.parametrize(
    "line",
    [
        "+pillow-5.0-py36_0",
        "+conda-forge::pillow-5.0-py36_0",
        "+conda-forge/label/dev/linux-64::pillow-5.0-py36_0.tar.bz2",
        "+file:///srv/channel/linux-64::pillow-5.0-py36_0",
        "pillow-5.0-py36_0",
        "+<unknown>::pillow-5.0-py36_0",
        "  +pillow-5.0-py36_0  ",
    ],
)
def test_lines_of_every_age_are_understood(tmp_path: Path, line: str) -> None:
    (revision,) = _observe(tmp_path, f"==> 2018-01-01 00:00:00 <==\n{line}\r\n+numpy-1.0-0\n")
    assert revision.linked == ("pillow-5.0-py36_0",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        b"\xff\xfe\0\0+pillow",
        "+pillow-5.0-py36_0\n",
        "==> <==\n",
        "==> 2024 <==\n+pillow\n-pillow-1\n+::\n-\n+\n#\n# cmd:\n",
        "==> " * 1000,
    ],
)
def test_a_malformed_history_says_nothing(tmp_path: Path, text: str | bytes) -> None:
    assert _observe(tmp_path, text) == ()


def test_no_history_says_nothing(tmp_path: Path) -> None:
    assert observe_revisions(tmp_path, REPLACED) == ()
    (tmp_path / "history").mkdir()
    assert observe_revisions(tmp_path, REPLACED) == ()


def test_pins_are_lines_without_comments(tmp_path: Path) -> None:
    assert read_pinned_specs(tmp_path) == ()
    (tmp_path / "pinned").write_text("# mine\n\npillow *=simd_*\n  numpy 1.26.* \n")
    assert read_pinned_specs(tmp_path) == ("pillow *=simd_*", "numpy 1.26.*")
