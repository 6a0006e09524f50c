"""Runs inside a target: loads images with one adapter and times it. Standard library only, Python 3.8 or later.

    python -I -B _loading.py

Lines of JSON in, a line of JSON out for each. The first line is the job:

    {"site": [DIR...], "adapter": NAME, "loader": "FILE:FUNCTION" or "",
     "images": [PATH...], "store": {"kind": KIND, "path": PATH} or null,
     "wanted": {"shorter": 256, "crop": 224, "filter": "bilinear", "tensor": true}}

`site` is put at the front of the path. Answer:
`{"ready": true, "versions": {...}}`, or `{"missing": MODULE}`, `{"unsuited": WHY}`
or `{"error": TEXT}`, after which the program ends. Then:

    {"do": "measure", "seconds": S, "cold": false,
     "indexes": null}                                {"ms": M, "least_ms": L, "stages": {NAME: MS},
                                                      "images": N, "passes": P, "peak_bytes": B,
                                                      "failed": {INDEX: TEXT}, "was_cold": ...}
    {"do": "arrays", "indexes": [I...]}              {"arrays": [{"shape": [H, W, 3], "data": BASE64}, ...]}

`_timing.py` explains the figures of a measurement.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from time import perf_counter
from typing import Any, Callable, Dict, Iterable, List, Set, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_TEXT = 400
"""Longest error text, in characters; an error may contain its data."""
Stages = List[Tuple[str, Callable[[Any], Any]]]


def serve(verbs: Dict[str, Callable[[Pipeline, Dict[str, Any]], Dict[str, Any]]]) -> None:
    """Answer requests about a job with these functions."""
    requests, answers = own_stdin(), own_stdout()
    job = json.loads(requests.readline())
    try:
        pipeline = Pipeline(job)
        greeting: Dict[str, Any] = {"ready": True, "versions": pipeline.versions}
    except Unsuited as reason:
        greeting = reason.answer
    except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
        greeting = {"error": text_of(error)}
    say(answers, greeting)
    if "ready" not in greeting:
        return
    for line in requests:
        request = json.loads(line)
        try:
            say(answers, verbs[request["do"]](pipeline, request))
        except Exception as error:  # noqa: BLE001 (likewise)
            say(answers, {"error": text_of(error)})


class Unsuited(Exception):
    """This way of loading cannot run here."""

    def __init__(self, answer: Dict[str, Any]) -> None:
        super().__init__(str(answer))
        self.answer = answer


class Pipeline:
    """Images and their stages. Every worker creates it anew from the same job."""

    def __init__(self, job: Dict[str, Any]) -> None:
        values = sibling("_values")
        self.job = job
        sys.path[:0] = [each for each in job.get("site", []) if each not in sys.path]
        self.numpy = values.works("numpy")
        self.torch = bool(job["wanted"].get("tensor")) and there("torch") and values.torch_works()
        self.source = source_of(job)
        self.versions: Dict[str, str] = {}
        self._known: Set[str] = set()
        self.batches: Any = None
        self.takes_paths = False
        self.stages = self._load_own_stages(values) if job.get("loader") else self._load_adapter_stages(values)
        if self.torch:
            self.stages.append(("tensor", values.to_tensor()))
        values.one_thread()
        values.one_malloc()

    def _load_own_stages(self, values: Any) -> Stages:
        loader = sibling("_loader")
        try:
            load = loader.own_loader(self.job["loader"], len(self.job.get("site", [])))
        except loader.LoaderError as error:
            raise Unsuited({"error": str(error)}) from None
        self.versions = values.versions_of(each for each in loader.KNOWN if each in sys.modules)
        return self._load_in_one_stage(load, values)

    def _load_adapter_stages(self, values: Any) -> Stages:
        adapter = sibling("_storage").member("adapters", self.job["adapter"].replace("-", "_"))
        for module in adapter.MODULES:
            if not there(module):
                raise Unsuited({"missing": module})
        trouble = adapter.trouble() if hasattr(adapter, "trouble") else ""
        if trouble:
            raise Unsuited({"unsuited": trouble})
        self.versions = adapter.versions() if hasattr(adapter, "versions") else values.versions_of(adapter.MODULES)
        wanted = self.job["wanted"]
        if hasattr(adapter, "stages"):
            return [("read", self.source.read), *adapter.stages({**wanted, "array": self.numpy})]
        code: Dict[str, Any] = {"SHORTER": wanted["shorter"], "CROP": wanted["crop"], "FILTER": wanted["filter"]}
        exec(adapter.LOADER, code)  # noqa: S102 (a file of the package)
        if not getattr(adapter, "BATCHED", False):
            return self._load_in_one_stage(code["load"], values)
        finish = values.to_tensor() if self.torch else None
        self.batches, self.torch = sibling("_batches").Batches(code["batches"], self.source, finish), False
        return []

    def _load_in_one_stage(self, load: Callable[[str], Any], values: Any) -> Stages:
        self.takes_paths = True
        return [("decode", load), ("array", values.to_array())]

    def first(self, index: int) -> Any:
        """Return the first stage's input for an image."""
        return self.source.path(index) if self.takes_paths else index

    def text_of(self, error: BaseException) -> str:
        return text_of(error)

    def strangers(self, indexes: Iterable[int]) -> List[int]:
        """Return the first image of each kind that was not loaded yet."""
        found = []
        for index in indexes:
            kind = self.source.suffix(index)
            if kind not in self._known:
                self._known.add(kind)
                found.append(index)
        return found

    def load(self, index: int) -> Any:
        value = self.first(index)
        for _, function in self.stages:
            value = function(value)
        return value

    def timed(self, index: int) -> List[float]:
        """Return the seconds of each stage, for one image."""
        value, times = self.first(index), []
        for _, function in self.stages:
            start = perf_counter()
            value = function(value)
            times.append(perf_counter() - start)
        return times


