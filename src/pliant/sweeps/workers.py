"""Who computes the chunks of a sweep: this process, several processes, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from pliant.errors import ModelError, show
from pliant.results.tables import needed
from pliant.sweeps.work import CaseRow, SweepJob, run_chunk

Chunk = tuple[int, Sequence[dict[str, Any]]]
AHEAD = 2
"""Chunks per worker that are handed out before the first of them is back."""
ATTEMPTS = 3
"""So often a chunk is tried whose worker dies, then each of its cases alone: one that kills stops no other."""
LOST = "the process that computed this died several times"


def here(job: SweepJob, chunks: Iterator[Chunk]) -> Iterator[tuple[int, list[CaseRow]]]:
    """One after the other in this process."""
    for number, cases in chunks:
        yield number, run_chunk(job, cases)


def processes(job: SweepJob, chunks: Iterator[Chunk], count: int) -> Iterator[tuple[int, list[CaseRow]]]:
    """In several processes; one that dies is replaced and its chunk tried again, at last case by case."""
    waiting: dict[Future[list[CaseRow]], Chunk] = {}
    tried: dict[int, int] = {}
    again: list[Chunk] = []
    suspects: list[Chunk] = []
    with _without_main(job):
        pool = _pool(job, count)
        try:
            while True:
                broken = False
                while len(waiting) < AHEAD * count and (chunk := again.pop() if again else next(chunks, None)):
                    try:
                        waiting[pool.submit(_chunk, chunk[1])] = chunk
                    except BrokenProcessPool:
                        again.append(chunk)
                        broken = True
                        break
                if not waiting and not broken:
                    break
                done, _ = wait(waiting, return_when=FIRST_COMPLETED) if waiting else (set(), set())
                for future in done:
                    number, cases = waiting.pop(future)
                    try:
                        yield number, future.result()
                    except BrokenProcessPool:
                        broken = True
                        tried[number] = tried.get(number, 0) + 1
                        # with the pool all chunks are lost that were on their way: any of them may be to blame
                        (again if tried[number] < ATTEMPTS else suspects).append((number, cases))
                if broken:
                    # every chunk that was on its way is lost with the pool
                    again.extend(waiting.values())
                    waiting.clear()
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = _pool(job, count)
            for number, cases in suspects:
                rows: list[CaseRow] = []
                for case in cases:
                    try:
                        rows += pool.submit(_chunk, [case]).result()
                    except BrokenProcessPool:
                        rows.append(CaseRow(reason=LOST))
                        pool.shutdown(wait=False, cancel_futures=True)
                        pool = _pool(job, 1)
                yield number, rows
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def on_cluster(job: SweepJob, chunks: Iterator[Chunk], address: Any) -> Iterator[tuple[int, list[CaseRow]]]:
    """On the workers of a Dask cluster: an address such as tcp://host:8786, or a Client.

    Scheduler and workers are trusted: what they send is unpickled, which can run any code.
    """
    distributed: Any = needed("distributed", "a sweep on a cluster")
    own = isinstance(address, str)
    client = distributed.Client(address) if own else address
    try:
        # a task, and no data: the scheduler makes it again where the workers that had it are lost
        shared = client.submit(_itself, job, pure=False)
        count = max(sum(client.nthreads().values()), 1)
        handed: dict[str, Chunk] = {}
        suspects: list[Chunk] = []

        def submit() -> Any:
            chunk = next(chunks, None)
            if chunk is None:
                return None
            # pure=False: each chunk is computed once for this sweep, whatever another one has left there
            future = client.submit(run_chunk, shared, chunk[1], retries=ATTEMPTS, pure=False)
            handed[future.key] = chunk
            return future

        first = [future for _ in range(AHEAD * count) if (future := submit()) is not None]
        queue = distributed.as_completed(first)
        for future in queue:
            number, cases = handed.pop(future.key)
            rows = _unless_killed(future, distributed)
            following = submit()
            if following is not None:
                queue.add(following)
            if rows is None:
                # the scheduler blames all that its lost workers had
                suspects.append((number, cases))
            else:
                yield number, rows
        for number, cases in suspects:
            # one at a time: whatever kills its worker now is itself to blame
            each = (_unless_killed(client.submit(run_chunk, shared, [case], pure=False), distributed) for case in cases)
            yield number, [row for rows in each for row in rows or [CaseRow(reason=LOST)]]
    finally:
        if own:
            client.close()


def _unless_killed(future: Any, distributed: Any) -> list[CaseRow] | None:
    """The rows of a chunk; None where the workers died that had it."""
    try:
        rows: list[CaseRow] = future.result()
    except distributed.KilledWorker:
        return None
    finally:
        future.release()
    return rows


def _itself(job: SweepJob) -> SweepJob:
    return job


def read_jobs(jobs: int | str) -> int:
    """Processes to use: a number, or auto for one per processor that this program may use."""
    if jobs == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        count = int(jobs)
    except ValueError:
        count = 0
    if count < 1:
        raise ModelError(f"jobs is {show(jobs)}; it must be a number from 1 on, or auto")
    return count


# ---------------------------------------------------------------- processes

_job: SweepJob | None = None


def _begin(job: SweepJob) -> None:
    global _job
    _job = job
    # an interrupt is the business of the process that handed out the work
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _chunk(cases: Sequence[dict[str, Any]]) -> list[CaseRow]:
    assert _job is not None
    return run_chunk(_job, cases)


def _pool(job: SweepJob, count: int) -> ProcessPoolExecutor:
    # fresh processes: a copy of one with threads may wait for ever
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(job,))


@contextmanager
def _without_main(job: SweepJob) -> Iterator[None]:
    """New processes do not run the user's script again, unless a function of his is in it."""
    main = sys.modules["__main__"]
    if callable(job.do) and getattr(job.do, "__module__", "") == "__main__":
        yield
        return
    kept = {name: main.__dict__.get(name) for name in ("__file__", "__spec__")}
    main.__dict__.pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is not None or name == "__spec__":
                setattr(main, name, value)
