// ---------------------------------------------------------------- film

const PARTS = { flexible: "#4b8df8", rigid: "#a3b1c6", joint: "#64748b", load: "#f5a524", looks: "#c3cedc", ground: "#7c8aa0" };
const SHADES = {
  deflection: ["#2c4a9e", "#2a8fb8", "#46c08f", "#c5dc4b", "#fde725"],
  stress: ["#2460d8", "#86b6f2", "#e8ebef", "#f29c7c", "#c81e1e"],
};
const rgb = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255);
const mixed = (a, b, part) => a.map((x, i) => x + part * (b[i] - x));

function shade(scale, part) {
  const at = Math.min(Math.max(part, 0), 1) * (scale.length - 1), i = Math.min(Math.floor(at), scale.length - 2);
  return mixed(scale[i], scale[i + 1], at - i);
}

function length(metres) {
  const [factor, unit] = metres >= 1 ? [1, "m"] : metres >= 1e-3 ? [1e3, "mm"] : [1e6, "µm"];
  return `${parseFloat((factor * metres).toPrecision(3))} ${unit}`;
}

function pressure(pascal) {
  const [factor, unit] = pascal >= 1e9 ? [1e-9, "GPa"] : pascal >= 1e6 ? [1e-6, "MPa"] : pascal >= 1e3 ? [1e-3, "kPa"] : [1, "Pa"];
  return `${parseFloat((factor * pascal).toPrecision(3))} ${unit}`;
}

