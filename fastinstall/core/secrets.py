"""Recognise and hide secrets in texts, URLs and environment variables. Pure.

Logs, messages, documents and the environment variables of builds all use this module. A redacted text remains useful:
the user and password in a URL become "***", while its host and path stay.

The module cannot find every secret: a password alone in a sentence looks like any other word. But the values of secret
environment variables are known, and are found anywhere in a text.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

HIDDEN = "***"
_LEAST, _WORD = 6, 12
"""Minimum length of a secret value, and of a value with only lower-case letters; shorter ones may be common words."""

_WORDS = r"passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_NAME = re.compile(rf"(?:(?:{_WORDS})s?|(?:^|_)(?:key|pat|auth)|_pwd)(?:_?\d+)?$", re.IGNORECASE)
_SHAPES = ("_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "pypi-", "akia", "xox", "hf_")
_CREDENTIALS = re.compile(r"(?<=//)[^/\s]*@")
_CONDA_TOKEN = re.compile(r"(://[^/\s]+(?:/[^/\s]+)*?)/t/[^/\s]*")


def redact_text(text: str, known: Collection[str] = ()) -> str:
    """Return a text in which credentials of URLs, tokens and other secret values are replaced with "***".

    Args:
        text: any number of lines; JSON remains valid JSON.
        known: the values of secrets, as returned by `find_secret_values`.
    """
    for value in known:
        text = text.replace(value, HIDDEN)
    low = text.lower()
    for hints, pattern, replacement in _RULES:
        if any(hint in low for hint in hints):
            text = _compile_pattern(pattern).sub(replacement, text)
    return text


def find_secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secret values of environment variables, the longest first.

    The result has each value plain, percent-encoded and in base64.
    """
    found = dict.fromkeys(form for value in _list_secret_values(variables) for form in _list_forms(value))
    return tuple(sorted(found, key=len, reverse=True))


