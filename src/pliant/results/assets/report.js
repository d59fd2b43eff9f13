"use strict";
// charts and the film of a run; the data stand in the page, nothing is fetched
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 8;
const now = { time: 0, listeners: [] };

function setTime(t) {
  now.time = t;
  now.listeners.forEach((listener) => listener(t));
}

function numbers(text) {
  // single precision, little-endian, in base 64
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function element(kind, parent, text, attributes) {
  const node = parent.appendChild(document.createElement(kind));
  if (text) node.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
}

function shape(kind, parent, attributes, text) {
  const node = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", kind));
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const colour = (k) => `stroke: var(--c${k % COLOURS})`;
const pair = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
const reading = (x) => (x === 0 ? "0" : String(parseFloat(x.toPrecision(4))));
const power = (n) => "10" + String(n).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

// ---------------------------------------------------------------- charts

function steps(low, high, count) {
  // round values between two limits, and how they are written: all with the same digits and the same power of ten
  if (!(high > low)) return { ticks: [{ at: low, text: reading(low) }], factor: "" };
  const raw = (high - low) / count, decade = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * decade).find((s) => s >= raw * 0.999);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const exponent = largest >= 1e5 || largest < 1e-2 ? Math.floor(Math.log10(largest)) : 0;
  const digits = Math.max(0, exponent - Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) {
    const text = ((k * step) / Math.pow(10, exponent)).toFixed(digits);
    ticks.push({ at: k * step, text: k ? text.replace("-", "−") : "0" });
  }
  return { ticks, factor: exponent ? `× ${power(exponent)}` : "" };
}

function decades(low, high) {
  const stride = Math.max(1, Math.round((high - low) / 5)), ticks = [];
  for (let k = Math.ceil(low / stride) * stride; k <= high; k += stride) ticks.push({ at: k, text: power(k) });
  return { ticks, factor: "" };
}

class Chart {
  constructor(parent, chart, time) {
    this.title = chart.title;
    this.timed = !chart.x;
    this.log = !this.timed;
    this.x = this.timed ? time : numbers(chart.x);
    this.marks = chart.marks || [];
    this.series = chart.series.map((s, k) => {
      const [y, wanted] = [numbers(s.y), s.dashed && numbers(s.dashed)];
      return { name: s.name, colour: colour(k), y: this.scaled(y), wanted: wanted && this.scaled(wanted), shown: true };
    });
    const figure = element("figure", parent, "", { class: "chart" });
    element("figcaption", figure, chart.title);
    this.svg = shape("svg", figure, { role: "img", "aria-label": this.summary(chart.unit) });
    this.legend(figure);
    this.svg.addEventListener("pointermove", (e) => this.hover(this.place(e)));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("pointerdown", (e) => { this.from = this.place(e); });
    this.svg.addEventListener("pointerup", (e) => this.release(this.place(e)));
    this.svg.addEventListener("dblclick", () => { this.window = null; this.draw(); });
    if (this.timed && data.film) now.listeners.push(() => this.follow());
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  scaled(values) {
    return this.log ? Float64Array.from(values, Math.log10) : values;
  }

  value(y) {
    return reading(this.log ? Math.pow(10, y) : y);
  }

  summary(unit) {
    const parts = this.series.map(({ name, y }) => {
      const least = y.reduce((a, b) => Math.min(a, b)), most = y.reduce((a, b) => Math.max(a, b));
      return `${name} from ${this.value(least)} to ${this.value(most)} ${unit}`;
    });
    return `${this.title}: ${parts.join("; ")}`;
  }

  legend(figure) {
    const box = element("div", figure, "", { class: "legend" });
    if (this.series.length > 1) this.series.forEach((series) => {
      const button = element("button", box, "", { type: "button", "aria-pressed": "true" });
      element("i", button).style = series.colour.replace("stroke", "border-color");
      button.append(series.name);
      button.addEventListener("click", () => {
        series.shown = !series.shown;
        button.setAttribute("aria-pressed", String(series.shown));
        this.draw();
      });
    });
    this.marks.forEach(({ name }, k) => {
      const note = element("span", box);
      element("i", note).style = `border-top: 2px ${k ? "dashed" : "dotted"} var(--c${k + 1})`;
      note.append(name);
    });
  }

  range() {
    const [x0, x1] = this.window || [this.timed ? this.x[0] : 0, this.x[this.x.length - 1]];
    let y0 = Infinity, y1 = -Infinity;
    for (const { y, wanted, shown } of this.series) {
      for (const values of shown ? [y, wanted || []] : []) {
        values.forEach((value, i) => {
          if (this.x[i] >= x0 && this.x[i] <= x1) { y0 = Math.min(y0, value); y1 = Math.max(y1, value); }
        });
      }
    }
    if (!(y1 >= y0)) { y0 = 0; y1 = 1; }
    const margin = (y1 - y0) * 0.06 || Math.abs(y1) * 0.1 || 1;
    return { x0, x1, y0: y0 - margin, y1: y1 + margin };
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width) return;
    const box = { left: 46, right: width - 10, top: 18, bottom: height - 34 }, r = this.range();
    Object.assign(this, { box, r });
    this.X = (x) => box.left + ((x - r.x0) / (r.x1 - r.x0 || 1)) * (box.right - box.left);
    this.Y = (y) => box.bottom - ((y - r.y0) / (r.y1 - r.y0)) * (box.bottom - box.top);
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.grid();
    // a window of its own cuts off what lies outside
    const frame = { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top };
    this.inside = shape("svg", this.svg, { ...frame, viewBox: Object.values(frame).join(" ") });
    this.inside.style = `width: ${frame.width}px; height: ${frame.height}px`;
    this.marks.forEach(({ at }, k) => at.forEach((x) => {
      this.vertical(x, "mark").style = `${colour(k + 1)}; stroke-dasharray: ${k ? "7 3" : "1.5 3"}`;
    }));
    if (this.timed) (data.events || []).forEach((event) => shape("title", this.vertical(event.time, "event"), {}, event.name));
    for (const { y, wanted, shown, colour: style } of this.series) {
      if (!shown) continue;
      if (wanted) this.curve(wanted, "wanted", style);
      this.curve(y, "curve", style);
    }
    this.now = this.timed && data.film ? this.vertical(now.time, "now") : null;
    this.readings = shape("g", this.svg, {});
  }

  grid() {
    const { box, r } = this;
    const across = steps(r.x0, r.x1, Math.max(2, (box.right - box.left) / 70));
    const up = this.log ? decades(r.y0, r.y1) : steps(r.y0, r.y1, 8);
    for (const { at, text } of across.ticks) {
      shape("path", this.svg, { class: "grid", d: `M${pair(this.X(at), box.top)}V${box.bottom}` });
      shape("text", this.svg, { x: this.X(at), y: box.bottom + 14, "text-anchor": "middle" }, text);
    }
    for (const { at, text } of up.ticks) {
      shape("path", this.svg, { class: "grid", d: `M${pair(box.left, this.Y(at))}H${box.right}` });
      shape("text", this.svg, { x: box.left - 6, y: this.Y(at) + 4, "text-anchor": "end" }, text);
    }
    shape("text", this.svg, { x: 4, y: 11 }, up.factor);
    const name = this.timed ? "time, s" : "frequency, Hz";
    shape("text", this.svg, { x: (box.left + box.right) / 2, y: box.bottom + 29, "text-anchor": "middle" }, `${name} ${across.factor}`);
  }

  curve(values, kind, style) {
    const points = Array.from(values, (y, i) => pair(this.X(this.x[i]), this.Y(y)));
    shape("polyline", this.inside, { class: kind, points: points.join(" "), style });
  }

  vertical(x, kind) {
    return shape("path", this.inside, { class: kind, d: `M${pair(this.X(x), this.box.top)}V${this.box.bottom}` });
  }

  follow() {
    if (this.now) this.now.setAttribute("d", `M${pair(this.X(now.time), this.box.top)}V${this.box.bottom}`);
  }

  hover(x) {
    this.readings.replaceChildren();
    if (x === null) return;
    const i = this.nearest(x), at = this.X(this.x[i]), { box } = this;
    shape("path", this.readings, { class: "hover", d: `M${pair(at, box.top)}V${box.bottom}` });
    const panel = shape("rect", this.readings, { class: "box", rx: 3 });
    const lines = [`${reading(this.x[i])} ${this.timed ? "s" : "Hz"}`];
    const shown = this.series.filter((series) => series.shown);
    shown.forEach(({ name, y }) => lines.push(`${name}  ${this.value(y[i])}`));
    const texts = lines.map((line, k) => {
      const text = shape("text", this.readings, { y: box.top + 18 + 15 * k }, line);
      if (k) text.style = shown[k - 1].colour.replace("stroke", "fill");
      return text;
    });
    const wide = Math.max(...texts.map((text) => text.getComputedTextLength())) + 14;
    const left = at + wide + 12 > box.right ? at - wide - 8 : at + 8;
    texts.forEach((text) => text.setAttribute("x", left + 7));
    const frame = { x: left, y: box.top + 4, width: wide, height: 15 * lines.length + 6 };
    for (const [name, value] of Object.entries(frame)) panel.setAttribute(name, value);
  }

  nearest(x) {
    let low = 0, high = this.x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.x[middle] < x) low = middle; else high = middle;
    }
    return x - this.x[low] < this.x[high] - x ? low : high;
  }

  place(e) {
    const part = (e.clientX - this.svg.getBoundingClientRect().left - this.box.left) / (this.box.right - this.box.left);
    return this.r.x0 + Math.min(Math.max(part, 0), 1) * (this.r.x1 - this.r.x0);
  }

  release(to) {
    // a drag zooms in, a click moves the film
    const from = this.from === undefined ? to : this.from;
    if (Math.abs(to - from) > 0.02 * (this.r.x1 - this.r.x0)) {
      this.window = [Math.min(from, to), Math.max(from, to)];
      this.draw();
      this.hover(to);
    } else if (this.timed && data.film) setTime(to);
  }
}

