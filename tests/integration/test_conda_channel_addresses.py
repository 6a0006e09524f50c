"""Channel names in conda's configuration: the URLs that conda derives, and the requests that py-rattler sends.

Requests to other hosts than this machine go to a proxy, which records the hosts' names and refuses the requests.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.conda.channel import local_channel
from support.conda.packages import CondaPackage, Entry
from support.conda.real_conda import RealConda
from support.index.static_server import serving_files
from support.sandbox import Sandbox, run

from fastinstall.conda.engines.choose import open_rattler
from fastinstall.core.errors import DocumentError, FastinstallError, RefusedError
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.index.run import Run
from fastinstall.observe.conda.channels import channel_settings, channel_urls
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import open_session
from fastinstall.setup.steps.prepare import CondaToolchain

PRIVATE = """\
channel_alias: https://me:pw@conda.example.org/t/tk-1/api
channels: [forge, https://files.example.org/t/tk-2/tools, plain]
custom_channels:
  team: https://team.example.org:8443/conda
  deep/er: https://u:p@deep.example.org/t/tk-3/x/
  relative: team.example.org
  local-files: file:///srv/channels
custom_multichannels:
  bundle:
    - https://one.example.org/a/b
    - two
    - https://conda.example.org/api/three
"""
MIRRORED = """\
default_channels:
  - https://mirror.example.org/pkgs/main  # the first
  - https://$USER:${PASSWORD}@mirror.example.org/pkgs/extra
"""
CASES = {
    "private": PRIVATE,
    "mirrored": MIRRORED,
    "both": PRIVATE + MIRRORED,
    "flow": "{channel_alias: 'https://conda.example.org', custom_channels: {team: https://t.example.org}}",
    "anchors": "x: &x https://conda.example.org/a\nchannel_alias: *x\ncustom_channels: {team: *x}\n",
}
CHANNELS = (
    *("forge", "forge/label/dev", "team", "team/sub", "teams", "deep/er", "deep/er/sub", "deep", "relative", "plain"),
    *("local-files", "bundle", "two", "a/b", "https://team.example.org:8443/conda/team"),
    *("https://conda.example.org/api/forge", "https://conda.example.org/api/forge/noarch"),
    *("https://elsewhere.example.org/forge", "https://deep.example.org/x/deep/er/more", "file:///srv/other"),
)


pytest_plugins = ("support.conda.fixtures",)

_CONDAS = """
import json, sys
from conda.base.context import reset_context
from conda.models.channel import Channel
found = {}
for file in sys.argv[2:]:
    reset_context((file,))
    channels = json.loads(sys.argv[1])
    found[file] = {each: Channel(each).urls(with_credentials=True, subdirs=("noarch",)) for each in channels}
print(json.dumps(found))
"""


def test_a_name_is_where_conda_takes_it_to_be(conda: RealConda, sandbox: Sandbox) -> None:
    known = {"USER": "me", "PASSWORD": "secret", "HOME": str(sandbox.root)}
    files = {name: sandbox.root / f"{name}.yml" for name in CASES}
    for name, text in CASES.items():
        files[name].write_text(text)
    done = run((conda.python, "-c", _CONDAS, json.dumps(CHANNELS), *files.values()), {**conda.variables, **known})
    assert done.exit_code == 0, done.text
    told = json.loads(done.stdout)
    public = str(told[str(files["mirrored"])]["plain"][0]).removesuffix("plain/noarch")
    for name, file in files.items():
        settings = channel_settings({**known, "CONDARC": str(file)}, sandbox.root / "none", None)
        ours = {each: [f"{url}/noarch" for url in channel_urls((each,), settings)] for each in CHANNELS}
        absolute = {each: [url if "://" in url else public + url for url in urls] for each, urls in ours.items()}
        assert absolute == told[str(file)], name


@contextmanager
def _noting_proxy() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        def do_GET(self) -> None:
            self.do_CONNECT()

        def log_message(self, *_arguments: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def _variables(sandbox: Sandbox, proxy: str, condarc: str) -> dict[str, str]:
    file = sandbox.root / "settings.yml"
    file.write_text(condarc)
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy)
    return sandbox.variables({"CONDARC": str(file), **proxies, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"})


def _private_channel(sandbox: Sandbox, path: str) -> None:
    package = CondaPackage(
        name="private-tool",
        version="1.0",
        build="0",
        noarch="generic",
        files={"etc/private-tool": Entry(data=b"private\n")},
    )
    local_channel(sandbox.root / "served" / path, package)


@pytest.mark.parametrize(
    ("condarc", "path", "name"),
    [
        ("channel_alias: {url}/t/tk-1/api\n", "api/t/tk-1/team", "team"),
        ("custom_channels:\n  team: {url}/t/tk-1\n", "t/tk-1/team", "team"),
        ("custom_channels: {{'team/inner': '{url}/x'}}\n", "x/team/inner", "team/inner"),
        ("custom_multichannels:\n  bundle:\n    - {url}/one\n", "one", "bundle"),
        ("default_channels: ['{url}/main']\n", "main", "defaults"),
        ("mirrored_channels: {{team: ['{url}/mirror']}}\n", "mirror", "team"),
        ("channels: ['{url}/t/tk-1/team']\n", "t/tk-1/team", "{url}/team"),
    ],
)
def test_py_rattler_asks_the_private_server_and_no_public_one(
    sandbox: Sandbox, condarc: str, path: str, name: str
) -> None:
    _private_channel(sandbox, path)
    with _noting_proxy() as (proxy, afar), serving_files(sandbox.root / "served") as server:
        variables = _variables(sandbox, proxy, condarc.format(url=server.url))
        engine = open_rattler(variables, sandbox.root / "cache")
        prefix = sandbox.root / "made"
        engine.create(prefix, ("private-tool",), (name.format(url=server.url),))
        assert (prefix / "etc/private-tool").read_bytes() == b"private\n"
        assert afar == []
        assert {each.rpartition("/")[0].rpartition("/")[0] for each in server.asked} == {f"/{path}"}
    assert "tk-1" not in "".join(file.read_text() for file in prefix.glob("conda-meta/*.json"))
    assert (sandbox.root / "cache/repodata").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("condarc", "error", "words"),
    [
        ("allowlist_channels: [others]\n", RefusedError, "forbids py-rattler a channel"),
        ("channel_alias: {url}\ndenylist_channels: [team]\n", RefusedError, "forbids py-rattler a channel"),
        ("channel_alias: [\n", DocumentError, r"settings\.yml: .*not YAML: .* line 2"),
    ],
)
def test_a_forbidden_channel_or_bad_condarc_is_refused_by_name(
    sandbox: Sandbox, condarc: str, error: type[FastinstallError], words: str
) -> None:
    with _noting_proxy() as (proxy, afar):
        variables = _variables(sandbox, proxy, condarc.format(url="http://127.0.0.1:9"))
        engine = open_rattler(variables, sandbox.root / "cache")
        with pytest.raises(error, match=words):
            engine.create(sandbox.root / "made", ("private-tool",), ("team",))
        assert afar == []


def test_a_private_servers_toolchain_is_not_reused_for_another(sandbox: Sandbox) -> None:
    _private_channel(sandbox, "t/tk-1/team")
    step = CondaToolchain(channels=("team",), packages=("private-tool",), libraries=(), reason="of the test")
    with _noting_proxy() as (proxy, afar), serving_files(sandbox.root / "served") as server:
        for place in ("", "/t/tk-1"):
            (sandbox.root / "served/team").unlink(missing_ok=True)
            (sandbox.root / "served/team").symlink_to("t/tk-1/team")
            variables = _variables(sandbox, proxy, f"custom_channels: {{team: '{server.url}{place}'}}\n")
            step.fetch(_workshop(sandbox, variables))
        variables = _variables(sandbox, proxy, f"channel_alias: {server.url}/none\n")
        with pytest.raises(FastinstallError):
            # this must not use the cached toolchain, which comes from another channel
            step.fetch(_workshop(sandbox, variables))
    assert afar == []
    assert len(list((sandbox.root / "cache/toolchains").glob("*/conda-meta"))) == 1


def _workshop(sandbox: Sandbox, variables: dict[str, str]) -> Run:
    session = open_session({**variables, "FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")})
    return Run(
        session=session,
        recipe=recipe_named(session, "pillow-fast"),
        index=PackageIndex(settings=PipSettings(), wheelhouse=None, offline=False, cache=session.directories.cache),
        cache=session.directories.cache,
        cpu=observe_cpu(allowed_cores=1, tunables=""),
    )
