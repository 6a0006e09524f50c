"""The Dockerfile on the images page is executed line by line on overlays of this machine, without an engine."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pytest
from support.docs.pages import ROOT
from support.environments.interpreters import running
from support.made_once import key_of, made_once
from support.sandbox import STOCK, NewSandbox, Sandbox, run
from support.suite import extent

from fastinstall.fleet.tool_wheels import make_tool_wheel

PAGE = ROOT / "docs/how-to/images.md"
HADOLINT = Path(sys.executable).with_name("hadolint")
BASE = "${PYTHON_IMAGE}"
"""The base image; this machine's root filesystem plays it."""

PREFIX = "/opt/fast-env"
USED = "import sys; from PIL import Image; print(sys.prefix, Image.new('RGB', (9, 9)).resize((3, 3)).size)"
PROBES = {
    "used": ("python", "-c", USED),
    "user": ("id", "-u"),
    "compilers": ("sh", "-c", "command -v cc gcc clang make ld"),
    "kept": ("ls", f"{PREFIX}/share/fastinstall"),
    "left": ("ls", "/opt/fastinstall", "/wheelhouse"),
}
"""Commands that the user of the image runs, by name."""

DOCTOR = (sys.executable, "-m", "fastinstall", "doctor", "--fail-on", "warning", "--prefix", PREFIX)
_FUNCTIONS = """\
set -eux
stage() { # the root of this machine, with an empty HOME and /tmp, and without a compiler
  mkdir -p "$1/changes" "$1/work" "$1/root"
  mount -t overlay stage -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root"
  mount --rbind /dev "$1/root/dev"
  mount -t proc proc "$1/root/proc"
  mount -t tmpfs -o mode=1777 empty "$1/root/tmp"
  mount -t tmpfs -o mode=755 empty "$1/root/root"
  for directory in bin usr/bin usr/local/bin; do
    for name in cc gcc c++ g++ clang tcc ld as make c89 c99; do
      rm -f "$1/root/$directory/$name" "$1/root/$directory"/*-"$name"*
    done
  done
}
keep() { # $1: the root, $2: how, $3: a directory that the base image has, too
  mkdir -p "$1$3"
  above=$3
  while above=${above%/*}; [ "$above" ]; do chmod o+rx "$1$above"; done
  mount -o "bind,$2" "$3" "$1$3"
}
copy() {
  mkdir -p "$(dirname "$2")"
  cp --recursive --preserve=mode,timestamps,links "$1" "$2"
}
"""


@dataclass(kw_only=True)
class Stage:
    """A build stage, from one FROM to the next.

    Attributes:
        root: the root directory of its filesystem.
        arguments: values of ARG.
        environment: values of ENV.
        user: the value of USER; root ("0") by default.
    """

    root: Path
    arguments: dict[str, str]
    environment: dict[str, str]
    user: str = "0"

    def command(self, *words: str, user: str = "0") -> str:
        """Return a shell command that runs `words` in the stage; ENV takes precedence over ARG."""
        variables = {"HOME": "/root" if user == "0" else "/", **self.arguments, **self.environment}
        own = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups") if user != "0" else ()
        assigned = (f"{name}={value}" for name, value in variables.items())
        return shlex.join(("env", "-i", *assigned, "chroot", str(self.root), *own, *words))


def read_instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile, each with its arguments; continued lines are joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        name, _, words = line.partition(" ")
        if name:
            yield name, words


def build_image(
    sandbox: Sandbox, file: Path, environment: Mapping[str, str], writable: Sequence[Path] = ()
) -> tuple[Stage, dict[str, str]]:
    """Build a Dockerfile; return its last stage, and the output of each command of PROBES in it.

    Args:
        environment: variables of the base image, besides PATH.
        writable: directories of this machine that the image shares and may write to.
    """
    space, told = sandbox.root / "image", sandbox.root / "told"
    for directory in (space, told):
        directory.mkdir()
    kept = {path.resolve(): "ro" for path in (Path(sys.prefix), Path(sys.base_prefix), ROOT)}
    kept |= {path.resolve(): "rw" for path in writable}
    usual = {"PATH": f"{running().executable.parent}:/usr/sbin:/usr/bin:/sbin:/bin", **environment}
    lines = [_FUNCTIONS, f"mount -t tmpfs image {space}"]
    stages: dict[str, Stage] = {}
    for name, words in read_instructions(file.read_text(encoding="utf-8")):
        if name == "FROM":
            base, _, alias = words.partition(" AS ")
            assert base == BASE
            place = space / (alias or "last")
            stage = stages[alias] = Stage(root=place / "root", arguments={}, environment=dict(usual))
            lines += [f"stage {place}", *(f"keep {stage.root} {how} {path}" for path, how in kept.items())]
        elif stages:
            lines += _follow(stage, name, words, {**stages, "": Stage(root=file.parent, arguments={}, environment={})})
    user = stage.user.partition(":")[0]
    lines += [f"{stage.command(*words, user=user)} > {told}/{name} || true" for name, words in PROBES.items()]
    script = sandbox.root / "build.sh"
    script.write_text("\n".join([*lines, stage.command(*DOCTOR), ""]), encoding="utf-8")
    argv = ("unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", script)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, umask=0o022)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return stage, {name: (told / name).read_text() for name in PROBES}


