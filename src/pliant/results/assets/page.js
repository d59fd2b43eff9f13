"use strict";
// charts and the film of a run; the data stand in the page, nothing is fetched
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 8;
const now = { time: 0, listeners: [] };

function setTime(t) {
  now.time = t;
  now.listeners.forEach((listener) => listener(t));
}

// numbers in base 64, little-endian: of single precision, whole, and in steps of a unit for each of three columns
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const numbers = (text) => new Float32Array(bytes(text));
const whole = (text) => new Uint32Array(bytes(text));
const stepped = ({ unit, steps }) => Float32Array.from(new Int16Array(bytes(steps)), (n, i) => n * unit[i % unit.length]);

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

// the second run of a comparison is dashed
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const colour = (k, run) => `stroke: var(--c${k % COLOURS})${run ? `; stroke-dasharray: ${DASHES[run % DASHES.length]}` : ""}`;
const pair = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
const reading = (x) => (x === 0 ? "0" : String(parseFloat(x.toPrecision(4))));
const power = (n) => "10" + String(n).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

