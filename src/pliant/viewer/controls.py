"""The panel beside the scene: how to look, joints, modes, and the playing of runs with plots."""

from __future__ import annotations

from collections.abc import Callable
from math import degrees, pi, radians, sin
from typing import Any

import numpy as np

from pliant.pictures.picture_words import engineering
from pliant.results.plots import Panel, panels
from pliant.viewer.scene import SHADES, Showcase
from pliant.viewer.shown import Handle, MovingRun, PosedRobot

MOST_POINTS = 400
"""Of a curve beside the scene."""
NONE = "none"
DIGITS = 6
SLOW = 0.6
"""Hz: how fast a mode is shown, whatever its frequency."""
COLOURS = ("#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
WORDS = {"deflection": "way from the rigid robot", "stress": "axial stress"}
SWINGS = {"deflection": "way of the swing as drawn", "stress": "axial stress of the swing as drawn"}


def by_hand(control: Any, change: Callable[[], None]) -> None:
    """Do something when the reader moves a control; the program moves them too."""
    control.on_update(lambda event: change() if event.client is not None else None)


class LookControls:
    """Exaggerated bending, thicker sections, colours and their legend."""

    def __init__(self, gui: Any, stage: Showcase) -> None:
        self.stage = stage
        fields = ["parts", "deflection"]
        fields += ["stress"] if any(each.drawn.stressed for each in stage.shown) else []
        with gui.add_folder("Look"):
            self.bending = gui.add_slider("bending ×", 0.0, 50.0, 0.5, 1.0, hint="0 is the rigid robot")
            self.sections = gui.add_slider("sections ×", 1.0, 20.0, 0.5, 1.0, hint="how thick beams are drawn")
            self.colour = gui.add_dropdown("colour", fields, initial_value="parts")
            self.rigid = gui.add_checkbox("axes of the rigid robot", True)
            self.legend = gui.add_html("")
        for control in (self.bending, self.sections, self.colour, self.rigid):
            control.on_update(lambda _: self.apply())
        self.tell()

    def apply(self) -> None:
        """What the reader wants, onto the stage."""
        stage = self.stage
        with stage.lock:
            stage.bending, stage.sections = float(self.bending.value), float(self.sections.value)
            stage.field, stage.rigid = self.colour.value, bool(self.rigid.value)
            stage.refresh()
            self.tell()

    def tell(self) -> None:
        """The legend of the colours, and the size of the cells of the floor."""
        stage, field = self.stage, self.stage.field
        text = f"cells of the floor: {engineering(stage.cell, 'm')}"
        if field in SHADES:
            colours = ", ".join(f"rgb{stop}" for stop in SHADES[field])
            end = engineering(stage.most, "Pa" if field == "stress" else "m")
            ends = (f"−{end}", "0", end) if field == "stress" else ("0", end)
            marks = "".join(f"<span>{each}</span>" for each in ends)
            what = WORDS[field] if stage.swing is None else SWINGS[field]
            text = (
                f"<b>{what}</b>"
                f"<div style='height:10px;border-radius:2px;background:linear-gradient(to right,{colours})'></div>"
                f"<div style='display:flex;justify-content:space-between'>{marks}</div>{text}"
            )
        self.legend.content = f"<div style='font-size:12px;padding:2px 14px;line-height:1.5'>{text}</div>"


class JointControls:
    """A slider for every joint; a warning where loops cannot be closed."""

    def __init__(self, gui: Any, stage: Showcase, robot: PosedRobot, changed: Callable[[], None]) -> None:
        self.stage, self.robot, self.changed = stage, robot, changed
        self.sliders: dict[str, Any] = {}
        self.handles = {handle.name: handle for handle in robot.handles()}
        with gui.add_folder("Joints"):
            for handle in self.handles.values():
                self.sliders[handle.name] = self._slider(gui, handle)
            self.sag = gui.add_checkbox("bent by its weight", False, visible=self._can_sag())
            self.home = gui.add_button("reference pose")
            self.message = gui.add_markdown("")
        by_hand(self.sag, self.move)
        self.home.on_click(lambda _: self.reset())

    def _can_sag(self) -> bool:
        robot = self.robot.arm.robot
        return any(robot.gravity) and any(link.is_flexible for link in robot.links)

    def _slider(self, gui: Any, handle: Handle) -> Any:
        factor, unit, step, digits = (180 / pi, "°", 0.5, 1) if handle.unit == "rad" else (1.0, "m", 0.001, 4)
        ends = round(factor * handle.low, digits), round(factor * handle.high, digits)
        at = min(max(round(factor * self.robot.value(handle.name), DIGITS), ends[0]), ends[1])
        slider = gui.add_slider(f"{handle.name}, {unit}", *ends, step, at)
        by_hand(slider, self.move)
        return slider

    def move(self) -> None:
        """To where the sliders are; what is refused stays, and the panel says why."""
        with self.stage.lock:
            self.robot.sags = bool(self.sag.value)
            wanted = {
                name: radians(slider.value) if self.handles[name].unit == "rad" else float(slider.value)
                for name, slider in self.sliders.items()
            }
            problem = self.robot.move(wanted)
            self.message.content = f"⚠ {problem}" if problem else ""
            if not problem:
                self.changed()

    def reset(self) -> None:
        """Back to the reference pose."""
        with self.stage.lock:
            self.sag.value = self.robot.sags = False
            self.robot.reset()
            for name, slider in self.sliders.items():
                value = self.robot.value(name)
                slider.value = round(degrees(value) if self.handles[name].unit == "rad" else value, DIGITS)
            self.message.content = ""
            self.changed()


class ModeControls:
    """Which vibration is shown, how far it swings, and whether the joints are held."""

    def __init__(self, gui: Any, stage: Showcase, robot: PosedRobot, look: LookControls) -> None:
        self.stage, self.robot, self.look, self.phase = stage, robot, look, 0.0
        with gui.add_folder("Modes"):
            self.held = gui.add_checkbox("joints held", True)
            self.choice = gui.add_dropdown("mode", [NONE], initial_value=NONE)
            self.amplitude = gui.add_slider("amplitude", 0.1, 3.0, 0.1, 1.0)
            self.moves = gui.add_checkbox("moving", True)
            self.message = gui.add_markdown("")
        by_hand(self.held, self.renew)
        by_hand(self.choice, self.choose)
        by_hand(self.amplitude, self.choose)
        self.renew()

    def renew(self) -> None:
        """The modes of the robot as it is now."""
        with self.stage.lock:
            names, problem = self.robot.modes(bool(self.held.value))
            before, after = self.choice.value.partition(":")[0], [NONE, *names]
            self.choice.options = after
            self.choice.value = next((name for name in names if name.partition(":")[0] == before), NONE)
            self.message.content = f"⚠ {problem}" if problem else ""
            self.choose()

    def choose(self) -> None:
        """Show the chosen one, or the robot at rest."""
        with self.stage.lock:
            stage = self.stage
            if self.choice.value == NONE:
                stage.swing = None
            else:
                mode = int(self.choice.value.partition(":")[0]) - 1
                stage.swing = self.robot.swing(mode), float(self.amplitude.value)
                ratio = self.robot.damping(mode)
                damped = f", damping {100 * ratio:.2g} %" if ratio > 0 else ""
                self.message.content = f"mode {self.choice.value}{damped}; shown slowly and not to scale"
            stage.refresh()
            self.look.tell()

    def tick(self, seconds: float) -> bool:
        """Swing on; whether there is anything to paint."""
        if self.stage.swing is None or not self.moves.value:
            return False
        self.phase += 2 * pi * SLOW * seconds
        self.stage.swing = self.stage.swing[0], float(self.amplitude.value) * sin(self.phase)
        return True


class PlayControls:
    """Play, pause, speed and time of runs, and their curves beside the scene."""

    def __init__(self, gui: Any, stage: Showcase, runs: list[MovingRun]) -> None:
        self.gui, self.stage, self.runs = gui, stage, runs
        self.first = min(float(each.run.time[0]) for each in runs)
        self.last = max(float(each.run.time[-1]) for each in runs)
        self.time, self.playing = self.first, False
        with gui.add_folder("Play"):
            self.button = gui.add_button("play")
            step = max((self.last - self.first) / 2000, 1e-9)
            end = max(self.last, self.first + step)
            self.slider = gui.add_slider("time, s", self.first, end, step, self.first)
            self.speed = gui.add_dropdown("speed ×", list(SPEEDS), initial_value="1")
        found = [{(panel.title, panel.unit): panel for panel in panels(each.run)} for each in runs]
        keys = dict.fromkeys(key for each in found for key in each)
        self.panels = {f"{title}, {unit}": [each.get((title, unit)) for each in found] for title, unit in keys}
        self.folder = gui.add_folder("Plots")
        with self.folder:
            self.choice = gui.add_dropdown("curves", list(self.panels), initial_value=next(iter(self.panels)))
        self._draw()
        if len(runs) > 1:
            self._legend(gui)
        self.button.on_click(lambda _: self.toggle())
        by_hand(self.slider, lambda: self.seek(float(self.slider.value)))
        by_hand(self.choice, self.renew)

    def _legend(self, gui: Any) -> None:
        nodes = zip(self.runs, self.stage.nodes, strict=True)
        rows = (f"<div><b style='color:rgb{node.own}'>■</b> {each.name}</div>" for each, node in nodes)
        gui.add_html(f"<div style='font-size:12px;padding:2px 14px'>{''.join(rows)}</div>", order=-1.0)

    # ---- playing

    def toggle(self) -> None:
        """Play or stop; at the end, from the start again."""
        self.playing = not self.playing
        if self.playing and self.time >= self.last:
            self.time = self.first
        self.button.label = "pause" if self.playing else "play"

    def seek(self, time: float) -> None:
        """Show an instant."""
        with self.stage.lock:
            self.time = time
            self.slider.value = time
            for each in self.runs:
                each.set(time)
            self.stage.refresh()
            self._mark()

    def tick(self, seconds: float) -> bool:
        """Play on, round and round."""
        if not self.playing or self.last <= self.first:
            return False
        later = self.time + float(self.speed.value) * seconds
        self.time = later if later <= self.last else self.first
        for each in self.runs:
            each.set(self.time)
        self.slider.value = self.time
        self._mark()
        return True

    # ---- plots

    def _curves(self) -> tuple[list[str], list[Any], list[str], list[int]]:
        """Labels, values, colours and runs of the chosen curves, all on the times of the plot."""
        labels, values, colours, owners = list[str](), list[Any](), list[str](), list[int]()
        own: list[Panel | None] = self.panels[self.choice.value]
        names = list(dict.fromkeys(name for panel in own if panel is not None for name in panel.curves))
        for k, (panel, each) in enumerate(zip(own, self.runs, strict=True)):
            for name, y in panel.curves.items() if panel is not None else ():
                labels.append(name if len(self.runs) == 1 else f"{name} · {each.name}")
                values.append(np.interp(self.times, each.run.time, y))
                colours.append(COLOURS[(names.index(name) if len(names) > 1 else k) % len(COLOURS)])
                owners.append(k)
        return labels, values, colours, owners

    def _draw(self) -> None:
        self.times = np.linspace(self.first, self.last, MOST_POINTS)
        labels, self.values, colours, owners = self._curves()
        low, high = min(float(y.min()) for y in self.values), max(float(y.max()) for y in self.values)
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high = low - margin, high + margin
        series: list[dict[str, Any]] = [
            {"label": "time, s"},
            {"label": "played", "fill": "rgba(148,163,184,0.25)", "width": 0, "fillTo": self.low},
        ]
        for label, colour, run in zip(labels, colours, owners, strict=True):
            series.append({"label": label, "stroke": colour, "width": 1.5, **({"dash": (6, 4)} if run else {})})
        scales = {"x": {"time": False}, "y": {"range": (self.low, self.high), "auto": False}}
        data = (self.times, self._played(), *self.values)
        with self.folder:
            self.plot = self.gui.add_uplot(data, tuple(series), title=self.choice.value, scales=scales, aspect=1.3)

    def renew(self) -> None:
        """Other curves in the same place."""
        with self.stage.lock:
            order = self.plot.order
            self.plot.remove()
            self._draw()
            self.plot.order = order

    def _played(self) -> Any:
        """What has been played is shaded."""
        return np.where(self.times <= self.time, self.high, self.low)

    def _mark(self) -> None:
        self.plot.data = (self.times, self._played(), *self.values)
