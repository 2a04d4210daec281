"""The process harness, on small programs in Python."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from support.process import Program, clean_env, is_alive, run, tree, wait_gone, wait_until
from support.provider import ScriptedProvider

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups")


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_result_has_both_outputs_the_code_and_the_time(home: Path, workspace: Path) -> None:
    code = "import os, sys; print(sys.stdin.read(), os.getcwd()); print('e', file=sys.stderr); sys.exit(3)"
    result = run(python(code), env=clean_env(home), stdin=b"in\xff", cwd=workspace)
    assert result.stdout == b"in\xff " + os.fsencode(workspace) + b"\n"
    assert (result.err, result.code) == ("e\n", 3)
    assert 0 < result.seconds < 30


def test_without_input_there_is_an_end_of_file(home: Path) -> None:
    assert run(python("print(repr(input()))"), env=clean_env(home)).err.endswith(
        "EOFError: EOF when reading a line\n"
    )


def test_death_by_a_signal_is_shown_as_a_shell_shows_it(home: Path) -> None:
    assert run(python("import os; os.kill(os.getpid(), 15)"), env=clean_env(home)).code == 143


def test_large_input_and_output_do_not_block_each_other(home: Path) -> None:
    data = b"x" * 1_000_000
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() * 2)"
    assert run(python(code), env=clean_env(home), stdin=data).stdout == data * 2


def test_input_that_nobody_reads_is_no_error(home: Path) -> None:
    assert run(python("pass"), env=clean_env(home), stdin=b"x" * 1_000_000).code == 0


def test_a_program_that_does_not_end_is_killed_and_fails_the_test(home: Path) -> None:
    code = "import time; print('here', flush=True); time.sleep(60)"
    with pytest.raises(AssertionError, match=r"still running after 1 s; stdout b'here\\n'"):
        run(python(code), env=clean_env(home), timeout=1)


def test_talking_to_a_program(home: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)"
    with Program(python(code), env=clean_env(home)) as program:
        program.send(b"one\n")
        program.wait_for_output("got one")
        program.send(b"two\n")
        program.wait_for_output(b"got two")
        program.close_stdin()
        assert program.wait().code == 0


def test_output_that_never_comes_is_bounded(home: Path) -> None:
    with (
        Program(python("input()"), env=clean_env(home)) as program,
        pytest.raises(AssertionError, match="no b'x' on stderr"),
    ):
        program.wait_for_output("x", 0.05, stream="stderr")


def test_a_signal_reaches_the_program(home: Path) -> None:
    code = "import time\ntry: print('up', flush=True); time.sleep(60)\nexcept KeyboardInterrupt: print('int')"
    with Program(python(code), env=clean_env(home)) as program:
        program.wait_for_output("up")
        program.signal(signal.SIGINT, group=True)
        assert program.wait().out == "up\nint\n"


def test_the_tree_is_listed_and_killed_at_the_end(home: Path) -> None:
    shell = "['sh', '-c', 'sleep 60 & wait'], start_new_session=True"
    code = f"import subprocess; subprocess.run({shell})"
    with Program(python(code), env=clean_env(home)) as program:
        wait_until(lambda: len(tree(program.pid)) == 2, "the shell has started its child")
        descendants = tree(program.pid)
        assert all(is_alive(pid) for pid in descendants)
        with pytest.raises(AssertionError, match="have ended"):
            wait_gone(descendants, 0.05)
    wait_gone([program.pid, *descendants])
    assert not is_alive(program.pid)


def test_a_child_that_holds_the_output_is_named(home: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '60']); print('left')"
    with (
        Program(python(code), env=clean_env(home)) as program,
        pytest.raises(AssertionError, match=r"a child holds its output; stdout b'left\\n'"),
    ):
        program.wait(1)


def test_the_environment_is_clean(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    env = clean_env(home)
    assert set(env) - {"SYSTEMROOT"} == {
        *("PATH", "LANG", "HOME"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    }
    assert env["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert all(value.startswith(str(home)) for name, value in env.items() if name.startswith("XDG"))


def test_a_provider_and_changes_join_the_environment(home: Path) -> None:
    with ScriptedProvider([]) as provider:
        env = clean_env(home, provider, HOME=None, TERM="dumb")
        assert env["OPENAI_BASE_URL"] == provider.base_url
    assert env["OPENAI_API_KEY"] == "sk-scripted"
    assert env["TERM"] == "dumb"
    assert "HOME" not in env


def test_a_missing_program_is_named(home: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program is not on the PATH"):
        run(["no-such-program"], env=clean_env(home))
