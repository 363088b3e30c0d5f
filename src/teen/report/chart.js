// Lines with bands over steps, in SVG: hover, drag to zoom, keys.

const MOST_ROWS = 16; // of a tooltip
const MARGIN = { left: 58, right: 14, top: 12, bottom: 42 };

/* A series: {label, index, kind ("line" or "seed"), dash, note, steps, values, low, high, text(i)}. */
class Chart {
  constructor(title, unit, zoom, zoomed) {
    this.series = [];
    this.zoom = zoom; // the first and the last step to show; null for all
    this.zoomed = zoomed; // is told of another zoom
    this.at = null; // the step under the cursor
    this.clip = `clip-${(Chart.made = (Chart.made ?? 0) + 1)}`;
    this.title = title;
    this.unit = unit;
    this.svg = shape("svg", { role: "img" });
    this.tooltip = element("div", { className: "tooltip", role: "status", hidden: true });
    this.plot = element("div", { className: "plot", tabIndex: 0, role: "group", ariaLabel: title });
    this.plot.append(this.svg, this.tooltip);
    this.reset = element("button", { type: "button", className: "reset", textContent: "Reset zoom", hidden: true });
    this.root = element("figure", {}, element("h3", { textContent: title }), this.plot, this.reset);
    this.reset.addEventListener("click", () => this.zoomTo(null));
    this.listen();
    new ResizeObserver(() => this.render()).observe(this.plot);
  }

  show(series, unit = this.unit) {
    this.series = series;
    this.unit = unit;
    this.render();
  }

  zoomTo(range) {
    this.zoom = range;
    this.zoomed(range);
    this.render();
  }

  // Return sizes and ranges of what is to be shown; null where there is nothing.
  measure() {
    const width = this.plot.clientWidth;
    const height = this.svg.clientHeight || 304;
    const full = [Infinity, -Infinity];
    const widen = (range, value) => {
      if (value === null || value === undefined) return;
      range[0] = Math.min(range[0], value);
      range[1] = Math.max(range[1], value);
    };
    for (const one of this.series) one.values.forEach((value, i) => value !== null && widen(full, one.steps[i]));
    if (full[0] > full[1] || width < 120) return null;
    if (full[0] > 0 && full[0] < full[1] / 8) full[0] = 0; // training begins there
    const x = this.zoom ?? (full[0] === full[1] ? [full[0] / 2, full[1] * 1.5 || 1] : full);
    const y = [Infinity, -Infinity];
    for (const one of this.series) {
      one.steps.forEach((step, i) => {
        if (step < x[0] || step > x[1]) return;
        for (const list of [one.values, one.low, one.high]) if (list) widen(y, list[i]);
      });
    }
    if (y[0] > y[1]) y.splice(0, 2, 0, 1);
    const space = (y[1] - y[0]) * 0.05 || Math.abs(y[0]) * 0.05 || 1;
    y[0] -= space;
    y[1] += space;
    const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    return {
      width, height, inner, x, y, full,
      px: (step) => MARGIN.left + ((step - x[0]) / (x[1] - x[0])) * inner.width,
      py: (value) => MARGIN.top + (1 - (value - y[0]) / (y[1] - y[0])) * inner.height,
      step: (pixel) => x[0] + ((pixel - MARGIN.left) / inner.width) * (x[1] - x[0]),
    };
  }

  render() {
    const size = (this.size = this.measure());
    this.reset.hidden = !this.zoom;
    this.svg.setAttribute("aria-label", `${this.title}: ${this.unit} over environment steps`);
    if (!size) {
      this.svg.replaceChildren(shape("text", { x: 8, y: 24, class: "tick" }, "Nothing to show yet"));
      this.point(null);
      return;
    }
    const area = { x: MARGIN.left, y: MARGIN.top, width: size.inner.width, height: size.inner.height };
    const curves = shape("g", { "clip-path": `url(#${this.clip})` });
    for (const one of this.series) if (one.low) curves.append(this.band(one));
    for (const one of this.series) curves.append(...this.lines(one));
    this.marks = shape("g");
    this.svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    this.svg.replaceChildren(
      shape("clipPath", { id: this.clip }, shape("rect", area)), ...this.axes(), curves, this.marks);
    this.point(this.at);
  }

