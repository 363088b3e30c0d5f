// The data, and what the reader chose: it lives in `state`, so that new data can be shown without losing it, and it is
// remembered for this page.

const live = document.body.dataset.live === "yes";
const PAGE = `teen page ${document.body.dataset.folder}${location.pathname}${location.search}`;
const state = recalled(PAGE, {
  mode: "mean", smooth: 0, hidden: [], chosen: {}, at: "last", by: "", differing: false, sorted: {}, zoom: {},
});
const FIRST_SHOWN = { diagnostics: "bias_normalised_mean" };
const charts = new Map();
let data = JSON.parse(byId("data").textContent);

const indexOf = (label) => data.labels.indexOf(label);
const visible = (one) => !state.hidden.includes(one.label);

function choose(changes, show = () => {}) {
  Object.assign(state, changes);
  remember(PAGE, state);
  show();
}
