"use strict";
// The page around the charts. What the reader chose lives in `state`, so that new data can be shown without losing it.

const byId = (id) => document.getElementById(id);
const live = document.body.dataset.live === "yes";
const state = { mode: "mean", smooth: 0, hidden: new Set(), chosen: {}, at: "last", by: "", differing: false };
const FIRST_SHOWN = { diagnostics: "bias_normalised_mean" };
const charts = new Map();
let data = JSON.parse(byId("data").textContent);

const indexOf = (label) => data.labels.indexOf(label);
const visible = (one) => !state.hidden.has(one.label);

function chart(section, env, unit) {
  const key = `${section} ${env}`;
  if (!charts.has(key)) {
    charts.set(key, new Chart(env, unit));
    byId(section).querySelector(".charts").append(charts.get(key).root);
  }
  return charts.get(key);
}

function line(label, steps, values, more = {}) {
  const drawn = smoothed(values, state.smooth);
  return { label, index: indexOf(label), kind: "line", steps, values: drawn, text: (i) => number(drawn[i]), ...more };
}

const add = (values, others, sign) => values.map((value, i) => (value === null ? null : value + sign * others[i]));
const ofAll = (some, all) => (some < all ? `${some} of ${all}` : String(all));
const across = (one, i) => (one.count[i] < one.seeds.length ? `, ${one.count[i]} of ${one.seeds.length} seeds` : "");

function banded(one, more = () => "") {
  const [mean, std] = [smoothed(one.mean, state.smooth), smoothed(one.std, state.smooth)];
  const text = (i) => `${number(mean[i])} ± ${number(std[i], mean[i])}${more(i)}`;
  return line(one.label, one.steps, one.mean, { low: add(mean, std, -1), high: add(mean, std, 1), text });
}

const CURVES = {
  mean(one) {
    return [banded(one, (i) => across(one, i))];
  },
  iqm(one) {
    const [iqm, low, high] = [one.iqm, one.low, one.high].map((list) => smoothed(list, state.smooth));
    const text = (i) => `${number(iqm[i])} [${number(low[i], iqm[i])}, ${number(high[i], iqm[i])}]${across(one, i)}`;
    return [line(one.label, one.steps, one.iqm, { low, high, text })];
  },
  seeds(one) {
    return one.returns.map((own, i) => line(one.label, one.steps, own, { kind: "seed", note: `seed ${one.seeds[i]}` }));
  },
};

function showCurves() {
  const unit = { mean: "mean return", iqm: "IQM of returns", seeds: "return" }[state.mode];
  for (const part of data.environments) {
    chart("curves", part.env, unit).show(part.curves.filter(visible).flatMap(CURVES[state.mode]), unit);
  }
  byId("curves").hidden = !data.environments.length;
}

function showMembers() {
  const kinds = { policy: ["the policy", ""], members: ["members' mean", "7 5"], best: ["best member", "1.5 5"] };
  const parts = data.environments.filter((part) => part.members.length);
  for (const part of parts) {
    const series = part.members.filter(visible).flatMap((one) =>
      Object.entries(kinds).map(([kind, [note, dash]]) => line(one.label, one.steps, one[kind], { note, dash })));
    chart("members", part.env, "return").show(series);
  }
  byId("members").hidden = !parts.length;
}

// Leaves a list alone that is right already: it may be open.
function offer(select, options, chosen) {
  const known = [...select.options].map((option) => option.value);
  if (known.length !== options.length || options.some(([value], i) => value !== known[i])) {
    select.replaceChildren(...options.map(([value, textContent]) => element("option", { value, textContent })));
  }
  select.value = chosen;
}

// A section in which one quantity of several is chosen: training or diagnostics.
function showChosen(name) {
  const section = byId(name);
  const quantities = [...new Set(data.environments.flatMap((part) => Object.keys(part[name])))];
  section.hidden = !quantities.length;
  if (!quantities.includes(state.chosen[name])) {
    state.chosen[name] = quantities.find((quantity) => quantity === FIRST_SHOWN[name]) ?? quantities[0];
  }
  offer(section.querySelector("select"), quantities.map((quantity) => [quantity, quantity]), state.chosen[name]);
  for (const part of data.environments.filter((one) => Object.keys(one[name]).length)) {
    const shown = (part[name][state.chosen[name]] ?? []).filter(visible);
    chart(name, part.env, "").show(shown.map((one) => banded(one)), state.chosen[name]);
  }
}

