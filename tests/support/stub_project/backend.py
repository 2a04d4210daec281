"""A build backend without dependencies: an editable wheel with the commands that the scripts start.

With STUB_GATE (a FIFO) in the environment the build blocks until somebody has written to it.
"""

import os
import zipfile
from pathlib import Path

_COMMANDS = ("agent-chat", "agent-single", "ruff", "pyright", "pytest")
_INFO = "stub-1.0.dist-info"


def build_editable(
    wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None
) -> str:
    gate = os.environ.get("STUB_GATE")
    if gate:
        Path(gate).read_bytes()
    scripts = "\n".join(f"{command} = stub:main" for command in _COMMANDS)
    files = {
        "stub.pth": str(Path.cwd()),
        f"{_INFO}/METADATA": "Metadata-Version: 2.1\nName: stub\nVersion: 1.0\n",
        f"{_INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: stub\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{_INFO}/entry_points.txt": f"[console_scripts]\n{scripts}\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{_INFO}/RECORD"])
    name = "stub-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in {**files, f"{_INFO}/RECORD": record}.items():
            wheel.writestr(path, text)
    return name
