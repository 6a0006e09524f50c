"""A person's machine with every kind of document that fastinstall reads, each sound: what a hostile one is put into.

Environments that were set up (by the journal, without a build), one of conda's, a pinned project, a saved plan, facts
of hosts, reports, a wheelhouse, recipes, settings and lock files; and beside them what nobody may touch.
"""

import base64
import hashlib
import importlib
import json
import shutil
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from support.conda.written_records import add_package
from support.environments.guarded import make_guarded
from support.hostile.inputs import NO_FILES
from support.values.builders import changed, healthy_facts, receipt

from fastinstall.core.codec import document, dump
from fastinstall.core.directories import recipes_directory
from fastinstall.fleet.fleet import Fleet
from fastinstall.journal.layout import CREATION, EVENTS, PROJECT, RECEIPT, TRANSACTIONS
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.request import Request
from fastinstall.observe.pip_pins import CONFIGURATION, CONSTRAINTS

ID = "20261121T101500Z-000001"
_TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
WHEEL = f"pillow-13.0.0+simd.v2-{_TAG}-{_TAG}-linux_x86_64.whl"
_INFO = "pillow-13.0.0+simd.v2.dist-info"
_RECORD = f"{_INFO}/RECORD"
_LOOSE = ".fastinstall-20261121T101600Z-000002.jsonl"
_SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
_META = f"{_SITE}/pillow-12.1.1+simd.v3.dist-info"
_TX = f"{TRANSACTIONS}/{ID}"
CORE = f"PIL/_imaging{sysconfig.get_config_var('EXT_SUFFIX')}"
_STACK: dict[str, bytes] = {
    "PIL/__init__.py": b"from ._version import __version__\n",
    "PIL/_version.py": b'__version__ = "12.1.1.post0"\n',
    CORE: b"\x7fELF core",
    "pillow.libs/libjpeg-1.so.62": b"\x7fELF library",
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of document.

    Attributes:
        path: of one, relative to the scene.
        form: how it is written: json, lines (of JSON), toml, text, or binary, which is replaced as a whole alone.
        verbs: command lines that read it; ENV, CONDA and BASE stand for prefixes and the scene.
    """

    path: str
    form: str
    verbs: tuple[str, ...]


_LOOKING = ("doctor --quick", "doctor", "inspect", "doctor --all --quick --json", "guard status", "rollback --list")
_MORE = ("guard accept --yes", "rollback --forget --yes", "bench --only operations --quick")
_CHANGING = (
    "rollback --yes",
    "guard install --yes",
    "guard remove --yes",
    "doctor --fix --yes",
    "plan --offline",
    *_MORE,
)
_OF_ENV = (*_LOOKING, *_CHANGING)
_OF_CONDA = (*(f"{verb} --prefix BASE/conda" for verb in _LOOKING if "--all" not in verb), "doctor --all --quick")

KINDS = (
    *(Kind(path=f"env/{path}", form="json", verbs=_OF_ENV) for path in (RECEIPT, f"{_TX}/plan.json", CREATION)),
    *(Kind(path=f"env/{path}", form="lines", verbs=_OF_ENV) for path in (f"{_TX}/journal.jsonl", _LOOSE, EVENTS)),
    *(Kind(path=f"env/{_META}/{name}", form="text", verbs=_OF_ENV) for name in ("RECORD", "METADATA", "INSTALLER")),
    *(Kind(path=f"env/{_SITE}/{name}", form="text", verbs=_OF_ENV) for name in ("_fastinstall_guard/state",)),
    *(Kind(path=f"env/{_SITE}/{name}", form="binary", verbs=_OF_ENV) for name in (*_STACK, "fastinstall_guard.pth")),
    *(Kind(path=f"env/{name}", form="text", verbs=_OF_ENV) for name in ("pyvenv.cfg", CONFIGURATION, CONSTRAINTS)),
    Kind(path=f"env/{PROJECT}", form="text", verbs=_OF_ENV),
    Kind(path="project/.fastinstall/pin.json", form="json", verbs=_OF_ENV),
    Kind(path="project/pyproject.toml", form="toml", verbs=_OF_ENV),
    Kind(path="project/uv.lock", form="toml", verbs=("guard check BASE/project/uv.lock", *_OF_ENV)),
    *(
        Kind(path=f"conda/conda-meta/{name}", form=form, verbs=_OF_CONDA)
        for name, form in (
            ("pillow-1.0-h0_0.json", "json"),
            ("history", "text"),
            ("pinned", "text"),
            ("frozen", "text"),
        )
    ),
    *(Kind(path=f"conda/{name}", form="text", verbs=_OF_CONDA) for name in (".condarc", "condarc.d/fast.yml")),
    Kind(path="conda/lib/libjpeg.so.62", form="binary", verbs=_OF_CONDA),
    Kind(path="plan.json", form="json", verbs=("apply --yes BASE/plan.json",)),
    Kind(
        path="hosts/one.json",
        form="json",
        verbs=("doctor --quick --host-flags BASE/hosts/one.json", "plan --offline --hosts BASE/hosts"),
    ),
    Kind(path="flags", form="text", verbs=("doctor --quick --host-flags BASE/flags",)),
    Kind(path="reports/one.json", form="json", verbs=("doctor --collect BASE/reports --hosts BASE/fleet.json",)),
    Kind(path="fleet.json", form="json", verbs=("doctor --collect BASE/reports --hosts BASE/fleet.json",)),
    Kind(
        path=f"wheelhouse/{WHEEL}",
        form="binary",
        verbs=("setup --offline --dry-run --wheelhouse BASE/wheelhouse",),
    ),
    Kind(path="made.json", form="json", verbs=("WHEEL setup --offline --dry-run --wheelhouse BASE/wheelhouse",)),
    Kind(path="wheelhouse/SHA256SUMS", form="text", verbs=("setup --offline --dry-run --wheelhouse BASE/wheelhouse",)),
    Kind(
        path="recipes/pillow-fast.toml",
        form="toml",
        verbs=(
            "recipes check BASE/recipes/pillow-fast.toml",
            "recipes list",
            "doctor --quick",
            "doctor --all --quick",
        ),
    ),
    Kind(path="recipes/advisories/pillow.toml", form="toml", verbs=("recipes list", "doctor --quick")),
    Kind(path="fastinstall.toml", form="toml", verbs=("doctor --quick", "plan --offline", "recipes list")),
    Kind(path="home/.config/fastinstall/fastinstall.toml", form="toml", verbs=("recipes list",)),
    Kind(path="home/.local/state/fastinstall/environments.txt", form="text", verbs=("doctor --all --quick",)),
    Kind(path="home/.condarc", form="text", verbs=_OF_CONDA),
    Kind(path="home/.config/pip/pip.conf", form="text", verbs=("guard install --pin --yes", "doctor --quick")),
    *(
        Kind(path=f"locks/{name}", form=form, verbs=(f"guard check BASE/locks/{name}",))
        for name, form in (
            *(("requirements.txt", "text"), ("environment.yml", "text"), ("pixi.lock", "text")),
            *(("poetry.lock", "toml"), ("pdm.lock", "toml"), ("pylock.toml", "toml")),
        )
    ),
)
WHOLES = (*NO_FILES, *("empty", "truncated", "garbage", "utf16", "deep", "deeper", "sparse", "twice", "nan", "escapes"))
"""What takes the place of a document as a whole."""


def make_scene(base: Path) -> None:
    """Write everything below `base`, with the interpreter that runs this."""
    environment = make_guarded(base, Path(sys.executable)).prefix
    shutil.rmtree(base / "tmp")
    _set_up(environment)
    _beside(environment, base)
    _conda(base / "conda")
    _project(base / "project", environment)
    _documents(base, environment)
    _wheelhouse(base)
    _locks(base / "locks")
    for name in ("canary/sub", "canary/PIL", "home/tmp", "cache"):
        (base / name).mkdir(parents=True, exist_ok=True)
    for name in ("canary/x", "canary/sub/y", "canary/PIL/__init__.py", "home/.bashrc"):
        (base / name).write_text("mine\n")


def pack_wheel(base: Path) -> None:
    """Put `made.json` into the wheel of the wheelhouse, as it is."""
    made = base / "made.json"
    there = made.is_file() and made.stat().st_size < 1 << 20
    contents = {
        "PIL/__init__.py": b"",
        f"{_INFO}/METADATA": b"Metadata-Version: 2.1\nName: pillow\nVersion: 13.0.0+simd.v2\n",
        f"{_INFO}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {_TAG}-{_TAG}-linux_x86_64\n".encode(),
        f"{_INFO}/fastinstall.json": made.read_bytes() if there else b"[" * (1 << 26),
    }
    lines = [f"{name},sha256={_hash(content)},{len(content)}" for name, content in contents.items()]
    with zipfile.ZipFile(base / f"wheelhouse/{WHEEL}", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        archive.writestr(_RECORD, "\n".join([*lines, f"{_RECORD},,", ""]))


def variables(base: Path) -> dict[str, str]:
    """Of a login of that person."""
    return {
        "HOME": str(base / "home"),
        "TMPDIR": str(base / "home/tmp"),
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "FASTINSTALL_CACHE_DIR": str(base / "cache"),
        "FASTINSTALL_RECIPES": str(base / "recipes"),
        "VIRTUAL_ENV": str(base / "env"),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "NO_COLOR": "1",
    }


def _set_up(prefix: Path) -> None:
    site = prefix / _SITE
    store, stamp = JournalStore(prefix), Stamp(id=ID, at="2026-11-21T10:15:00Z")
    for path in ("PIL",):
        shutil.rmtree(site / path)
    _write(site, {"PIL/__init__.py": b"stock", "pillow-13.0.0.dist-info/RECORD": b"PIL/__init__.py,,\n"})
    with begin(store, {"summary": "swap", "verb": "setup"}, site_packages=site, stamp=stamp) as transaction:
        name = PurePosixPath(_META).name
        _write(transaction.stage, {**_STACK, **_metadata(name)})
        transaction.perform(
            (
                Move(kind=MoveKind.EXCHANGE, live=f"{_SITE}/PIL", kept="stage/PIL"),
                Move(kind=MoveKind.IN, live=f"{_SITE}/pillow.libs", kept="stage/pillow.libs"),
                Move(kind=MoveKind.OUT, live=f"{_SITE}/pillow-13.0.0.dist-info", kept="aside/pillow-13.0.0.dist-info"),
                Move(kind=MoveKind.IN, live=f"{_SITE}/{name}", kept=f"stage/{name}"),
            )
        )
        python = str(prefix / "bin/python")
        transaction.commit(
            changed(
                receipt(),
                {
                    "id": ID,
                    "recipe": "pillow-fast",
                    "environment": {"prefix": str(prefix), "kind": "venv", "python": python},
                    "metadata": name,
                    "core": {"path": CORE, "size": 9, "sha256": hashlib.sha256(b"\x7fELF core").hexdigest()},
                },
            )
        )


def _metadata(name: str) -> dict[str, bytes]:
    lines = [f"{path},sha256={_hash(content)},{len(content)}" for path, content in _STACK.items()]
    return {
        f"{name}/RECORD": "\n".join([*lines, f"{name}/RECORD,,", ""]).encode(),
        f"{name}/METADATA": b"Metadata-Version: 2.1\nName: pillow\nVersion: 12.1.1+simd.v3\nRequires-Dist: x>=1\n",
        f"{name}/INSTALLER": b"fastinstall\n",
    }


def _beside(prefix: Path, base: Path) -> None:
    begun = (prefix / _TX / "journal.jsonl").read_text().partition("\n")[0]
    event = {"at": "2026-11-21T10:15:00Z", "change": "was removed", "tool": "pip", "stack": "12.1.1", "found": ""}
    _write(
        prefix,
        {
            CREATION: b'{"schema": "fastinstall.creation/1", "at": "2026-11-21T10:15:00Z", "tool_version": "0.1.0"}\n',
            _LOOSE: (begun.replace(ID, _LOOSE[13:-6]) + "\n").encode(),
            EVENTS: (json.dumps(event) + "\n").encode() * 2,
            PROJECT: f"{base}/project\n".encode(),
            CONFIGURATION: f"[install]\nfind-links = {prefix}/wheels\nconstraint = {prefix}/{CONSTRAINTS}\n".encode(),
            CONSTRAINTS: b"pillow==12.1.1+simd.v3\n",
        },
    )


def _conda(prefix: Path) -> None:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to(sys.executable)
    add_package(prefix, "python", {}, version="3.11.7")
    add_package(prefix, "pillow", {f"{_SITE}/PIL/__init__.py": b"", f"{_SITE}/PIL/_imaging.so": b"\x7fELF"})
    add_package(prefix, "libjpeg-turbo", {"lib/libjpeg.so.62": b"\x7fELF", "include/jpeglib.h": b""})
    _write(
        prefix,
        {
            "conda-meta/history": b"==> 2026-11-21 10:15:00 <==\n# cmd: /opt/bin/conda create\n+pillow-1.0-h0_0\n",
            "conda-meta/pinned": b"pillow ==1.0\n",
            "conda-meta/frozen": b'{"message": "leave it"}\n',
            ".condarc": b"channels:\n  - conda-forge\n",
            "condarc.d/fast.yml": b"channels:\n  - file:///x\n",
        },
    )


def _project(project: Path, prefix: Path) -> None:
    manifest = b'[project]\nname = "x"\nversion = "1"\ndependencies = ["pillow"]\n[tool.uv]\nfind-links = ["w"]\n'
    lock = b'version = 1\n[[package]]\nname = "pillow"\nversion = "12.1.1+simd.v3"\n'
    sums = [hashlib.sha256(each).hexdigest() for each in (manifest, lock)]
    record = {
        "schema": "fastinstall.project-pin/1",
        "stage": "pinned",
        "at": "2026-11-21T10:15:00Z",
        "tool_version": "0.1.0",
        "prefix": str(prefix),
        "manager": "uv",
        "requirement": "pillow==12.1.1+simd.v3",
        "payload": {".fastinstall/wheels/x.whl": sums[0]},
        "files": [
            {"name": "pyproject.toml", "before": sums[0], "after": sums[0]},
            {"name": "uv.lock", "before": "", "after": sums[1]},
        ],
        "additions": [],
        "pieces": ["# piece\n"],
    }
    pin = json.dumps(record).encode()
    _write(project, {"pyproject.toml": manifest, "uv.lock": lock, ".fastinstall/pin.json": pin})


def _documents(base: Path, prefix: Path) -> None:
    python = str(prefix / "bin/python")
    facts = changed(healthy_facts(), {"environment": {"prefix": str(prefix), "python": python}})
    plan = changed(_plan(), {"environment": {"prefix": str(prefix), "kind": "venv", "python": python}})
    report = {
        "schema": "fastinstall.doctor/1",
        "status": "warning",
        "host": "one",
        "observed_at": "2026-11-21T10:15:00Z",
        "environment": {"prefix": "/x", "kind": "venv", "python": "/x/bin/python"},
        "findings": [{"check": "swapped", "status": "warning", "message": "m", "evidence": ["e"]}],
    }
    fleet = document("fleet", Fleet(summary="none", request=Request(), groups=(), artefacts=()))
    _write(
        base,
        {
            "plan.json": dump(document("plan", plan)).encode(),
            "hosts/one.json": dump(document("facts", facts)).encode(),
            "flags": b"avx2 sse4_2 ssse3 # one machine\nfma bmi1\n",
            "reports/one.json": json.dumps(report).encode(),
            "fleet.json": json.dumps(fleet).encode(),
            "fastinstall.toml": b'recipe = "pillow-fast"\njobs = 2\noffline = true\n',
            "home/.config/fastinstall/fastinstall.toml": b'recipe = "pillow-fast"\n',
            "home/.local/state/fastinstall/environments.txt": f"{prefix}\n{base}/conda\n".encode(),
            "home/.condarc": b"channels:\n  - conda-forge\n",
            "home/.config/pip/pip.conf": b"[global]\ntimeout = 1\nretries = 0\n",
        },
    )
    shutil.copytree(recipes_directory(), base / "recipes", ignore=shutil.ignore_patterns("conda"))


def _plan() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "unit/plan"))
    planned, _ = importlib.import_module("test_saved_plan")._planned("kernels-newest")
    return planned


def _wheelhouse(base: Path) -> None:
    (base / "wheelhouse").mkdir()
    made = {"schema": "fastinstall.provenance/1", "recipe": "pillow-fast", "link": "bundle", "levels": ["x86-64-v2"]}
    (base / "made.json").write_text(json.dumps(made))
    pack_wheel(base)
    wheel = base / f"wheelhouse/{WHEEL}"
    sums = f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n"
    (base / "wheelhouse/SHA256SUMS").write_text(sums)


def _locks(directory: Path) -> None:
    package = b'[[package]]\nname = "pillow"\nversion = "12.1.1"\n'
    _write(
        directory,
        {
            "requirements.txt": b"--index-url http://x/simple\npillow==12.1.1 ; python_version > '3.9'\nx\n",
            "environment.yml": b"name: x\nchannels:\n  - c\ndependencies:\n  - pillow=12\n  - pip:\n    - y\n",
            "pixi.lock": b"version: 6\npackages:\n- conda: https://x/linux-64/pillow-12.1.1-py311_0.conda\n",
            "poetry.lock": package + b'[metadata]\nlock-version = "2.1"\n',
            "pdm.lock": package + b'[metadata]\nlock_version = "4.5"\n',
            "pylock.toml": b'lock-version = "1.0"\n[[packages]]\nname = "pillow"\nversion = "12.1.1"\n',
        },
    )


def _write(root: Path, contents: dict[str, bytes]) -> None:
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
