"""Secrets in texts, addresses and variables are hidden; everything else remains readable."""

import base64
import json
import time

import pytest

from fastinstall.core.secrets import (
    find_secret_values,
    has_credentials,
    is_secret_name,
    public_text,
    redact_text,
    remove_credentials,
    remove_secret_variables,
)

HIDDEN = [
    ("https://user:hunter22@host/simple", "https://***@host/simple"),
    ("https://user:p%40ss@host:8080/simple/x/#sha256=00", "https://***@host:8080/simple/x/#sha256=00"),
    ("from https://user:p@ss@host/simple: 401", "from https://***@host/simple: 401"),
    ("https://user:pa/ss@host/simple", "https://***@host/simple"),
    ("https://tok3n@host/", "https://***@host/"),
    ("http://u:pw@[::1]:8080/simple", "http://***@[::1]:8080/simple"),
    ("'https://u:p'w@host/'", "'https://***@host/'"),
    ("socks5://u:pw@proxy:1080", "socks5://***@proxy:1080"),
    ("user:password@host.example/simple", "***@host.example/simple"),
    ("user:password@localhost:80/", "***@localhost:80/"),
    ("git+https://x-access-token:abc@host/r.git", "git+https://***@host/r.git"),
    ("https://conda.example.org/t/ab-123/chan/linux-64", "https://conda.example.org/t/***/chan/linux-64"),
    ("conda.example.org/t/ab-123/chan", "conda.example.org/t/***/chan"),
    ("https://h/x.whl?token=abc&x=1", "https://h/x.whl?token=***&x=1"),
    ("https://h/x?X-Amz-Signature=dead&X-Amz-Credential=q%2Fx", "https://h/x?X-Amz-Signature=***&X-Amz-Credential=***"),
    ("https://h/?sv=1&sig=abc%3D", "https://h/?sv=1&sig=***"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: ***"),
    ("{'Authorization': 'Bearer abcdefghi1'}", "{'Authorization': '***'}"),
    ("Proxy-Authorization: x y z", "Proxy-Authorization: ***"),
    ("X-Api-Key: 0123", "X-Api-Key: ***"),
    ("Set-Cookie: session=0123; path=/", "Set-Cookie: ***"),
    ("sent Bearer abc.def-123", "sent Bearer ***"),
    ("PIP_PASSWORD=hunter22", "PIP_PASSWORD=***"),
    ("export UV_INDEX_X_PASSWORD='a b c'; pip", "export UV_INDEX_X_PASSWORD=***; pip"),
    ('password = "x y"', "password = ***"),
    ('{"api_key": "x \\" y", "host": "h"}', '{"api_key": "***", "host": "h"}'),
    ("password: hunter2", "password: ***"),
    ("pip --token abc --x", "pip --token *** --x"),
    ("--password=abc", "--password=***"),
    ("machine h login u password hunter2", "machine h login u password ***"),
    ("machine h\n  login u\n  password hunter2\n", "machine h\n  login u\n  password ***\n"),
    ("ghp_0123456789abcdefghij", "***"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.abc", "***"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "***\nrest"),
]

KEPT = [
    "http://host:8080/a@b",
    "https://host/pkg@1.2",
    "git@host.example:org/repo",
    "/srv/t/abc/file",
    "basic operations, design keys, cookies",
    "file.c:12: error: expected token: ')'",
    "jpeg_std_error@@LIBJPEG_6.2",
    "fastinstall doctor --fix --prefix /a/b@c",
    "pillow @ file:///x/pillow-13.0.0.whl",
    "settings.toml: levels[0].key: unknown key; known here: a, b",
    "https://host/simple/pillow/#sha256=00",
    "a line\nanother line\n",
    "",
]


@pytest.mark.parametrize(("text", "shown"), HIDDEN)
def test_a_secret_is_hidden_and_what_stands_around_it_stays(text: str, shown: str) -> None:
    assert redact_text(text) == shown
    assert redact_text(shown) == shown
    assert has_credentials(text)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text
    assert not has_credentials(text)


def test_a_document_stays_one() -> None:
    data = {"url": "https://u:p@h/", "password": 'a"b\\', "list": ["TOKEN=x,y", "Authorization: Basic abc="], "n": 1}
    shown = json.loads(redact_text(json.dumps(data, indent=2)))
    assert shown == {"url": "https://***@h/", "password": "***", "list": ["TOKEN=***,y", "Authorization: ***"], "n": 1}


def test_values_of_secret_variables_are_known_in_every_form() -> None:
    variables = {
        "UV_INDEX_MINE_PASSWORD": "päss wörd/9",
        "PIP_INDEX_URL": "https://me:s3cr3t%40t@host/simple",
        "GITHUB_TOKEN": "abcdef0123",
        "GOOGLE_APPLICATION_CREDENTIALS": "/srv/credentials.json",
        "API_KEY": "short",
        "PATH": "/usr/bin:/bin",
    }
    known = find_secret_values(variables)
    basic = base64.b64encode(b"me:s3cr3t@t").decode()
    shown = {
        "a päss wörd/9": "a ***",
        "b p%C3%A4ss%20w%C3%B6rd%2F9": "b ***",
        "c s3cr3t@t": "c ***",
        "d s3cr3t%40t": "d ***",
        f"e {basic}": f"e ***{'=' * basic.count('=')}",
        "f abcdef0123": "f ***",
        "g short": "g short",
    }
    assert {text: redact_text(text, known) for text in shown} == shown
    assert redact_text(" ".join(shown), known) == " ".join(shown.values())
    assert "/srv/credentials.json" not in known
    assert "/usr/bin:/bin" not in known
    assert "Zq-t0ken" in find_secret_values({"UV_INDEX": "mine=https://Zq-t0ken@host/simple"})
    assert find_secret_values({"SOME_TOKEN": "simple", "TOKENIZERS_PARALLELISM": "false-or-true"}) == ()
    assert find_secret_values({"PATH": "/usr/bin", "HOME": "/home/alice", "PWD": "/home/alice"}) == ()


@pytest.mark.parametrize(
    "name",
    [
        "PIP_PASSWORD",
        "UV_INDEX_X_PASSWORD",
        "ANACONDA_API_KEY",
        "TWINE_PASSWORD",
        "GITHUB_TOKEN",
        "MYSQL_PWD",
        "AWS_SECRET_ACCESS_KEY",
        "NPM_AUTH",
        "CONDA_TOKEN",
        "GITLAB_PAT",
        "STORAGE_KEY",
        "DB_PASSPHRASE",
    ],
)
def test_names_that_mean_a_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "PWD", "OLDPWD", "HOME", "USER", "CFLAGS", "KEYBOARD", "SSH_AUTH_SOCK", "PATCH", "TOKENIZERS_CACHE"],
)
def test_names_that_mean_none(name: str) -> None:
    assert not is_secret_name(name)


