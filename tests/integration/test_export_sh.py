"""A script that was exported is run on a machine that has nothing of fastinstall: an overlay of this one."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import extent
import pytest
from images import Build, Probe, build_image, index_settings, skip_unless_overlays, tool_wheel, wheelhouse
from interpreters import running
from sandbox import STOCK, UNREACHABLE, NewSandbox, Sandbox, run

SHELLCHECK = Path(sys.executable).with_name("shellcheck")
PREFIX = "/srv/images/env"
CORE = f"{PREFIX}/lib/python*/site-packages/PIL/_imaging.*.so"

AS_PROLOGUES = """\
ARG PYTHON_IMAGE
FROM ${{PYTHON_IMAGE}}
COPY setup.sh /srv/setup.sh
COPY wheelhouse /srv/wheelhouse
RUN unset HOME; dash /srv/setup.sh 2> /srv/first & bash /srv/setup.sh 2> /srv/second && wait "$!"
RUN cat /srv/first /srv/second | grep -c "preparing the tool" > /srv/prepared; {looked} > /srv/before
RUN unset HOME; dash /srv/setup.sh > /srv/again 2>&1; {looked} > /srv/after
RUN rm {core} && dash /srv/setup.sh > /srv/out 2> /srv/repaired
"""
AS_USER = "ARG PYTHON_IMAGE\nFROM ${PYTHON_IMAGE}\nUSER 10001\nCOPY setup.sh /srv/setup.sh\n"
LOOKED = f"find {PREFIX} /root/.local/share -printf '%p %s %T@ %C@\\n' | sort"


@pytest.fixture(scope="module")
def sandbox(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    with new_sandbox() as made:
        skip_unless_overlays(made.root)
        wheelhouse(made)
        yield made


def test_two_prologues_at_once_set_up_one_environment_and_a_third_run_changes_nothing(sandbox: Sandbox) -> None:
    _exported(sandbox, "--wheelhouse", sandbox.root / "wheelhouse")
    probes = (
        Probe(words=("cat", "/srv/prepared")),
        Probe(words=("cmp", "/srv/before", "/srv/after")),
        Probe(words=("cat", "/srv/again", "/srv/out")),
        Probe(words=(f"{PREFIX}/bin/python", "-c", "from PIL import Image; print(Image.new('L', (3, 3)).size)")),
    )
    settings = {**UNREACHABLE, "FASTINSTALL_WHEELHOUSE": "/srv/wheelhouse"}
    answer = _run(sandbox, AS_PROLOGUES.format(looked=LOOKED, core=CORE), settings, probes)
    prepared, same, again, used = answer
    assert prepared["stdout"] == "1\n", "the second one waited for the first"
    assert same["exit_code"] == 0, same
    assert again["stdout"] == "", "nothing was said, as there was nothing to do, and all is said on stderr"
    assert used["stdout"] == "(3, 3)\n", used


def test_who_may_not_write_there_is_told_by_the_tool_s_own_exit_code(sandbox: Sandbox) -> None:
    _exported(sandbox, "--wheelhouse", sandbox.root / "wheelhouse")
    words = ("sh", "-c", "HOME=/nonexistent dash /srv/setup.sh; echo $?")
    (told,) = _run(sandbox, AS_USER, {}, (Probe(words=words),))
    assert told["stdout"] == "5\n", told
    assert "set FASTINSTALL_TOOL_HOME" in told["stderr"]


@pytest.mark.skipif(not extent.every_row, reason="takes minutes: --every-row")
def test_a_user_without_a_wheelhouse_gets_it_compiled(sandbox: Sandbox) -> None:
    _exported(sandbox)
    wheel = tool_wheel(sandbox.root / "wheelhouse")
    file = f"{AS_USER}COPY wheelhouse/tool /srv/tool\n"
    settings = {"FASTINSTALL_REQUIREMENT": f"fastinstall @ file:///srv/tool/{wheel.name}", **index_settings()}
    command = "mkdir /tmp/user && export HOME=/tmp/user && FASTINSTALL_PREFIX=/tmp/user/env dash /srv/setup.sh"
    (made,) = _run(sandbox, file, settings, (Probe(words=("sh", "-c", command)),), compilers=True)
    assert made["exit_code"] == 0, made
    assert "from pillow 13" in made["stderr"]


def _exported(sandbox: Sandbox, *words: str | Path) -> Path:
    file = sandbox.root / "setup.sh"
    target = ("--new-env", PREFIX, "--python", f"python{running()}")
    made = sandbox.cli("plan", "--format", "sh", *target, *STOCK, *words, "-o", file)
    assert made.exit_code == 0, made.text
    assert os.access(file, os.X_OK)
    linted = run((SHELLCHECK, file), os.environ)
    assert linted.exit_code == 0, linted.text
    return file


def _run(
    sandbox: Sandbox, text: str, settings: Mapping[str, str], probes: Sequence[Probe], *, compilers: bool = False
) -> Any:
    """Run a script on a fresh machine, which an image's file describes; what the probes said."""
    file = sandbox.root / "Machine"
    file.write_text(text)
    build = Build(
        file=file,
        context=sandbox.root,
        environment=settings,
        with_compilers=("",) if compilers else (),
        probes=probes,
    )
    return build_image(sandbox, build)["probes"]
