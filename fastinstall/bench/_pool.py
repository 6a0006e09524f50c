"""How many images a second arrive from worker processes. Runs in the target: standard library only, Python 3.8 on.

The workers belong to a process of their own, `_pool_main.py`, which imports what the pipeline needs and never loads an
image itself, as a training script does. From a process that has loaded some, workers could not be forked safely: what
has started threads in it (OpenCV, libvips, OpenMP) may wait for ever for them in its children.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, Dict

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_pool_main.py")
LIMIT = 120.0
"""Seconds until a request that does not say so is given up."""


def rate(pipeline: Any, request: Dict[str, Any]) -> Dict[str, Any]:
    """Load images by workers, over and over, and count the batches as they arrive.

    Args:
        pipeline: whose `job` the workers take up.
        request: `workers` (0: in the process itself), `start` ("none", "fork", "spawn"), `seconds` to count, `batch`
            images a batch, `cold` (one pass over files that were put out of the page cache),
            `images` (indexes; all of them if there is none), `limit` in seconds, `last` (nothing more is asked).

    Returns:
        `images_per_second` once every worker has given its first batch, `images` that were counted,
        `first_batch_seconds`, `peak_bytes` of all processes, `engine` ("torch": its DataLoader, where tensors are made;
        else "own") and `failed` (index of an image to
        what was wrong with it); or `error`.
    """
    if not hasattr(pipeline, "pool"):
        pipeline.pool = Main(pipeline.job)
    found: Dict[str, Any] = pipeline.pool.ask({"limit": LIMIT, **request})
    if request.get("last"):
        pipeline.pool.end()
        del pipeline.pool
    return found


class Main:
    """The process whose workers are measured."""

    def __init__(self, job: Dict[str, Any]) -> None:
        stdin, requests = os.pipe()
        answers, stdout = os.pipe()
        words = [sys.executable, "-I", "-B", PROGRAM]
        moves = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)]
        self.pid = os.posix_spawn(sys.executable, words, os.environ, file_actions=moves)
        os.close(stdin)
        os.close(stdout)
        self.requests = os.fdopen(requests, "w", encoding="utf-8")
        self.answers = os.fdopen(answers, "r", encoding="utf-8")
        self.trouble = self._send_request(job).get("error", "")

    def ask(self, request: Dict[str, Any]) -> Dict[str, Any]:
        if self.trouble:
            return {"error": self.trouble}
        found = self._send_request(request)
        if found.get("ended"):
            self.trouble = found["error"]
        return found

    def _send_request(self, value: Dict[str, Any]) -> Dict[str, Any]:
        try:
            self.requests.write(json.dumps(value) + "\n")
            self.requests.flush()
        except OSError:
            pass  # it went away: its end says how
        line = self.answers.readline()
        if line:
            found: Dict[str, Any] = json.loads(line)
            return found
        return {"error": "the process that starts the workers %s" % self.end(), "ended": True}

    def end(self) -> str:
        """Wait for its end, which comes when nobody asks any more, and tell how it was."""
        if not self.requests.closed:
            self.requests.detach().close()
            self.answers.close()
            _, self.status = os.waitpid(self.pid, 0)
        return ending(self.status)


def ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return "was killed by %s" % signal.Signals(os.WTERMSIG(status)).name
    return "ended with exit code %d" % os.WEXITSTATUS(status)
