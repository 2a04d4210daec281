"""A process that has a session open, for tests that kill it: `session_worker.py MODE FOLDER [ID]`.

- `append`: starts a session and appends entries without end; prints the session's id, then each seq once
  `append` has returned.
- `hold`: resumes ID, appends a turn, prints `held`, waits for a line on stdin, appends another turn.
- `once`: starts a session of one turn and prints its id.
- `full`: as `append`, in files that may not grow beyond 200 kB; after the first problem it lifts that limit,
  appends ten more, and prints how many entries there should be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path

from agent_chat.core.events import Entry
from agent_chat.sessions.log import SessionLog
from agent_chat.sessions.store import SessionStore
from support.session_logs import conversation, place, started, turn_events, write


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(message: str) -> None:
    sys.stderr.write(f"{message}\n")


def endless(log: SessionLog) -> Iterator[Entry]:
    events = chain([started()], (event for number in count(1) for event in turn_events(number)))
    last: Entry | None = None
    for event in events:
        [last] = place(log.session_id, [event], after=last)
        yield last


def append(store: SessionStore) -> None:
    log = store.create(time.time())
    say(log.session_id)
    for entry in endless(log):
        log.append(entry)
        say(entry.seq)


def hold(store: SessionStore, session_id: str) -> None:
    log, entries = store.resume(session_id)
    more = write(log, turn_events(entries[-1].turn + 1), after=entries[-1])
    say("held")
    sys.stdin.readline()
    write(log, turn_events(entries[-1].turn + 2), after=more[-1])
    log.close()
    say("done")


def once(store: SessionStore) -> None:
    log = store.create(time.time())
    write(log, conversation(1))
    log.close()
    say(log.session_id)


def full(folder: Path) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    problems: list[str] = []
    store = SessionStore(folder, problems.append)
    log = store.create(time.time())
    entries = endless(log)
    while not problems:
        log.append(next(entries))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    further = list(islice(entries, 10))
    for entry in further:
        log.append(entry)
    log.close()
    for line in (log.session_id, further[-1].seq, *problems):
        say(line)


def main() -> None:
    mode, folder = sys.argv[1], Path(sys.argv[2])
    if mode == "full":
        full(folder)
        return
    store = SessionStore(folder, complain)
    match mode:
        case "append":
            append(store)
        case "hold":
            hold(store, sys.argv[3])
        case "once":
            once(store)
        case _:
            raise SystemExit(f"unknown mode {mode}")


if __name__ == "__main__":
    main()
