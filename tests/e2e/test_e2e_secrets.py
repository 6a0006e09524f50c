"""Secrets are planted in every usual place; none may appear in what fastinstall prints or writes.

Each secret is distinct, so that a failure shows which one leaked and where. The environment's name contains
characters that a shell would execute.
"""

import base64
import os
import re
import shlex
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from support.environments.interpreters import running
from support.index.server import SimpleIndex, content_answer, serving
from support.sandbox import ONE_LEVEL, STOCK, NewSandbox, Result, Sandbox, Venv, run

from fastinstall.core.directories import recipes_directory
from fastinstall.core.events import ignore
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.index.selection import parse_filename

NAME = "a b;$(touch pwned)'\"`touch pwned`&"
USER, PROJECTS = "alicia", ("pillow", "zlib-ng", "setuptools", "pybind11")
SECRETS = {
    "index-url": "Zq1 in@dex/pass",
    "pip.conf": "Zq2-pip-conf-pass",
    "netrc": "Zq3-netrc-pass",
    "query": "Zq4querytoken",
    "UV_INDEX_MINE_PASSWORD": "Zq5-uv-password",
    "ANACONDA_API_KEY": "Zq6-anaconda-key",
    "GITHUB_TOKEN": "ghp_Zq7githubtoken0000",
    "AWS_SECRET_ACCESS_KEY": "Zq8/aws+secret",
    "TWINE_PASSWORD": "Zq9 twine pass",
    "channel": "zq-10-channel-token",
    "raised": "Zq11-in-an-exception",
}
BY_VARIABLE = [name for name in SECRETS if name.isupper()]
RAISES = """
import os, sys
from fastinstall.cli.commands import doctor
from fastinstall.cli.main import main
def run(arguments, context):
    raise RuntimeError(f"https://me:Zq11-in-an-exception@host/simple and {os.environ['TWINE_PASSWORD']}")
doctor.run = run
sys.exit(main(["doctor", "--verbose"]))
"""


@cache
def _forms(secret: str) -> set[bytes]:
    texts = {secret, quote(secret), quote(secret, safe="")}
    encoded = (base64.b64encode(f"{before}{secret}".encode()) for before in ("", "alicia:", "bob:"))
    return {text.encode() for text in texts} | {text.rstrip(b"=") for text in encoded}


def _offer(index: SimpleIndex, sandbox: Sandbox) -> None:
    """Offer the real index's files at addresses with a secret token; addresses without the token have no files."""
    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=60.0)
    real = PackageIndex(settings=settings)
    found = ask_indexes(settings, PROJECTS, _is_of_these)
    for name in PROJECTS:
        links = []
        for artefact in (each for each in found if each.name == name):
            address = f"/files/{artefact.filename}?token={SECRETS['query']}"
            links.append(f'<a href="{address}#sha256={artefact.sha256}">{artefact.filename}</a>')

            def answer(request: object, wanted: object = artefact) -> None:
                content = real.fetch(wanted, sandbox.cache, ignore).read_bytes()  # type: ignore[arg-type]  # an artefact
                content_answer(content, "application/octet-stream")(request)  # type: ignore[arg-type]  # a request

            index.answers[address] = answer
        page = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
        index.answers[f"/simple/{name}/"] = content_answer(page.encode(), "text/html")