def remove_secret_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables without secret ones, for third-party code such as a build."""
    return {name: value for name, value in variables.items() if not (is_secret_name(name) or has_credentials(value))}


def is_secret_name(name: str) -> bool:
    """Return whether a variable with this name holds a secret, such as UV_INDEX_MINE_PASSWORD or GITHUB_TOKEN."""
    return _NAME.search(name) is not None


def has_credentials(text: str) -> bool:
    """Return whether a text contains credentials or another secret."""
    return redact_text(text) != text


def remove_credentials(url: str) -> str:
    """Return a URL without its user name, password and fragment.

    From a malformed URL, only the user name and password are removed.
    """
    from urllib.parse import urlsplit, urlunsplit  # slow to import; doctor handles no URLs

    try:
        parts = urlsplit(url)
    except ValueError:
        return _CREDENTIALS.sub("", url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def public_text(text: str) -> str:
    """Return a text in which credentials and conda tokens are cut out of the URLs, even if they are redacted already.

    >>> public_text("https://user:password@host/t/TOKEN/channel")
    'https://host/channel'

    Source: conda's `url_remove_auth` and `mask_anaconda_token`.
    """
    if "@" not in text and "/t/" not in text:
        return text
    return _CONDA_TOKEN.sub(r"\1", _CREDENTIALS.sub("", text))


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern, once. Patterns are not compiled on import, because most runs of doctor use none of them."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&'"<>]+)"""
_SETTING = rf"(?<![\w.-])(?=[\w.-]*?(?:{_WORDS}))[\w.-]++"  # possessive: no backtracking, even in a long text
_HOST = r"(?:\[[0-9a-f:.]+\]|localhost|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=[:/]))"
_NAMES = ("passw", "passphrase", "secret", "token", "key", "credential")
_RULES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("private key-",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*-----|\Z)", HIDDEN),
    # "user:password@" of a URL. The first rule ends at the last @ before the path. The second one ends at the last @ of
    # the word, unless the text after ":" is a port.
    (("@",), r'(?<=://)[^\s/?#"<>]*@', f"{HIDDEN}@"),
    (("@",), r"""(?<=://)[^\s/:@\['"]+:(?!\d+(?:[/\s'"]|$))[^\s'"]*@""", f"{HIDDEN}@"),
    (("@",), rf"""(?<![\w/@:.%+-])[\w.%+~-]+:[^\s/@:'"]+[^\s/@'"]*@(?={_HOST})""", f"{HIDDEN}@"),
    (("/t/",), r"""((?:://|(?<![\w./-])[\w-]+\.)[^\s'"<>]{0,400}?/t/)[^\s/'"<>]+""", rf"\1{HIDDEN}"),
    (
        ("?", "&"),
        rf"""([?&;][\w.-]*(?:{_WORDS}|signature|auth|sig|key|sas|jwt)[\w-]*=)[^&;\s#'"<>\\]*[^&;\s#'"<>\\:,.)]""",
        rf"\1{HIDDEN}",
    ),
    (
        ("authorization", "-token", "-key", "-auth", "cookie"),
        r"""((?:authorization|private-token|(?<![\w-])x-(?=[\w-]*(?:key|token|auth))[\w-]++|cookie)['"]?\s*[:=]\s*(?:b?['"])?)[^\r\n'"]+""",
        rf"\1{HIDDEN}",
    ),
    (("bearer", "basic"), r"(?-i:\b(Bearer|Basic))\s+(?=\S*[\d=+/_.-])[\w+/=.~-]{8,}", rf"\1 {HIDDEN}"),
    (_NAMES, rf"((?=--){_SETTING} ){_VALUE}", rf"\1{HIDDEN}"),
    (_NAMES, rf"({_SETTING}['\"]?\s*=\s*){_VALUE}", rf"\1{HIDDEN}"),
    (_NAMES, rf"({_SETTING}(['\"])\s*:\s*(['\"]))(?:(?!\3)[^\\]|\\.)*\3", rf"\1{HIDDEN}\3"),
    (_NAMES, rf"^(\s*(?:- )?{_SETTING}:[ \t]+){_VALUE}[ \t]*$", rf"\1{HIDDEN}"),
    (("machine",), r"(\bmachine\s+\S+(?:\s+(?:login|account)\s+\S+)*\s+password\s+)\S+", rf"\1{HIDDEN}"),  # .netrc
    (("password",), r"^(\s*(?:login\s+\S+\s+)?password\s+)\S+[ \t]*$", rf"\1{HIDDEN}"),
    (_SHAPES, r"\b(?:gh[pousr]_|github_pat_|glpat-|pypi-Ag|xox[abprs]-|hf_)[\w-]{16,}|\bAKIA[0-9A-Z]{16}\b", HIDDEN),
    (("eyj",), r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+", HIDDEN),  # RFC 7519
)
"""Each rule: lower-case strings, of which a text must contain one for the rule to apply; a pattern; its replacement."""


def _list_secret_values(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        if is_secret_name(name) and not value.startswith("/"):  # the path of a file with credentials is not secret
            yield value
        for word in value.split() if "@" in value and "://" in value else ():
            yield from _list_userinfo(word)


def _list_userinfo(url: str) -> Iterator[str]:
    """Yield the password of a URL, then its whole user information ("user:password").

    Without a colon, the user information is a token, and counts as the password.
    """
    from urllib.parse import urlsplit  # needed only if a variable has credentials

    try:
        told = urlsplit(url[url.index("//") :]).netloc.rpartition("@")[0]
    except ValueError:
        return
    user, colon, password = told.partition(":")
    yield password if colon else user
    yield told


def _list_forms(value: str) -> Iterator[str]:
    from base64 import b64encode  # needed only if a variable is secret
    from urllib.parse import quote, unquote  # needed only if a variable is secret

    plain = unquote(value)
    for form in (value, plain, quote(plain, safe=""), quote(plain)):
        if len(form) >= (_WORD if form.isalpha() and form.islower() else _LEAST):
            yield form
            yield b64encode(form.encode("utf-8", "surrogateescape")).decode("ascii").rstrip("=")