  axes() {
    const { width, height, inner, x, y, px, py } = this.size;
    const bottom = height - MARGIN.bottom;
    const right = width - MARGIN.right;
    const made = [];
    const values = ticks(y[0], y[1], inner.height / 50);
    const large = values.some((value) => Math.abs(value) >= 1e4);
    for (const value of values) {
      made.push(shape("line", { class: "grid", x1: MARGIN.left, x2: right, y1: py(value), y2: py(value) }));
      const text = large ? short(value) : String(value);
      made.push(shape("text", { class: "tick y", x: MARGIN.left - 8, y: py(value) + 4, "text-anchor": "end" }, text));
    }
    for (const step of ticks(x[0], x[1], inner.width / 80)) {
      made.push(shape("line", { class: "axis", x1: px(step), x2: px(step), y1: bottom, y2: bottom + 4 }));
      made.push(shape("text", { class: "tick x", x: px(step), y: bottom + 17, "text-anchor": "middle" }, short(step)));
    }
    made.push(shape("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }));
    const middle = MARGIN.left + inner.width / 2;
    made.push(shape("text", { class: "tick", x: middle, y: height - 6, "text-anchor": "middle" }, "environment steps"));
    const turned = `rotate(-90) translate(${-(MARGIN.top + inner.height / 2)} 12)`;
    made.push(shape("text", { class: "tick", transform: turned, "text-anchor": "middle" }, this.unit));
    return made;
  }

  path(one, indices, list) {
    const { px, py } = this.size;
    return indices.map((i) => `${px(one.steps[i]).toFixed(1)},${py(list[i]).toFixed(1)}`);
  }

  band(one) {
    const parts = stretches(one.low, one.high).map((indices) => {
      const back = this.path(one, indices, one.low).reverse();
      return `M${[...this.path(one, indices, one.high), ...back].join("L")}Z`;
    });
    return shape("path", { class: `band ${colourOf(one.index)}`, d: parts.join("") || "M0,0" });
  }

  lines(one) {
    const parts = stretches(one.values);
    const d = parts.map((indices) => `M${this.path(one, indices, one.values).join("L")}`).join("");
    const look = `${one.kind} ${colourOf(one.index)}`;
    const path = shape("path", { class: look, d: d || "M0,0", "stroke-dasharray": one.dash ?? dashOf(one.index) });
    path.dataset.label = one.label;
    const alone = parts.filter((indices) => indices.length === 1).map(([i]) => this.dot(one, i)); // a line needs two
    return [path, ...alone];
  }

  dot(one, i) {
    const { px, py } = this.size;
    return shape("circle", { class: `dot ${colourOf(one.index)}`, cx: px(one.steps[i]), cy: py(one.values[i]), r: 4 });
  }

  // Move the cursor to the step nearest to this one, and show what every series has there.
  point(step) {
    const shown = this.series.filter((one) => one.steps.length);
    this.tooltip.hidden = step === null || !this.size || !shown.length;
    this.marks?.replaceChildren();
    if (this.tooltip.hidden) {
      this.at = null;
      return;
    }
    const candidates = shown.map((one) => one.steps[nearest(one.steps, step)]);
    this.at = candidates.reduce((a, b) => (Math.abs(b - step) < Math.abs(a - step) ? b : a));
    const x = this.size.px(this.at);
    const bottom = this.size.height - MARGIN.bottom;
    this.marks.append(shape("line", { class: "cursor", x1: x, x2: x, y1: MARGIN.top, y2: bottom }));
    const rows = shown.map((one) => {
      const i = nearest(one.steps, this.at);
      const elsewhere = one.steps[i] === this.at ? "" : ` at ${short(one.steps[i])}`;
      if (one.values[i] !== null) this.marks.append(this.dot(one, i));
      return { value: one.values[i], cells: [
        swatch(one.index, one.dash),
        element("span", { textContent: one.note ? `${one.label}, ${one.note}` : one.label }),
        element("span", { textContent: one.text(i) + elsewhere }),
      ] };
    });
    rows.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity));
    const head = element("b", { textContent: `step ${this.at.toLocaleString("en-GB")}` });
    const table = element("div", {}, ...rows.slice(0, MOST_ROWS).flatMap((row) => row.cells));
    const rest = rows.length > MOST_ROWS ? [`and ${rows.length - MOST_ROWS} lower`] : [];
    this.tooltip.replaceChildren(head, table, ...rest);
    const right = x > this.size.width / 2;
    this.tooltip.style.left = right ? "auto" : `${x + 14}px`;
    this.tooltip.style.right = right ? `${this.size.width - x + 14}px` : "auto";
  }

  listen() {
    let start = null; // where a drag began, in pixels
    const pixel = (event) => event.clientX - this.plot.getBoundingClientRect().left;
    const select = (from, to) => {
      const rect = { class: "selection", x: Math.min(from, to), width: Math.abs(to - from) };
      this.marks.replaceChildren(shape("rect", { ...rect, y: MARGIN.top, height: this.size.inner.height }));
      this.tooltip.hidden = true;
    };
    this.plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.size) return;
      start = pixel(event);
      this.plot.setPointerCapture(event.pointerId);
    });
    this.plot.addEventListener("pointermove", (event) => {
      if (!this.size) return;
      if (start !== null && Math.abs(pixel(event) - start) > 5) select(start, pixel(event));
      else this.point(this.size.step(pixel(event)));
    });
    this.plot.addEventListener("pointerup", (event) => {
      const end = pixel(event);
      if (start !== null && this.size && Math.abs(end - start) > 5) {
        this.at = null;
        this.narrow(this.size.step(Math.min(start, end)), this.size.step(Math.max(start, end)));
      }
      start = null;
    });
    const leave = () => { start = null; this.point(null); };
    for (const name of ["pointercancel", "pointerleave", "blur"]) this.plot.addEventListener(name, leave);
    this.plot.addEventListener("dblclick", () => this.zoomTo(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  // Zoom to this range, but not to less than one step.
  narrow(from, to) {
    const [low, high] = this.size.full;
    const range = [Math.max(from, low), Math.min(to, high)];
    this.zoomTo(range[0] <= low && range[1] >= high ? null : range[1] - range[0] >= 1 ? range : this.zoom);
  }

  key(event) {
    if (!this.size || event.ctrlKey || event.metaKey || event.altKey) return;
    const { x } = this.size;
    const at = this.at ?? (x[0] + x[1]) / 2;
    const steps = [...new Set(this.series.flatMap((one) => one.steps))].sort((a, b) => a - b);
    const move = (by) => this.point(steps[Math.min(steps.length - 1, Math.max(0, nearest(steps, at) + by))]);
    const scale = (factor) => this.narrow(at - (at - x[0]) * factor, at + (x[1] - at) * factor);
    const actions = {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => this.point(x[0]), End: () => this.point(x[1]),
      "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2), 0: () => this.zoomTo(null),
      Escape: () => this.point(null),
    };
    if (!(event.key in actions)) return;
    actions[event.key]();
    event.preventDefault();
  }
}