class Scene:
    """A sandbox with secrets in all usual places, and the outputs of the commands that ran in it."""

    def __init__(self, sandbox: Sandbox, urls: Mapping[str, str]) -> None:
        self.sandbox = sandbox
        self.said: dict[str, Result] = {}
        self.plan = sandbox.root / f"{NAME}.json"
        cache = sandbox.cache_without("downloads", "logs")
        self.variables = {
            **{name: SECRETS[name] for name in BY_VARIABLE},
            "USER": USER,
            "PIP_INDEX_URL": urls["index"],
            "PIP_FIND_LINKS": None,
            "FASTINSTALL_CACHE_DIR": str(cache),
        }
        home = sandbox.root / "home"
        (home / ".config" / "pip").mkdir(parents=True)
        (home / ".config" / "pip" / "pip.conf").write_text(
            f"[global]\nextra-index-url =\n  {urls['conf']}\n  {urls['netrc']}\n"
        )
        (home / ".netrc").write_text(f"machine localhost\nlogin bob\npassword {SECRETS['netrc']}\n")
        (home / ".netrc").chmod(0o600)
        self.venv: Venv = sandbox.venv(running(), pip=False, name=NAME)

    def does(self, name: str, *words: str | Path, **changes: str) -> Result:
        self.said[name] = self.sandbox.cli(*words, env={**self.variables, **changes})
        return self.said[name]

    def raises(self) -> Result:
        variables = self.sandbox.variables(self.variables)
        self.said["bug"] = run((sys.executable, "-c", RAISES), variables, directory=self.sandbox.root)
        return self.said["bug"]


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[Scene]:
    """Run every command once; the tests only examine the commands' outputs and files."""
    with ExitStack() as stack:
        sandbox = stack.enter_context(new_sandbox())
        (sandbox.root / "home").mkdir(exist_ok=True)
        main, conf, netrc = (stack.enter_context(serving()) for _ in range(3))
        main.credentials = f"{USER}:{SECRETS['index-url']}"
        conf.credentials = f"{USER}:{SECRETS['pip.conf']}"
        netrc.credentials = f"bob:{SECRETS['netrc']}"
        _offer(main, sandbox)
        urls = {
            "index": f"http://{USER}:{quote(SECRETS['index-url'], safe='')}@{main.host}/simple",
            "conf": f"http://{USER}:{SECRETS['pip.conf']}@{conf.host}/simple",
            "netrc": netrc.url.replace("127.0.0.1", "localhost"),
        }
        made = Scene(sandbox, urls)
        _act(made, urls)
        yield made


def _act(scene: Scene, urls: Mapping[str, str]) -> None:
    prefix = ("--prefix", scene.venv.prefix)
    wrong = urls["index"].replace("Zq1", "Zq1-wrong-")
    scene.does("refused by the index", "plan", *prefix, *STOCK, PIP_INDEX_URL=wrong)
    scene.does("plan", "plan", "-o", scene.plan, *prefix, *STOCK)
    scene.does("setup", "apply", "--yes", scene.plan)
    scene.does("pin", "guard", "install", "--yes", "--pin", *prefix)
    scene.does("doctor", "doctor", "--json", "--verbose", *prefix)
    scene.does("inspect", "inspect", "--redact", "--json", *prefix)
    scene.does("list", "rollback", "--list", *prefix)
    channel = f"https://conda.example.org/t/{SECRETS['channel']}/mine"
    scene.does("channel", "setup", "--yes", *prefix, "--channel", channel)
    words = ("build", "-o", scene.sandbox.root / "out", *prefix, "--recipe", "plain", *ONE_LEVEL)
    compiler = str(_telling_compiler(scene.sandbox.root))
    scene.does("build", *words, CC=compiler, **_without_static(scene.sandbox))
    scene.raises()


def _without_static(sandbox: Sandbox) -> dict[str, str]:
    """Write a recipe without static libraries, so that Pillow itself is the first to be compiled."""
    text = (recipes_directory() / "pillow.toml").read_text(encoding="utf-8")
    static = text[text.index("[libraries.zlib.static]") : text.index("[libraries.tiff]")]
    return sandbox.recipe("plain", (static, ""), of="pillow")


def _telling_compiler(root: Path) -> Path:
    """Write a compiler that prints its environment variables and fails at Pillow's first source file."""
    script = root / "cc-that-tells"
    script.write_text('#!/bin/sh\ncase "$*" in *" -c src/"*) env >&2; exit 1;; esac\nexec cc "$@"\n')
    script.chmod(0o755)
    return script


