"""Ways out of the sandbox, tried in earnest, in every kind of confinement that this machine has."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process import Program, found, is_alive, wait_until
from support.sandboxes import EVERY, SECRET, OpenSandbox, Run, line_runner, running

from agent_chat.sandbox.confinement import Kind, Sandbox
from agent_chat.sandbox.landlock import SCOPE_VERSION, version

SYSTEM_PYTHON = shlex.quote(sys.executable)


def python(code: str) -> str:
    return f"{SYSTEM_PYTHON} -I -S -c {shlex.quote(code)}"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("before")
    return folder


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def contents(folder: Path) -> dict[str, str]:
    return {entry.name: entry.read_text() for entry in folder.iterdir() if entry.is_file()}


def environment_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text()


def nobody_connected(server: socket.socket) -> bool:
    try:
        server.accept()
    except BlockingIOError:
        return True
    return False


async def test_the_workspace_can_be_changed_and_the_system_used(sh: Run, workspace: Path) -> None:
    """What the attempts below are worth: ordinary work does succeed."""
    done = await sh(
        "mkdir -p a/b && echo text > a/b/c && mv a/b/c d && rm -r a && cat d && ls /usr >/dev/null"
    )
    assert (done.exit_code, done.output) == (0, "text\n")
    assert (workspace / "d").read_text() == "text\n"
    done = await sh(f"{python('print(6 * 7)')}; echo x >/dev/null; echo y >/dev/stderr; git --version")
    assert done.exit_code == 0
    assert done.output.startswith("42\ny\ngit version")


async def test_the_temporary_folder_is_private_and_lasts_as_long_as_the_session(sh: Run) -> None:
    done = await sh('cd "$TMPDIR" && echo kept > file && ls')
    assert done.exit_code == 0
    assert "file\n" in done.output
    done = await sh('cat "$TMPDIR/file"')
    assert (done.exit_code, done.output) == (0, "kept\n")


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > {0}/new",
        "echo x > {0}/file",
        "echo x >> {0}/file",
        "truncate -s 0 {0}/file",
        "rm -f {0}/file",
        "mv {0}/file moved",
        "mkdir {0}/folder",
        "ln {0}/file linked && echo x > linked",
        "ln -s {0} link && echo x > link/new",
        "ln -s {0}/file link && echo x > link",
        "cd link-made-before && echo x > file",
        "echo x > /proc/self/cwd/../outside/file",
        "mount -o remount,rw / && echo x > {0}/file",
        "umount {0}; umount -l /; echo x > {0}/file",
        "unshare -Urm sh -c 'mount -t tmpfs t {0}; mount -o remount,rw,bind /; echo x > {0}/file'",
        "cp -r . {0}",
    ],
)
async def test_nothing_is_written_outside_the_workspace(
    attempt: str, sh: Run, workspace: Path, outside: Path
) -> None:
    (workspace / "link-made-before").symlink_to(outside)
    await sh(attempt.format(shlex.quote(str(outside))))
    assert contents(outside) == {"file": "before"}


async def test_modes_and_times_outside_the_workspace_stay(
    open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str], outside: Path
) -> None:
    """Bubblewrap only: Landlock does not know these, and says so."""
    run = line_runner(open_sandbox("bubblewrap"), workspace, env)
    before = (outside / "file").stat()
    await run(f"chmod 777 {outside}/file; touch -d 2000-01-01 {outside}/file; chown 1:1 {outside}/file")
    assert (outside / "file").stat() == before


async def test_what_a_confinement_does_not_hold_is_said(open_sandbox: OpenSandbox) -> None:
    assert open_sandbox("bubblewrap").confinement.gaps == ()
    assert "modes, owners and times" in open_sandbox("landlock").confinement.describe()


@pytest.mark.parametrize(
    "target", ["/etc/agent-chat-escaped", "/usr/bin/agent-chat-escaped", "/var/agent-chat-escaped"]
)
async def test_nothing_is_written_into_the_system(target: str, sh: Run) -> None:
    done = await sh(f"echo x > {target}")
    assert done.exit_code != 0


@pytest.mark.parametrize(
    "attempt",
    [
        "cat ~/.ssh/id_ed25519",
        "cat {home}/.ssh/id_ed25519",
        "grep -r planted {home} ~",
        "ln -s {home} link; cat link/.ssh/id_ed25519",
        "cat made-before/.ssh/id_ed25519",
        "cat /proc/{parent}/root{home}/.ssh/id_ed25519",
        "cat /proc/{parent}/cwd/../home/.ssh/id_ed25519",
        "cat /proc/1/root{home}/.ssh/id_ed25519",
        "cat {home}/.local/share/agent-chat/sessions.db",
        "cp -r {home}/. . && grep -r planted .",
        "ln {home}/.ssh/id_ed25519 linked && cat linked",
        "unshare -Urm sh -c 'umount -l {home}; cat {home}/.ssh/id_ed25519'",
        "tar c {home} | grep -a planted",
    ],
)
async def test_the_home_is_not_read(attempt: str, sh: Run, home: Path, workspace: Path) -> None:
    (workspace / "made-before").symlink_to(home)
    done = await sh(attempt.format(home=home, parent=os.getpid()))
    assert SECRET not in done.output


async def test_our_own_environment_is_not_read(
    confined: Sandbox, workspace: Path, env: dict[str, str]
) -> None:
    run = line_runner(confined, workspace, env)
    with Program(["sleep", "60"], env={"PATH": os.environ["PATH"], "KEY": SECRET}) as other:
        assert SECRET in environment_of(other.pid)
        done = await run(f"cat /proc/{other.pid}/environ; cat /proc/*/environ | tr '\\0' '\\n'")
    assert SECRET not in done.output


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_no_socket_reaches_a_listener_on_this_machine(
    kind: str, sh: Run, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        target = port if kind == "SOCK_STREAM" else datagrams.getsockname()[1]
        code = (
            "import sys; sys.path.append('lib')\n"
            "import _socket as s\n"
            f"c = s.socket(s.AF_INET, s.{kind}); c.settimeout(2)\n"
            f"c.connect(('127.0.0.1', {target})); c.send(b'x')"
        )
        done = await sh(python(code))
        assert done.exit_code != 0 or kind == "SOCK_DGRAM"
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    assert nobody_connected(listener)


async def test_a_shell_does_not_reach_it_either(sh: Run, listener: socket.socket) -> None:
    await sh(f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]} && echo x >&3")
    assert nobody_connected(listener)


@pytest.mark.parametrize("abstract", [False, True])
async def test_no_socket_of_a_daemon_is_reached(abstract: bool, sh: Run, tmp_path: Path) -> None:
    """Such as those of docker, D-Bus and agents for keys, which act for whoever connects."""
    name = f"\0agent-chat-test-{os.getpid()}" if abstract else str(tmp_path / "daemon.sock")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(name)
        daemon.listen()
        daemon.setblocking(False)
        done = await sh(
            python(f"import _socket as s; c = s.socket(s.AF_UNIX, s.SOCK_STREAM); c.connect({name!r})")
        )
        assert done.exit_code != 0
        assert nobody_connected(daemon)


async def test_sockets_of_the_users_session_are_out_of_sight(sh: Run) -> None:
    done = await sh(
        'ls -A /run /run/user /var/run; echo "$XDG_RUNTIME_DIR$DBUS_SESSION_BUS_ADDRESS$DOCKER_HOST"'
    )
    assert "docker.sock" not in done.output
    assert "dbus" not in done.output


async def test_sockets_between_a_virtual_machine_and_its_host_cannot_be_made(sh: Run) -> None:
    done = await sh(python("import _socket as s; s.socket(40, s.SOCK_STREAM)"))
    assert done.exit_code != 0
    assert "PermissionError" in done.output


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    "attempt",
    [
        "{0} &",
        "nohup {0} >/dev/null 2>&1 &",
        "setsid {0} &",
        "setsid -f {0} >/dev/null 2>&1",
        "(({0} &) &)",
        "setsid sh -c '({0} &) &' >/dev/null 2>&1 </dev/null",
        "trap '' TERM HUP INT; {0} &",
        "env -i setsid -f {0} >/dev/null 2>&1",
        "{0} & kill -STOP $!; disown -a",
        "{0} & exec sleep 0.1",
    ],
)
async def test_no_child_is_left_behind(
    attempt: str, kind: Kind, open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str]
) -> None:
    mark = f"3{os.getpid() % 100_000:05}.{abs(hash((attempt, kind))) % 100_000:05}"
    sleeper = f"{found('sleep', os.environ)} {mark}"
    run = line_runner(open_sandbox(kind), workspace, env)
    done = await run(f"{attempt.format(sleeper)}\nsleep 0.1; echo started")
    assert done.output.endswith("started\n") or "exec" in attempt
    wait_until(lambda: mark not in running(), "nothing of it runs", within=3)


async def test_the_parent_is_neither_traced_nor_killed(sh: Run) -> None:
    if version() < SCOPE_VERSION:
        pytest.skip("this kernel's Landlock does not hold back signals")
    with Program(["sleep", "60"], env={"PATH": os.environ["PATH"]}) as victim:
        done = await sh(f"kill -9 {victim.pid}; echo tried")
        assert done.output.endswith("tried\n")
        done = await sh(
            python(
                "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
                f"print(c.ptrace(16, {victim.pid}, None, None))"
            )
        )
        assert done.output == "-1\n"
        assert is_alive(victim.pid)


async def test_a_command_that_kills_its_supervisor_leaves_nothing(
    confined: Sandbox, workspace: Path, env: dict[str, str]
) -> None:
    mark = f"4{os.getpid() % 100_000:05}.17"
    run = line_runner(confined, workspace, env)
    await run(f"sleep {mark} & kill -9 $PPID; sleep 0.2; echo alive")
    wait_until(lambda: mark not in running(), "nothing of it runs", within=3)


async def test_devices_cannot_be_made(sh: Run, workspace: Path) -> None:
    await sh("mknod disk b 254 0; mknod mem c 1 1")
    assert not (workspace / "disk").exists()
    assert not (workspace / "mem").exists()


async def test_root_has_lost_its_powers(sh: Run) -> None:
    done = await sh("grep -E 'CapEff|NoNewPrivs' /proc/self/status")
    kept = 0b11011  # chown, dac_override, fowner, fsetid
    effective, no_new = (line.split()[-1] for line in done.output.splitlines())
    assert int(effective, 16) & ~kept == 0
    assert no_new == "1"


def setting() -> int:
    return int(SETTING.read_text())


def restore(value: int) -> None:
    if setting() != value:
        SETTING.write_text(str(value))


SETTING = Path("/proc/sys/kernel/printk_ratelimit_burst")
"""Harmless, and like the others of the kernel written by root whatever it may do otherwise."""


@pytest.mark.parametrize(
    "attempt",
    [
        "echo {0} > {1}",
        "umount -l /proc/sys; echo {0} > {1}",
        "mount -t proc p /proc; echo {0} > {1}",
        "unshare -Urmpf sh -c 'mount -t proc p /proc; echo {0} > {1}'",
        "unshare -Urmpf sh -c 'mkdir p; mount -t proc p p; echo {0} > p/sys/kernel/printk_ratelimit_burst'",
    ],
)
async def test_the_kernels_settings_cannot_be_changed(attempt: str, sh: Run) -> None:
    before = setting()
    try:
        await sh(attempt.format(before + 1, SETTING))
        assert setting() == before
    finally:
        restore(before)


async def test_the_kernels_other_files_cannot_be_changed(sh: Run) -> None:
    done = await sh(
        "for f in /proc/sysrq-trigger /sys/kernel/uevent_helper /sys/fs/cgroup/cgroup.procs; do"
        " [ -e $f ] && (: >> $f) 2>/dev/null && echo writable $f; done; find /sys/fs/cgroup /sys/kernel"
        " -maxdepth 2 -type d -exec sh -c 'mkdir $1/x 2>/dev/null && echo made $1' sh {} \\;"
    )
    assert done.output == ""


async def test_no_namespace_gives_power_back(sh: Run) -> None:
    done = await sh("unshare -U true; echo $?; unshare -Ur true; echo $?")
    assert [line for line in done.output.splitlines() if line.isdigit()] == ["1", "1"]
    done = await sh(python("import _thread, os; print(os.fork() >= 0)"))
    assert done.exit_code == 0
