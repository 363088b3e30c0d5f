"use strict";
// Elements, numbers as text, lists of numbers and their order. Text from outside goes in as text only.

const byId = (id) => document.getElementById(id);
const COLOURS = 6;
const DASHES = ["", "7 4", "2 4"];

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const colourOf = (index) => `c${index % COLOURS}`;
const dashOf = (index) => DASHES[Math.floor(index / COLOURS) % DASHES.length];

function swatch(index, dash = dashOf(index)) {
  const line = shape("line", { x1: 1, y1: 5, x2: 21, y2: 5, class: "line", "stroke-dasharray": dash });
  return shape("svg", { width: 22, height: 10, class: `swatch ${colourOf(index)}`, "aria-hidden": "true" }, line);
}

function short(value) {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(4))}${unit}`;
  }
  return String(Number(value.toPrecision(4)));
}

// Return a number as text, with as many decimals as suit `like`, so that a value and its spread match.
function number(value, like = value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(like ?? value);
  if (size && (size >= 1e7 || size < 1e-3)) return value.toExponential(2);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4;
  return value.toLocaleString("en-GB", { maximumFractionDigits: digits, minimumFractionDigits: digits });
}

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.75) * power;
  const first = Math.ceil(low / step); // counted, not added up to: adding 1 to a large number may leave it as it is
  const all = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  return [...new Set(all.map((value) => Number(value.toPrecision(12))))];
}

// Return means of as many neighbours on either side, at most `reach`: no lag, and the ends stay where they are.
function smoothed(values, reach) {
  if (!reach || !values) return values;
  return values.map((value, i) => {
    if (value === null) return null;
    const side = Math.min(reach, i, values.length - 1 - i);
    const near = values.slice(i - side, i + side + 1).filter((one) => one !== null);
    return near.reduce((sum, one) => sum + one, 0) / near.length;
  });
}

function nearest(steps, step) {
  let low = 0;
  let high = steps.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle;
    else high = middle;
  }
  return step - steps[low] <= steps[high] - step ? low : high;
}

const WORDS = new Intl.Collator("en", { numeric: true }); // run-9 before run-10

// Return rows in the order of their keys, unknown ones last. Equal ones stay as they are.
function ordered(rows, key, down) {
  const compare = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return (typeof x === "string" ? WORDS.compare(x, y) : x - y) * (down ? -1 : 1);
  };
  return [...rows].sort(compare);
}

const sortDirection = (down) => (down ? "descending" : "ascending");

// Return runs of neighbouring indices at which every list has a number.
function stretches(...lists) {
  const runs = [];
  let open = null;
  lists[0].forEach((_, i) => {
    if (lists.some((list) => list[i] === null)) open = null;
    else if (open) open.push(i);
    else runs.push((open = [i]));
  });
  return runs;
}
