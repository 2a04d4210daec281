import pytest

from agent_chat.local.draft import Draft

OFFERED = frozenset({"calc", "now"})
CALL = '{"name": "calc", "arguments": {"expression": "1"}}'


def read(text: str, size: int, offered: frozenset[str] = OFFERED) -> tuple[str, bool]:
    """What is shown of `text` fed `size` characters at a time, and whether it becomes a call."""
    draft, shown = Draft(offered), ""
    for at in range(0, len(text), size):
        shown += draft.feed(text[at : at + size])
        if draft.is_call:
            return shown, True
    return shown + draft.rest(), False


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("", CALL),
        ("", "\n" + CALL),
        ("", f"```json\n{CALL}\n```"),
        ("", f"```\n{CALL}\n```"),
        ("", f"[{CALL}]"),
        ("", '{\n  "name" : "now",'),
        ("I will calculate it.\n", CALL),
        ("I will calculate it:\n\n", f"```json\n{CALL}"),
    ],
)
def test_a_call_is_seen_and_never_shown(before: str, call: str, size: int) -> None:
    shown, is_call = read(before + call, size)
    assert is_call
    assert shown.strip() == before.strip()


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "Hello! How are you?",
        '{"name": "someone", "age": 3}',
        '{"answer": "' + "x" * 200 + '"}',
        "```python\nprint({'name': 'calc'})\n```\nDone.\n",
        'The call is {"name": "calc"} in short.',
        "`code` at the start",
        "two\n\n\nlines\n",
        "{",
        "```",
        "   ",
        "",
    ],
)
def test_other_text_is_shown_whole(text: str, size: int) -> None:
    assert read(text, size) == (text, False)


def test_text_is_shown_as_it_comes() -> None:
    draft = Draft(OFFERED)
    assert [draft.feed(piece) for piece in ("The", " answer", " is\n", "42")] == [
        "The",
        " answer",
        " is\n",
        "42",
    ]


def test_a_long_start_is_not_held_for_ever() -> None:
    draft = Draft(OFFERED)
    shown = draft.feed('{"text": "') + draft.feed("x" * 100)
    assert shown.startswith('{"text": "xxx')


def test_without_tools_nothing_is_held() -> None:
    assert Draft(frozenset()).feed(CALL) == CALL
