"""Runs inside a target: loads images by one adapter and times it. Standard library only, Python 3.8 or later.

    python -I -B _loading.py

Lines of JSON in, a line of JSON out for each. The first line is the job:

    {"site": [DIR...], "adapter": NAME, "loader": "FILE:FUNCTION" or "", "images": [PATH...],
     "store": {"kind": KIND, "path": PATH} or null,
     "wanted": {"shorter": 256, "crop": 224, "filter": "bilinear", "tensor": true}}

`site` goes in front of the path. Answer: `{"ready": true, "versions": {...}, "numpy": B, "torch": B, "images": N}`,
or `{"missing": MODULE}`, `{"unsuited": WHY}` or `{"error": TEXT}`, after which the program ends. Then:

    {"do": "measure", "seconds": S, "cold": false}   {"ms": M, "stages": {NAME: MS}, "images": N, "passes": P,
                                                      "peak_bytes": B, "failed": {INDEX: TEXT}, "was_cold": ...}
    {"do": "arrays", "indexes": [I...]}              {"arrays": [{"shape": [H, W, 3], "data": BASE64}, ...]}
    {"do": "pool", "workers": N, ...}                what `_pool.rate` gives
    {"do": "end"}                                    ends it

M is the mean over the images of the median over the passes, and each stage likewise; the passes that fit into S
seconds, at least one. An image that fails is named and counted nowhere else.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import resource
import statistics
import sys
from time import perf_counter
from typing import Any, Callable, Dict, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
Stages = List[Tuple[str, Callable[[Any], Any]]]


def main() -> None:
    answers = own_stdout()
    job = json.loads(sys.stdin.readline())
    try:
        pipeline = Pipeline(job)
        greeting = pipeline.greeting()
    except Unsuited as reason:
        greeting = reason.answer
    except Exception as error:  # noqa: BLE001 (whatever a package raises is an answer)
        greeting = {"error": text_of(error)}
    say(answers, greeting)
    if "ready" not in greeting:
        return
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "end":
            return
        try:
            say(answers, VERBS[request["do"]](pipeline, request))
        except Exception as error:  # noqa: BLE001 (likewise)
            say(answers, {"error": text_of(error)})


class Unsuited(Exception):
    """This way of loading cannot run here."""

    def __init__(self, answer: Dict[str, Any]) -> None:
        super().__init__(str(answer))
        self.answer = answer


class Pipeline:
    """Images, and what is done to each. Made anew in every worker, from the same job."""

    def __init__(self, job: Dict[str, Any]) -> None:
        self.job = job
        sys.path[:0] = [each for each in job.get("site", []) if each not in sys.path]
        self.numpy = importlib.util.find_spec("numpy") is not None
        self.torch = bool(job["wanted"].get("tensor")) and importlib.util.find_spec("torch") is not None
        self.source = source_of(job)
        self.versions: Dict[str, str] = {}
        self.stages = self._own() if job.get("loader") else self._adapted()
        if self.torch:
            self.stages.append(("tensor", to_tensor()))

    def greeting(self) -> Dict[str, Any]:
        return {
            "ready": True,
            "versions": self.versions,
            "numpy": self.numpy,
            "torch": self.torch,
            "images": len(self.source),
        }

    def _own(self) -> Stages:
        name, _, function = self.job["loader"].rpartition(":")
        load = getattr(module_of("fastinstall_loader", name), function)
        return [("decode", load)]

    def _adapted(self) -> Stages:
        adapter = adapter_of(self.job["adapter"])
        for module in adapter.MODULES:
            if importlib.util.find_spec(module) is None:
                raise Unsuited({"missing": module})
        trouble = adapter.trouble() if hasattr(adapter, "trouble") else ""
        if trouble:
            raise Unsuited({"unsuited": trouble})
        found: Stages = adapter.stages({**self.job["wanted"], "array": self.numpy})
        self.versions = adapter.versions()
        return [("read", self.source.read), *found]

    def first(self, index: int) -> Any:
        """What the first stage is given for an image."""
        return self.source.path(index) if self.job.get("loader") else index

    def load(self, index: int) -> Any:
        value = self.first(index)
        for _, function in self.stages:
            value = function(value)
        return value

    def timed(self, index: int) -> List[float]:
        """Seconds of each stage, for one image."""
        value, times = self.first(index), []
        for _, function in self.stages:
            start = perf_counter()
            value = function(value)
            times.append(perf_counter() - start)
        return times


class Files:
    """Images in files of their own."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def path(self, index: int) -> str:
        return self.paths[index]

    def read(self, index: int) -> bytes:
        with open(self.paths[index], "rb", buffering=0) as stream:
            return stream.read()