class Files:
    """Images in separate files."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def path(self, index: int) -> str:
        return self.paths[index]

    def suffix(self, index: int) -> str:
        return os.path.splitext(self.paths[index])[1].lower()

    def read(self, index: int) -> bytes:
        with open(self.paths[index], "rb", buffering=0) as stream:
            return stream.read()


def source_of(job: Dict[str, Any]) -> Any:
    """Return the job's store, opened, or else its files. Raises Unsuited if a module is missing."""
    if job.get("store"):
        storage, kind = sibling("_storage"), job["store"]["kind"]
        if storage.missing(kind):
            raise Unsuited({"missing": storage.missing(kind)})
        return storage.Store(kind, job["store"]["path"])
    return Files(job["images"])


def sibling(name: str) -> Any:
    """Return a module beside this one: `-I` keeps its directory off the path."""
    return sys.modules.get(name) or module_of(name, os.path.join(HERE, name + ".py"))


def module_of(name: str, path: str) -> Any:
    """Import a file under a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # a path always has one
    sys.modules[name] = made
    spec.loader.exec_module(made)  # type: ignore[union-attr]  # likewise
    return made


def there(module: str) -> bool:
    """Return whether a module can be found; only the packages that contain it are imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def measure(pipeline: Pipeline, request: Dict[str, Any]) -> Dict[str, Any]:
    """Time the pipeline, as the request `"do": "measure"` asks; times are in milliseconds."""
    if pipeline.batches:
        batched: Dict[str, Any] = sibling("_batches").measure(pipeline, request, sibling("_timing"))
        return batched
    found: Dict[str, Any] = sibling("_timing").measure(pipeline, request, lambda source: sibling("_cache").drop(source))
    return found


def arrays(pipeline: Pipeline, request: Dict[str, Any]) -> Dict[str, Any]:
    """Load the images that a request names and describe each result: its shape, its data in base64."""
    indexes = request["indexes"]
    pictures = pipeline.batches.pictures(indexes) if pipeline.batches else map(pipeline.load, indexes)
    return {"arrays": list(map(sibling("_values").described, pictures))}


def own_stdin() -> Any:
    """Return stdin for our use; libraries that read stdin find nothing."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return requests


def own_stdout() -> Any:
    """Return stdout for our use; what a library prints goes to stderr.

    Processes forked from this one do not have it, so the end of this process is noticed even if they live on.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.register_at_fork(after_in_child=answers.close)
    return answers


def say(answers: Any, value: Dict[str, Any]) -> None:
    """Write a value as a line of JSON, at once."""
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def text_of(error: BaseException) -> str:
    """Describe an error by class and text, in at most `MOST_TEXT` characters."""
    return ("%s: %s" % (type(error).__name__, error))[:MOST_TEXT]


if __name__ == "__main__":
    serve({"measure": measure, "arrays": arrays})
