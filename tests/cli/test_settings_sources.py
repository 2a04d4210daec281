"""Where settings come from, and which of two wins."""

from __future__ import annotations

from dataclasses import fields

import pytest
from cli.conftest import Place, write

from agent_chat.cli.load_settings import Options
from agent_chat.cli.settings_fields import setting_fields
from agent_chat.engine.runtime import Rules

MODEL = ("agent", "roles", "main")


def test_each_source_wins_over_the_next(place: Place) -> None:
    assert place.load().agent.roles.main is None
    assert place.load().source(*MODEL).kind == "shipped"
    place.user("agent:\n  model: from-user\n  profiles: {p: {model: from-profile}}")
    assert str(place.load().source(*MODEL)) == f"{place.user_file}:2"
    place.project("agent:\n  model: from-project")
    assert place.load().agent.roles.main == "from-project"
    in_profile = place.load(Options(profile="p"))
    assert in_profile.agent.roles.main == "from-profile"
    assert str(in_profile.source(*MODEL)) == f"{place.user_file}:3 (profile p)"
    variable = {"AGENT_CHAT_MODEL": "from-variable"}
    assert place.load(Options(profile="p"), **variable).source(*MODEL).name == "AGENT_CHAT_MODEL"
    set_ = Options(profile="p", sets=("agent.model=from-set-1", "model=from-set-2"))
    assert place.load(set_, **variable).agent.roles.main == "from-set-2"
    option = Options(profile="p", sets=("model=from-set",), model="from-option")
    assert place.load(option, **variable).agent.roles.main == "from-option"
    assert str(place.load(option, **variable).source(*MODEL)) == "--model"


def test_mappings_merge_and_lists_replace(place: Place) -> None:
    place.user("agent: {fallbacks: [a, b], request: {retries: 1, headers: {A: x, B: x}}}")
    place.project("agent: {fallbacks: [c], request: {idle_timeout: 9}}")

    loaded = place.load(AGENT_CHAT_REQUEST_HEADERS="{B: y}")

    assert loaded.agent.fallbacks == ("c",)
    assert loaded.agent.request.retries == 1
    assert loaded.agent.request.idle_timeout == 9
    assert loaded.agent.request.headers == {"A": "x", "B": "y"}


def test_a_named_file_replaces_the_users_and_the_projects(place: Place) -> None:
    place.user("agent: {request: {retries: 1}}")
    place.project("agent: {request: {idle_timeout: 9}}")
    write(place.cwd / "mine.yaml", "agent: {model: mine}")

    for loaded in (place.load(Options(config="mine.yaml")), place.load(AGENT_CHAT_CONFIG="mine.yaml")):
        assert loaded.agent.roles.main == "mine"
        assert loaded.agent.request.retries is None
        assert loaded.agent.request.idle_timeout is None
        assert [path.name for path in loaded.files] == ["mine.yaml", "default.yaml"]


def test_every_setting_has_a_variable_of_its_own() -> None:
    variables = [field.variable for field in setting_fields()]

    assert len(variables) == len(set(variables))
    assert "AGENT_CHAT_LIMITS_TURN_MAX_ITERATIONS" in variables


def test_variables_are_read_as_a_file_would_be_and_text_as_it_stands(place: Place) -> None:
    loaded = place.load(
        AGENT_CHAT_LIMITS_TURN_MAX_ITERATIONS="7",
        AGENT_CHAT_LIMITS_SESSION_MAX_COST="0.5",
        AGENT_CHAT_SESSION_KEEP="false",
        AGENT_CHAT_TOOLS_ALLOW="now, calc",
        AGENT_CHAT_FALLBACKS="[a, b]",
        AGENT_CHAT_SYSTEM="Answer: [briefly] # really",
        AGENT_CHAT_MODEL="",
        AGENT_CHAT_REQUEST_RETRIES="  ",
    )

    assert loaded.agent.limits.turn.max_iterations == 7
    assert loaded.agent.limits.session.max_cost == 0.5
    assert loaded.agent.session.keep is False
    assert loaded.agent.tools.allow == ("now", "calc")
    assert loaded.agent.fallbacks == ("a", "b")
    assert loaded.agent.system == "Answer: [briefly] # really"
    assert loaded.agent.roles.main is None
    assert loaded.agent.request.retries is None


def test_set_reaches_every_part_and_null_takes_a_bound_away(place: Place) -> None:
    sets = (
        "limits.turn.max_iterations=null",
        "litellm_settings.num_retries=0",
        "tools.allow=[]",
        "system=null",
    )

    loaded = place.load(Options(sets=sets, system=None), AGENT_CHAT_SYSTEM="x")

    assert loaded.agent.limits.turn.max_iterations is None
    assert loaded.litellm["litellm_settings"] == {"num_retries": 0}
    assert loaded.agent.tools.allow == ()
    assert loaded.agent.system is None


def test_the_dedicated_options(place: Place) -> None:
    place.user("agent: {tools: {allow: [now]}, system_file: prompt.md}")

    agent = place.load(
        Options(
            api_base="http://h/v1",
            fallbacks=("a", "b"),
            system="Hi",
            tools=("calc", "now"),
            max_iterations=1,
            max_tool_calls=0,
            max_tokens_total=3,
            max_cost=0.0,
            max_time=5.5,
            no_session=True,
            color="never",
        )
    ).agent

    assert agent.api_base == "http://h/v1"
    assert agent.fallbacks == ("a", "b")
    assert (agent.system, agent.system_file) == ("Hi", None)
    assert agent.tools.allow == ("calc", "now")
    turn = agent.to_rules().turn
    assert (turn.iterations, turn.tool_calls, turn.tokens, turn.cost, turn.time) == (1, 0, 3, 0.0, 5.5)
    assert agent.session.keep is False
    assert agent.display.color == "never"
    assert place.load(Options(no_tools=True)).agent.tools.allow == ()


