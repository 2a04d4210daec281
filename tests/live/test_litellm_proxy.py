"""One and the same config.yaml starts a real LiteLLM proxy and drives us, directly and through that proxy."""

from __future__ import annotations

import socket
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from platformdirs import user_cache_path
from support.fixtures import Command, ProviderFactory
from support.process import clean_env, kill_tree, wait_until
from support.provider import DONE, FIN, TC, USE, T

pytestmark = pytest.mark.live

REQUIREMENT = "litellm[proxy]!=1.82.7,!=1.82.8"
KEY = "sk-proxy-of-the-test"
CONFIG = """
model_list:
  - model_name: main
    litellm_params: {{model: openai/scripted, api_base: "{base}", api_key: os.environ/SCRIPTED_KEY}}
  - model_name: backup
    litellm_params: {{model: openai/other, api_base: "{base}", api_key: os.environ/SCRIPTED_KEY}}
litellm_settings: {{num_retries: 0, request_timeout: 60}}
router_settings: {{fallbacks: [{{main: [backup]}}]}}
general_settings: {{master_key: os.environ/PROXY_KEY}}
agent:
  limits: {{turn: {{max_iterations: 5}}}}
"""


@pytest.fixture(scope="module")
def proxy_program() -> Path:
    """LiteLLM's own proxy, in an environment of its own that is kept for the next time."""
    folder = user_cache_path("agent-chat", appauthor=False) / "tests" / "litellm-proxy"
    program = folder / "bin" / "litellm"
    if not program.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", REQUIREMENT]
        subprocess.run(pip, check=True, timeout=900)
    return program


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def proxy(proxy_program: Path, config: Path, home: Path) -> Iterator[str]:
    """The address of a proxy that the file configures."""
    port = free_port()
    env = clean_env(home, SCRIPTED_KEY="k", PROXY_KEY=KEY, LITELLM_LOCAL_MODEL_COST_MAP="True")
    arguments = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    with (home / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            [str(proxy_program), *arguments], env=env, stdout=log, stderr=log, start_new_session=True
        )
        try:
            base = f"http://127.0.0.1:{port}"
            wait_until(lambda: process.poll() is not None or is_up(base), "the proxy is up", 180)
            assert process.poll() is None, (home / "proxy.log").read_text()[-2000:]
            yield f"{base}/v1"
        finally:
            kill_tree(process.pid, alive=True)
            process.wait()


def is_up(base: str) -> bool:
    try:
        return httpx.get(f"{base}/health/liveliness", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture
def server(provider: ProviderFactory) -> str:
    round_trip = (
        [TC(0, "c1", "calc", '{"expression": "6*7"}'), FIN("tool_calls"), USE(20, 5), DONE],
        [T("It is "), T("42."), FIN("stop"), USE(30, 4), DONE],
    )
    return provider(*round_trip, *round_trip, strict=True, models=["scripted", "other"]).base_url


@pytest.fixture
def config(server: str, tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(base=server), encoding="utf-8")
    return path


def test_one_configuration_for_both(single: Command, proxy: str, config: Path) -> None:
    directly = single("6*7?", "--config", str(config), SCRIPTED_KEY="k", PROXY_KEY=KEY)
    assert (directly.out, directly.code) == ("It is 42.\n", 0), directly.err
    through = single("6*7?", "-m", "openai/main", "--api-base", proxy, OPENAI_API_KEY=KEY)
    assert (through.out, through.code) == ("It is 42.\n", 0), through.err
