"""Lock file formats: malformed parts are reported with their place, and file names decide what is judged."""

import re
from itertools import pairwise
from pathlib import Path, PurePath

import pytest

from fastinstall.core.errors import DocumentError, UsageError
from fastinstall.lockcheck.files import check_locks
from fastinstall.lockcheck.lock_names import (
    FILES,
    KNOWN,
    LockKind,
    archive,
    bears_our_label,
    conda_archive,
    is_our_build,
    is_same_release,
    lock_kind_of,
)
from fastinstall.lockcheck.verdict import LockFinding

BOMB = "dependencies: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghijk")
)
PILLOW = '[[package]]\nname = "pillow"\nversion = "13.0.0"\n'


def _found(directory: Path, name: str, text: str) -> list[LockFinding]:
    (directory / name).write_text(text)
    return list(check_locks([directory / name]).findings)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("uv.lock", "[[package]\n", "not TOML: .*line 1"),
        ("uv.lock", "package = 3", "package: expected a list"),
        ("uv.lock", '[[package]]\nversion = "1"\n', r"package\[0\]\.name"),
        ("pylock.toml", 'packages = [{ name = "pillow" }]', r"packages: expected each package under its own"),
        ("pixi.lock", "version: 6\n", "packages: missing"),
        ("pixi.lock", "packages:\n- name: pillow\n", "line 2: a package from neither"),
        ("environment.yml", "dependencies:\n\t- pillow\n", "line 2: not YAML: .*cannot start any token"),
        ("environment.yml", "dependencies: [pillow\n", "line 2: not YAML: "),
        ("environment.yml", "dependencies: [\x01]\n", "not YAML: control characters"),
        ("environment.yml", "dependencies: *x\n", "line 1: not YAML: .*undefined alias"),
        ("environment.yml", "dependencies: " + "[" * 65, "line 1: nested deeper than 64 levels"),
        ("environment.yml", "dependencies: []\n---\n- pillow\n", "line 2: not YAML: .*another document"),
    ],
)
def test_a_malformed_file_is_told_with_its_place(tmp_path: Path, name: str, text: str, place: str) -> None:
    with pytest.raises(DocumentError, match=f"{re.escape(name)}: {place}"):
        _found(tmp_path, name, text)


@pytest.mark.parametrize("text", [BOMB, "dependencies: &x [*x]\n", "dependencies: [&x {<<: *x, pip: *x}]\n"])
def test_aliases_are_never_expanded(tmp_path: Path, text: str) -> None:
    assert _found(tmp_path, "environment.yml", text) == []


@pytest.mark.parametrize(
    "accepted",
    [
        "# fastinstall: stock\n" + PILLOW,
        PILLOW.replace("]]\n", "]]  # fastinstall: stock\n"),
        PILLOW.replace('"\nversion', '"  # stock\nversion'),
        PILLOW.rstrip() + "  # fastinstall:stock, on purpose\n",
    ],
)
def test_a_comment_accepts_a_package_of_a_lock(tmp_path: Path, accepted: str) -> None:
    said = "fastinstall" in accepted
    assert bool(_found(tmp_path, "uv.lock", accepted)) is not said


def test_a_package_for_other_systems_alone_is_no_finding(tmp_path: Path) -> None:
    windows = "resolution-markers = [\"sys_platform == 'win32'\", \"sys_platform == 'darwin'\"]\n"
    assert _found(tmp_path, "uv.lock", PILLOW + windows) == []
    linux = windows.replace("darwin", "linux")
    assert len(_found(tmp_path, "uv.lock", PILLOW + linux)) == 1
    assert len(_found(tmp_path, "pdm.lock", PILLOW + 'marker = "sys_platform is odd"\n')) == 1


def test_two_forks_of_a_package_are_told_at_their_own_lines(tmp_path: Path) -> None:
    found = _found(tmp_path, "uv.lock", PILLOW + "\n" + PILLOW.replace("13.0.0", "12.1.1"))
    assert [(each.line, each.excerpt) for each in found] == [(3, "pillow 13.0.0"), (7, "pillow 12.1.1")]


