"""A run with its files: preparation, checkpoints on the way, the result at the end."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.cli.terminal import check_folder, refuse
from pliant.errors import ModelError
from pliant.files import file_name
from pliant.model.readers.library import parse_document, read_text
from pliant.results.result import Result
from pliant.results.samples import Samples
from pliant.results.storage import load_run_and_checkpoint, save_run, seal_words
from pliant.simulation.checkpoint import (
    ENDING,
    Checkpoint,
    CheckpointFile,
    Space,
    holder,
    needed_space,
    partial_path,
    read_checkpoint,
)
from pliant.simulation.integrators.integrator import IntegrationError
from pliant.simulation.monitoring.events import Happening
from pliant.simulation.run import Progress, Run
from pliant.simulation.study import Study, load_study, study_from

RUN_ENDING = ".h5"


@dataclass
class JobOutcome:
    """How a job ended."""

    result: Result | None = None
    interrupted: bool = False
    trouble: str = ""
    written: bool = False


class Job:
    """A run, where its file goes and how far it was."""

    def __init__(self, study: Study, name: str, path: Path, kept: Checkpoint | None) -> None:
        self.study, self.name, self.path = study, name, path
        self.partial = partial_path(path)
        samples = int(study.until / study.sample_step) + 2
        # a folder that cannot be written is known before anything is compiled, the space that is needed after it
        Space(path, needed_space(samples, len(study.robot.joint_coordinates))).release()
        with study.placed():
            self.run = Run(study)
        # held to the end: what is computed can always be kept
        self.space = Space(path, needed_space(samples, 3 * self.run.arm.size + 2 * len(self.run.arm.inputs) + 4))
        self.resumed_at: float | None = None
        if kept is not None:
            _recall(self.run, kept, path)
            self.resumed_at = self.run.t
        self.kept = kept
        self.saved = False
        self.unsaved: list[Samples | None] = []

    @classmethod
    def prepare(
        cls, name: str, output: Path | None, changes: dict[str, Any], *, resume: bool, force: bool, python: bool
    ) -> Job:
        """Read the study, look at what is already there, and make sure that the result can be written."""
        given = Path(name)
        if resume and given.name.endswith((RUN_ENDING, RUN_ENDING + ENDING)):
            path = output or given.with_name(given.name.removesuffix(ENDING))
            check_folder(path, (RUN_ENDING,), beginning=seal_words("run"))
            kept = _kept(given.with_name(given.name.removesuffix(ENDING)))
            study = _stored_study(kept, changes, python)
            _same_study(study, kept, path, python)
            _still_ahead(study, kept, path)
            return cls(study, name, path, kept)
        if given.suffix == RUN_ENDING:
            refuse(f"{name} is a run; `pliant view {name}` shows it, --resume goes on with it")
        study = load_study(name, python=python, changes=changes)
        path = output or Path(f"{file_name(study.name)}{RUN_ENDING}")
        check_folder(path, (RUN_ENDING,), beginning=seal_words("run"))
        if resume:
            kept = _kept(path)
            _same_study(study, kept, path, python)
            _still_ahead(study, kept, path)
            return cls(study, name, path, kept)
        _refuse_held(path)
        if os.path.lexists(partial_path(path)) and not force:
            refuse(f"{partial_path(path)} holds an interrupted run; --resume goes on with it, --force starts anew")
        return cls(study, name, path, None)

    @property
    def resume_command(self) -> str:
        """How the user goes on."""
        return f"pliant simulate {shlex.quote(self.name)} -o {shlex.quote(str(self.path))} --resume"

    def go(self, update: Callable[[Progress], bool], interval: float) -> JobOutcome:
        """Run to the end, an interrupt or trouble; everything computed is kept."""
        try:
            log = self._open()
        except OSError:
            self.space.release()
            raise
        last = time.monotonic()

        def report(at: Progress) -> bool:
            nonlocal last
            if time.monotonic() - last > interval:
                self._checkpoint(log)
                last = time.monotonic()
            return update(at)

        outcome = JobOutcome()
        try:
            with self.study.placed():
                outcome.interrupted = not self.run.go(report)
            if outcome.interrupted:
                self._checkpoint(log)
        except IntegrationError as error:
            self.run.give_up(error)
            outcome.trouble = self.run.trouble
        except OSError as error:
            self._rescue(log)
            where = "the last checkpoint is kept; free some space, then go on with: " + self.resume_command
            return JobOutcome(trouble=f"{self.partial}: {error.strerror} at t = {self.run.t:.6g} s; {where}")
        except Exception:
            # a file without a checkpoint is of no use, and would be in the way of the next run
            self.space.release()
            if self.kept is None and not self.saved:
                log.remove()
            else:
                log.close()
            raise
        # not yet on the disk, should the result not get there either
        self.unsaved.append(self.run.recorder.fresh())
        outcome.result = self.run.result()
        self._finish(outcome, log)
        return outcome

    def _open(self) -> CheckpointFile:
        if self.kept is not None and self.kept.end and self.partial.exists():
            return CheckpointFile.reopen(self.partial, self.kept)
        header = {
            "study": self.study.to_yaml(),
            "robot": self.study.robot.to_yaml(),
            "until": self.study.until,
        }
        log = CheckpointFile.create(self.partial, header)
        if self.kept is not None:
            log.append(self.kept.samples, self.kept.memory, self.kept.happenings)
        return log

    def _checkpoint(self, log: CheckpointFile) -> None:
        self.unsaved.append(self.run.recorder.fresh())
        fresh = [part for part in self.unsaved if part is not None]
        log.append(Samples.join(fresh) if fresh else None, self.run.memory(), self.run.happenings)
        self.unsaved, self.saved = [], True

    def _rescue(self, log: CheckpointFile) -> None:
        """The disk is full: the space that was held is for the samples that are not yet on it."""
        self.space.release()
        with suppress(OSError):
            self._checkpoint(log)
        log.close()

    def _finish(self, outcome: JobOutcome, log: CheckpointFile) -> None:
        """Write the result; the checkpoints go when it is there and whole."""
        assert outcome.result is not None
        try:
            save_run(outcome.result.record(), self.path, self.run.memory())
            outcome.written = True
        except OSError as error:
            self._rescue(log)
            how = f"it is kept in {self.partial}; free some space, then write it with: {self.resume_command}"
            outcome.trouble = f"{self.path}: the result cannot be written: {error.strerror}; {how}"
            return
        self.space.release()
        if outcome.interrupted:
            log.close()
        else:
            log.remove()


def _refuse_held(path: Path) -> None:
    """Two processes must not write one run."""
    partial = partial_path(path)
    who = holder(partial)
    if who:
        refuse(f"{partial}: {who}; wait for its end, or name another file with -o")


def _recall(run: Run, kept: Checkpoint, path: Path) -> None:
    """Go on where a run was; what was kept of another robot or by other means does not fit."""
    try:
        run.recall(kept.memory, kept.samples, kept.happenings)
    except ModelError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        refuse(f"{path}: what was kept does not fit this run ({type(error).__name__}: {error}); --force starts anew")


def _kept(path: Path) -> Checkpoint:
    """What is there of a run: its checkpoints, or the finished file."""
    _refuse_held(path)
    partial = partial_path(path)
    if partial.exists():
        return read_checkpoint(partial)
    if not path.exists():
        refuse(f"there is nothing to resume: neither {partial} nor {path} exists")
    result, memory = load_run_and_checkpoint(path)
    if not memory:
        refuse(f"{path} was saved without a checkpoint; it cannot be resumed")
    header = {"study": result.info.study, "robot": result.robot.to_yaml(), "until": result.info.until}
    happenings = [Happening(t, name, value, False) for t, name, value in result.info.events]
    return Checkpoint(header, result.samples, memory, happenings)


def _stored_study(kept: Checkpoint, changes: dict[str, Any], python: bool | None) -> Study:
    """The study that a run was made of."""
    document = parse_document(kept.header["study"], "stored study")
    robot = read_text(kept.header["robot"], "stored robot")
    return study_from(document, "", python=python, changes={**changes, "robot": robot})


def _still_ahead(study: Study, kept: Checkpoint, path: Path) -> None:
    """A run does not go back: an end that it has passed is no end to go on to."""
    reached = float(kept.memory["integrator/t"])
    if reached > study.until:
        refuse(
            f"{path}: the run has already reached {reached:.6g} s, which is past the end of {study.until:g} s; "
            f"go on with an --until above {reached:.6g}, or leave out --resume and start anew (-o names another file)"
        )


def _same_study(study: Study, kept: Checkpoint, path: Path, python: bool) -> None:
    """A run goes on only with the study that it began with; its end may be another."""
    # code that it had and may not run is another drive
    before = _stored_study(kept, {"until": study.until}, python or None)
    changed = [
        key
        for key in type(study).model_fields
        if key not in ("name", "description") and getattr(study, key) != getattr(before, key)
    ]
    if changed:
        refuse(f"{path}: the study has changed since ({', '.join(changed)}); --force starts anew")
