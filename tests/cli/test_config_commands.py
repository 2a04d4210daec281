"""`agent-chat config`: what is shown, and what is never shown."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Place
from typer.testing import CliRunner

from agent_chat.cli.config import app
from agent_chat.cli.settings_fields import setting_fields
from agent_chat.cli.settings_table import as_markdown
from agent_chat.core.errors import UserError

ROOT = Path(__file__).parents[2]


def run(place: Place, *arguments: str) -> tuple[str, str]:
    """Standard output and standard error of a command that succeeds."""
    with contextlib.chdir(place.cwd):
        result = CliRunner().invoke(
            app, arguments, env={"XDG_CONFIG_HOME": str(place.config_home)}, catch_exceptions=False
        )
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def shown(place: Place, *arguments: str) -> dict[str, dict[str, Any]]:
    out, _ = run(place, "show", "--output", "json", *arguments)
    return {entry["key"]: entry for entry in json.loads(out)["settings"]}


def test_show_tells_every_setting_with_its_source(place: Place) -> None:
    place.user("agent:\n  limits: {turn: {max_iterations: 7}}\n")

    settings = shown(place, "-C", "request.retries=4")

    assert {field.name for field in setting_fields()} - {"agent.request.headers"} <= set(settings)
    assert settings["agent.limits.turn.max_iterations"] == {
        "key": "agent.limits.turn.max_iterations",
        "value": 7,
        "source": {"kind": "user", "name": str(place.user_file), "line": 2},
    }
    assert settings["agent.request.retries"]["source"] == {"kind": "option", "name": "--set request.retries"}
    assert settings["agent.system"]["source"] == {"kind": "built in"}
    out, _ = run(place, "show")
    assert f"# {place.user_file}:2" in out


@pytest.mark.parametrize("output", ["text", "json"])
def test_show_masks_secrets(place: Place, output: str) -> None:
    place.user(
        "model_list:\n"
        "  - model_name: a\n"
        "    litellm_params: {model: b, api_key: TEST456, api_base: 'http://user:TEST456@h/v1'}\n"
        "  - model_name: c\n"
        "    litellm_params: {model: d, api_key: os.environ/MY_KEY}\n"
        "environment_variables: {MY_PASSWORD: TEST456}\n"
        "general_settings:\n"
        "  {master_key: TEST456, database_url: 'postgres://u:TEST456@db/x', list: [sk-TEST456]}\n"
        "agent:\n"
        "  request: {headers: {X-Whatever: TEST456}}\n"
        "  profiles: {p: {request: {headers: {Y: TEST456}}}}\n"
    )

    out, _ = run(place, "show", "--output", output)

    assert "TEST456" not in out
    assert "os.environ/MY_KEY" in out
    assert "max_tokens" in out


def test_show_cannot_be_made_to_control_the_terminal(place: Place) -> None:
    place.user('agent: {system: "a\\e[2Jb\\u009b", profiles: {"p\\e[2J": {system: x}}}')

    out, _ = run(place, "show")

    assert "\x1b" not in out
    assert "\x9b" not in out


def test_show_tells_warnings_on_standard_error(place: Place) -> None:
    place.project("agent: {}", trusted=False)

    out, err = run(place, "show", "--output", "json")

    json.loads(out)
    assert "agent-chat config trust" in err


def test_path_tells_which_files_count(place: Place) -> None:
    place.user("")
    place.project("", trusted=False)

    out, _ = run(place, "path", "--output", "json")

    files = json.loads(out)["files"]
    assert [(file["kind"], file["state"]) for file in files] == [
        ("project", "not trusted"),
        ("user", "read"),
        ("shipped", "read"),
    ]
    assert str(place.user_file) in run(place, "path")[0]


def test_trust_and_its_taking_back(place: Place) -> None:
    place.project("agent: {model: m}", trusted=False)

    assert "is trusted now" in run(place, "trust")[1]
    assert place.load().agent.roles.main == "m"
    assert "trusted already" in run(place, "trust", str(place.cwd))[1]
    assert "no longer" in run(place, "trust", "--remove")[1]
    assert place.load().agent.roles.main is None
    with pytest.raises(UserError, match="not a folder"):
        run(place, "trust", "nope")


def test_keys_tell_every_setting(place: Place) -> None:
    out, _ = run(place, "keys")
    listed = json.loads(run(place, "keys", "--output", "json")[0])["settings"]

    assert [entry["key"] for entry in listed] == [field.name for field in setting_fields()]
    assert all(entry["meaning"] and entry["variable"] in out for entry in listed)


def test_the_documentation_has_the_same_table(place: Place) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")

    table = page.partition("<!-- settings -->\n")[2].partition("<!-- /settings -->")[0]

    assert table == as_markdown()
    assert run(place, "keys", "--output", "markdown")[0] == table
