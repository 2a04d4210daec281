"""The only place that imports LiteLLM: late, once, silently, and without a look at the network.

The import takes seconds of CPU and some 200 MB, so it happens when a model first needs it, or ahead of
that in a thread of its own while the user types.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import warnings
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

_SILENT = logging.CRITICAL + 1
_lock = threading.Lock()
_loading: Future[Any] | None = None


def start_loading() -> Future[Any]:
    """Begins the import in the background, unless it has begun. The thread never delays the program's end."""
    global _loading
    with _lock:
        if _loading is None:
            _loading = Future()
            threading.Thread(target=_fulfil, args=(_loading,), name="load-litellm", daemon=True).start()
        return _loading


async def litellm() -> Any:
    """The module. Cancelling this does not stop the import, and the next call waits for the same one."""
    return await asyncio.shield(asyncio.wrap_future(start_loading()))


def _fulfil(loading: Future[Any]) -> None:
    try:
        loading.set_result(_import())
    except BaseException as error:
        loading.set_exception(error)


def _import() -> Any:
    # Without this LiteLLM fetches a price list while it is imported, and complains where it cannot.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # It makes a million objects that stay: collecting them over and over takes a third of the time, and a
    # later full collection would stop the event loop for 300 ms.
    collecting = gc.isenabled()
    gc.disable()
    try:
        import litellm
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    _configure(litellm)
    return litellm


def _configure(module: Any) -> None:
    module.suppress_debug_info = True
    module.telemetry = False
    module.disable_streaming_logging = True
    module.num_retries = 0
    # Nobody reads its estimates, and loading a tokenizer for them takes half a second.
    module.disable_token_counter = True
    if "LITELLM_LOG" not in os.environ:
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(_SILENT)
    for message in (".*ReadOnly.*", "(?s).*Pydantic serializer warnings.*"):
        warnings.filterwarnings("ignore", message=message, category=UserWarning)


def rehearse(module: Any, model: str) -> None:
    """Goes through a call without a request: the first one takes 200 ms longer than the others."""
    messages = [{"role": "user", "content": "hi"}]
    with suppress(Exception):
        for _ in module.completion(model=model, messages=messages, mock_response="hi", stream=True):
            pass


async def close_connections() -> None:
    """Closes what LiteLLM keeps open; does nothing where it was never loaded."""
    if _loading is None or not _loading.done() or _loading.exception() is not None:
        return
    with suppress(Exception):
        await _loading.result().close_litellm_async_clients()