def test_a_build_gets_no_variable_that_bears_a_secret() -> None:
    variables = {
        "PATH": "/bin",
        "CFLAGS": "-O2 -DX=1",
        "HTTPS_PROXY": "http://u:p@proxy:3128",
        "HTTP_PROXY": "http://proxy:3128",
        "UV_INDEX": "mine=https://t0k@host/simple",
        "GITHUB_TOKEN": "x",
    }
    assert set(remove_secret_variables(variables)) == {"PATH", "CFLAGS", "HTTP_PROXY"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@index.example:8080/simple/x/#sha256=00", "https://index.example:8080/simple/x/"),
        ("https://token@index.example/", "https://index.example/"),
        ("https://user:p%40ss@index.example/a@b", "https://index.example/a@b"),
        ("file:///srv/wheels/a%20b.whl", "file:///srv/wheels/a%20b.whl"),
        ("https://user:pass@[not-an-address/simple", "https://[not-an-address/simple"),
        ("", ""),
    ],
)
def test_credentials_and_fragment_are_dropped_and_nothing_else(url: str, shown: str) -> None:
    assert remove_credentials(url) == shown


def test_a_channel_is_the_same_with_and_without_its_token() -> None:
    assert public_text("https://u:p@h/t/tk-1/chan/linux-64") == "https://h/chan/linux-64"


@pytest.mark.parametrize(
    "text",
    [
        "token" * 10000,
        "--" + "token-" * 10000,
        "://" * 10000 + "@/t/",
        "x-" * 20000 + "-key",
        "a:" * 30000 + "@",
        "?token" * 10000 + "&",
        "machine login" * 5000 + " password",
        " " * 30000 + "password",
        "host." * 20000 + "/t/",
    ],
    ids=lambda text: str(text[:8]),
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    redact_text(text)
    assert time.process_time() - begun < 1.0
