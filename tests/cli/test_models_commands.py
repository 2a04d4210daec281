"""`agent-chat models`: what there is, fetching and removing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Place
from typer.testing import CliRunner

from agent_chat.cli.models import app
from agent_chat.core.errors import UserError
from agent_chat.local.catalog import CATALOG

SMALLEST = CATALOG["smollm2-135m"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "models"
    path.mkdir()
    return path


def run(place: Place, folder: Path, *arguments: str, **environ: str | None) -> tuple[str, str]:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"))
    own = {"XDG_CONFIG_HOME": str(place.config_home), "AGENT_CHAT_MODELS_DIR": str(folder)}
    result = CliRunner().invoke(app, arguments, env={**keys, **own, **environ}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def listed(place: Place, folder: Path, **environ: str) -> dict[str, Any]:
    return json.loads(run(place, folder, "list", "--output", "json", **environ)[0])


def put(folder: Path) -> Path:
    """A file of the right size, which is what tells a finished download."""
    path = folder / SMALLEST.file_name
    with path.open("wb") as file:
        file.truncate(SMALLEST.size)
    return path


def test_list_tells_what_is_fetched(place: Place, folder: Path) -> None:
    path = put(folder)

    embedded = {entry["name"]: entry for entry in listed(place, folder)["embedded"]}

    assert set(embedded) == {f"local/{name}" for name in CATALOG}
    assert embedded["local/smollm2-135m"]["path"] == str(path)
    assert embedded["local/smollm2-135m"]["downloaded"] is True
    assert embedded["local/qwen2.5-coder-1.5b"]["downloaded"] is False
    assert [entry["default"] for entry in embedded.values()].count(True) == 1


def test_list_tells_which_keys_are_set_and_never_a_key(place: Place, folder: Path) -> None:
    place.user(
        "model_list:\n  - model_name: mine\n    litellm_params: {model: openai/x, api_key: sk-TEST456}\n"
    )

    listing = listed(place, folder, OPENAI_API_KEY="sk-TEST789")
    text, _ = run(place, folder, "list", OPENAI_API_KEY="sk-TEST789")

    offered = {entry["provider"]: entry for entry in listing["providers"]}
    assert offered["openai"]["key_set"] == "OPENAI_API_KEY"
    assert offered["anthropic"]["key_set"] is None
    assert listing["configured"] == [{"name": "mine", "model": "openai/x", "source": f"{place.user_file}:2"}]
    assert "OPENAI_API_KEY is set" in text
    assert "needs ANTHROPIC_API_KEY" in text
    for secret in ("TEST456", "TEST789"):
        assert secret not in text
        assert secret not in json.dumps(listing)


def test_pull_of_what_is_there_does_nothing(place: Place, folder: Path) -> None:
    path = put(folder)

    out, err = run(place, folder, "pull", "local/smollm2-135m")

    assert out == ""
    assert str(path) in err


def test_remove_frees_the_disk(place: Place, folder: Path) -> None:
    path = put(folder)

    assert "94 MiB freed" in run(place, folder, "remove", "smollm2-135m")[1]
    assert not path.exists()
    assert "was not there" in run(place, folder, "remove", "smollm2-135m")[1]


@pytest.mark.parametrize("command", ["pull", "remove"])
def test_an_unknown_name_is_told_with_the_nearest(place: Place, folder: Path, command: str) -> None:
    with pytest.raises(UserError) as caught:
        run(place, folder, command, "smolm2")

    assert "smolm2" in caught.value.message
    assert "local/smollm2-135m" in caught.value.hint


def test_a_file_of_the_users_is_neither_fetched_nor_removed(place: Place, folder: Path) -> None:
    mine = folder / "mine.gguf"
    mine.write_bytes(b"GGUF")

    with pytest.raises(UserError, match="a file of yours"):
        run(place, folder, "remove", f"local:{mine}")

    assert mine.exists()