def source_of(job: Dict[str, Any]) -> Any:
    if job.get("store"):
        return sibling("_storage").open_store(job["store"]["kind"], job["store"]["path"])
    return Files(job["images"])


def adapter_of(name: str) -> Any:
    """One of `adapters/`, as a module of a package of its own, so that it can import its neighbours."""
    package = "fastinstall_adapters"
    if package not in sys.modules:
        place = os.path.join(HERE, "adapters")
        spec = importlib.util.spec_from_file_location(
            package, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
        )
        made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
        sys.modules[package] = made
    return importlib.import_module("%s.%s" % (package, name.replace("-", "_")))


def sibling(name: str) -> Any:
    """A module beside this one: `-I` keeps its directory off the path."""
    return sys.modules.get(name) or module_of(name, os.path.join(HERE, name + ".py"))


def module_of(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # a path always has one
    sys.modules[name] = made
    spec.loader.exec_module(made)  # type: ignore[union-attr]  # likewise
    return made


def to_tensor() -> Callable[[Any], Any]:
    """What torchvision's ToTensor does: channels first, numbers from 0 to 1."""
    import torch

    def convert(array: Any) -> Any:
        return torch.tensor(array).permute(2, 0, 1).contiguous().to(torch.float32).div(255)

    return convert


def measure(pipeline: Pipeline, request: Dict[str, Any]) -> Dict[str, Any]:
    cold, was_cold = bool(request.get("cold")), None
    times: Dict[int, List[List[float]]] = {}
    failed: Dict[str, str] = {}
    start, passes = perf_counter(), 0
    while passes == 0 or perf_counter() - start < request["seconds"]:
        if cold:
            was_cold = sibling("_cache").drop(pipeline.source)
        for index in range(len(pipeline.source)):
            if str(index) in failed:
                continue
            try:
                times.setdefault(index, []).append(pipeline.timed(index))
            except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
                failed[str(index)] = text_of(error)
                times.pop(index, None)
        passes += 1
    medians = [[statistics.median(each) for each in zip(*rows)] for rows in times.values()]
    names = [name for name, _ in pipeline.stages]
    means = {name: 1000 * statistics.fmean(column) for name, column in zip(names, zip(*medians))}
    return {
        "ms": sum(means.values()),
        "stages": means,
        "images": len(medians),
        "passes": passes,
        "peak_bytes": peak_bytes(),
        "failed": failed,
        "was_cold": was_cold,
    }


def arrays(pipeline: Pipeline, request: Dict[str, Any]) -> Dict[str, Any]:
    return {"arrays": [described(pipeline.load(index)) for index in request["indexes"]]}


def described(value: Any) -> Dict[str, Any]:
    if hasattr(value, "detach"):  # a tensor: back to what it was made of
        value = value.mul(255).round().permute(1, 2, 0).byte().numpy()
    data = value if isinstance(value, bytes) else value.tobytes()
    shape = [len(value)] if isinstance(value, bytes) else list(value.shape)
    return {"shape": shape, "data": base64.b64encode(data).decode()}


def pool(pipeline: Pipeline, request: Dict[str, Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = sibling("_pool").rate(pipeline, request)
    return found


VERBS = {"measure": measure, "arrays": arrays, "pool": pool}


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def own_stdout() -> Any:
    """Our stdout for ourselves: what a library prints there goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def say(answers: Any, value: Dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def text_of(error: BaseException) -> str:
    return "%s: %s" % (type(error).__name__, error)


if __name__ == "__main__":
    main()