def test_the_shipped_file_says_what_is_built_in(place: Place) -> None:
    """The shipped file is documentation too: it shows every setting, with the default that holds."""
    loaded = place.load()

    for field in setting_fields():
        value = loaded.settings.agent
        for step in field.path:
            value = getattr(value, step)
        assert value == field.default, field.name
        commented_out = field.path in {("system",), ("system_file",)}
        headers = field.path == ("request", "headers")
        assert commented_out or headers or loaded.source("agent", *field.path).kind == "shipped", field.name
    assert loaded.agent.to_rules() == Rules()


def test_defaults_named_in_the_documentation_are_those_of_the_models() -> None:
    from agent_chat.cli.settings_table import settings_table
    from agent_chat.models.attempt import Target
    from agent_chat.models.retry import RetryPolicy

    meanings = {row.name.rpartition(".")[2]: row.meaning for row in settings_table()}

    waits = {field.name: field.default for field in fields(Target)}
    retries = {field.name: field.default for field in fields(RetryPolicy)}
    assert f"; {waits['connect_limit']:g} where nothing" in meanings["connect_timeout"]
    assert f"; {waits['idle_limit']:g} where nothing" in meanings["idle_timeout"]
    assert f"; {retries['retries']} where nothing" in meanings["retries"]
    assert f"; {retries['longest_asked']:g} where nothing" in meanings["max_retry_wait"]


def test_request_settings_become_request_options(place: Place) -> None:
    options = place.load(
        Options(sets=("request.temperature=0", "request.retries=0", "transport=litellm"))
    ).agent.to_request_options()

    assert options.parameters == {"temperature": 0}
    assert options.retries == 0
    assert options.transport == "litellm"
    assert options.idle_timeout is None


def test_system_prompts(place: Place) -> None:
    write(place.user_file.parent / "prompt.md", "From a file.\n")
    shipped = place.load().system_prompt()
    assert "end_chat" in shipped
    assert shipped == place.load().system_prompt()

    place.user("agent: {system_file: prompt.md}")
    assert place.load().system_prompt() == "From a file."
    assert place.load(AGENT_CHAT_SYSTEM="As text.").system_prompt() == "As text."
    place.user("agent: {system: As text.}")
    write(place.cwd / "other.md", "\ufeffOther.")
    assert place.load(AGENT_CHAT_SYSTEM_FILE="other.md").system_prompt() == "Other."


def test_litellms_part_is_kept_as_it_is(place: Place) -> None:
    place.user(
        "model_list:\n"
        "  - model_name: main\n"
        "    litellm_params: {model: azure/x, api_version: 2025-01-01, rpm: 6, api_key: os.environ/K}\n"
        "    model_info: {mode: chat}\n"
        "litellm_settings: {callbacks: [prometheus]}\n"
        "router_settings: {model_group_alias: {gpt-4: main}}\n"
        "general_settings: {master_key: sk-1}\n"
        "guardrails: [{guardrail_name: x}]\n"
    )

    loaded = place.load()

    assert loaded.litellm["model_list"] == [
        {
            "model_name": "main",
            "litellm_params": {
                "model": "azure/x",
                "api_version": "2025-01-01",
                "rpm": 6,
                "api_key": "os.environ/K",
            },
            "model_info": {"mode": "chat"},
        }
    ]
    assert loaded.litellm["guardrails"] == [{"guardrail_name": "x"}]
    assert loaded.warnings == ()
    assert loaded.model_config().deployments("gpt-4")[0].model == "azure/x"


def test_environment_variables_of_the_file_count_as_set(place: Place) -> None:
    place.user("environment_variables: {A: from-file, B: os.environ/C, N: 3, D: os.environ/NOPE}")

    environ = place.load(A="from-shell", C="c").environ

    assert (environ["A"], environ["B"], environ["N"]) == ("from-file", "c", "3")
    assert "D" not in environ


def test_includes_join_lists_as_litellm_does(place: Place) -> None:
    folder = place.user_file.parent
    entry = "{model_name: %s, litellm_params: {model: openai/%s}}"
    write(folder / "more" / "models.yaml", f"include: [deep.yaml]\nmodel_list: [{entry % ('b', 'b')}]")
    write(folder / "more" / "deep.yaml", "include: [models.yaml]\nlitellm_settings: {num_retries: 7}")
    place.user(f"include: [more/models.yaml]\nmodel_list: [{entry % ('a', 'a')}]")

    loaded = place.load()

    assert [model.model_name for model in loaded.settings.model_list] == ["a", "b"]
    assert loaded.settings.litellm_settings == {"num_retries": 7}
    assert str(loaded.source("model_list", 1)) == f"{folder / 'more' / 'models.yaml'}:2"


@pytest.mark.parametrize("include", ["nope.yaml", "[nope.yaml]", "[3]"])
def test_an_include_that_cannot_be_followed_is_a_mistake(place: Place, include: str) -> None:
    place.user(f"include: {include}")

    assert f"{place.user_file}:1:" in place.refused()


def test_values_written_nowhere_are_built_in(place: Place) -> None:
    assert str(place.load().source("agent", "system")) == "built in"


def test_the_tree_remembers_items_of_lists(place: Place) -> None:
    place.user("agent:\n  fallbacks:\n    - a\n    - b\n")

    assert str(place.load().source("agent", "fallbacks", 1)) == f"{place.user_file}:4"
