// The sections that hold tables: the last diagnosis, the discriminator, scores, improvement, differences and settings.

// Every quantity at each label's last diagnosis; a quantity's name shows it in the charts.
function showLatest() {
  const choose = (quantity) => {
    const button = element("button", { type: "button", textContent: quantity });
    button.addEventListener("click", () => {
      chooseQuantity("diagnostics", quantity);
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

const fixed = (digits) => (value) => (value === null ? "–" : value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1"));

// The table of a section, with a heading to sort by in each column: {title, key(row), cell(row), text (if it holds words)}.
class SortedTable {
  constructor(section, columns) {
    const { title, down } = state.sorted[section] ?? {};
    this.section = section;
    this.columns = columns;
    this.column = columns.find((column) => column.title === title) ?? null;
    this.down = Boolean(down);
    this.heads = columns.map((column) => {
      const button = element("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => this.sortBy(column));
      return element("th", { scope: "col", className: column.text ? "text" : "" }, button);
    });
    this.body = element("tbody");
    byId(section).querySelector("table").append(element("thead", {}, element("tr", {}, ...this.heads)), this.body);
  }

  sortBy(column) {
    this.down = column === this.column ? !this.down : !column.text;
    this.column = column;
    const sorted = { ...state.sorted, [this.section]: { title: column.title, down: this.down } };
    choose({ sorted }, () => this.show(this.rows));
  }

  show(rows) {
    this.rows = rows;
    const { column, down } = this;
    this.columns.forEach((one, i) => {
      this.heads[i].ariaSort = one === column ? sortDirection(down) : "none";
    });
    const sorted = column ? ordered(rows, column.key, down) : rows;
    this.body.replaceChildren(...sorted.map((row) => element("tr", {}, ...this.columns.map((one) => one.cell(row)))));
  }
}

const LABEL = { title: "Label", key: (row) => row.label, cell: (row) => labelCell(row.label), text: true };
const STEP = { title: "Step", key: (row) => row.step, cell: (row) => cell(short(row.step)) };
const iqm = (title, kind, text) => {
  const [value, low, high] = [`${kind}iqm`, `${kind}iqm_low`, `${kind}iqm_high`];
  return { title, key: (row) => row[value], cell: (row) => interval(row[value], row[low], row[high], text) };
};

const scores = new SortedTable("scores", [
  { title: "Environment", key: (row) => row.env, cell: (row) => cell(row.env, { className: "text" }), text: true },
  LABEL,
  STEP,
  { title: "Seeds", key: (row) => row.seeds, cell: (row) => cell(ofAll(row.seeds, row.seeds + row.missing)) },
  { title: "Last 50k", key: (row) => row.last_mean, cell: (row) => spread(row.last_mean, row.last_std) },
  iqm("IQM of last 50k [95 %]", ""),
  { title: "Best so far", key: (row) => row.best_mean, cell: (row) => spread(row.best_mean, row.best_std) },
  iqm("IQM of best [95 %]", "best_"),
]);

const normalised = new SortedTable("normalised", [
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
  const parts = data.environments.filter((part) => part.env === row.env);
  return row.step === Math.min(...(parts.length ? parts : data.environments).map((part) => part.step));
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
  const groups = Object.values(
    Object.groupBy(data.improvement.filter(atChosenStep), (row) => JSON.stringify([row.env, row.step])));
  showMatrices("improvement", groups, probability);
  showMatrices("differences", groups.filter((rows) => rows.some((row) => amount(row)[0] !== null)), difference,
    ", gain in %");
}

// A matrix for each group of rows; `unit` is said where they are of all environments.
function showMatrices(section, groups, entry, unit = "") {
  byId(section).querySelector(".tables").replaceChildren(...groups.map((rows) => matrix(rows, entry, unit)));
  byId(section).hidden = !groups.length;
}

// Whether a row is of one environment, not of all.
const isSingle = (row) => data.environments.some((part) => part.env === row.env);

function probability(row) {
  const [value, low, high] = ["probability", "low", "high"].map((name) => row[state.by + name]);
  return interval(value, low, high, fixed(2));
}

// How much more a label has than another, with its interval: a difference of means, or a gain in per cent.
function amount(row) {
  if (isSingle(row)) return [row.difference, row.difference_low, row.difference_high];
  return [row.gain, row.gain_low, row.gain_high].map((share) => (share === null ? null : 100 * share));
}

function difference(row) {
  const [value, low, high] = amount(row);
  if (value === null) return cell("–");
  const widest = Math.max(Math.abs(low), Math.abs(high)); // a difference near 0 has the digits of its interval
  return interval(value, low, high, isSingle(row) ? (one) => number(one, widest) : fixed(1));
}

function matrix(rows, entry, unit) {
  const labels = data.labels.filter((label) => rows.some((row) => row.label === label));
  const head = labels.map((label) => element("th", { scope: "col", textContent: label }));
  const between = (label, over) => {
    const row = rows.find((one) => one.label === label && one.over === over);
    return row ? entry(row) : cell("");
  };
  const body = labels.map((label) =>
    element("tr", {}, labelCell(label), ...labels.map((over) => between(label, over))));
  const step = `at step ${short(rows[0].step)}`;
  const title = isSingle(rows[0]) ? `${rows[0].env} ${step}` : `All environments ${step}${unit}`;
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