def test_pixi_lists_of_older_versions_are_read(tmp_path: Path) -> None:
    five = "version: 5\npackages:\n- kind: conda\n  name: pillow\n  url: https://x.example.org/linux-64/{}\n"
    assert len(_found(tmp_path, "pixi.lock", five.format("pillow-13.0.0-py311h0_0.conda"))) == 1
    assert _found(tmp_path, "pixi.lock", five.format("pillow-13.0.0-simd_v3_py311_0.conda")) == []
    assert _found(tmp_path, "pixi.lock", "version: 6\npackages: []\n") == []


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ("pillow", None),
        ("pillow >=8", None),
        ("pillow=13", None),
        ("pillow=*=simd_*", None),
        ("pillow * simd_*", None),
        ("pillow >=12,<14 simd_v3_py311_0", None),
        ("'pillow[version=\">=8\",build=simd_*]'", None),
        ("pillow=13.0.0", "hint"),
        ("pillow 13.0.0", "hint"),
        ("conda-forge::pillow==13.0.0", "hint"),
        ("pillow=13.0.0=py311h0_0", "error"),
        ("pillow 13.0.0 py311h0_0", "error"),
        ("pillow[build='py311*']", "error"),
        ("pillow-simd", "error"),
        ("pillow=13.0.0  # fastinstall: stock", None),
    ],
)
def test_specs_of_conda(tmp_path: Path, spec: str, status: str | None) -> None:
    found = _found(tmp_path, "environment.yml", f"dependencies:\n  - python=3.11\n  - {spec}\nprefix: /x\n")
    assert [(each.line, each.status.value) for each in found] == ([] if status is None else [(3, status)])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("dependencies:\n  - pillow-simd\n", 2),
        ("dependencies:\n- pillow-simd\n", 2),
        ('"dependencies":\n  - "pillow-simd"\n', 2),
        ("dependencies : [python, pillow-simd]\n", 1),
        ("dependencies: [python,pillow-simd]  # both\n", 1),
        ("dependencies:\n  [python=3.11,\n   'pillow-simd']\n", 3),
        ("dependencies: [\n  python,\n  pillow-simd,\n]\n", 3),
        ("dependencies:\n  - >-\n    pillow-simd\n", 2),
        ("dependencies:\n  -\n    pillow-simd\n", 3),
        ("dependencies:\n  - python\n  - pip: [imageio, pillow-simd]\n", 3),
        ("dependencies:\n  - {pip: [pillow-simd]}\n", 2),
        ("dependencies:\n  - pip:\n    - |\n      imageio\n      pillow-simd\n", 3),
        ("x-pins: &pins\n  - pillow-simd\ndependencies: *pins\n", 2),
        ("x-pin: &pin pillow-simd\ndependencies:\n  - *pin\n", 1),
        ("x: &x\n  dependencies: [pillow-simd]\n<<: *x\n", 2),
        ("{name: env, dependencies: [pillow-simd]}\n", 1),
        ('{"dependencies": ["pillow\\x2dsimd"]}\n', 1),
        ("%YAML 1.2\n---\ndependencies:\n  - !!str pillow-simd\n...\n", 4),
    ],
)
def test_every_spelling_of_a_list_is_read(tmp_path: Path, text: str, line: int) -> None:
    found = _found(tmp_path, "environment.yml", text)
    assert [(each.line, each.status.value) for each in found] == [(line, "error")]


def test_locks_in_flow_style_are_read(tmp_path: Path) -> None:
    url = "https://x.example.org/linux-64/pillow-13.0.0-py311h0_0.conda"
    assert len(_found(tmp_path, "pixi.lock", f'{{"packages": [{{"conda": "{url}"}}]}}')) == 1


def test_what_pip_refuses_in_the_list_for_pip_is_a_finding(tmp_path: Path) -> None:
    (finding,) = _found(tmp_path, "environment.yml", "dependencies:\n- pip:\n  - pillow = 3\n")
    assert (finding.line, finding.status.value, finding.excerpt) == (3, "error", "pillow = 3")
    assert "pip rejects the file" in finding.message


def test_a_non_yaml_file_listing_no_dependencies_is_ignored(tmp_path: Path) -> None:
    template = "{{- if .Values.env }}\nkind: ConfigMap\n{{- end }}\n"
    assert _found(tmp_path, "env.yaml", template) == []