def _follow(stage: Stage, name: str, words: str, stages: Mapping[str, Stage]) -> list[str]:
    """Return shell commands that carry out an instruction in a stage."""
    filled = Template(words).safe_substitute({**stage.arguments, **stage.environment})
    match name:
        case "ARG":
            argument, _, default = words.partition("=")
            stage.arguments[argument] = "".join(shlex.split(default))
        case "ENV":
            stage.environment |= dict(word.split("=", 1) for word in shlex.split(filled))
        case "USER":
            stage.user = filled
        case "COPY":
            copied = re.fullmatch(r"(?:--from=(\S+) )?(\S+) (\S+)", filled)
            assert copied is not None, words
            origin, source, target = copied.groups("")
            return [f"copy {stages[origin].root}/{source.lstrip('/')} {stage.root}{target}"]
        case "RUN":
            return [stage.command("/bin/sh", "-c", words)]
        case _:
            assert name == "CMD", f"{name} is not known here"
    return []


@pytest.fixture(scope="module")
def sandbox(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    with new_sandbox() as made:
        tried = "mount -t tmpfs t . && mkdir a b c && mount -t overlay o -o lowerdir=/,upperdir=a,workdir=b c"
        words = ("unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", tried)
        done = subprocess.run(words, cwd=made.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no overlay filesystem in a mount namespace here (root is needed): {done.stderr.strip()}")
        yield made


def _wheelhouse(sandbox: Sandbox) -> Path:
    """Return a wheelhouse like that of `build -o wheelhouse --with-tool`, but with the tool for this Python only."""
    own = make_tool_wheel(sandbox.cache, sandbox.variables())

    def make(directory: Path) -> None:
        built = sandbox.cli("build", "--quiet", "-o", directory, "--python", running().executable, *STOCK)
        assert built.exit_code == 0, built.text
        words = (sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:")
        brought = run((*words, "--dest", directory / "tool", own), sandbox.variables())
        assert brought.exit_code == 0, brought.text

    made = made_once(sandbox.cache / "testbed" / f"images-{key_of(own)}", make)
    return shutil.copytree(made, sandbox.root / "wheelhouse")


def _write_page_file(sandbox: Sandbox, *changes: tuple[str, str]) -> Path:
    """Write the page's Dockerfile with `changes`, which the page describes, and lint it."""
    text = PAGE.read_text(encoding="utf-8").partition("```dockerfile\n")[2].partition("```")[0]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = sandbox.root / "Dockerfile"
    file.write_text(text, encoding="utf-8")
    linted = run((HADOLINT, file), os.environ)
    assert linted.exit_code == 0, linted.text
    return file


def test_the_dockerfile_uses_a_wheelhouse_and_asks_no_index(sandbox: Sandbox) -> None:
    _wheelhouse(sandbox)
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "XDG_CONFIG_DIRS": "/nonexistent"}
    asked = {"FASTINSTALL_RECIPE": "pillow", "FASTINSTALL_LEVEL": "x86-64-v2"}  # selects the wheel that all tests share
    stage, said = build_image(sandbox, _write_page_file(sandbox), {**unreachable, **asked})
    _assert_right(stage, said)
    assert Path(stage.environment["UV_CONSTRAINT"]).name == "constraints.txt"


@pytest.mark.skipif(not extent.every_row, reason="takes minutes: --every-row")
def test_a_dockerfile_build_from_a_clone_drops_the_compiler(new_sandbox: NewSandbox, sandbox: Sandbox) -> None:
    del sandbox  # only needed because the fixture skips the test if overlays are not available
    fragment = PAGE.read_text(encoding="utf-8").partition("```text\nCOPY fastinstall")[2].partition("```")[0]
    with new_sandbox() as own:
        file = _write_page_file(own, ("COPY wheelhouse /wheelhouse\n", f"COPY fastinstall{fragment}"))
        cloned = run(("git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), own.root / "fastinstall"), os.environ)
        assert cloned.exit_code == 0, cloned.text
        starts, ends = ("PIP_", "SSL_", "REQUESTS_", "CURL_"), ("_proxy", "_PROXY")
        index = {name: value for name, value in os.environ.items() if name.startswith(starts) or name.endswith(ends)}
        own_cache = {"FASTINSTALL_CACHE_DIR": str(own.cache)}
        _assert_right(*build_image(own, file, {**own_cache, **index}, writable=(own.cache,)))


def _assert_right(stage: Stage, said: Mapping[str, str]) -> None:
    assert said["used"] == f"{PREFIX} (3, 3)\n"
    assert said["user"] == stage.user.partition(":")[0] + "\n" != "0\n"
    assert said["compilers"] == said["left"] == ""
    assert "receipt.json" in said["kept"]
    assert "tx" not in said["kept"].split()
