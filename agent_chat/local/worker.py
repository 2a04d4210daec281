"""The process that runs llama.cpp. Started by path; it imports nothing of this package.

A process of its own because llama.cpp's binding holds the interpreter's lock for as long as a model loads,
which would freeze the screen for seconds; and because a model that the system kills for its memory then
takes nothing else with it.

Protocol, one JSON object a line. In: first the settings, then requests, `{"request": {...}, "state": PATH}`,
or `{"stop": true}` for the one that runs. A request may have a `lines_schema`, a JSON Schema to which every
line of the answer is held, and a state, a file of what was evaluated before. Out: `{"ready": true}` or
`{"failed": WHY}`; then for each request its chunks, `{"raised": WHY}` when it was refused, and
`{"end": true}`. End of input ends the process.
"""

import http.client
import importlib
import json
import os
import queue
import re
import signal
import sys
import threading
import zlib
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit


class Worker:
    """Runs requests one after the other, in the main thread; another thread reads what comes in."""

    def __init__(self, lines: BinaryIO, out: BinaryIO) -> None:
        self._lines = lines
        self._out = out
        self._requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._stop = threading.Event()

    def run(self) -> None:
        settings = json.loads(self._lines.readline())
        self._key = settings["api_key"]
        try:
            self._server = start_server(settings)
        except Exception as error:  # whatever it is, the other side has to hear of it
            self._say({"failed": str(error)})
            return
        self._say({"ready": True})
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            job = self._requests.get()
            self._answer(job["request"], job.get("state"))

    def _read(self) -> None:
        for line in self._lines:
            message = json.loads(line)
            if "stop" in message:
                self._stop.set()
            else:
                self._stop.clear()
                self._requests.put(message)
        os._exit(0)  # nobody is there any more; what runs is of no use

    def _answer(self, request: dict[str, Any], state: str | None) -> None:
        restored = state is not None and self._restore(Path(state))
        finished = False

        def on_chunk(chunk: dict[str, Any]) -> bool:
            nonlocal finished
            # A chunk with the usage alone may follow the one that ends it.
            finished = finished or bool(chunk.get("choices") and chunk["choices"][0].get("finish_reason"))
            self._say(chunk)
            return self._stop.is_set()

        try:
            if schema := request.pop("lines_schema", None):
                request["grammar"] = lines_grammar(schema)
            self._server.handle_chat_completions(request, on_chunk)
        except (RuntimeError, ValueError, TypeError) as error:
            self._say({"raised": str(error)})
        if state is not None and finished and not restored:
            self._save(Path(state))
        self._say({"end": True})

    def _restore(self, state: Path) -> bool:
        # llama.cpp aborts on a damaged state, so each carries its checksum in its name.
        for file in state.parent.glob(f"{state.name}-*"):
            if file.name == f"{state.name}-{checksum(file)}":
                os.utime(file)  # what was used last is kept longest
                return self._slot("restore", file.name)
            file.unlink(missing_ok=True)
        return False

    def _save(self, state: Path) -> None:
        draft = state.with_name(f"{os.getpid()}.new")
        try:
            if self._slot("save", draft.name):
                draft.replace(state.with_name(f"{state.name}-{checksum(draft)}"))
        except OSError:
            draft.unlink(missing_ok=True)

    def _slot(self, action: str, file: str) -> bool:
        """Save or restore what the model has evaluated. It only saves time: False when it does not work."""
        address = urlsplit(str(self._server.listening_address))
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            connection.request(
                "POST",
                f"/slots/0?action={action}",
                json.dumps({"filename": file}),
                {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
            )
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _say(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message).encode() + b"\n")
        self._out.flush()


def checksum(file: Path) -> str:
    value = 0
    with file.open("rb") as data:
        while piece := data.read(1024 * 1024):
            value = zlib.crc32(piece, value)
    return f"{value:08x}"


def lines_grammar(schema: dict[str, Any]) -> str:
    """A grammar of one to eight lines, each a JSON value that fits `schema`."""
    llama: Any = importlib.import_module("xllamacpp")
    grammar: str = llama.json_schema_to_grammar(schema)
    if grammar.startswith("%llguidance"):
        return grammar.replace("start: ", 'start: line ("\\n" line){0,7}\nline: ', 1)
    return re.sub(
        r"^root ::=", r'root ::= line ("\\n" line){0,7}\nline ::=', grammar, count=1, flags=re.MULTILINE
    )


def start_server(settings: dict[str, Any]) -> Any:
    llama: Any = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["n_ctx"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = settings["n_batch"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["n_threads"]
    params.sampling.temp = 0
    params.verbosity = 0
    # It always opens a listener; nobody but this process is to use it.
    params.hostnames, params.port, params.ui, params.api_keys = ["127.0.0.1"], 0, False, [settings["api_key"]]
    params.chat_template = settings["chat_template"]
    params.cache_ram_mib = settings["cache_mib"]
    params.slot_save_path = settings["state_folder"]
    return llama.Server(params)


def main() -> None:
    # Ctrl-C in the terminal is for the program, which then stops what is to be stopped.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints does not get into the protocol
    try:
        Worker(sys.stdin.buffer, out).run()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
