"""Builds an image from a Dockerfile without a container engine, and runs commands in what came of it.

Run as root in a mount namespace of its own, with a JSON specification on stdin; it answers in JSON on stdout.
A stage is an overlay over the machine's own root, which dies with the namespace. That root is the base image, with an
empty HOME, and without compilers but for the stages whose names the specification gives.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.images.dockerfile import Instruction, Stage, argument_of, expanded, pairs_of, read_image_file

_COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "tcc", "ld", "as", "make", "c89", "c99")
_DIRECTORIES = ("usr/bin", "bin", "usr/local/bin")


@dataclass(kw_only=True)
class Machine:
    """The state of a stage.

    Attributes:
        root: its filesystem.
        environment: ENV.
        arguments: ARG, as they are declared.
        user: "0", or what USER says.
        directory: WORKDIR.
    """

    root: Path
    environment: dict[str, str]
    arguments: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    directory: str = "/"
    labels: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """What RUN sees; ENV goes before ARG."""
        return {**self.arguments, **self.environment}


def main(specification: dict[str, Any]) -> dict[str, Any]:
    """Build, and run the probes in the last stage."""
    given = specification["arguments"]
    image = read_image_file(Path(specification["file"]).read_text(encoding="utf-8"), given)
    space = Path(specification["space"])
    subprocess.run(("mount", "-t", "tmpfs", "image", space), check=True)
    built: dict[str, Machine] = {}
    last = Machine(root=space, environment={})
    for number, stage in enumerate(image.stages):
        assert stage.base == specification["base"], f"an image that is not here: {stage.base}"
        last = Machine(root=_overlay(space / str(number)), environment=dict(specification["environment"]))
        _as_base_image(last.root, specification, compilers=stage.name in specification["with_compilers"])
        _build(stage, last, built, specification)
        built[stage.name or str(number)] = last
    probes = [_ran(last, probe["words"], probe.get("user")) for probe in specification["probes"]]
    return {"labels": last.labels, "environment": last.environment, "user": last.user, "probes": probes}


def _overlay(place: Path) -> Path:
    for name in ("changes", "work", "root"):
        (place / name).mkdir(parents=True)
    layers = f"lowerdir=/,upperdir={place}/changes,workdir={place}/work"
    subprocess.run(("mount", "-t", "overlay", "stage", "-o", layers, place / "root"), check=True)
    root = place / "root"
    subprocess.run(("mount", "--rbind", "/dev", root / "dev"), check=True)
    return root


def _as_base_image(root: Path, specification: Mapping[str, Any], *, compilers: bool) -> None:
    """An empty HOME and /tmp, a Python that everybody may run, and no compiler unless the stage has one."""
    for place, mode in (("tmp", "1777"), ("root", "755")):
        subprocess.run(("mount", "-t", "tmpfs", "-o", f"mode={mode}", "empty", root / place), check=True)
    for path, writable in specification["kept"].items():
        _keep(Path(path), root, writable=writable)
    if not compilers:
        for directory in _DIRECTORIES:
            for name in _COMPILERS:
                for each in ((root / directory / name), *(root / directory).glob(f"*-{name}*")):
                    each.unlink(missing_ok=True)


def _keep(path: Path, root: Path, *, writable: bool) -> None:
    """What the machine has there, although its surroundings were emptied or are of another filesystem."""
    inside = root / path.relative_to("/")
    for parent in reversed(inside.parents[: len(path.parts) - 2]):
        parent.mkdir(exist_ok=True)
        parent.chmod(parent.stat().st_mode | 0o055)
    if path.is_relative_to("/tmp") or path.is_relative_to("/root") or path.stat().st_dev != Path("/").stat().st_dev:  # noqa: S108 (emptied above)
        inside.mkdir(exist_ok=True)
        subprocess.run(("mount", "--bind", path, inside), check=True)
        if not writable:
            subprocess.run(("mount", "-o", "remount,bind,ro", inside), check=True)


def _build(stage: Stage, machine: Machine, built: Mapping[str, Machine], specification: Mapping[str, Any]) -> None:
    for each in stage.instructions:
        match each.name:
            case "ARG":
                machine.arguments |= argument_of(each.words, specification["arguments"])
            case "ENV":
                machine.environment |= pairs_of(each.words, machine.variables)
            case "LABEL":
                machine.labels |= pairs_of(each.words, machine.variables)
            case "USER":
                machine.user = expanded(each.words, machine.variables)
            case "WORKDIR":
                machine.directory = expanded(each.words, machine.variables)
            case "CMD":
                machine.command = json.loads(each.words)
            case "COPY":
                _copy(each, machine, built, Path(specification["context"]))
            case _:
                _run(each, machine)


def _copy(instruction: Instruction, machine: Machine, built: Mapping[str, Machine], context: Path) -> None:
    source, target = [word for word in instruction.words.split() if not word.startswith("--")]
    flags = [word for word in instruction.words.split() if word.startswith("--")]
    assert all(flag.startswith("--from=") for flag in flags), f"a flag that is not known here: {instruction.words}"
    start = built[flags[0].removeprefix("--from=")].root if flags else context
    origin = start / expanded(source, machine.variables).lstrip("/")
    into = machine.root / expanded(target, machine.variables).lstrip("/")
    into.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(("cp", "--recursive", "--preserve=mode,timestamps,links", origin, into), check=True)


def _run(instruction: Instruction, machine: Machine) -> None:
    result = _ran(machine, ("/bin/sh", "-c", instruction.words), None)
    if result["exit_code"] != 0:
        sys.stdout.write(json.dumps({"failed": instruction.words, **result}))
        sys.exit(0)


def _ran(machine: Machine, words: Sequence[str], user: str | None) -> dict[str, Any]:
    """Run a command in a stage, in a process namespace of its own."""
    who = (user or machine.user).partition(":")[0]
    home = {"HOME": "/root" if who == "0" else "/"}
    as_user = () if who == "0" else ("setpriv", f"--reuid={who}", f"--regid={who}", "--clear-groups")
    inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c \'cd "$0" && exec "$@"\' "$@"'
    argv = (
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        inside,
        machine.root,
        machine.directory,
        *as_user,
        *words,
    )
    variables = {**home, **machine.variables}
    done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


if __name__ == "__main__":
    os.umask(0o022)
    sys.stdout.write(json.dumps(main(json.load(sys.stdin))))
