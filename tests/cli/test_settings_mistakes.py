"""Mistakes in the configuration: each with its place, its key and what was probably meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli.conftest import Place

from agent_chat.cli.load_settings import Options
from agent_chat.core.errors import UserError


@pytest.mark.parametrize(
    ("text", "place_of_it", "words"),
    [
        ("modle: x", "1:1", ["'modle'", "'model'", "agent.model"]),
        ("retries: many", "1:1", ["'retries'", "agent.request.retries"]),
        ("agent:\n  modle: x", "2:3", ["'modle'", "Did you mean 'model'"]),
        ("agent:\n  request:\n    retries: many", "3:5", ["agent.request.retries", "whole number", "'many'"]),
        ("agent:\n  request: {retry: 3}", "2:13", ["'retry'", "Did you mean 'retries'"]),
        ("agent:\n  retries: 3", "2:3", ["'retries'", "agent.request.retries"]),
        ("agent:\n\tmodel: x", "2:1", ["tab", "spaces"]),
        ("agent:\n  model: a\n  # note\n  model: b", "4:3", ["duplicate", "'model'", "line 2"]),
        ("- agent\n- model", "1:1", ["'key: value'", "a list"]),
        ("only words", "1:1", ["'key: value'", "'only words'"]),
        ("agent: [model]", "1:1", ["'agent'", "a mapping", "a list"]),
        ("agent:\n  fallbacks: gpt-5", "2:3", ["agent.fallbacks", "a list", "'gpt-5'"]),
        ("agent:\n  model: 5", "2:3", ["agent.roles.main", "text", "quotes"]),
        ("agent:\n  display: {color: alwys}", "2:13", ["agent.display.color", "Did you mean 'always'"]),
        ("agent:\n  limits: {turn: {max_iterations: 0}}", "2:19", ["max_iterations", "at least 1", "0"]),
        ("agent:\n  limits: {turn: {max_iterations: true}}", "2:19", ["whole number", "true"]),
        ("agent:\n  limits: {turn: {max_cost: .nan}}", "2:19", ["max_cost", "finite"]),
        ("agent:\n  system: a\n  system_file: b", "3:3", ["'system'", "'system_file'", "keep one"]),
        ("agent:\n  model: a\n  roles: {main: b}", "2:3", ["'model'", "roles.main", "keep one"]),
        ("agent:\n  model: 'x", "2:12", ["closing quote"]),
        ("agent:\n  model: @x", "2:10", ["'@'", "quotes"]),
        ("agent:\n  model: a: b", "2:11", ["':'"]),
        ("agent: {}\n---\nagent: {}", "2:1", ["second document"]),
        ("agent:\n  model: *main", "2:10", ["alias", "not defined"]),
        ("agent:\n  model: x\x07", "2:11", ["U+0007"]),
        ("model_list:\n  - litellm_params: {model: x}", "2:5", ["model_name", "missing"]),
        ("model_list:\n  - model_name: m\n    litellm_params: {}", "3:5", ["model", "missing"]),
        ("agent:\n  profiles:\n    p: {retries: 3}", "3:9", ["'retries'", "agent.request.retries"]),
        ("agent:\n  profiles:\n    p:\n      request: {retries: x}", "4:17", ["agent.profiles.p.request"]),
        ("agent:\n  profiles: {p: {profiles: {q: {}}}}", "2:18", ["profile"]),
    ],
)
def test_r52_a_mistake_is_told_with_path_line_key_and_suggestion(
    place: Place, text: str, place_of_it: str, words: list[str]
) -> None:
    place.user(text)

    message = place.refused()

    assert f"{place.user_file}:{place_of_it}: " in message
    for word in words:
        assert word in message
    assert "Traceback" not in message
    assert "pydantic" not in message


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "agent:\n", "\ufeff"])
def test_r52_an_empty_file_means_defaults(place: Place, text: str) -> None:
    nothing = place.load().settings
    place.user(text)

    loaded = place.load()

    assert loaded.settings == nothing
    assert loaded.warnings == ()


def test_r52_sections_without_lines_are_empty_sections(place: Place) -> None:
    place.user("model_list:\nagent:\n  limits:\n    turn:\n  profiles:\n  request:\n    # retries: 3\n")

    assert place.load().agent.limits.turn.max_iterations == 50


def test_r52_several_mistakes_are_told_together_and_counted(place: Place) -> None:
    place.user("".join(f"agnt{number}: 1\n" for number in range(7)))

    message = place.refused(AGENT_CHAT_REQUEST_RETRIES="many")

    lines = message.splitlines()
    assert lines[0].startswith("8 mistakes")
    assert len(lines) == 1 + 5 + 1
    assert "3 more" in lines[-1]


def test_r52_the_same_mistakes_in_variables_and_options_name_them(place: Place) -> None:
    options = Options(sets=("modle=x", "request.retries=many", "nonsense", "a..b=1"), color="blue")

    message = place.refused(options, AGENT_CHAT_LIMITS_TURN_MAX_COST="[1")

    assert "--set nonsense: write KEY=VALUE" in message
    assert "'a..b' is no key" in message
    assert "AGENT_CHAT_LIMITS_TURN_MAX_COST: " in message
    assert message.startswith("6 mistakes")
    assert "--color: 'agent.display.color'" in place.refused(Options(color="blue"))
    assert "--set modle: unknown key 'modle'" in place.refused(Options(sets=("modle=x",)))
    assert "whole number" in place.refused(Options(sets=("request.retries=many",)))


def test_r52_every_layer_is_checked_even_where_a_stronger_one_hides_it(place: Place) -> None:
    place.user("agent: {request: {retries: many}}")

    assert "'many'" in place.refused(Options(sets=("request.retries=1",)))


def test_variables_of_ours_that_are_no_settings_are_not_warned_about(place: Place) -> None:
    assert place.load(AGENT_CHAT_MODELS_DIR="/x", AGENT_CHAT_STATE_DIR="/y").warnings == ()


def test_a_variable_that_is_nearly_a_setting_is_warned_about(place: Place) -> None:
    loaded = place.load(AGENT_CHAT_MODLE="x", AGENT_CHAT_SOMETHING_ELSE_ENTIRELY="y")

    assert loaded.warnings == (
        "AGENT_CHAT_MODLE is ignored: there is no such setting. Did you mean AGENT_CHAT_MODEL?",
    )


def test_a_top_level_key_like_no_other_is_left_aside_with_a_warning(place: Place) -> None:
    place.user("some_future_litellm_key: {a: 1}\nagent: {model: m}")

    loaded = place.load()

    assert loaded.agent.roles.main == "m"
    assert "'some_future_litellm_key' is ignored" in loaded.warnings[0]
    assert f"{place.user_file}:1:1" in loaded.warnings[0]


def test_an_unknown_profile_is_told_with_those_that_exist(place: Place) -> None:
    place.user("agent: {profiles: {careful: {}, fast: {}}}")

    assert "Did you mean 'careful'?" in place.refused(Options(profile="carefull"))
    assert "careful, fast" in place.refused(Options(profile="zzz"))
    assert "AGENT_CHAT_PROFILE" in place.refused(AGENT_CHAT_PROFILE="zzz")


def test_a_file_that_was_named_must_be_there(place: Place) -> None:
    assert "--config" in place.refused(Options(config="nope.yaml"))
    assert "AGENT_CHAT_CONFIG" in place.refused(AGENT_CHAT_CONFIG="nope.yaml")


def test_a_folder_is_no_configuration(place: Place) -> None:
    place.user_file.mkdir(parents=True)

    assert f"{place.user_file}: cannot be read: it is a folder" in place.refused()


def test_a_file_that_fails_while_it_is_read_is_a_mistake(place: Place) -> None:
    place.user_file.parent.mkdir(parents=True)
    place.user_file.symlink_to("/proc/self/mem")

    assert f"{place.user_file}: cannot be read: " in place.refused()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_a_mistake(place: Place) -> None:
    place.user("agent: {}")
    place.user_file.chmod(0)

    assert "permission denied" in place.refused()


def test_r43_a_home_that_is_not_there_is_no_mistake(place: Place) -> None:
    loaded = place.load(XDG_CONFIG_HOME="/proc/nope")

    assert loaded.agent.limits.turn.max_iterations == 50
    assert loaded.warnings == ()


def test_r39_a_file_in_another_encoding_is_read_with_a_warning(place: Place) -> None:
    place.user("# café\nagent:\n  system: “naïve”".encode("cp1252"))

    loaded = place.load()

    assert loaded.agent.system == "“naïve”"
    assert loaded.warnings == (
        f"{place.user_file}:1: not UTF-8; the file is read as cp1252. Save it as UTF-8.",
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_r39_a_byte_order_mark_decides(place: Place, encoding: str) -> None:
    place.user("agent: {system: 日本}".encode(encoding))

    loaded = place.load()

    assert loaded.agent.system == "日本"
    assert loaded.warnings == ()


def test_a_huge_file_is_refused_unread(place: Place) -> None:
    place.user("#" * (1024 * 1024 + 1))

    assert "larger than 1,024 KiB" in place.refused()


def test_aliases_cannot_grow_without_end(place: Place) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    place.user("\n".join(lines))

    assert "50,000 values" in place.refused()


@pytest.mark.parametrize(
    "text",
    ["agent: &a {roles: *a}", "[" * 100_000, "- " * 100_000, "agent: " + "{a: " * 200 + "1" + "}" * 200],
)
def test_nesting_without_end_is_refused(place: Place, text: str) -> None:
    place.user(text)

    assert str(place.user_file) in place.refused()


@pytest.mark.parametrize(
    "tag",
    ["!!python/object/apply:os.system ['touch p']", "!include other.yaml", "!!set {a}", "!!binary aGk="],
)
def test_tags_are_refused(place: Place, tag: str) -> None:
    place.user(f"agent:\n  system: {tag}")

    message = place.refused()

    assert f"{place.user_file}:2:11: the tag " in message
    assert not (place.cwd / "p").exists()


def test_aliases_and_merge_keys_work(place: Place) -> None:
    place.user(
        "litellm_settings: &s {num_retries: 2, request_timeout: 9}\n"
        "router_settings:\n  <<: *s\n  num_retries: 5\n"
    )

    loaded = place.load()

    assert loaded.settings.router_settings == {"num_retries": 5, "request_timeout": 9}


def test_what_is_wrong_with_a_secret_never_shows_it(place: Place) -> None:
    place.user("agent:\n  request:\n    headers:\n      Authorization: [sk-TEST456]\n    api_key: sk-TEST456")

    message = place.refused()

    assert "sk-TEST456" not in message
    assert "'agent.request.headers.Authorization' must be text; found a list" in message


@pytest.mark.parametrize("value", ["日本語", "a\\u200Bb", "a\\nb"])
def test_r53_a_header_that_cannot_travel_is_a_mistake_with_its_place(place: Place, value: str) -> None:
    place.user(f'agent:\n  request:\n    headers:\n      X-Team: "{value}"')

    message = place.refused()

    assert f"{place.user_file}:4:7: " in message
    assert "'X-Team'" in message
    assert "position" in message


def test_r53_the_same_for_a_header_from_a_variable(place: Place) -> None:
    assert "AGENT_CHAT_REQUEST_HEADERS: header 'X-Team'" in place.refused(
        AGENT_CHAT_REQUEST_HEADERS="{X-Team: 日本}"
    )


def test_control_characters_of_a_file_do_not_reach_a_message(place: Place) -> None:
    place.user('agent: {"mod\\e[2Jle": 1}')

    assert "\x1b" not in place.refused()


def test_a_prompt_that_cannot_be_read_is_told_with_its_place(place: Place, tmp_path: Path) -> None:
    place.user("agent:\n  system_file: nope.md")

    with pytest.raises(UserError, match=r"config\.yaml:2:3: the system prompt .*nope\.md cannot be read"):
        place.load().system_prompt()