// ---------------------------------------------------------------- film

class Film {
  constructor(parent, film) {
    this.film = film;
    this.times = numbers(film.time);
    this.joints = numbers(film.joints);
    this.tip = numbers(film.tip);
    this.loads = numbers(film.loads);
    this.lines = film.lines.map((line) => ({ ...line, bent: numbers(line.bent), rigid: numbers(line.rigid) }));
    this.cloud = this.everything();
    this.magnify = this.speed = 1;
    this.playing = false;
    const figure = element("figure", parent, "", { class: "film" });
    this.svg = shape("svg", figure, { role: "img", "aria-label": `film of the moving robot: ${film.name}` });
    this.controls(figure);
    this.legend(figure);
    this.build();
    this.svg.addEventListener("pointerdown", (e) => { this.grab = [e.clientX, e.clientY]; this.svg.setPointerCapture(e.pointerId); });
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => { this.grab = null; });
    this.svg.addEventListener("pointermove", (e) => this.orbit(e));
    this.svg.addEventListener("dblclick", () => this.look());
    now.listeners.push(() => this.draw());
    now.time = this.times[0];
    this.look();
    new ResizeObserver(() => this.draw()).observe(this.svg);
    // an address that ends in #t=1.5 shows that instant
    const asked = /^#t=([\d.]+)$/.exec(window.location.hash);
    const still = asked || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.times.length > 1 && !still) this.play(); else this.pause();
    if (asked) setTime(Math.min(parseFloat(asked[1]), this.times[this.times.length - 1]));
  }

  controls(figure) {
    const bar = element("div", figure, "", { class: "controls" }), last = this.times.length - 1;
    this.button = element("button", bar, "", { type: "button", class: "play" });
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    const time = element("label", bar, "time", { class: "time" });
    this.slider = this.input(time, "time", this.times[0], this.times[last], "any", (x) => { this.pause(); setTime(x); });
    this.clock = element("output", time);
    const speed = element("select", element("label", bar, "speed"), "", { name: "speed" });
    for (const factor of [0.1, 0.25, 0.5, 1, 2, 4]) element("option", speed, `× ${factor}`, { value: factor });
    speed.value = "1";
    speed.addEventListener("change", () => { this.speed = parseFloat(speed.value); });
    const bending = element("label", bar, "bending", { class: "bending" });
    const input = this.input(bending, "bending", 1, 50, 1, (x) => { this.magnify = x; shown.textContent = `× ${x}`; this.draw(); });
    input.value = "1";
    const shown = element("output", bending, "× 1");
    element("button", bar, "first view", { type: "button" }).addEventListener("click", () => this.look());
  }

  input(parent, name, least, most, step, change) {
    const node = element("input", parent, "", { type: "range", name, min: least, max: most, step });
    node.addEventListener("input", () => change(parseFloat(node.value)));
    return node;
  }

  legend(figure) {
    const box = element("div", figure, "", { class: "legend" });
    const note = (text, style, kind) => {
      const span = element("span", box);
      Object.assign(element("i", span), { style, className: kind });
      span.append(text);
    };
    if (this.lines.some((line) => line.flexible)) note("flexible link", "border-color: var(--flexible)", "");
    if (this.lines.some((line) => !line.flexible)) note("rigid part", "border-color: var(--rigid)", "");
    if (this.loads.length) note("hub or payload", "border-color: var(--load)", "");
    note("the same joints without bending", "", "ghost");
    note("path of the tip", "border-color: var(--trace)", "thin");
    element("span", box, "drag to turn, double-click for the first view", { class: "screen" });
  }

  build() {
    // the elements once; drawing moves them
    const make = (kind, name) => shape(kind, this.svg, { class: name });
    this.base = make("polygon", "base");
    this.trace = make("polyline", "trace");
    this.ghosts = this.lines.map(() => make("polyline", "ghost"));
    this.strokes = this.lines.map((line) => make("polyline", line.flexible ? "bent flexible" : "bent"));
    this.weights = Array.from({ length: this.loads.length / this.times.length / 3 }, () => shape("circle", this.svg, { class: "load", r: 6 }));
    this.dots = Array.from({ length: this.joints.length / this.times.length / 3 }, () => shape("circle", this.svg, { class: "joint", r: 4 }));
    this.axes = ["x", "y", "z"].map((name) => [make("path", `sign ${name}`), shape("text", this.svg, { "text-anchor": "middle" }, name)]);
    this.down = [make("path", "sign"), shape("text", this.svg, { "text-anchor": "middle" }, "g")];
    this.bar = [make("path", "sign"), shape("text", this.svg, { "text-anchor": "middle" })];
  }

  everything() {
    // ends of the strokes all along the film: what the window has to hold
    const points = [[0, 0, 0]], stride = Math.ceil(this.times.length / 100);
    for (const { bent, points: count } of this.lines) {
      for (let k = 0; k < this.times.length; k += stride) {
        for (const i of [k * count, (k + 1) * count - 1]) points.push(bent.subarray(3 * i, 3 * i + 3));
      }
    }
    return points;
  }

  look() {
    Object.assign(this, { turn: this.film.turn, tilt: this.film.tilt });
    this.draw();
  }

  play() {
    this.playing = true;
    this.button.textContent = "❚❚ pause";
    this.last = null;
    window.requestAnimationFrame((stamp) => this.tick(stamp));
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶ play";
  }

  tick(stamp) {
    if (!this.playing) return;
    const first = this.times[0], span = this.times[this.times.length - 1] - first;
    const gone = this.last === null ? 0 : (stamp - this.last) / 1000;
    this.last = stamp;
    setTime(first + ((now.time - first + gone * this.speed) % span));
    window.requestAnimationFrame((next) => this.tick(next));
  }

  orbit(e) {
    if (!this.grab) return;
    this.turn -= 0.008 * (e.clientX - this.grab[0]);
    this.tilt = Math.min(Math.max(this.tilt + 0.008 * (e.clientY - this.grab[1]), -1.57), 1.57);
    this.grab = [e.clientX, e.clientY];
    this.draw();
  }

  picture() {
    // the picture at the time, and the part of the way to the next one
    const times = this.times;
    let k = 0;
    while (k < times.length - 2 && times[k + 1] <= now.time) k++;
    const part = times.length > 1 ? (now.time - times[k]) / (times[k + 1] - times[k]) : 0;
    return [k, Math.min(k + 1, times.length - 1), Math.min(Math.max(part, 0), 1)];
  }

  projection(width, height) {
    // parallel; the whole motion fills the window, above the signs at its foot
    const ct = Math.cos(this.turn), st = Math.sin(this.turn), ce = Math.cos(this.tilt), se = Math.sin(this.tilt);
    const right = [-st, ct, 0], up = [-se * ct, -se * st, ce];
    const along = (axis, p) => axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
    const extent = (axis) => {
      let low = Infinity, high = -Infinity;
      for (const p of this.cloud) { const place = along(axis, p); low = Math.min(low, place); high = Math.max(high, place); }
      return [(low + high) / 2, (high - low) / 2 || 1e-9];
    };
    const [[x, wide], [y, high]] = [extent(right), extent(up)];
    const scale = Math.min((width / 2 - 30) / wide, (height / 2 - 46) / high);
    const point = (p) => [width / 2 + scale * (along(right, p) - x), height / 2 - 20 - scale * (along(up, p) - y)];
    return { right, up, scale, point };
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width) return;
    const asked = [width, height, this.turn, this.tilt].join();
    if (asked !== this.asked) {
      Object.assign(this, { asked, view: this.projection(width, height) });
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.signs(height);
    }
    const view = this.view, [k, l, part] = this.picture();
    const at = (values, count, i) => [0, 1, 2].map((a) => {
      const here = values[3 * (k * count + i) + a];
      return here + part * (values[3 * (l * count + i) + a] - here);
    });
    const put = (node, points) => node.setAttribute("points", points.map((p) => pair(...view.point(p))).join(" "));
    const path = Array.from({ length: k + 1 }, (_, i) => this.tip.subarray(3 * i, 3 * i + 3));
    put(this.trace, this.magnify === 1 ? [...path, at(this.tip, 1, 0)] : []);
    this.lines.forEach((line, j) => {
      const ends = [at(line.rigid, 2, 0), at(line.rigid, 2, 1)];
      put(this.ghosts[j], ends);
      put(this.strokes[j], Array.from({ length: line.points }, (_, i) => {
        const bent = at(line.bent, line.points, i), s = i / (line.points - 1);
        return bent.map((x, a) => x + (this.magnify - 1) * (x - ends[0][a] - s * (ends[1][a] - ends[0][a])));
      }));
    });
    for (const [dots, places] of [[this.weights, this.loads], [this.dots, this.joints]]) {
      dots.forEach((dot, i) => {
        const [x, y] = view.point(at(places, dots.length, i));
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
        dot.style.display = this.magnify === 1 ? "" : "none";
      });
    }
    this.slider.value = String(now.time);
    this.clock.textContent = `${now.time.toFixed(2)} s`;
  }

  signs(height) {
    // the base, its axes, gravity and a scale
    const view = this.view, [x, y] = view.point([0, 0, 0]);
    this.base.setAttribute("points", [[-9, -9], [9, -9], [9, 9], [-9, 9]].map(([a, b]) => pair(x + a, y + b)).join(" "));
    const arrow = ([line, text], from, direction, size) => {
      const seen = Math.hypot(...direction);
      line.style.display = text.style.display = seen < 0.1 ? "none" : "";
      const [dx, dy] = direction, tip = [from[0] + size * dx, from[1] - size * dy];
      const wing = (side) => pair(tip[0] - 5 * (dx / seen) + side * 3 * (dy / seen), tip[1] + 5 * (dy / seen) + side * 3 * (dx / seen));
      if (seen >= 0.1) line.setAttribute("d", `M${pair(...from)}L${pair(...tip)}M${wing(1)}L${pair(...tip)}L${wing(-1)}`);
      text.setAttribute("x", tip[0] + 9 * (dx / seen || 0));
      text.setAttribute("y", tip[1] - 9 * (dy / seen || 0) + 4);
    };
    this.axes.forEach((axis, a) => arrow(axis, [46, height - 42], [view.right[a], view.up[a]], 28));
    const g = Math.hypot(...this.film.gravity);
    const along = (axis) => (g ? axis.reduce((sum, value, a) => sum + value * this.film.gravity[a], 0) / g : 0);
    arrow(this.down, [112, height - 42], [along(view.right), along(view.up)], 28);
    const longest = 120 / view.scale, decade = Math.pow(10, Math.floor(Math.log10(longest)));
    const length = Math.max(...[1, 2, 5].map((n) => n * decade).filter((n) => n <= longest)), end = 150 + length * view.scale;
    this.bar[0].setAttribute("d", `M150,${height - 22}v8M150,${height - 18}H${end}M${end},${height - 22}v8`);
    this.bar[1].setAttribute("x", (150 + end) / 2);
    this.bar[1].setAttribute("y", height - 26);
    this.bar[1].textContent = length >= 1 ? `${length} m` : `${reading(1000 * length)} mm`;
  }
}

if (data.film) new Film(document.getElementById("film"), data.film);
const time = data.time && numbers(data.time);
(data.charts || []).forEach((chart) => new Chart(document.getElementById("charts"), chart, time));
