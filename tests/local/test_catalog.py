import re
from pathlib import Path

import pytest

from agent_chat.local.catalog import CATALOG, HubSource, WheelSource, default_entry, is_local, resolve
from agent_chat.local.errors import LocalModelError

GIB = 1024**3


@pytest.mark.parametrize("name", list(CATALOG))
def test_an_entry_is_found_with_and_without_its_prefix(name: str) -> None:
    assert resolve(f"local/{name}") is CATALOG[name]
    assert resolve(name.upper()) is CATALOG[name]


@pytest.mark.parametrize("entry", CATALOG.values(), ids=list(CATALOG))
def test_an_entry_has_a_full_hash_and_the_hub_before_the_wheels(entry: object) -> None:
    entry = CATALOG[getattr(entry, "name")]  # noqa: B009
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
    hub, wheels = entry.sources
    assert isinstance(hub, HubSource)
    assert hub.url.endswith(entry.file_name)
    assert isinstance(wheels, WheelSource)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", requirement) for requirement in wheels.requirements)


def test_a_file_of_the_user_is_a_path() -> None:
    assert resolve("local:/models/mine.gguf") == Path("/models/mine.gguf")
    assert resolve("local:~/mine.gguf") == Path.home() / "mine.gguf"


def test_an_unknown_name_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(LocalModelError) as caught:
        resolve("local/qwen2.5-coder-15b")
    assert "'qwen2.5-coder-15b'" in caught.value.message
    assert "Did you mean local/qwen2.5-coder-1.5b?" in caught.value.hint
    assert all(f"local/{name}" in caught.value.hint for name in CATALOG)


def test_a_file_name_that_is_empty_is_an_error() -> None:
    with pytest.raises(LocalModelError, match="names no file"):
        resolve("local:")


@pytest.mark.parametrize(
    ("model", "local"),
    [("local/x", True), ("local:/x", True), ("openai/local", False), ("localhost/x", False)],
)
def test_what_is_local(model: str, local: bool) -> None:
    assert is_local(model) is local


@pytest.mark.parametrize(
    ("memory", "disk", "name", "reason"),
    [
        (8 * GIB, 8 * GIB, "qwen2.5-coder-1.5b", "default"),
        (None, None, "qwen2.5-coder-1.5b", "default"),
        (GIB, 8 * GIB, "qwen2.5-coder-0.5b", "memory is short: 1.0 GiB available"),
        (8 * GIB, GIB, "qwen2.5-coder-0.5b", "free disk space is short: 1.0 GiB available"),
    ],
)
def test_the_default_fits_the_machine(memory: int | None, disk: int | None, name: str, reason: str) -> None:
    entry, why = default_entry(memory, disk)
    assert entry.name == name
    assert reason in why
