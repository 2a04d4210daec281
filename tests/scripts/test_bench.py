"""The bench runs and writes what it says; how fast anything is, no test decides."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# Measures in the environment that runs the tests instead of making one.
MEASURE = "import sys; from _bench.command import parse, run; sys.exit(run(parse(sys.argv[1:])))"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs terminals")


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], cwd=SCRIPTS, capture_output=True, text=True, timeout=120
    )


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPTS / "bench", *arguments], capture_output=True, text=True, timeout=60
    )


def test_it_lists_every_row() -> None:
    result = script("--list")
    assert (result.returncode, result.stderr) == (0, "")
    numbers = [int(row) for line in result.stdout.splitlines() for row in line[:6].split(",")]
    assert sorted(numbers) == list(range(1, 21))


@pytest.mark.parametrize("rows", ["0", "21", "5-", "x", ""])
def test_rows_that_do_not_exist_are_refused_before_anything_is_measured(rows: str) -> None:
    result = script("--rows", rows)
    assert result.returncode == 2
    assert "--rows" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_row_becomes_a_table_and_json(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = bench("--quick", "--rows", "1,14", "--json", str(file))
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["#", "what", "beside", "measured", "target", "then"]
    assert lines[1].startswith("1   agent-chat --version  ")
    assert "python -c pass (" in lines[1]
    assert lines[4].endswith("not yet")

    whole = json.loads(file.read_text("utf-8"))
    assert (whole["schema_version"], whole["rounds"]) == (1, 1)
    assert set(whole["machine"]) == {"system", "machine", "cores", "python", "load"}
    figures = whole["figures"]
    assert [(figure["row"], figure["what"]) for figure in figures] == [
        (1, "agent-chat --version"),
        (1, "agent-chat --help"),
        (1, "agent-single --help"),
        (14, "longest pause of the event loop"),
    ]
    *measured, missing = figures
    assert (missing["value"], missing["verdict"]) == (None, "not yet")
    for figure in measured:
        samples = figure["samples"]
        assert figure["value"] == samples["ours_wall_s"][0] / samples["beside_wall_s"][0]
        assert figure["verdict"] in ("then", "target", "misses")
        assert (figure["unit"], figure["target"], figure["then"]) == ("×", 15, 8)


def test_a_whole_turn_against_the_scripted_provider_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = bench("--quick", "--rows", "9,17", "--json", str(file))
    assert result.returncode == 0, result.stderr
    values = {figure["what"]: figure["value"] for figure in json.loads(file.read_text("utf-8"))["figures"]}
    assert len(values) == 4
    # Eight naps of 100 ms: no less than one, and not one after the other.
    assert all(1 <= value < 8 for what, value in values.items() if "tools of 100 ms" in what)
