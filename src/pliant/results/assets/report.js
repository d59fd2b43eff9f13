"use strict";
// charts and the film of a run; the data stand in the page, nothing is fetched
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = ["#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];
const now = { time: data.film ? data.film.time[0] : 0, listeners: [] };

function setTime(t) {
  now.time = t;
  now.listeners.forEach((listener) => listener(t));
}

function prepare(canvas) {
  // one canvas pixel per screen pixel
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height };
}

function element(kind, parent, text) {
  const node = document.createElement(kind);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}

function ticks(low, high, count) {
  const raw = (high - low) / count;
  if (!(raw > 0)) return [low];
  const decade = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * decade).find((s) => s >= raw * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

function label(x) {
  const size = Math.abs(x);
  if (size < 1e-300) return "0";
  return size >= 1e5 || size < 1e-3 ? x.toExponential(0) : String(parseFloat(x.toPrecision(4)));
}

class Chart {
  constructor(parent, chart) {
    this.chart = chart;
    this.hidden = new Set();
    this.window = null;
    this.hover = null;
    const figure = element("figure", parent);
    figure.className = "chart";
    element("figcaption", figure, chart.title);
    this.canvas = element("canvas", figure);
    this.legend(figure);
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerleave", () => { this.hover = null; this.draw(); });
    this.canvas.addEventListener("pointerdown", (e) => { this.from = this.place(e); });
    this.canvas.addEventListener("pointerup", (e) => this.release(e));
    this.canvas.addEventListener("dblclick", () => { this.window = null; this.draw(); });
    if (chart.timed) now.listeners.push(() => this.draw());
    this.draw();
  }

  legend(figure) {
    const box = element("div", figure);
    box.className = "legend";
    this.chart.series.forEach((series, k) => {
      const button = element("button", box);
      element("i", button).style.background = COLOURS[k % COLOURS.length];
      element("span", button, series.name);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(k)) this.hidden.add(k);
        button.className = this.hidden.has(k) ? "off" : "";
        this.draw();
      });
    });
  }

  ranges() {
    const x = this.chart.x;
    const [x0, x1] = this.window || [x[0], x[x.length - 1]];
    let y0 = Infinity, y1 = -Infinity;
    this.chart.series.forEach((series, k) => {
      if (this.hidden.has(k)) return;
      for (const values of [series.y, series.dashed || []]) {
        values.forEach((value, i) => {
          if (x[i] < x0 || x[i] > x1) return;
          const y = this.chart.log ? Math.log10(value) : value;
          if (Number.isFinite(y)) { y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
        });
      }
    });
    if (!(y1 >= y0)) { y0 = 0; y1 = 1; }
    const margin = (y1 - y0) * 0.06 || Math.abs(y1) * 0.1 || 1;
    return { x0, x1, y0: y0 - margin, y1: y1 + margin };
  }

  draw() {
    const { g, width, height } = prepare(this.canvas);
    const box = { left: 62, right: width - 10, top: 8, bottom: height - 30 };
    const r = this.ranges();
    this.box = box;
    this.range = r;
    const X = (x) => box.left + ((x - r.x0) / (r.x1 - r.x0 || 1)) * (box.right - box.left);
    const Y = (y) => box.bottom - ((y - r.y0) / (r.y1 - r.y0)) * (box.bottom - box.top);
    this.grid(g, box, r, X, Y);
    g.save();
    g.beginPath();
    g.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    g.clip();
    (this.chart.marks || []).forEach((mark) => this.vertical(g, X(mark), box, "#dc2626", [2, 3]));
    this.chart.series.forEach((series, k) => {
      if (this.hidden.has(k)) return;
      const colour = COLOURS[k % COLOURS.length];
      if (series.dashed) this.curve(g, series.dashed, X, Y, colour, [5, 4], 1);
      this.curve(g, series.y, X, Y, colour, [], 1.6);
    });
    if (this.chart.timed && data.film) this.vertical(g, X(now.time), box, "#94a3b8", []);
    g.restore();
    if (this.hover !== null) this.readings(g, box, X);
  }

  grid(g, box, r, X, Y) {
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = "#475569";
    g.strokeStyle = "#e2e8f0";
    g.lineWidth = 1;
    g.setLineDash([]);
    g.textAlign = "center";
    ticks(r.x0, r.x1, 7).forEach((x) => {
      g.beginPath(); g.moveTo(X(x), box.top); g.lineTo(X(x), box.bottom); g.stroke();
      g.fillText(label(x), X(x), box.bottom + 13);
    });
    g.fillText(this.chart.xlabel, (box.left + box.right) / 2, box.bottom + 27);
    g.textAlign = "right";
    ticks(r.y0, r.y1, 5).forEach((y) => {
      g.beginPath(); g.moveTo(box.left, Y(y)); g.lineTo(box.right, Y(y)); g.stroke();
      g.fillText(label(this.chart.log ? Math.pow(10, y) : y), box.left - 6, Y(y) + 4);
    });
  }

  curve(g, values, X, Y, colour, dash, width) {
    g.beginPath();
    values.forEach((value, i) => {
      const y = Y(this.chart.log ? Math.log10(value) : value);
      if (i) g.lineTo(X(this.chart.x[i]), y); else g.moveTo(X(this.chart.x[i]), y);
    });
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.stroke();
    g.setLineDash([]);
  }

  vertical(g, x, box, colour, dash) {
    g.beginPath();
    g.moveTo(x, box.top);
    g.lineTo(x, box.bottom);
    g.strokeStyle = colour;
    g.lineWidth = 1;
    g.setLineDash(dash);
    g.stroke();
    g.setLineDash([]);
  }

  readings(g, box, X) {
    const i = this.nearest(this.hover);
    const shown = this.chart.series.map((s, k) => [s, k]).filter(([, k]) => !this.hidden.has(k));
    const lines = [`${this.chart.xlabel} ${this.chart.x[i]}`, ...shown.map(([s]) => `${s.name}  ${s.y[i]}`)];
    this.vertical(g, X(this.chart.x[i]), box, "#475569", []);
    g.font = "11px system-ui, sans-serif";
    const wide = Math.max(...lines.map((text) => g.measureText(text).width)) + 14;
    const left = X(this.chart.x[i]) + wide + 12 > box.right ? X(this.chart.x[i]) - wide - 8 : X(this.chart.x[i]) + 8;
    g.fillStyle = "rgba(255, 255, 255, 0.92)";
    g.fillRect(left, box.top + 4, wide, 15 * lines.length + 6);
    g.textAlign = "left";
    lines.forEach((text, k) => {
      g.fillStyle = k ? COLOURS[shown[k - 1][1] % COLOURS.length] : "#1f2937";
      g.fillText(text, left + 7, box.top + 18 + 15 * k);
    });
  }

  nearest(x) {
    let best = 0;
    this.chart.x.forEach((value, i) => { if (Math.abs(value - x) < Math.abs(this.chart.x[best] - x)) best = i; });
    return best;
  }

  place(e) {
    const part = (e.offsetX - this.box.left) / (this.box.right - this.box.left);
    return this.range.x0 + Math.min(Math.max(part, 0), 1) * (this.range.x1 - this.range.x0);
  }

  move(e) {
    this.hover = this.place(e);
    this.draw();
  }

  release(e) {
    // a drag zooms in, a click moves the film
    const to = this.place(e), from = this.from === undefined ? to : this.from;
    if (Math.abs(to - from) > 0.02 * (this.range.x1 - this.range.x0)) this.window = [Math.min(from, to), Math.max(from, to)];
    else if (this.chart.timed && data.film) setTime(to);
    this.draw();
  }
}

