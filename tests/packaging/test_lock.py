"""The lock files: every package pinned and hashed, the tests on top of exactly what users run."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "requirements" / "run.lock"
TEST = ROOT / "requirements" / "test.lock"
LOCKS = pytest.mark.parametrize("lock", [RUN, TEST], ids=lambda lock: lock.name)
STOLEN_CREDENTIALS = ("1.82.7", "1.82.8")


def entries(lock: Path) -> list[tuple[Requirement, set[str]]]:
    """Each requirement with its hashes."""
    lines = lock.read_text("utf-8").replace("\\\n", " ").splitlines()
    found: list[tuple[Requirement, set[str]]] = []
    for line in lines:
        text = line.split("#")[0].strip()
        if text:
            requirement, *hashes = re.split(r"\s+--hash=", text)
            found.append((Requirement(requirement.strip()), set(hashes)))
    return found


@LOCKS
def test_every_package_is_pinned_and_hashed(lock: Path) -> None:
    assert len(entries(lock)) > 20
    for requirement, hashes in entries(lock):
        assert re.fullmatch(r"==[0-9][^*,]*", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), requirement


@LOCKS
def test_no_lock_names_an_address_or_an_option(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", re.sub(r"^ +--hash=.*$", "", text, flags=re.MULTILINE), re.MULTILINE)


def test_the_test_lock_holds_the_run_lock_with_the_same_versions_and_hashes() -> None:
    """Markers may differ: a package that users need on one platform the tests may need on all."""
    run, test = (
        {(canonicalize_name(one.name), str(one.specifier)): hashes for one, hashes in entries(lock)}
        for lock in (RUN, TEST)
    )
    assert {pin: test.get(pin) for pin in run} == run


@LOCKS
@pytest.mark.parametrize("version", STOLEN_CREDENTIALS)
def test_litellm_releases_that_stole_credentials_are_out(lock: Path, version: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (declared,) = [one for one in map(Requirement, project["dependencies"]) if one.name == "litellm"]
    assert not declared.specifier.contains(version)
    assert [one.specifier.contains(version) for one, _ in entries(lock) if one.name == "litellm"] == [False]


@pytest.mark.parametrize("extra", [None, "local"])
def test_what_the_project_asks_for_is_locked(extra: str | None) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
    locked = {canonicalize_name(one.name): one.specifier for one, _ in entries(RUN)}
    for requirement in map(Requirement, wanted):
        pinned = str(locked[canonicalize_name(requirement.name)]).removeprefix("==")
        assert requirement.specifier.contains(pinned, prereleases=True), requirement
