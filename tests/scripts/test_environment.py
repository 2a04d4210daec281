"""The environment: made anew, changed or left alone, whatever happened to the start before."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from support.clone import Clone, calls
from support.process import Program

INSTALLED = "lib/python*/site-packages/{}.py"


def has(clone: Clone, package: str) -> bool:
    return any(clone.venv.glob(INSTALLED.format(package)))


def test_a_changed_lock_is_installed_into_the_same_environment(clone: Clone) -> None:
    clone.lock("run.lock", clone.wheel("one"), clone.wheel("two"))
    result = clone.run("run")
    assert "installing 2 packages of run.lock" in result.err
    assert "making" not in result.err
    assert has(clone, "two")
    assert clone.run("run").err == ""


def test_a_changed_project_is_installed_without_touching_the_packages(clone: Clone) -> None:
    clone.change_project()
    result = clone.run("run")
    assert "installing agent-chat itself" in result.err
    assert "packages" not in result.err


def test_an_interrupted_installation_is_made_anew(clone: Clone) -> None:
    (clone.venv / "agent-chat.stamp").unlink()  # it is written last
    half_written = clone.venv / "half-written"
    half_written.touch()
    result = clone.run("run")
    assert "making" in result.err
    assert not half_written.exists()
    assert calls(result)[0]["command"] == "agent-chat"


def test_a_moved_clone_is_made_anew(clone: Clone, tmp_path: Path) -> None:
    shutil.copytree(clone.folder, tmp_path / "moved", symlinks=True)
    moved = Clone(tmp_path / "moved", clone.home, clone.wheels)
    result = moved.run("run")
    assert f"making {moved.venv}" in result.err
    assert result.code == 0


def test_a_wheel_with_another_hash_is_refused(clone: Clone) -> None:
    line = clone.wheel("three")
    clone.lock("run.lock", line.replace("sha256:", "sha256:0")[:-1])
    result = clone.run("run")
    assert result.code == 2
    assert result.out == ""
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in result.err
    assert result.err.endswith("Try another network or index; if it stays, report it.\n")
    assert not has(clone, "three")


def test_a_lock_that_cannot_be_installed_does_not_cost_the_environment(clone: Clone) -> None:
    before = (clone.folder / "requirements" / "run.lock").read_text("utf-8")
    clone.lock("run.lock", "absent==1.0 --hash=sha256:" + "0" * 64)
    assert clone.run("run").code == 2
    clone.lock("run.lock", before.strip())
    result = clone.run("run")
    assert (result.code, result.err) == (0, "")


def test_an_index_that_cannot_be_reached_is_named_as_the_reason(clone: Clone) -> None:
    clone.lock("run.lock", clone.wheel("one"), clone.wheel("four"))
    (clone.wheels / "four-1.0-py3-none-any.whl").unlink()
    # Nothing listens there: the discard port of loopback.
    result = clone.run(
        "run", PIP_NO_INDEX=None, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1", no_proxy="*"
    )
    assert result.code == 2
    assert "The package index cannot be reached." in result.err


def test_a_package_that_the_index_lacks_is_named(clone: Clone) -> None:
    clone.lock("run.lock", clone.wheel("one"), clone.wheel("five"))
    (clone.wheels / "five-1.0-py3-none-any.whl").unlink()
    result = clone.run("run")
    assert result.code == 2
    assert "No matching distribution found for five==1.0" in result.err
    assert "Start this with another Python" in result.err


def test_a_folder_that_is_not_ours_is_left_alone(fresh_clone: Clone, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter.txt").write_text("keep me")
    result = fresh_clone.run("run", AGENT_CHAT_VENV=str(theirs))
    assert result.code == 2
    assert "was not made by this script" in result.err
    assert [path.name for path in theirs.iterdir()] == ["letter.txt"]


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(fresh_clone: Clone) -> None:
    (fresh_clone.folder / ".venv").write_text("a file where the folder should be")
    result = fresh_clone.run("run")
    assert result.code == 2
    assert f"{fresh_clone.venv} cannot be written" in result.err
    assert "Set AGENT_CHAT_VENV to a folder that can be" in result.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a FIFO")
@pytest.mark.parametrize("first_is_killed", [False, True])
def test_a_second_start_waits_for_the_installer_of_the_first(
    clone: Clone, tmp_path: Path, first_is_killed: bool
) -> None:
    """Even when the first was killed: its pip lives on and still writes into the folder."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    clone.change_project()
    with clone.start("run", STUB_GATE=str(gate)) as first, gate.open("wb") as held:
        if first_is_killed:
            first.signal(signal.SIGKILL)
        with clone.start("run") as second:
            second.close_stdin()
            second.wait_for_output("waiting for another start", stream="stderr")
            assert not (clone.venv / "agent-chat.stamp").read_text().count("pyproject")
            held.close()
            assert_opens_a_session(second)
        if not first_is_killed:
            first.close_stdin()
            assert_opens_a_session(first)


def assert_opens_a_session(program: Program) -> None:
    result = program.wait(60)
    assert result.code == 0, result.err
    assert calls(result)[0]["command"] == "agent-chat"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a FIFO")
def test_an_interrupt_ends_quietly_and_the_next_start_goes_on(clone: Clone, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    clone.change_project()
    with clone.start("run", STUB_GATE=str(gate)) as program, gate.open("wb"):
        program.signal(signal.SIGINT, group=True)
        result = program.wait(60)
    assert result.code == 130
    assert result.err.endswith("agent-chat: interrupted; the next start does what is missing\n")
    assert "Traceback" not in result.err
    assert clone.run("run").code == 0