def test_a_file_of_that_name_that_is_not_of_conda_is_no_finding(tmp_path: Path) -> None:
    assert _found(tmp_path, "environment-prod.yaml", "services:\n  web: {image: pillow}\n") == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("requirements.txt", LockKind.REQUIREMENTS),
        ("a/requirements-dev.txt", LockKind.REQUIREMENTS),
        ("requirements_lock.txt", LockKind.REQUIREMENTS),
        ("dev-requirements.in", LockKind.REQUIREMENTS),
        ("requirements/base.txt", LockKind.REQUIREMENTS),
        ("constraints.txt", LockKind.REQUIREMENTS),
        ("req.txt", LockKind.REQUIREMENTS),
        ("reqs-dev.txt", LockKind.REQUIREMENTS),
        ("requirement.txt", LockKind.REQUIREMENTS),
        ("requirements-dev.in", LockKind.REQUIREMENTS),
        ("requirements/base.in", LockKind.REQUIREMENTS),
        ("requirements/gpu/train.in", LockKind.REQUIREMENTS),
        ("reqs/base.txt", LockKind.REQUIREMENTS),
        ("requirements.pip", LockKind.REQUIREMENTS),
        ("requirements-dev.lock", LockKind.REQUIREMENTS),
        ("constraints/py311.txt", LockKind.REQUIREMENTS),
        ("env.yml", LockKind.ENVIRONMENT),
        ("conda_env.yaml", LockKind.ENVIRONMENT),
        ("conda.yaml", LockKind.ENVIRONMENT),
        ("request.txt", None),
        ("prereq.txt", None),
        ("dotenv.yml", None),
        ("b/uv.lock", LockKind.UV),
        ("poetry.lock", LockKind.POETRY),
        ("pdm.prod.lock", LockKind.PDM),
        ("pylock.dev.toml", LockKind.PYLOCK),
        ("Pipfile.lock", None),
        ("pixi.lock", LockKind.PIXI),
        ("gpu.conda-lock.yml", None),
        ("environment-gpu.yaml", LockKind.ENVIRONMENT),
        ("conda-linux-64.lock", None),
        ("spec-file.txt", None),
        ("pyproject.toml", None),
        ("Cargo.lock", None),
        ("notes.txt", None),
        ("requirements.md", None),
        ("myrequirements.txt", None),
        ("environments.yml", None),
        ("xuv.lock", None),
    ],
)
def test_names_decide_the_kind_and_the_pre_commit_pattern_agrees(path: str, kind: LockKind | None) -> None:
    assert lock_kind_of(PurePath(path)) == kind
    assert (re.search(FILES, path) is not None) is (kind is not None)


@pytest.mark.parametrize("name", ["notes.txt", "Pipfile.lock", "conda-lock.yml", "conda-linux-64.lock"])
def test_an_unsupported_file_is_refused_with_what_to_export(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(name)) as caught:
        _found(tmp_path, name, "pillow==3")
    assert KNOWN in (caught.value.hint or "")
    assert "pipenv requirements > requirements.txt" in (caught.value.hint or "")


def test_names_of_archives() -> None:
    assert archive("https://x.example.org/a%2bb/pillow-13.0.0%2Bsimd.v3-cp311-cp311-linux_x86_64.whl#sha256=0") == (
        "pillow",
        "13.0.0+simd.v3",
    )
    assert archive("dist/Pillow-SIMD-9.5.0.post2.tar.gz") == ("pillow-simd", "9.5.0.post2")
    assert archive("https://git.example.org/pillow.git") == ("", "")
    assert conda_archive("x/linux-64/pillow-13.0.0-simd_v2v3_py311_0.conda#00") == (
        "pillow",
        "13.0.0",
        "simd_v2v3_py311_0",
    )
    assert conda_archive("x/pillow.conda") == ("", "", "")


@pytest.mark.parametrize(("machine", "line"), [("x86_64", 4), ("aarch64", 5), ("riscv64", None)])
def test_a_lock_for_several_machines_is_judged_for_the_given_one(
    tmp_path: Path, machine: str, line: int | None
) -> None:
    lock = tmp_path / "pixi.lock"
    url = "https://conda.example.org/conda-forge"
    builds = (f"- conda: {url}/{each}/pillow-13.0.0-py311h0_0.conda\n" for each in ("linux-64", "linux-aarch64"))
    mac = f"- conda: {url}/osx-arm64/pillow-13.0.0-py311h0_0.conda\n"
    lock.write_text(f"version: 6\npackages:\n{mac}{''.join(builds)}")
    assert [each.line for each in check_locks([lock], machine=machine).findings] == ([line] if line else [])


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 0), ("aarch64", 1)])
def test_a_marker_is_read_for_the_machine_that_asks(tmp_path: Path, machine: str, number: int) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("pillow==13.0.0; platform_machine == 'aarch64'\n")
    assert len(check_locks([file], machine=machine).findings) == number


def test_labels_and_builds_of_ours() -> None:
    labels = ("1+simd.v3", "1+opt.native", "1+simd.armv8a", "1+cu128", "1+simd", "1")
    assert [bears_our_label(each) for each in labels] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    ours = ("simd_v3_py311_0", "opt_native_py313t_2", "simd_armv8a_py311_0", "simd_*")
    others = ("py311h0_0", "py_0", "py_*", "", "*")
    assert all(map(is_our_build, ours))
    assert not any(map(is_our_build, others))
    for version in ("13.0", "v13.0.0", "13.0.0+cu126"):
        assert is_same_release(version, "13.0.0+simd.v3")
    assert is_same_release("13.0-RC.1", "13.0.0rc1+simd.v3")
    for version in ("13.0.1", "13.0.0rc1", "13.0.0.post1", "no version"):
        assert not is_same_release(version, "13.0.0+simd.v3")