// Every quantity at each label's last diagnosis; a quantity's name shows it in the charts.
function showLatest() {
  const choose = (quantity) => {
    const button = element("button", { type: "button", textContent: quantity });
    button.addEventListener("click", () => {
      state.chosen.diagnostics = quantity;
      showChosen("diagnostics");
    });
    return element("th", { scope: "row" }, button);
  };
  const table = (part) => {
    const all = Object.values(part.diagnostics).flat();
    const labels = data.labels.filter((label) => all.some((one) => one.label === label));
    const last = (label) => Math.max(...all.filter((one) => one.label === label).flatMap((one) => one.steps));
    const head = labels.map((label) => element("th", { scope: "col" }, swatch(indexOf(label)), label,
      element("div", { className: "sub", textContent: `step ${short(last(label))}` })));
    const entry = (curves, label) => {
      const one = curves.find((curve) => curve.label === label);
      const i = one ? one.steps.indexOf(last(label)) : -1;
      return i < 0 ? cell("") : spread(one.mean[i], one.std[i]);
    };
    const body = Object.entries(part.diagnostics).map(([quantity, curves]) => element("tr", {}, choose(quantity),
      cell(Object.hasOwn(data.meaning, quantity) ? data.meaning[quantity] : "", { className: "text" }), ...labels.map((label) => entry(curves, label))));
    const rows = [element("thead", {}, element("tr", {}, element("td"), element("td"), ...head)),
      element("tbody", {}, ...body)];
    return element("div", {}, element("h3", { textContent: part.env }), element("table", {}, ...rows));
  };
  const parts = data.environments.filter((part) => Object.keys(part.diagnostics).length);
  byId("diagnostics").querySelector(".tables").replaceChildren(...parts.map(table));
}

function showConfusion() {
  const percent = (share) => (share === null ? "–" : String(Math.round(100 * share)));
  const shade = (share, index) => {
    const made = cell(percent(share));
    const depth = Math.round(70 * Math.min(Math.max(share ?? 0, 0), 1)); // at most 70 %, so that numbers can be read
    made.style.background = `color-mix(in srgb, var(--${colourOf(index)}) ${depth}%, transparent)`;
    return made;
  };
  const table = (part, one) => {
    const index = indexOf(one.label);
    const head = one.shares.map((_, guess) => element("th", { scope: "col", textContent: guess }));
    const body = one.shares.map((row, z) =>
      element("tr", {}, element("th", { scope: "row", textContent: z }), ...row.map((share) => shade(share, index))));
    const title = element("h3", {}, swatch(index), ` ${one.label} on ${part.env}, step ${short(one.step)}`);
    const rows = [element("thead", {}, element("tr", {}, element("td"), ...head)), element("tbody", {}, ...body)];
    return element("div", {}, title, element("table", {}, ...rows));
  };
  const tables = data.environments.flatMap((part) => part.confusion.map((one) => table(part, one)));
  byId("confusion").querySelector(".tables").replaceChildren(...tables);
  byId("confusion").hidden = !tables.length;
}

const cell = (text, properties = {}) => element("td", { textContent: text, ...properties });

function labelCell(label) {
  return element("td", { className: "text" }, swatch(indexOf(label)), label);
}

function spread(value, std) {
  const around = element("span", { className: "sub", textContent: ` ± ${number(std, value)}` });
  return element("td", {}, number(value), around);
}

function interval(value, low, high, text = (one) => number(one, value)) {
  const range = element("span", { className: "sub", textContent: ` [${text(low)}, ${text(high)}]` });
  return element("td", {}, text(value), range);
}

const fixed = (digits) => (value) => (value === null ? "–" : value.toFixed(digits));

