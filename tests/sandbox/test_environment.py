"""What of our environment commands and tool servers get."""

from __future__ import annotations

import pytest

from agent_chat.sandbox.environment import is_door, tool_environment


def test_r47_provider_keys_stay_here_and_what_programs_need_is_there() -> None:
    kept = tool_environment(
        {
            "OPENAI_API_KEY": "sk-TEST456",
            "PATH": "/usr/bin",
            "HOME": "/home/u",
            "LANG": "de_DE.UTF-8",
            "LC_TIME": "C",
            "HTTPS_PROXY": "http://proxy:3128",
            "no_proxy": "localhost",
            "JAVA_HOME": "/opt/java",
        }
    )
    assert "sk-TEST456" not in str(kept)
    assert kept["PATH"] == "/usr/bin"
    assert kept["HOME"] == "/home/u"
    assert kept["LANG"] == "de_DE.UTF-8"
    assert kept["LC_TIME"] == "C"
    assert kept["HTTPS_PROXY"] == "http://proxy:3128"
    assert kept["no_proxy"] == "localhost"
    assert kept["JAVA_HOME"] == "/opt/java"


def test_r47_a_variable_passes_on_purpose() -> None:
    kept = tool_environment({"GH_TOKEN": "ghp_abcdef123456"}, pass_env=["GH_TOKEN"])
    assert kept["GH_TOKEN"] == "ghp_abcdef123456"


def test_r47_the_variables_that_the_models_use_are_secret_whatever_their_name() -> None:
    kept = tool_environment(
        {"MY_LLM": "letters-and-digits", "COPY": "x=letters-and-digits"}, secrets=["MY_LLM"]
    )
    assert not {"MY_LLM", "COPY"} & kept.keys()


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "anthropic_api_key", "GITHUB_TOKEN", "HF_TOKEN", "DB_PASSWORD", "PGPASSWORD",
        "PGPASSFILE", "MYSQL_PWD", "CLIENT_SECRET", "SECRET_KEY_BASE", "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
        "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS", "NPM_AUTH", "SENTRY_DSN", "TWINE_PASS",
        "LANGFUSE_PUBLIC_KEY", "API_KEYS", "AGENT_CHAT_MODEL",
    ],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_door(name)
    assert name not in tool_environment({name: "value"})


@pytest.mark.parametrize(
    "name",
    ["PATH", "PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSL_CERT_FILE", "PYTHONPATH", "MONKEY",
     "COMPASS", "AUTHOR"],
)  # fmt: skip
def test_names_of_no_secrets(name: str) -> None:
    assert not is_door(name)
    assert tool_environment({name: "value"})[name] == "value"


@pytest.mark.parametrize(
    "value",
    ["sk-abcdefgh", "config: sk-proj-abcdefgh", "AIzaTESTKEY123", "ghp_abcdefghij", "xoxb-123456-abc",
     "AKIAIOSFODNN7EXAMPLE", "-----BEGIN OPENSSH PRIVATE KEY-----", "postgres://u:pw@db/x"],
)  # fmt: skip
def test_values_that_are_secret_whatever_the_name(value: str) -> None:
    assert "HARMLESS" not in tool_environment({"HARMLESS": value})


@pytest.mark.parametrize(
    "value", ["/opt/sk-learn-env/bin:/usr/bin", "task-runner-1", "https://example.org/a@b"]
)
def test_values_that_are_no_secret(value: str) -> None:
    assert tool_environment({"HARMLESS": value})["HARMLESS"] == value


def test_the_path_passes_even_where_it_repeats_a_secret() -> None:
    kept = tool_environment({"MY_TOKEN": "/opt/tool", "PATH": "/opt/tool/bin", "OTHER": "/opt/tool/x"})
    assert kept["PATH"] == "/opt/tool/bin"
    assert "OTHER" not in kept


@pytest.mark.parametrize(
    ("proxy", "bare"),
    [
        ("http://user:pw@proxy:3128", "http://proxy:3128"),
        ("user:pw@proxy:3128", "proxy:3128"),
        ("http://user:p@w@proxy:3128/", "http://proxy:3128/"),
        ("socks5h://proxy:1080", "socks5h://proxy:1080"),
        ("proxy:3128", "proxy:3128"),
        ("http://user:pw@[::1", ""),
    ],
)
def test_a_proxy_is_told_without_user_and_password(proxy: str, bare: str) -> None:
    assert tool_environment({"https_proxy": proxy})["https_proxy"] == bare


def test_sockets_of_the_desktop_and_shell_startup_files_stay_out() -> None:
    doors = {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DOCKER_HOST", "BASH_ENV", "ENV"}
    assert not doors & tool_environment(dict.fromkeys(doors, "/run/x")).keys()


def test_programs_are_told_that_there_is_no_terminal() -> None:
    kept = tool_environment({"TERM": "xterm-256color", "PAGER": "less"})
    assert (kept["TERM"], kept["PAGER"], kept["GIT_TERMINAL_PROMPT"]) == ("dumb", "cat", "0")
