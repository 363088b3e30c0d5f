// The data, and what the reader chose: it lives in `state`, so that new data can be shown without losing it.

const byId = (id) => document.getElementById(id);
const live = document.body.dataset.live === "yes";
const state = { mode: "mean", smooth: 0, hidden: new Set(), chosen: {}, at: "last", by: "", differing: false };
const FIRST_SHOWN = { diagnostics: "bias_normalised_mean" };
const charts = new Map();
let data = JSON.parse(byId("data").textContent);

const indexOf = (label) => data.labels.indexOf(label);
const visible = (one) => !state.hidden.has(one.label);
