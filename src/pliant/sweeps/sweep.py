"""``pliant.sweep``: a robot or a study computed many times with other numbers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.description.robot import Robot
from pliant.simulation.checkpoint import SPARE, Space
from pliant.simulation.outputs import sample_times
from pliant.simulation.study import Study
from pliant.sweeps.journal import Journal, as_stored, plan_digest
from pliant.sweeps.table import ENDINGS, Sweep, SweepInfo, column, gathered, load_hdf5, save_hdf5, save_parquet
from pliant.sweeps.variation import Cases, Subject, make_cases, subject_of
from pliant.sweeps.work import ABREAST, CaseRow, Own, SweepJob
from pliant.sweeps.workers import Chunk, here, on_cluster, processes, read_jobs

LARGEST_CHUNK = 2 * ABREAST
LANES = 8
"""The most that processors have: chunks of so many leave none empty."""
CHUNKS_PER_WORKER = 8
"""So many chunks, or more, for each worker: the last ones to finish keep the others waiting for a short time only."""


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """Where a sweep is: cases done, cases in all, how many of them failed, seconds since this call began.

    alone  why runs are not stepped side by side in the lanes of a processor, where some are not
    """

    done: int
    total: int
    failed: int
    seconds: float
    fresh: int
    alone: str = ""

    @property
    def left(self) -> float:
        """Seconds that the rest will take at the present pace."""
        return (self.total - self.done) * self.seconds / max(self.fresh, 1)


SweepReport = Callable[[SweepProgress], bool | None]
"""Called after each chunk; ``True`` interrupts the sweep."""


class SweepInterruptedError(RuntimeError):
    """A sweep was interrupted; what was computed is kept beside its file."""


def sweep(
    subject: Subject | Dynamics | str | os.PathLike[str],
    vary: Mapping[str, Any],
    *,
    do: str | Own | None = None,
    outputs: str | Sequence[str] = (),
    sample: str | None = None,
    seed: int | None = None,
    jobs: int | str = 1,
    file: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    cluster: Any = None,
    report: SweepReport | None = None,
    python: bool = False,
) -> Sweep:
    """Compute a robot or a study many times with other numbers, and put what comes out into a table.

    subject  a study, a robot, or a name or path of either
    vary     place -> values: {"forearm.payloads[0].mass": numpy.linspace(0, 2, 11), "drive.kp[0]": [100, 200]};
             a list, an array, text such as "0:2:11 kg", Between(low, high) or Normal(mean, deviation).
             Places are those of `Robot.set`; in a study also its own keys
    do       "simulate" (default for a study), "modes" (default for a robot), "equilibrium", or a function of the
             changed robot's Dynamics, or of the changed study, that gives a number or a mapping of names to numbers
    outputs  what is kept of each case: "max(tip.deflection)", "final(elbow)", "elbow" (the whole history),
             "frequency.1"; default: the usual
    sample   None or "grid": all combinations; "zip": lists side by side; "random:N" or "latin:N" draws N cases
    seed     of what is drawn
    jobs     processes; "auto": one per processor
    file     HDF5 or Parquet file of the table; finished cases are kept beside it until it is written, so that an
             interrupted sweep can be resumed, and nothing is held in memory
    resume   go on with what is there; a finished file is read
    force    start anew although an interrupted sweep is there
    cluster  address of a Dask scheduler or a Client, instead of processes here
    report   called now and then with a SweepProgress; returning True ends the sweep early
    python   whether Python code that a study or a varied value names may run
    """
    own = subject_of(subject, do, python=python)
    what: str | Own = do if do is not None else ("simulate" if isinstance(own, Study) else "modes")
    wanted = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    job = SweepJob(own, what, wanted, python)
    cases = make_cases(vary, sample, seed)
    # a place that does not exist, or a value of a wrong kind, is refused before anything is computed
    job.changed(cases.case(0))
    units = job.units()
    path = None if file is None else Path(file)
    workers = 0 if cluster is not None else read_jobs(jobs)
    plan = _plan(job, cases)
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise ModelError(f"{path}: a sweep is written to a file that ends in {' or '.join(ENDINGS)}")
    if path is not None and resume and path.exists() and path.suffix.lower() == ".h5":
        return _finished(path, plan)
    course = _Course(job, cases, plan, path, workers, cluster, report, units, resume=resume)
    return course.go(resume=resume, force=force)


def _finished(path: Path, plan: dict[str, Any]) -> Sweep:
    """The sweep in a file, if it is the one that is asked for."""
    found = load_hdf5(path)
    if found.info.plan != plan_digest(plan):
        raise ModelError(f"{path} holds another sweep than this one; name another file, or force replaces it")
    return found


class _Course:
    """A sweep on its way."""

    def __init__(
        self,
        job: SweepJob,
        cases: Cases,
        plan: dict[str, Any],
        path: Path | None,
        workers: int,
        dask: Any,
        report: SweepReport | None,
        units: dict[str, str],
        *,
        resume: bool,
    ) -> None:
        self.job, self.cases, self.path, self.workers, self.dask, self.report = job, cases, path, workers, dask, report
        self.size = _chunk_size(len(cases), workers)
        if resume and path is not None:
            # chunks that are there keep their size, however many processes go on
            begun = Journal.begun(path)
            size = begun.pop("chunk", None)
            if begun == as_stored(plan) and isinstance(size, int) and 0 < size <= LARGEST_CHUNK:
                self.size = size
        self.plan = plan_digest(plan)
        self.units = {**dict(zip(cases.places, cases.units, strict=True)), **units}
        self.journal = None if path is None else Journal(path, {**plan, "chunk": self.size})
        self.count = -(-len(cases) // self.size)
        self.rows: dict[int, list[CaseRow]] = {}
        self.space: Space | None = None

    def go(self, *, resume: bool, force: bool) -> Sweep:
        there = self.journal.open(resume=resume, force=force) if self.journal is not None else set()
        try:
            return self._go(there)
        finally:
            self._release()
            if self.journal is not None:
                self.journal.close()

    def _go(self, there: set[int]) -> Sweep:
        began = time.perf_counter()
        done, fresh, failed, alone = 0, 0, 0, ""
        for number in sorted(there):
            done += self._length(number)
        todo = ((k, self._cases(k)) for k in range(self.count) if k not in there)
        for number, rows in self._work(todo):
            if self.journal is not None:
                self._reserve(self.journal.keep(number, rows) / len(rows))
            else:
                self.rows[number] = rows
            done, fresh = done + len(rows), fresh + len(rows)
            failed += sum(bool(row.reason) for row in rows)
            alone = alone or next((row.alone for row in rows if row.alone), "")
            seconds = time.perf_counter() - began
            stop = self.report and self.report(SweepProgress(done, len(self.cases), failed, seconds, fresh, alone))
            if stop and done < len(self.cases):
                kept = f"; {self.journal.folder} keeps what is done" if self.journal is not None else ""
                raise SweepInterruptedError(f"the sweep was interrupted after {done} of {len(self.cases)} cases{kept}")
        return self._table()

    def _reserve(self, each: float) -> None:
        """Take the space of the table on the disk, as soon as it is known how much a case needs."""
        if self.space is None and self.path is not None:
            self.space = Space(self.path, int(each * len(self.cases)) + SPARE)

    def _release(self) -> None:
        if self.space is not None:
            self.space.release()

    def _length(self, number: int) -> int:
        return min(self.size, len(self.cases) - number * self.size)

    def _cases(self, number: int) -> list[dict[str, Any]]:
        first = number * self.size
        return [self.cases.case(k) for k in range(first, first + self._length(number))]

    def _work(self, todo: Iterator[Chunk]) -> Iterator[tuple[int, list[CaseRow]]]:
        if self.dask is not None:
            return on_cluster(self.job, todo, self.dask)
        return here(self.job, todo) if self.workers == 1 else processes(self.job, todo, self.workers)

    def _table(self) -> Sweep:
        info = self._info()
        varied = {place: column(values) for place, values in zip(self.cases.places, self.cases.columns, strict=True)}
        times = self._times()
        if self.journal is None or self.path is None:
            return gathered(varied, (self.rows[k] for k in range(self.count)), len(self.cases), times, info)
        chunks = self.journal.chunks(self.count)
        self._release()
        if self.path.suffix.lower() == ".parquet":
            found = gathered(varied, chunks, len(self.cases), times, info)
            save_parquet(found, self.path)
            self.journal.remove()
            return found
        save_hdf5(self.path, varied, chunks, len(self.cases), times, info)
        self.journal.remove()
        return load_hdf5(self.path)

    def _times(self) -> NDArray[np.float64]:
        subject = self.job.subject
        if isinstance(subject, Robot) or self.job.do != "simulate":
            return np.zeros(0)
        return sample_times(subject.sample_step, subject.until)

    def _info(self) -> SweepInfo:
        subject, action = self.job.subject, self.job.do if isinstance(self.job.do, str) else _name(self.job.do)
        version = str(sys.modules["pliant"].__version__)
        return SweepInfo(subject.to_yaml(), subject.name, action, self.cases.how, self.units, version, self.plan)


def _chunk_size(cases: int, workers: int) -> int:
    """Cases in a chunk: few enough for all workers, and full lanes."""
    size = max(1, cases // (CHUNKS_PER_WORKER * max(workers, 1)))
    return min(LARGEST_CHUNK, size if size <= LANES // 2 else -(-size // LANES) * LANES)


def _name(function: Own) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _plan(job: SweepJob, cases: Cases) -> dict[str, Any]:
    """What is computed, as plain data, to be compared when a sweep is resumed."""
    subject = job.subject
    texts = {"subject": subject.to_yaml()}
    if isinstance(subject, Study):
        texts["robot"] = subject.robot.to_yaml()
    return {
        **texts,
        "do": job.do if isinstance(job.do, str) else _name(job.do),
        "outputs": list(job.outputs),
        "places": list(cases.places),
        "units": list(cases.units),
        "values": [list(values) for values in cases.columns],
        "how": cases.how,
    }
