"""Every command of the stub project: says how it was called and ends with the code that the test chose."""

import json
import os
import sys
from pathlib import Path


def main() -> int:
    name = Path(sys.argv[0]).stem
    call = {
        "command": name,
        "arguments": sys.argv[1:],
        "writes_bytecode": not sys.dont_write_bytecode,
        "stdin": sys.stdin.read(),
    }
    sys.stdout.write(json.dumps(call) + "\n")
    return int(os.environ.get(f"STUB_EXIT_{name.replace('-', '_').upper()}", "0"))
