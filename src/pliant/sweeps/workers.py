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

from pliant.model.errors import ModelError, show
from pliant.results.tables import needed
from pliant.sweeps.work import CaseRow, SweepJob, run_chunk

Chunk = tuple[int, Sequence[dict[str, Any]]]
AHEAD = 2
"""Chunks per worker that are handed out before the first of them is back."""
ATTEMPTS = 3
"""So often a chunk is tried whose worker dies; a case that kills its process must not stop all others."""


def here(job: SweepJob, chunks: Iterator[Chunk]) -> Iterator[tuple[int, list[CaseRow]]]:
    """One after the other in this process."""
    for number, cases in chunks:
        yield number, run_chunk(job, cases)


def processes(job: SweepJob, chunks: Iterator[Chunk], count: int) -> Iterator[tuple[int, list[CaseRow]]]:
    """In several processes; one that dies is replaced and its chunk tried again."""
    waiting: dict[Future[list[CaseRow]], Chunk] = {}
    tried: dict[int, int] = {}
    again: list[Chunk] = []
    with _without_main(job):
        pool = _pool(job, count)
        try:
            while True:
                while len(waiting) < AHEAD * count and (chunk := again.pop() if again else next(chunks, None)):
                    waiting[pool.submit(_chunk, chunk[1])] = chunk
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                broken = False
                for future in done:
                    number, cases = waiting.pop(future)
                    try:
                        yield number, future.result()
                    except BrokenProcessPool:
                        broken = True
                        tried[number] = tried.get(number, 0) + 1
                        if tried[number] < ATTEMPTS * count * AHEAD:
                            again.append((number, cases))
                        else:
                            lost = "the process that computed this died several times"
                            yield number, [CaseRow(reason=lost) for _ in cases]
                if broken:
                    # every chunk that was on its way is lost with the pool
                    again.extend(waiting.values())
                    waiting.clear()
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = _pool(job, count)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def on_cluster(job: SweepJob, chunks: Iterator[Chunk], address: Any) -> Iterator[tuple[int, list[CaseRow]]]:
    """On the workers of a Dask cluster: an address such as tcp://host:8786, or a Client."""
    distributed: Any = needed("distributed", "a sweep on a cluster")
    own = isinstance(address, str)
    client = distributed.Client(address) if own else address
    try:
        # a task, and no data: the scheduler makes it again where the workers that had it are lost
        shared = client.submit(_itself, job, pure=False)
        count = max(sum(client.nthreads().values()), 1)
        numbers: dict[str, int] = {}

        def submit() -> Any:
            chunk = next(chunks, None)
            if chunk is None:
                return None
            # pure=False: each chunk is computed once for this sweep, whatever another one has left there
            future = client.submit(run_chunk, shared, chunk[1], retries=ATTEMPTS, pure=False)
            numbers[future.key] = chunk[0]
            return future

        first = [future for _ in range(AHEAD * count) if (future := submit()) is not None]
        queue = distributed.as_completed(first)
        for future in queue:
            rows = future.result()
            number = numbers.pop(future.key)
            future.release()
            following = submit()
            if following is not None:
                queue.add(following)
            yield number, rows
    finally:
        if own:
            client.close()


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