// A table with a heading to sort by in each column: {title, key(row), cell(row), text (if it holds words)}.
class SortedTable {
  constructor(table, columns) {
    this.columns = columns;
    this.column = null;
    this.down = true;
    this.heads = columns.map((column) => {
      const button = element("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => this.sortBy(column));
      return element("th", { scope: "col", className: column.text ? "text" : "" }, button);
    });
    this.body = element("tbody");
    table.append(element("thead", {}, element("tr", {}, ...this.heads)), this.body);
  }

  sortBy(column) {
    this.down = column === this.column ? !this.down : !column.text;
    this.column = column;
    this.show(this.rows);
  }

  show(rows) {
    this.rows = rows;
    const { column, down } = this;
    const compare = (a, b) => {
      const [x, y] = [column.key(a), column.key(b)];
      if (x === null || y === null) return (x === null) - (y === null); // what is unknown comes last
      return (typeof x === "string" ? x.localeCompare(y) : x - y) * (down ? -1 : 1);
    };
    this.columns.forEach((one, i) => {
      this.heads[i].ariaSort = one !== column ? "none" : down ? "descending" : "ascending";
    });
    const sorted = column ? [...rows].sort(compare) : rows;
    this.body.replaceChildren(...sorted.map((row) => element("tr", {}, ...this.columns.map((one) => one.cell(row)))));
  }
}

const LABEL = { title: "Label", key: (row) => row.label, cell: (row) => labelCell(row.label), text: true };
const STEP = { title: "Step", key: (row) => row.step, cell: (row) => cell(short(row.step)) };
const iqm = (title, kind, text) => {
  const [value, low, high] = [`${kind}iqm`, `${kind}iqm_low`, `${kind}iqm_high`];
  return { title, key: (row) => row[value], cell: (row) => interval(row[value], row[low], row[high], text) };
};

const scores = new SortedTable(byId("scores").querySelector("table"), [
  { title: "Environment", key: (row) => row.env, cell: (row) => cell(row.env, { className: "text" }), text: true },
  LABEL,
  STEP,
  { title: "Seeds", key: (row) => row.seeds, cell: (row) => cell(ofAll(row.seeds, row.seeds + row.missing)) },
  { title: "Last 50k", key: (row) => row.last_mean, cell: (row) => spread(row.last_mean, row.last_std) },
  iqm("IQM of last 50k [95 %]", ""),
  { title: "Best so far", key: (row) => row.best_mean, cell: (row) => spread(row.best_mean, row.best_std) },
  iqm("IQM of best [95 %]", "best_"),
]);

const normalised = new SortedTable(byId("normalised").querySelector("table"), [
  LABEL,
  STEP,
  { title: "Environments", key: (row) => row.environments, cell: (row) => cell(row.environments) },
  { title: "Mean", key: (row) => row.mean, cell: (row) => cell(fixed(3)(row.mean)) },
  iqm("IQM [95 %]", "", fixed(3)),
]);

// Whether a row is of the chosen step: a number, "all", or "last", the one at which an environment's runs end together.
function atChosenStep(row) {
  if (state.at === "all") return true;
  if (state.at !== "last") return row.step === Number(state.at);
  const own = data.environments.filter((part) => part.env === row.env);
  return row.step === Math.min(...(own.length ? own : data.environments).map((part) => part.step));
}

function showSteps() {
  const steps = [...new Set(data.scores.map((row) => row.step))].sort((a, b) => a - b);
  const named = steps.map((step) => [String(step), short(step)]);
  const options = [["last", "the last that all runs have"], ...named, ["all", "all of these"]];
  if (!options.some(([value]) => value === state.at)) state.at = "last";
  offer(byId("at"), options, state.at);
}

function showTables() {
  scores.show(data.scores.filter(atChosenStep));
  byId("scores").hidden = !data.scores.length;
  const together = data.normalised.filter(atChosenStep);
  normalised.show(together);
  byId("normalised").hidden = !together.length;
  byId("reference").textContent = data.reference;
  const groups = Object.groupBy(data.improvement.filter(atChosenStep), (row) => JSON.stringify([row.env, row.step]));
  byId("improvement").querySelector(".tables").replaceChildren(...Object.values(groups).map(matrix));
  byId("improvement").hidden = !Object.keys(groups).length;
}

function matrix(rows) {
  const labels = data.labels.filter((label) => rows.some((row) => row.label === label));
  const head = labels.map((label) => element("th", { scope: "col", textContent: label }));
  const entry = (label, over) => {
    const row = rows.find((one) => one.label === label && one.over === over);
    const [value, low, high] = ["probability", "low", "high"].map((name) => row?.[state.by + name]);
    return row ? interval(value, low, high, fixed(2)) : cell("");
  };
  const body = labels.map((label) => element("tr", {}, labelCell(label), ...labels.map((over) => entry(label, over))));
  const known = data.environments.some((part) => part.env === rows[0].env);
  const title = `${known ? rows[0].env : "All environments"} at step ${short(rows[0].step)}`;
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("td"), ...head)),
    element("tbody", {}, ...body));
  return element("div", {}, element("h3", { textContent: title }), table);
}

