"""What the rows share: the scripted provider, a folder of their own, and the number of rounds."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from .processes import clean_environment

_PROVIDER = Path(__file__).parent / "provider.py"


@dataclass(frozen=True, slots=True)
class Bench:
    folder: Path
    """Empty at the start; the rows' own."""
    environ: dict[str, str]
    port: int
    rounds: int

    @property
    def quick(self) -> bool:
        return self.rounds == 1

    def base(self, script: str) -> str:
        """The `api_base` under which the provider answers as `script` says."""
        return f"http://127.0.0.1:{self.port}/{script}/v1"

    def control(self, what: str) -> dict[str, int]:
        """Asks the provider something about itself; gives its counts of requests by path."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/control/{what}", timeout=60) as answer:
            return json.loads(answer.read())

    def requests(self, script: str) -> int:
        """How many requests `script` has had so far."""
        counts = self.control("counts")
        return sum(count for path, count in counts.items() if path.startswith(f"/{script}/"))


@contextmanager
def prepared(rounds: int) -> Generator[Bench]:
    """A bench with a provider that runs while inside."""
    with (
        TemporaryDirectory(prefix="agent-chat-bench-") as name,
        subprocess.Popen(
            [sys.executable, "-S", str(_PROVIDER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as provider,
    ):
        assert provider.stdin is not None
        assert provider.stdout is not None
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        try:
            yield Bench(work, clean_environment(folder / "home"), int(provider.stdout.readline()), rounds)
        finally:
            provider.stdin.close()