class Film {
  constructor(parent, film) {
    this.film = film;
    this.turn = film.view.turn;
    this.tilt = film.view.tilt;
    this.magnify = 1;
    this.speed = 1;
    this.playing = false;
    const figure = element("figure", parent);
    figure.className = "film";
    this.canvas = element("canvas", figure);
    this.controls(figure);
    this.canvas.addEventListener("pointerdown", (e) => { this.grab = [e.clientX, e.clientY]; });
    this.canvas.addEventListener("pointerup", () => { this.grab = null; });
    this.canvas.addEventListener("pointerleave", () => { this.grab = null; });
    this.canvas.addEventListener("pointermove", (e) => this.orbit(e));
    now.listeners.push(() => this.draw());
    this.draw();
    if (film.time.length > 1) this.play();
  }

  controls(figure) {
    const bar = element("div", figure), times = this.film.time;
    bar.className = "controls";
    this.button = element("button", bar, "pause");
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.slider = this.input(bar, "time", times[0], times[times.length - 1], "any", times[0], (x) => { this.pause(); setTime(x); });
    this.clock = element("output", bar);
    element("span", bar, "speed");
    this.input(bar, "speed", 0.1, 4, 0.1, 1, (x) => { this.speed = x; });
    element("span", bar, "bending ×");
    const shown = document.createElement("output");
    this.input(bar, "bending", 1, 50, 1, 1, (x) => { this.magnify = x; shown.textContent = String(x); this.draw(); });
    shown.textContent = "1";
    bar.appendChild(shown);
  }

