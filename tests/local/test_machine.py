from pathlib import Path

import pytest

from agent_chat.local.machine import available_disk, available_memory, gib, usable_cores


def test_available_memory_is_the_kernels_figure(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4096 kB\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == 4096 * 1024


def test_a_containers_limit_counts_when_it_is_lower(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable:    4096 kB\n")
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert available_memory(tmp_path / "meminfo", tmp_path) == 2000


def test_no_limit_and_no_meminfo_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(tmp_path / "none", tmp_path) is None


@pytest.mark.parametrize(
    ("quota", "most"), [("150000 100000", 1), ("50000 100000", 1), ("max 100000", 10**6)]
)
def test_cores_respect_a_quota_and_are_at_least_one(tmp_path: Path, quota: str, most: int) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    assert 1 <= usable_cores(tmp_path) <= most


def test_disk_of_a_folder_that_is_not_there_yet_is_that_of_its_parent(tmp_path: Path) -> None:
    assert (available_disk(tmp_path / "a" / "b") or 0) > 0


@pytest.mark.parametrize(("size", "text"), [(1_117_320_768, "1.0 GiB"), (98_362_432, "94 MiB")])
def test_sizes_for_people(size: int, text: str) -> None:
    assert gib(size) == text
