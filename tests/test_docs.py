"""What the documents show works, and what they point to is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.fixtures import Command, ProviderFactory
from support.process import clean_env, run
from support.provider import DONE, FIN, TC, T

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def test_the_readmes_library_example_runs(provider: ProviderFactory, home: Path, tmp_path: Path) -> None:
    [example] = blocks(ROOT / "README.md", "python")
    program = tmp_path / "example.py"
    program.write_text(example, encoding="utf-8")
    script = provider(
        [TC(0, "c1", "population", '{"city": "Bergen"}'), FIN("tool_calls"), DONE],
        [T("291,940 people."), FIN("stop"), DONE],
    )
    done = run([sys.executable, str(program)], env=clean_env(home, script))
    assert (done.out, done.err, done.code) == ("291,940 people. final_answer\n", "", 0)
    assert [path.name for path in home.iterdir()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
    missing = [one for one in targets if "://" not in one and not (path.parent / one).exists()]
    assert missing == []


def test_the_options_in_the_documents_exist(single: Command, chat: Command) -> None:
    known = single("--help").out + "".join(
        chat(*words, "--help").out
        for words in (
            (),
            ("sessions", "list"),
            ("sessions", "undo"),
            ("sessions", "search"),
            ("sessions", "export"),
            ("sessions", "fork"),
            ("sessions", "delete"),
            ("sessions", "prune"),
            ("usage",),
            ("config", "show"),
            ("config", "trust"),
            ("models", "list"),
            ("replay",),
        )
    )
    wanted = {
        option
        for path in DOCUMENTS
        for block in blocks(path, "console")
        for line in re.findall(r"agent-(?:chat|single)[^|#\n]*", block)
        for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", re.sub(r"\"[^\"]*\"|'[^']*'", "", line))
    }
    unknown = {option for option in wanted if not re.search(rf"(?<![\w-]){re.escape(option)}\b", known)}
    assert unknown == set()


def test_the_way_of_a_message_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:agent_chat/)?(?:cli|ui|core|engine|models|sessions|tools)/[\w/]+\.py)`", text)
    assert len(named) > 10
    missing = [
        name for name in named if not (ROOT / "agent_chat" / name.removeprefix("agent_chat/")).exists()
    ]
    assert missing == []
