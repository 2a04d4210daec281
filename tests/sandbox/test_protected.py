"""What would run outside the sandbox later cannot be changed from inside, whichever way it is tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.sandboxes import SECRET, OpenSandbox, Run, line_runner

from agent_chat.sandbox.confinement import Sandbox


@pytest.fixture
def repository(workspace: Path) -> Path:
    """The workspace as a repository, before the sandbox is opened."""
    git(workspace, "init", "-q")
    git(workspace, "config", "user.name", "A")
    git(workspace, "config", "user.email", "a@example.org")
    (workspace / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (workspace / ".git" / "hooks" / "pre-commit").chmod(0o755)
    (workspace / ".agent-chat").mkdir()
    (workspace / ".agent-chat" / "config.yaml").write_text("agent: {}\n")
    return workspace


@pytest.fixture
def sh_in_repository(
    repository: Path, request: pytest.FixtureRequest, open_sandbox: OpenSandbox, env: dict[str, str]
) -> Run:
    return line_runner(open_sandbox(request.param), repository, env)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def state(folder: Path) -> dict[str, str]:
    names = (".git/hooks", ".git/config", ".git/modules", ".agent-chat", ".mcp.json")
    paths = [path for name in names for path in (folder / name, *(folder / name).rglob("*"))]
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else ""
        for path in paths
        if path.exists()
    }


ATTEMPTS = [
    "echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "git config core.fsmonitor 'touch /tmp/x'",
    "git config --worktree core.hooksPath /tmp; git config core.hooksPath /tmp",
    "mv .git old && cp -r old .git && echo evil > .git/hooks/pre-commit; [ -d .git ] || mv old .git",
    "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
    "mv .git/config c; cp c .git/config; echo '[core]' >> .git/config",
    "echo 'agent: {mode: auto}' > .agent-chat/config.yaml",
    "mkdir -p .agent-chat/tools && echo evil > .agent-chat/tools/x.py",
    "mv .agent-chat a; mkdir .agent-chat; echo evil > .agent-chat/config.yaml",
    "echo '{}' > .mcp.json",
    "mkdir -p .git/modules/x && echo evil > .git/modules/x/config",
    "ln .git/hooks/pre-commit hard && echo evil > hard",
    "ln -s .git/hooks h && echo evil > h/pre-commit",
]


@pytest.mark.parametrize("sh_in_repository", ["bubblewrap", "landlock"], indirect=True)
@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_what_runs_later_is_as_before(attempt: str, sh_in_repository: Run, repository: Path) -> None:
    before = state(repository)
    await sh_in_repository(attempt)
    assert state(repository) == before


@pytest.mark.parametrize("sh_in_repository", ["bubblewrap", "landlock"], indirect=True)
async def test_git_works_on_the_rest(sh_in_repository: Run, repository: Path) -> None:
    done = await sh_in_repository(
        "echo x > file && git add file && git commit -qm first && git log --oneline"
    )
    assert done.exit_code == 0, done.output
    assert done.output.endswith("first\n")
    assert done.restored == ()


@pytest.mark.parametrize("sh_in_repository", ["landlock"], indirect=True)
async def test_what_was_undone_is_said(sh_in_repository: Run, repository: Path) -> None:
    done = await sh_in_repository("echo evil > .git/hooks/pre-commit")
    assert done.restored == (".git/hooks",)


async def test_hooks_that_the_configuration_names_are_protected_too(
    repository: Path, open_sandbox: OpenSandbox, env: dict[str, str]
) -> None:
    git(repository, "config", "core.hooksPath", ".husky")
    (repository / ".husky").mkdir()
    await line_runner(open_sandbox("bubblewrap"), repository, env)("echo evil > .husky/pre-commit")
    await line_runner(open_sandbox("landlock"), repository, env)("echo evil > .husky/pre-commit")
    assert list((repository / ".husky").iterdir()) == []


async def test_a_home_as_workspace_keeps_its_secrets_and_its_startup_files(
    open_sandbox: OpenSandbox, home: Path, env: dict[str, str]
) -> None:
    (home / ".bashrc").write_text("good")
    for kind in ("bubblewrap", "landlock"):
        run = line_runner(open_sandbox(kind, home_is_workspace=True), home, env)
        done = await run(
            "cat .ssh/id_ed25519 .local/share/agent-chat/*; echo evil > .bashrc; cat .bashrc; ls -d .ssh"
        )
        assert SECRET not in done.output
        assert (home / ".bashrc").read_text() == "good"
    sandbox = open_sandbox("bubblewrap", home_is_workspace=True)
    done = await line_runner(sandbox, home, env)("mkdir project && echo x > project/file")
    assert (home / "project" / "file").read_text() == "x\n"


async def test_a_repository_made_meanwhile_is_protected_from_then_on(
    open_sandbox: OpenSandbox, workspace: Path, env: dict[str, str]
) -> None:
    for kind in ("bubblewrap", "landlock"):
        run = line_runner(open_sandbox(kind), workspace, env)
        assert (await run("rm -rf .git; git init -q .")).exit_code == 0
        await run("echo evil > .git/hooks/pre-commit")
        assert ".git/hooks/pre-commit" not in state(workspace)


def test_without_a_sandbox_nothing_is_undone(open_sandbox: OpenSandbox) -> None:
    sandbox: Sandbox = open_sandbox("none")
    assert sandbox.unheld == ()
