// runs the script of a report against a small stand-in for a browser
const fs = require("fs"), vm = require("vm");
const html = fs.readFileSync(process.argv[2], "utf8");
const text = html.match(/<script id="data" type="application\/json">([\s\S]*?)<\/script>/)[1];
const script = html.match(/<script>\n([\s\S]*?)<\/script>\n<\/body>/)[1];
const made = [], frames = []; let calls = 0;
const pen = new Proxy({}, { get: (o, k) => k === "measureText" ? (t) => ({ width: 6 * t.length }) : k in o ? o[k] : (...a) => { calls++; for (const x of a.flat()) if (typeof x === "number" && !Number.isFinite(x)) throw new Error(`${String(k)} got ${a}`); }, set: (o, k, v) => { o[k] = v; return true; } });
function node(kind) { const n = { kind, style: {}, children: [], handlers: {}, clientWidth: 500, clientHeight: 230, appendChild(c) { this.children.push(c); return c; }, addEventListener(w, f) { this.handlers[w] = f; }, getContext: () => pen }; made.push(n); return n; }
const ids = { data: { textContent: text }, film: node("div"), charts: node("div") };
const window = { devicePixelRatio: 2, handlers: {}, addEventListener(w, f) { this.handlers[w] = f; }, requestAnimationFrame: (f) => frames.push(f) };
const document = { getElementById: (id) => ids[id], createElement: node };
vm.runInNewContext(script, { document, window, JSON, Math, Number, Object, Set, Infinity, String, parseFloat, console });
for (let k = 0; k < 50; k++) frames.shift()(1000 + 16 * k);
for (const n of made) for (const w of ["pointermove", "pointerdown", "pointermove", "pointerup", "dblclick", "click", "input", "pointerleave"]) if (n.handlers[w]) n.handlers[w]({ offsetX: 200, clientX: 210, clientY: 90 });
window.handlers.resize();
console.log(JSON.stringify({ charts: ids.charts.children.length, film: ids.film.children.length, calls, outside: (html.match(/(?:src|href)="https?:|fetch\(|XMLHttpRequest|@import/g) || []) }));