function showConfiguration() {
  const table = byId("configuration").querySelector("table");
  const show = (value) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));
  const rowsOf = (kind) => [...new Set(data.runs.flatMap((run) => Object.keys(run[kind])))].map((name) => {
    const values = data.runs.map((run) => show(run[kind][name]));
    return { name, values, differs: new Set(values).size > 1 };
  });
  const body = (title, rows) => {
    const chosen = rows.filter((row) => row.differs || !state.differing);
    const head = element("th", { colSpan: data.runs.length + 1, scope: "rowgroup", textContent: title });
    return element("tbody", {}, element("tr", { className: "part" }, head), ...chosen.map((row) =>
      element("tr", { className: row.differs ? "differs" : "" }, element("th", { scope: "row", textContent: row.name }),
        ...row.values.map((value) => cell(value)))));
  };
  const names = data.runs.map((run) => element("th", { scope: "col", textContent: run.name }));
  table.replaceChildren(element("thead", {}, element("tr", {}, element("td"), ...names)),
    body("Settings", rowsOf("settings")), body("Versions", rowsOf("versions")));
  byId("configuration").hidden = !data.runs.length;
  byId("configuration").querySelector(".choice").hidden = data.runs.length < 2;
}

function showFiles() {
  const files = data.files ?? [];
  byId("files").hidden = !files.length;
  const link = (file) => element("li", {}, element("a", { href: encodeURI(file), textContent: file }));
  byId("files").querySelector("ul").replaceChildren(...files.map(link));
}

function showLegend() {
  const buttons = [...byId("legend").children];
  if (buttons.length === data.labels.length && buttons.every((button, i) => button.value === data.labels[i])) return;
  byId("legend").replaceChildren(...data.labels.map((label, i) => {
    const button = element("button", { type: "button", value: label }, swatch(i), label);
    const press = () => { button.ariaPressed = String(!state.hidden.has(label)); };
    press();
    button.addEventListener("click", () => {
      if (!state.hidden.delete(label)) state.hidden.add(label);
      press();
      showCharts();
    });
    return button;
  }));
}

function showCharts() {
  showCurves();
  showMembers();
  showChosen("training");
  showChosen("diagnostics");
}

function showAll() {
  const names = data.environments.map((part) => part.env);
  const title = names.length > 3 ? `${names.length} environments` : names.join(", ");
  byId("title").textContent = title || "TEEN report";
  document.title = `${byId("title").textContent} – TEEN`;
  const seeds = data.environments.flatMap((part) => part.curves).reduce((sum, one) => sum + one.seeds.length, 0);
  const count = (amount, word) => `${amount} ${word}${amount === 1 ? "" : "s"}`;
  byId("summary").textContent = [
    data.labels.join(", "), `${count(data.runs.length, "run")} with ${count(seeds, "seed")} in all`,
  ].join(" · ");
  byId("notes").replaceChildren(...data.notes.map((textContent) => element("li", { textContent })));
  byId("notes").hidden = !data.notes.length;
  showLegend();
  showCharts();
  showSteps();
  showTables();
  showLatest();
  showConfusion();
  showConfiguration();
  showFiles();
}

function note(text) {
  byId("note").textContent = text;
  byId("note").hidden = !text;
}

function listen() {
  byId("mode").addEventListener("change", (event) => {
    state.mode = event.target.value;
    showCurves();
  });
  byId("smooth").addEventListener("input", (event) => {
    state.smooth = Number(event.target.value);
    byId("window").textContent = state.smooth ? `mean of ${2 * state.smooth + 1}` : "off";
    showCharts();
  });
  for (const name of ["training", "diagnostics"]) {
    byId(name).querySelector("select").addEventListener("change", (event) => {
      state.chosen[name] = event.target.value;
      showChosen(name);
    });
  }
  byId("at").addEventListener("change", (event) => {
    state.at = event.target.value;
    showTables();
  });
  byId("by").addEventListener("change", (event) => {
    state.by = event.target.value;
    showTables();
  });
  byId("configuration").querySelector("input").addEventListener("change", (event) => {
    state.differing = event.target.checked;
    showConfiguration();
  });
}

// Follows the system's scheme until the reader chooses.
function theme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });
  system.addEventListener("change", name);
  name();
}

// Asks for the newest data every few seconds; what is shown stays until there is an answer.
async function follow() {
  let tag = null;
  let seen = new Date();
  for (;;) {
    await new Promise((resume) => setTimeout(resume, Number(document.body.dataset.seconds) * 1000));
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(`/data${location.search}`, { cache: "no-store", headers });
      if (answer.status !== 304) {
        const fresh = answer.ok ? await answer.json() : { error: await answer.text() };
        if (fresh.error) {
          note(fresh.error);
          continue;
        }
        tag = answer.headers.get("ETag");
        data = fresh;
        showAll();
      }
      seen = new Date();
      note("");
    } catch {
      note(`The server does not answer. This is what it said at ${seen.toLocaleTimeString("en-GB")}.`);
    }
  }
}

theme();
listen();
if (data.error) note(data.error);
else showAll();
if (live) {
  byId("home").hidden = false;
  follow();
}