  input(parent, name, least, most, step, value, change) {
    const node = element("input", parent);
    Object.assign(node, { type: "range", name, min: least, max: most, step, value });
    node.addEventListener("input", () => change(parseFloat(node.value)));
    return node;
  }

  play() {
    this.playing = true;
    this.button.textContent = "pause";
    this.last = null;
    window.requestAnimationFrame((stamp) => this.tick(stamp));
  }

  pause() {
    this.playing = false;
    this.button.textContent = "play";
  }

  tick(stamp) {
    if (!this.playing) return;
    const times = this.film.time, first = times[0], span = times[times.length - 1] - first;
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
    const times = this.film.time;
    let k = 0;
    while (k < times.length - 2 && times[k + 1] <= now.time) k++;
    const part = times.length > 1 ? (now.time - times[k]) / (times[k + 1] - times[k]) : 0;
    return [k, Math.min(k + 1, times.length - 1), Math.min(Math.max(part, 0), 1)];
  }

  draw() {
    const { g, width, height } = prepare(this.canvas);
    const [k, l, part] = this.picture();
    const { centre, radius } = this.film.bounds;
    const scale = (0.46 * Math.min(width, height)) / radius;
    const ct = Math.cos(this.turn), st = Math.sin(this.turn), ce = Math.cos(this.tilt), se = Math.sin(this.tilt);
    const project = (p) => {
      const [x, y, z] = p.map((value, i) => value - centre[i]);
      const right = -st * x + ct * y, up = -se * (ct * x + st * y) + ce * z;
      return [width / 2 + scale * right, height / 2 - scale * up];
    };
    const between = (a, b) => a.map((value, i) => value + part * (b[i] - value));
    const stroke = (points, colour, size, dash) => {
      g.beginPath();
      points.forEach((p, i) => { const [x, y] = project(p); if (i) g.lineTo(x, y); else g.moveTo(x, y); });
      g.strokeStyle = colour;
      g.lineWidth = size;
      g.lineCap = g.lineJoin = "round";
      g.setLineDash(dash);
      g.stroke();
      g.setLineDash([]);
    };
    stroke(this.film.tip.slice(0, k + 1), "#f59e0b", 1, []);
    this.film.lines.forEach((line) => {
      const rigid = line.rigid[k].map((p, i) => between(p, line.rigid[l][i]));
      const bent = line.bent[k].map((p, i) => between(p, line.bent[l][i]));
      const drawn = bent.map((p, i) => p.map((value, a) => rigid[i][a] + this.magnify * (value - rigid[i][a])));
      stroke(rigid, "#94a3b8", 1, [4, 4]);
      stroke(drawn, line.flexible ? "#1d4ed8" : "#475569", 5, []);
    });
    this.slider.value = String(now.time);
    this.clock.textContent = `${now.time.toFixed(3)} s`;
  }
}

const parts = [];
if (data.film) parts.push(new Film(document.getElementById("film"), data.film));
(data.charts || []).forEach((chart) => parts.push(new Chart(document.getElementById("charts"), chart)));
window.addEventListener("resize", () => parts.forEach((part) => part.draw()));