def test_everything_was_done_with_the_secrets_in_use(scene: Scene) -> None:
    codes = {name: result.exit_code for name, result in scene.said.items()}
    expected = {"refused by the index": 6, "plan": 0, "setup": 0, "pin": 0, "doctor": 0, "inspect": 0, "list": 0}
    assert codes == {**expected, "channel": 2, "build": 6, "bug": 1}, {
        name: each.stderr[-600:] for name, each in scene.said.items()
    }


def test_the_name_of_the_environment_was_carried_out_by_no_shell(scene: Scene) -> None:
    assert [path for path in scene.sandbox.root.rglob("pwned*") if path.name == "pwned"] == []
    hint = next(line for line in scene.said["plan"].stderr.splitlines() if "apply --yes" in line)
    assert shlex.split(hint[hint.index("fastinstall ") :]) == ["fastinstall", "apply", "--yes", str(scene.plan)]


def test_no_secret_is_said(scene: Scene) -> None:
    for doing, result in scene.said.items():
        for name, secret in SECRETS.items():
            for form in _forms(secret):
                assert form not in result.text.encode(), f"{doing} says {name}"


def test_no_secret_is_written_and_planted_ones_are_found(scene: Scene) -> None:
    home = scene.sandbox.root / "home"
    planted = {home / ".config" / "pip" / "pip.conf": {"pip.conf"}, home / ".netrc": {"netrc"}}
    found: dict[Path, set[str]] = {}
    for path in _written(scene.sandbox.root):
        for name, secret in SECRETS.items():
            if any(form in content for content in _contents(path) for form in _forms(secret)):
                found.setdefault(path, set()).add(name)
    assert found == planted


def test_what_is_shown_is_still_of_use(scene: Scene) -> None:
    assert "http://127.0.0.1:" in scene.said["refused by the index"].stderr
    assert "401" in scene.said["refused by the index"].stderr
    assert "--channel" in scene.said["channel"].stderr
    assert "https://conda.example.org/t/***/mine" in scene.said["channel"].stderr
    assert "https://***@host/simple and ***" in scene.said["bug"].stderr


def test_shareable_output_names_no_home_user_or_machine(scene: Scene) -> None:
    shared = scene.said["inspect"].stdout
    for word in (str(scene.sandbox.root / "home"), USER, os.uname().nodename):
        assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", shared)
    logs = list((scene.sandbox.root / "home" / ".local" / "state" / "fastinstall" / "log").iterdir())
    assert len(logs) == len(scene.said)
    for log in logs:
        assert str(scene.sandbox.root / "home") not in log.read_text("utf-8")


def test_a_compiler_gets_no_secret(scene: Scene) -> None:
    """The scene's compiler prints its environment variables, so the build's log shows what it got."""
    logs = [path.read_text("utf-8") for path in _written(scene.sandbox.root / "cache" / "logs")]
    assert any(re.search(r"^\s*PATH=", text, re.MULTILINE) for text in logs)
    for name in (*BY_VARIABLE, "PIP_INDEX_URL"):
        assert not any(re.search(rf"^\s*{name}=", text, re.MULTILINE) for text in logs), name


def _written(root: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(root):
        yield from (
            path for path in (Path(directory, name) for name in names) if path.is_file() and not path.is_symlink()
        )


@cache
def _contents(path: Path) -> tuple[bytes, ...]:
    """Return the content of a file, and of its members if it is a zip archive."""
    if not zipfile.is_zipfile(path):
        return (path.read_bytes(),)
    with zipfile.ZipFile(path) as archive:
        return (path.read_bytes(), *(archive.read(name) for name in archive.namelist() if not name.endswith("/")))


def _is_of_these(filename: str) -> bool:
    parsed = parse_filename(filename)
    return parsed is not None and parsed.name in PROJECTS
