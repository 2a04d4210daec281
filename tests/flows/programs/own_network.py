"""Runs a command beside a scripted provider, both in the network namespace of this program.

`own_network.py COMMAND…`; stdin, stdout, stderr and the exit code are the command's.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from support.provider import OK, REPEAT, ScriptedProvider

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with ScriptedProvider([REPEAT(OK)], allow_unused=True) as server:
    env = {
        **os.environ,
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-scripted",
        "AGENT_CHAT_MODEL": "openai/scripted",
    }
    code = subprocess.run(sys.argv[1:], env=env, check=False).returncode
sys.exit(code)
