"""What a profile says of paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_chat.sandbox.profile import Access, Profile, standard_profile
from agent_chat.sandbox.repository import protected


def access(profile: Profile, path: Path) -> Access | None:
    """What holds for a path; None for what no rule names."""
    rules = profile.rules()
    return next((rules[name] for name in (path, *path.parents) if name in rules), None)


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


def make(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def test_the_home_is_private_and_the_workspace_in_it_is_writable(home: Path, environ: dict[str, str]) -> None:
    make(home / "project", home / ".ssh")
    profile = standard_profile(home / "project", environ)
    assert access(profile, home / ".ssh" / "id") == "private"
    assert access(profile, home / "project" / "src") == "write"
    assert access(profile, Path("/usr/lib")) is None


def test_toolchains_in_the_home_are_readable_and_what_logs_in_is_not(
    home: Path, workspace: Path, environ: dict[str, str]
) -> None:
    make(home / ".cargo/bin", home / ".cargo/registry", home / ".nvm", home / "tools/bin", home / "venv/bin")
    (home / ".cargo/credentials.toml").touch()
    (home / ".gitconfig").touch()
    (home / ".git-credentials").touch()
    (home / "venv/pyvenv.cfg").touch()
    environ["PATH"] = os.pathsep.join([str(home / "tools/bin"), str(home / "venv/bin"), "/usr/bin"])
    profile = standard_profile(workspace, environ)
    for name in (".cargo/bin/x", ".nvm/x", "tools/bin/x", "venv/lib/x", ".gitconfig"):
        assert access(profile, home / name) == "read", name
    for name in (".cargo/credentials.toml", ".git-credentials", "tools/secret", ".ssh"):
        assert access(profile, home / name) == "private", name


@pytest.mark.parametrize("variable", ["PATH", "GOPATH", "VIRTUAL_ENV"])
def test_a_variable_does_not_show_the_home_as_a_whole(
    variable: str, home: Path, workspace: Path, environ: dict[str, str]
) -> None:
    profile = standard_profile(workspace, {**environ, variable: str(home)})
    assert access(profile, home / "x") == "private"
    profile = standard_profile(workspace, {**environ, variable: str(home.parent)})
    assert access(profile, home / "x") == "private"


def test_a_virtual_environment_in_the_workspace_stays_writable(
    workspace: Path, environ: dict[str, str]
) -> None:
    make(workspace / ".venv" / "bin")
    profile = standard_profile(workspace, {**environ, "VIRTUAL_ENV": str(workspace / ".venv")})
    assert access(profile, workspace / ".venv" / "lib") == "write"


def test_links_are_judged_by_where_they_lead(home: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    make(home / "project")
    (tmp_path / "link").symlink_to(home / "project")
    (tmp_path / "home-link").symlink_to(home)
    profile = standard_profile(tmp_path / "link", {**environ, "HOME": str(tmp_path / "home-link")})
    assert profile.workspace == home / "project"
    assert access(profile, home / "x") == "private"


def test_what_is_asked_for_is_added(
    home: Path, workspace: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    make(home / "data", tmp_path / "cache", tmp_path / "keys", home / "work")
    profile = standard_profile(
        workspace,
        environ,
        readable=[home / "data", home / "missing"],
        writable=[tmp_path / "cache", home / "work"],
        hidden=[tmp_path / "keys"],
    )
    assert access(profile, home / "data" / "x") == "read"
    assert access(profile, tmp_path / "cache" / "x") == "write"
    assert access(profile, home / "work" / "x") == "write"
    assert access(profile, tmp_path / "keys" / "x") in ("hide", "private")
    assert home / "missing" not in profile.rules()


def test_the_repository_around_the_workspace_can_be_looked_at(home: Path, environ: dict[str, str]) -> None:
    make(home / "repo/.git", home / "repo/part", home / "other")
    profile = standard_profile(home / "repo/part", environ)
    assert access(profile, home / "repo/.git/HEAD") == "read"
    assert access(profile, home / "repo/part/x") == "write"
    assert access(profile, home / "other") == "private"


def test_a_worktree_shows_its_repository_only_when_that_points_back(
    home: Path, environ: dict[str, str]
) -> None:
    make(home / "repo/.git/worktrees/tree", home / "tree", home / ".ssh")
    (home / "repo/.git/worktrees/tree/gitdir").write_text(f"{home}/tree/.git\n")
    (home / "tree/.git").write_text(f"gitdir: {home}/repo/.git/worktrees/tree\n")
    assert access(standard_profile(home / "tree", environ), home / "repo/.git/HEAD") == "read"
    (home / "tree/.git").write_text(f"gitdir: {home}/.ssh\n")
    assert access(standard_profile(home / "tree", environ), home / ".ssh/id") == "private"


def test_what_is_protected_depends_on_the_repository(workspace: Path) -> None:
    assert protected(workspace) == (".agent-chat", ".mcp.json")
    make(workspace / ".git")
    (workspace / ".git/config").write_text('[core]\n\thooksPath = "tools/hooks"  # ours\n')
    assert {".git/hooks", ".git/config", ".git/modules", "tools/hooks"} <= set(protected(workspace))
    (workspace / ".git/config").write_text("[core]\n\thooksPath = ../elsewhere\n\thooksPath = .\n")
    assert all(
        not name.startswith((".", "/")) or name.startswith((".git/", ".agent", ".mcp"))
        for name in protected(workspace)
    )
    make(workspace / "tree")
    (workspace / "tree/.git").write_text("gitdir: x")
    assert ".git" in protected(workspace / "tree")


def test_without_a_home_there_is_a_profile(workspace: Path) -> None:
    for home in ("/nonexistent", "/"):
        profile = standard_profile(workspace, {"HOME": home})
        assert access(profile, workspace / "x") == "write"
