"""A compiler and headers from conda packages: installed once in a private prefix for builds, never in an environment.

The channel has no real compiler: its compiler package wraps this machine's compiler. The rest is real.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel, local_channel
from support.conda.packages import CondaPackage, Entry
from support.sandbox import Sandbox

from fastinstall.compilers.system import observe_compiler
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.index.run import Run
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import open_session
from fastinstall.setup.steps.prepare import CondaToolchain

pytest_plugins = ("support.conda.fixtures",)

_PROGRAM = """\
#include <stdio.h>
#include <jpeglib.h>
int turbo = LIBJPEG_TURBO_VERSION_NUMBER;
"""


@pytest.fixture
def compilers(sandbox: Sandbox) -> str:
    wrapper = f'#!/bin/sh\nexec "{shutil.which("gcc")}" "$@"\n'.encode()
    name = "bin/x86_64-conda-linux-gnu-cc"
    package = CondaPackage(
        name="c-compiler", version="1.9.0", build="h1234567_0", files={name: Entry(data=wrapper, mode=0o755)}
    )
    return local_channel(sandbox.root / "compilers", package)


def _workshop(sandbox: Sandbox, heard: list[Event]) -> Run:
    variables = sandbox.variables({"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")})
    session = open_session(variables)
    return Run(
        session=session.listening(heard.append),
        recipe=recipe_named(session, "pillow-fast"),
        index=PackageIndex(settings=PipSettings(), wheelhouse=None, offline=False, cache=session.directories.cache),
        cache=session.directories.cache,
        cpu=observe_cpu(allowed_cores=1, tunables=""),
    )


def test_the_toolchain_uses_package_headers_and_is_made_once(
    sandbox: Sandbox, channel: CondaChannel, compilers: str
) -> None:
    heard: list[Event] = []
    context = _workshop(sandbox, heard)
    step = CondaToolchain(
        channels=(compilers, channel.url),
        packages=("c-compiler", "libjpeg-turbo", "libtiff"),
        libraries=("jpeg", "tiff"),
        reason="of the test",
    )
    made = step.fetch(context)
    compiler = observe_compiler((), {**context.variables, **made.variables})
    assert compiler is not None
    assert Path(compiler.command[0]).is_relative_to(context.cache / "toolchains")
    source = sandbox.root / "uses.c"
    source.write_text(_PROGRAM)
    includes = [f"-I{directory}" for directory in made.includes]
    subprocess.run((*compiler.command, *includes, "-c", "-o", sandbox.root / "uses.o", source), check=True)
    again = step.fetch(context)
    assert again == made
    assert [event.message for event in heard if isinstance(event, Noted) and "used again" in event.message]


def test_a_compiler_package_with_no_compiler_is_refused_by_name(sandbox: Sandbox) -> None:
    empty = local_channel(sandbox.root / "empty", CondaPackage(name="c-compiler", version="1.9.0", build="h1234567_0"))
    step = CondaToolchain(channels=(empty,), packages=("c-compiler",), libraries=(), reason="of the test")
    with pytest.raises(FailedError, match="no C compiler"):
        step.fetch(_workshop(sandbox, []))


def test_headers_alone_leave_the_compiler_to_the_system(sandbox: Sandbox, channel: CondaChannel) -> None:
    packages = ("libjpeg-turbo",)
    step = CondaToolchain(channels=(channel.url,), packages=packages, libraries=("jpeg",), reason="of the test")
    made = step.fetch(_workshop(sandbox, []))
    assert made.variables == {}
    assert [(directory / "jpeglib.h").is_file() for directory in made.includes] == [True]


def test_what_was_left_half_made_is_made_again(sandbox: Sandbox, channel: CondaChannel, compilers: str) -> None:
    context = _workshop(sandbox, [])
    step = CondaToolchain(
        channels=(compilers, channel.url), packages=("c-compiler",), libraries=(), reason="of the test"
    )
    (toolchain,) = (Path(step.fetch(context).variables["CC"]).parents[1],)
    shutil.rmtree(toolchain / "bin")
    assert Path(step.fetch(context).variables["CC"]).is_file()


def test_without_the_channel_the_systems_packages_are_offered(sandbox: Sandbox) -> None:
    channel = (sandbox.root / "no channel").as_uri()
    step = CondaToolchain(
        channels=(channel,), packages=("libjpeg-turbo", "python 3.15.*"), libraries=("jpeg",), reason="of the test"
    )
    with pytest.raises(FailedError) as caught:
        step.fetch(_workshop(sandbox, []))
    assert "libjpeg" in (caught.value.hint or "")
    assert "python3.15" in (caught.value.hint or "")
    if os.geteuid() == 0 and shutil.which("apt-get"):
        assert "--with-system-deps" in (caught.value.hint or "")
