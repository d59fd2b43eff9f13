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
  constructor(parent, chart, times) {
    this.title = chart.title;
    this.timed = !chart.spectrum;
    this.log = !this.timed;
    this.marks = chart.marks || [];
    this.series = chart.series.map((s, k) => {
      const [y, wanted] = [numbers(s.y), s.dashed && numbers(s.dashed)];
      const look = { name: s.name, colour: colour(s.colour ?? k, s.run), shown: true };
      return { ...look, x: s.x ? numbers(s.x) : times[s.run || 0], y: this.scaled(y), wanted: wanted && this.scaled(wanted) };
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
    if (this.timed && data.films) now.listeners.push(() => this.follow());
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
      const [line, dash] = series.colour.split(";");
      element("i", button).style = line.replace("stroke", "border-color") + (dash ? "; border-top-style: dashed" : "");
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
    const first = this.timed ? Math.min(...this.series.map(({ x }) => x[0])) : 0;
    const [x0, x1] = this.window || [first, Math.max(...this.series.map(({ x }) => x[x.length - 1]))];
    let y0 = Infinity, y1 = -Infinity;
    for (const { x, y, wanted, shown } of this.series) {
      for (const values of shown ? [y, wanted || []] : []) {
        values.forEach((value, i) => {
          if (x[i] >= x0 && x[i] <= x1) { y0 = Math.min(y0, value); y1 = Math.max(y1, value); }
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
    for (const { x, y, wanted, shown, colour: style } of this.series) {
      if (!shown) continue;
      if (wanted) this.curve(x, wanted, "wanted", style);
      this.curve(x, y, "curve", style);
    }
    this.now = this.timed && data.films ? this.vertical(now.time, "now") : null;
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

  curve(x, values, kind, style) {
    const points = Array.from(values, (y, i) => pair(this.X(x[i]), this.Y(y)));
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
    const shown = this.series.filter((series) => series.shown), { box } = this;
    const first = shown[0] || this.series[0], near = first.x[this.nearest(first.x, x)], at = this.X(near);
    shape("path", this.readings, { class: "hover", d: `M${pair(at, box.top)}V${box.bottom}` });
    const panel = shape("rect", this.readings, { class: "box", rx: 3 });
    const lines = [`${reading(near)} ${this.timed ? "s" : "Hz"}`];
    shown.forEach((series) => lines.push(`${series.name}  ${this.value(series.y[this.nearest(series.x, near)])}`));
    const texts = lines.map((line, k) => {
      const text = shape("text", this.readings, { y: box.top + 18 + 15 * k }, line);
      if (k) text.style = shown[k - 1].colour.split(";")[0].replace("stroke", "fill");
      return text;
    });
    const wide = Math.max(...texts.map((text) => text.getComputedTextLength())) + 14;
    const left = at + wide + 12 > box.right ? at - wide - 8 : at + 8;
    texts.forEach((text) => text.setAttribute("x", left + 7));
    const frame = { x: left, y: box.top + 4, width: wide, height: 15 * lines.length + 6 };
    for (const [name, value] of Object.entries(frame)) panel.setAttribute(name, value);
  }

  nearest(values, x) {
    let low = 0, high = values.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (values[middle] < x) low = middle; else high = middle;
    }
    return x - values[low] < values[high] - x ? low : high;
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
    } else if (this.timed && data.films) setTime(to);
  }
}