class Film {
  constructor(parent, films) {
    this.film = films[0];
    this.robots = films.map((film, k) => new MovingRobot(film, k));
    this.first = Math.min(...this.robots.map(({ times }) => times[0]));
    this.last = Math.max(...this.robots.map(({ times }) => times[times.length - 1]));
    this.cloud = films.flatMap(({ cloud }) => { const all = numbers(cloud); return Array.from({ length: all.length / 3 }, (_, i) => all.subarray(3 * i, 3 * i + 3)); });
    const largest = this.robots.map((robot) => robot.largest());
    this.most = Object.fromEntries(Object.keys(SHADES).map((name) => [name, Math.max(...largest.map((each) => each[name]))]));
    this.shades = Object.fromEntries(Object.entries(SHADES).map(([name, colours]) => [name, colours.map(rgb)]));
    Object.assign(this, { magnify: 1, thick: 1, speed: 1, playing: false, colouring: "parts" });
    const figure = element("figure", parent, "", { class: "film" }), stage = element("div", figure, "", { class: "stage" });
    this.painter = Painter.make(element("canvas", stage, "", { "aria-hidden": "true" }));
    const names = films.map(({ name }) => name).join(" and ");
    this.svg = shape("svg", stage, { role: "img", tabindex: 0, "aria-label": `film of the moving robot: ${names}` });
    this.scale = element("div", stage, "", { class: "scale" });
    this.controls(figure);
    this.legend(figure);
    this.build();
    this.listen();
    now.listeners.push(() => this.draw());
    now.time = this.first;
    this.look();
    new ResizeObserver(() => this.draw()).observe(this.svg);
    // an address that ends in #t=1.5 shows that instant
    const asked = /^#t=([\d.]+)/.exec(window.location.hash);
    const still = asked || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.last > this.first && !still) this.play(); else this.pause();
    if (asked) setTime(Math.min(parseFloat(asked[1]), this.last));
  }

  listen() {
    const svg = this.svg;
    svg.addEventListener("pointerdown", (e) => { this.grab = [e.clientX, e.clientY]; this.pans = e.shiftKey || e.button === 2; svg.setPointerCapture(e.pointerId); });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { this.grab = null; });
    svg.addEventListener("pointermove", (e) => this.drag(e));
    svg.addEventListener("dblclick", () => this.look());
    svg.addEventListener("contextmenu", (e) => e.preventDefault());
    svg.addEventListener("wheel", (e) => {
      // the page scrolls on unless the film has been clicked or Ctrl is held
      if (!e.ctrlKey && document.activeElement !== svg) return;
      e.preventDefault();
      const { left, top } = svg.getBoundingClientRect();
      this.closer(Math.exp(-0.0015 * e.deltaY), e.clientX - left, e.clientY - top);
    }, { passive: false });
    svg.addEventListener("keydown", (e) => {
      const way = { ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] }[e.key];
      const factor = { "+": 1.2, "=": 1.2, "-": 1 / 1.2 }[e.key];
      if (way) this.orbit(...way);
      else if (factor) this.closer(factor, svg.clientWidth / 2, svg.clientHeight / 2);
      else if (e.key === " ") this.playing ? this.pause() : this.play();
      else return;
      e.preventDefault();
    });
  }

  controls(figure) {
    const bar = element("div", figure, "", { class: "controls" });
    this.button = element("button", bar, "", { type: "button", class: "play" });
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    const time = element("label", bar, "time", { class: "time" });
    this.slider = this.input(time, "time", this.first, this.last, "any", (x) => { this.pause(); setTime(x); });
    this.clock = element("output", time);
    this.select(bar, "speed", [0.1, 0.25, 0.5, 1, 2, 4].map((factor) => [factor, `× ${factor}`]), 1, (value) => { this.speed = parseFloat(value); });
    this.factor(bar, "bending", 50, (x) => { this.magnify = x; });
    if (this.painter) this.factor(bar, "sections", 20, (x) => { this.thick = x; });
    const ways = ["parts", ...Object.keys(SHADES).filter((name) => this.most[name] > 0)];
    if (this.painter && ways.length > 1) this.select(bar, "colour", ways.map((name) => [name, name]), "parts", (value) => { this.colouring = value; this.showScale(); this.draw(); });
    element("button", bar, "first view", { type: "button" }).addEventListener("click", () => this.look());
  }

  select(bar, name, options, first, change) {
    const node = element("select", element("label", bar, name), "", { name });
    for (const [value, text] of options) element("option", node, text, { value });
    node.value = String(first);
    node.addEventListener("change", () => change(node.value));
  }

  factor(bar, name, most, change) {
    const label = element("label", bar, name, { class: "factor" });
    const input = this.input(label, name, 1, most, 1, (x) => { shown.textContent = `× ${x}`; change(x); this.draw(); });
    input.value = "1";
    const shown = element("output", label, "× 1");
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
    const kinds = new Set(this.robots.flatMap(({ solids }) => solids.map(({ kind }) => kind)));
    if (this.robots.length > 1) this.robots.forEach(({ name }, k) => note(name, `border-color: var(--c${k % COLOURS})`, "patch"));
    else if (kinds.has("flexible")) note("flexible link", `border-color: ${PARTS.flexible}`, "patch");
    if (kinds.has("rigid")) note("rigid part", `border-color: ${PARTS.rigid}`, "patch");
    if (kinds.has("load")) note("hub or payload", `border-color: ${PARTS.load}`, "patch");
    note("the same joints without bending", "", "ghost");
    note("path of the tip", "border-color: var(--trace)", "thin");
    element("span", box, "drag to turn, with Shift to move; Ctrl and wheel to zoom; double-click for the first view", { class: "screen" });
  }

  showScale() {
    this.scale.replaceChildren();
    const name = this.colouring, most = this.most[name];
    if (name === "parts") return;
    const text = name === "stress" ? pressure : length;
    element("strong", this.scale, name === "stress" ? "axial stress" : "way from the rigid robot");
    const bar = element("i", this.scale);
    bar.style.background = `linear-gradient(to right, ${SHADES[name].join(", ")})`;
    const ends = element("span", this.scale);
    for (const end of name === "stress" ? [`−${text(most)}`, "0", text(most)] : ["0", text(most)]) element("span", ends, end);
  }

  build() {
    // the elements once; drawing moves them
    const make = (kind, name) => shape(kind, this.svg, { class: name });
    for (const robot of this.robots) {
      robot.path = make("polyline", "trace");
      robot.ghosts = robot.lines.map(() => make("polyline", "ghost"));
      robot.strokes = robot.lines.map(() => make("polyline", this.painter ? "axis" : "axis bent"));
      if (this.robots.length > 1) [robot.path, ...robot.strokes].forEach((node) => { node.style = colour(robot.number); });
    }
    this.axes = ["x", "y", "z"].map((name) => [make("path", `sign ${name}`), shape("text", this.svg, { "text-anchor": "middle" }, name)]);
    this.down = [make("path", "sign"), shape("text", this.svg, { "text-anchor": "middle" }, "g")];
    this.bar = [make("path", "sign"), shape("text", this.svg, { "text-anchor": "middle" })];
  }

  look() {
    Object.assign(this, { turn: this.film.turn, tilt: this.film.tilt, zoom: 1, move: [0, 0], asked: "" });
    this.draw();
  }

  play() {
    this.playing = true;
    this.button.textContent = "❚❚ pause";
    this.stamp = null;
    window.requestAnimationFrame((stamp) => this.tick(stamp));
  }

  pause() {
    this.playing = false;
    this.button.textContent = "▶ play";
  }

  tick(stamp) {
    if (!this.playing) return;
    const gone = this.stamp === null ? 0 : (stamp - this.stamp) / 1000;
    this.stamp = stamp;
    setTime(this.first + ((now.time - this.first + gone * this.speed) % (this.last - this.first)));
    window.requestAnimationFrame((next) => this.tick(next));
  }

  drag(e) {
    if (!this.grab) return;
    const way = [e.clientX - this.grab[0], e.clientY - this.grab[1]];
    this.grab = [e.clientX, e.clientY];
    if (!this.pans) return this.orbit(...way);
    this.move = this.move.map((x, a) => x + way[a]);
    this.draw();
  }

  orbit(x, y) {
    this.turn -= 0.008 * x;
    this.tilt = Math.min(Math.max(this.tilt + 0.008 * y, -1.57), 1.57);
    this.draw();
  }

  closer(factor, x, y) {
    // what is below the mouse stays there
    const zoom = Math.min(Math.max(this.zoom * factor, 0.2), 200), by = zoom / this.zoom;
    const centre = [this.svg.clientWidth / 2, this.svg.clientHeight / 2 - 20];
    this.move = this.move.map((old, a) => { const from = [x, y][a] - centre[a]; return from - by * (from - old); });
    this.zoom = zoom;
    this.draw();
  }

  projection(width, height) {
    // parallel; the whole motion fills the window, above the signs at its foot
    const ct = Math.cos(this.turn), st = Math.sin(this.turn), ce = Math.cos(this.tilt), se = Math.sin(this.tilt);
    const right = [-st, ct, 0], up = [-se * ct, -se * st, ce], towards = [ce * ct, ce * st, se];
    const along = (axis, p) => axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2];
    const extent = (axis) => {
      let low = Infinity, high = -Infinity;
      for (const p of this.cloud) { const place = along(axis, p); low = Math.min(low, place); high = Math.max(high, place); }
      return [(low + high) / 2, (high - low) / 2 || 1e-9];
    };
    const [[x, wide], [y, high], [middle, deep]] = [right, up, towards].map(extent);
    const scale = this.zoom * Math.min((width / 2 - 24) / wide, (height / 2 - 46) / high);
    const origin = [width / 2 + this.move[0] - scale * x, height / 2 - 20 + this.move[1] + scale * y];
    const point = (p, i) => {
      const q = [p[i], p[i + 1], p[i + 2]];
      return [origin[0] + scale * along(right, q), origin[1] - scale * along(up, q)];
    };
    // room in depth for what is exaggerated
    return { right, up, towards, scale, origin, middle, depth: 4 * (wide + high + deep), point };
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width) return;
    const asked = [width, height, this.turn, this.tilt, this.zoom, ...this.move].join();
    if (asked !== this.asked) {
      Object.assign(this, { asked, view: this.projection(width, height) });
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.signs(height);
    }
    if (this.painter) this.painter.begin(width, height, this.view, this.view.depth);
    for (const robot of this.robots) {
      robot.set(Math.min(now.time, robot.times[robot.times.length - 1]), this.magnify);
      if (this.painter) this.paint(robot);
      this.overlay(robot);
    }
    this.slider.value = String(now.time);
    this.clock.textContent = `${now.time.toFixed(2)} s`;
  }

  paint(robot) {
    const style = getComputedStyle(document.documentElement), several = this.robots.length > 1;
    const own = several ? rgb(style.getPropertyValue(`--c${robot.number % COLOURS}`).trim()) : null;
    for (const solid of robot.solids) {
      const vertices = robot.vertices(solid, this.thick), plain = rgb(PARTS[solid.kind]);
      const base = own ? (solid.kind === "flexible" ? own : mixed(plain, own, 0.35)) : plain;
      this.painter.draw(vertices, this.colours(robot, solid, base), solid.faces, solid.kind === "looks" && robot.number ? 0.6 : 1);
    }
  }

  colours(robot, solid, base) {
    const count = solid.places.length, out = solid.colours || (solid.colours = new Float32Array(3 * count));
    const shades = this.shades[this.colouring], most = this.most[this.colouring];
    for (let v = 0; v < count; v++) {
      let seen = base;
      if (this.colouring === "deflection" && solid.kind !== "ground") seen = shade(shades, robot.deflection(solid, v) / most);
      else if (this.colouring === "stress" && solid.modulus) seen = shade(shades, 0.5 + (0.5 * robot.stress(solid, v)) / most);
      else if (this.colouring === "stress") seen = mixed(base, [0.6, 0.62, 0.66], 0.8);
      out[3 * v] = seen[0]; out[3 * v + 1] = seen[1]; out[3 * v + 2] = seen[2];
    }
    return out;
  }

  overlay(robot) {
    const { point } = this.view, put = (node, points) => node.setAttribute("points", points.map((p) => pair(...p)).join(" "));
    robot.lines.forEach((places, j) => {
      put(robot.ghosts[j], places.map((i) => point(robot.rest, 3 * i)));
      robot.strokes[j].style.display = this.colouring === "parts" || !this.painter ? "" : "none";
      put(robot.strokes[j], places.map((i) => point(robot.p, 3 * i)));
    });
    const [k, l, part] = robot.picture(now.time), path = Array.from({ length: k + 1 }, (_, i) => point(robot.tip, 3 * i));
    const here = [0, 1, 2].map((a) => robot.tip[3 * k + a] + part * (robot.tip[3 * l + a] - robot.tip[3 * k + a]));
    put(robot.path, this.magnify === 1 ? [...path, point(here, 0)] : []);
  }

  signs(height) {
    // axes of the base, gravity and a scale
    const view = this.view;
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
    arrow(this.down, [112, height - 54], [along(view.right), along(view.up)], 28);
    const longest = 120 / view.scale, decade = Math.pow(10, Math.floor(Math.log10(longest)));
    const size = Math.max(...[1, 2, 5].map((n) => n * decade).filter((n) => n <= longest)), end = 150 + size * view.scale;
    this.bar[0].setAttribute("d", `M150,${height - 22}v8M150,${height - 18}H${end}M${end},${height - 22}v8`);
    this.bar[1].setAttribute("x", (150 + end) / 2);
    this.bar[1].setAttribute("y", height - 26);
    this.bar[1].textContent = length(size);
  }
}

