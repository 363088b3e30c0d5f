// The sections that hold charts: learning curves, members, training and diagnostics.

// Return what is remembered as a range of steps, if it is one.
function asRange(kept) {
  return Array.isArray(kept) && kept.length === 2 && kept.every(Number.isFinite) && kept[0] < kept[1] ? kept : null;
}

function chart(section, env, unit) {
  const key = `${section} ${env}`;
  if (!charts.has(key)) {
    const zoomed = (range) => choose({ zoom: { ...state.zoom, [key]: range } });
    charts.set(key, new Chart(env, unit, asRange(state.zoom[key]), zoomed));
    byId(section).querySelector(".charts").append(charts.get(key).root);
  }
  return charts.get(key);
}

function line(label, steps, values, more = {}) {
  const shown = smoothed(values, state.smooth);
  return { label, index: indexOf(label), kind: "line", steps, values: shown, text: (i) => number(shown[i]), ...more };
}

// Null where either is unknown: a single seed has no standard deviation, and so no band.
const add = (values, others, sign) =>
  values.map((value, i) => (value === null || others[i] === null ? null : value + sign * others[i]));
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
    return one.returns.map((returns, i) => line(one.label, one.steps, returns, { kind: "seed", note: `seed ${one.seeds[i]}` }));
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

// Set a list's options, unless it has them already: it may be open.
function offer(select, options, chosen) {
  const present = [...select.options].map((option) => option.value);
  if (present.length !== options.length || options.some(([value], i) => value !== present[i])) {
    select.replaceChildren(...options.map(([value, textContent]) => element("option", { value, textContent })));
  }
  select.value = chosen;
}

// A section in which one quantity of several is chosen: training or diagnostics.
function showChosen(name) {
  const section = byId(name);
  const quantities = [...new Set(data.environments.flatMap((part) => Object.keys(part[name])))];
  section.hidden = !quantities.length;
  const chosen = [state.chosen[name], FIRST_SHOWN[name], quantities[0]].find((one) => quantities.includes(one));
  offer(section.querySelector("select"), quantities.map((quantity) => [quantity, quantity]), chosen);
  for (const part of data.environments.filter((one) => Object.keys(one[name]).length)) {
    const shown = (part[name][chosen] ?? []).filter(visible);
    chart(name, part.env, "").show(shown.map((one) => banded(one)), chosen);
  }
}

function chooseQuantity(name, quantity) {
  choose({ chosen: { ...state.chosen, [name]: quantity } }, () => showChosen(name));
}
