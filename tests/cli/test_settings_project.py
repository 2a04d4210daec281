"""A project's file: read only where it is trusted, and never to widen anything."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from cli.conftest import Place, write

from agent_chat.cli.load_settings import Options, load_settings
from agent_chat.cli.trust import TrustedFolders
from agent_chat.core.errors import UserError


def test_an_untrusted_file_is_ignored_with_one_line_that_says_how_to_trust_it(place: Place) -> None:
    place.project("agent: {model: evil}\n\tnot even yaml", trusted=False)

    loaded = place.load()

    assert loaded.agent.roles.main is None
    assert len(loaded.warnings) == 1
    assert f"agent-chat config trust {place.cwd}" in loaded.warnings[0]


def test_a_trusted_file_chooses(place: Place) -> None:
    write(place.project_file.parent / "prompt.md", "Project.")
    place.project("agent: {model: openai/m, system_file: prompt.md, rules: {max_repeats: 2}}")

    loaded = place.load()

    assert loaded.agent.roles.main == "openai/m"
    assert loaded.system_prompt() == "Project."
    assert loaded.agent.rules.max_repeats == 2
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("agent: {api_base: 'http://evil/v1'}", "agent.api_base"),
        ("agent: {request: {headers: {X: y}}}", "agent.request.headers"),
        ("agent: {profiles: {p: {api_base: 'http://evil/v1'}}}", "agent.profiles"),
        ("model_list: [{model_name: a, litellm_params: {model: b, api_base: 'http://evil'}}]", "model_list"),
        ("litellm_settings: {callbacks: [evil]}", "litellm_settings"),
        ("environment_variables: {OPENAI_BASE_URL: 'http://evil'}", "environment_variables"),
        ("include: [/etc/passwd]", "include"),
        ("agent: {model: 'huggingface/http://evil'}", "address"),
        ("agent: {fallbacks: ['openai/http://evil']}", "address"),
        ("agent: {system_file: /etc/passwd}", "system_file"),
        ("agent: {system_file: ../../outside.md}", "system_file"),
    ],
)
def test_a_trusted_file_cannot_choose_where_messages_and_keys_go(place: Place, text: str, key: str) -> None:
    place.project(text)

    message = place.refused()

    assert f"{place.project_file}:1:" in message
    assert key in message


def test_a_system_prompt_through_a_link_is_judged_where_it_points(place: Place, tmp_path: Path) -> None:
    write(tmp_path / "secret", "sk-TEST456")
    place.project("agent: {system_file: link.md}")
    (place.project_file.parent / "link.md").symlink_to(tmp_path / "secret")

    assert "must be inside" in place.refused()


def test_limits_can_be_lowered_and_not_raised(place: Place) -> None:
    place.user("agent: {limits: {session: {max_cost: 1.0}}}")
    place.project(
        "agent:\n  limits:\n    turn: {max_iterations: 10, max_tool_calls: 5}\n    session: {max_cost: 5}\n"
    )

    loaded = place.load()

    assert loaded.agent.limits.turn.max_iterations == 10
    assert loaded.agent.limits.turn.max_tool_calls == 5
    assert loaded.agent.limits.session.max_cost == 1.0
    assert loaded.source("agent", "limits", "session", "max_cost").name == str(place.user_file)
    assert len(loaded.warnings) == 1
    assert "max_cost stays 1.0" in loaded.warnings[0]


def test_a_limit_cannot_be_taken_away(place: Place) -> None:
    place.project("agent: {limits: {turn: {max_iterations: null}}}")

    assert place.load().agent.limits.turn.max_iterations == 50


def test_tools_can_be_taken_away_and_not_given(place: Place) -> None:
    place.user("agent: {tools: {allow: [now, calc]}}")
    place.project("agent: {tools: {allow: [calc, shell]}}")

    loaded = place.load()

    assert loaded.agent.tools.allow == ("calc",)
    assert "the tool 'shell' stays off" in loaded.warnings[0]


def test_the_users_own_options_still_win(place: Place) -> None:
    place.project("agent: {limits: {turn: {max_iterations: 3}}}")

    assert place.load(Options(max_iterations=9)).agent.limits.turn.max_iterations == 9


def test_the_file_is_found_up_to_the_root_of_the_repository(place: Place) -> None:
    place.project("agent: {model: m}")
    (place.cwd / ".git").mkdir()
    deep = place.cwd / "src" / "deep"
    deep.mkdir(parents=True)

    assert Place(place.config_home, deep).load().agent.roles.main == "m"


def test_without_a_repository_only_the_working_folder_counts(place: Place) -> None:
    place.project("agent: {model: m}")
    below = place.cwd / "below"
    below.mkdir()

    assert Place(place.config_home, below).load().agent.roles.main is None


def test_a_file_above_the_repository_does_not_count(place: Place) -> None:
    place.project("agent: {model: m}")
    repository = place.cwd / "repository"
    (repository / ".git").mkdir(parents=True)

    assert Place(place.config_home, repository).load().agent.roles.main is None


def test_trust_is_for_one_folder_by_its_real_path(tmp_path: Path) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(real)
    trusted = TrustedFolders(tmp_path / "config")

    assert trusted.add(tmp_path / "link")
    assert trusted.contains(real)
    assert not trusted.add(real)
    assert not trusted.contains(other)
    assert not trusted.contains(real / "below")
    assert trusted.remove(real)
    assert not trusted.contains(real)
    assert not trusted.remove(real)


def test_a_list_of_folders_that_cannot_be_read_trusts_nothing(tmp_path: Path) -> None:
    write(tmp_path / "trusted_folders", b"\xff\xfe/\n")

    assert not TrustedFolders(tmp_path).contains(Path("/"))


def test_the_project_is_the_workspaces_and_relative_options_are_the_shells(place: Place) -> None:
    place.project("agent: {model: of-the-workspace}")
    shell = place.cwd.parent
    write(shell / "prompt.md", "Of the shell.")

    loaded = load_settings(
        None,
        {"XDG_CONFIG_HOME": str(place.config_home), "AGENT_CHAT_SYSTEM_FILE": "prompt.md"},
        cwd=shell,
        workspace=place.cwd,
    )

    assert loaded.agent.roles.main == "of-the-workspace"
    assert loaded.system_prompt() == "Of the shell."


def test_a_working_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with contextlib.chdir(gone):
        gone.rmdir()
        with pytest.raises(UserError, match="working folder"):
            load_settings(None, {})
        os.chdir(tmp_path)
