// The list of runs: sort it, filter it, choose some to compare. It asks for the newest list every few seconds, and keeps
// what was chosen and what has the focus.

const LIST = `teen list ${document.body.dataset.folder}`;
const state = recalled(LIST, { column: "Changed", down: true, filter: "", chosen: [] });
const heads = [...document.querySelectorAll("#runs th")];
const titles = heads.map((head) => head.textContent);
const body = () => document.querySelector("#runs tbody");
const all = (rows) => [...rows.querySelectorAll("tr[data-keys]")];
const keys = (row) => JSON.parse(row.dataset.keys); // one for each column, to sort by; null where it is unknown
const boxOf = (row) => row.querySelector("input"); // a run that cannot be read has none
let served = body().innerHTML;
let servedJobs = byId("jobs").innerHTML;

function choose(changes) {
  Object.assign(state, changes);
  remember(LIST, state);
  show(body());
}

function show(rows) {
  const column = Math.max(titles.indexOf(state.column), 0);
  heads.forEach((head, i) => { head.ariaSort = i === column ? sortDirection(state.down) : "none"; });
  const runs = all(rows).map((row) => ({ row, keys: keys(row) }));
  const sorted = ordered(runs, (run) => run.keys[column], state.down);
  if (sorted.some((run, i) => run !== runs[i])) rows.append(...sorted.map((run) => run.row)); // a moved row loses the focus
  const words = state.filter.toLowerCase().split(/\s+/);
  const searched = ["Run", "Algorithm", "Environment"].map((title) => titles.indexOf(title));
  for (const run of runs) {
    const text = searched.map((i) => run.keys[i] ?? "").join("\n").toLowerCase();
    run.row.hidden = !words.every((word) => text.includes(word));
    if (boxOf(run.row)) boxOf(run.row).checked = state.chosen.includes(run.keys[0]);
  }
  const ticked = runs.filter((run) => boxOf(run.row)?.checked);
  const unseen = ticked.filter((run) => run.row.hidden).length;
  const counts = [`${runs.filter((run) => !run.row.hidden).length} of ${runs.length} runs`];
  if (ticked.length) counts.push(`${ticked.length} chosen${unseen ? `, ${unseen} of them not shown` : ""}`);
  if (byId("count").textContent !== counts.join(" · ")) byId("count").textContent = counts.join(" · "); // it is read out
  byId("none").hidden = !ticked.length;
  if (ticked.length) byId("advice").hidden = true;
}

function sortBy(title) {
  const numbers = all(body()).some((row) => typeof keys(row)[titles.indexOf(title)] === "number");
  choose({ column: title, down: title === state.column ? !state.down : numbers }); // large numbers first, and a before b
}

function listen() {
  heads.forEach((head, i) => {
    const button = element("button", { type: "button", textContent: titles[i] });
    button.addEventListener("click", () => sortBy(titles[i]));
    head.replaceChildren(button);
  });
  byId("filter").value = state.filter;
  byId("filter").addEventListener("input", () => choose({ filter: byId("filter").value }));
  byId("none").addEventListener("click", () => choose({ chosen: [] }));
  const form = document.querySelector("form");
  form.addEventListener("change", (event) => { // of a box
    const [name] = keys(event.target.closest("tr"));
    const others = state.chosen.filter((one) => one !== name);
    choose({ chosen: event.target.checked ? [...others, name] : others });
  });
  form.addEventListener("submit", (event) => {
    if (all(body()).some((row) => boxOf(row)?.checked)) return;
    event.preventDefault();
    byId("advice").hidden = false;
  });
}

function renewJobs(fresh) {
  if (fresh.innerHTML === servedJobs) return;
  servedJobs = fresh.innerHTML;
  const folded = byId("jobs").querySelector("details")?.open; // as the reader left it
  byId("jobs").replaceChildren(...fresh.childNodes);
  if (folded !== undefined && byId("jobs").firstElementChild) byId("jobs").firstElementChild.open = folded;
}

async function renew() {
  const answer = await fetch("/", { cache: "no-store" });
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  renewJobs(page.getElementById("jobs"));
  const [old, fresh] = [body(), page.querySelector("#runs tbody")]; // so that a scrolled table stays where it is
  if (fresh.innerHTML === served) return;
  served = fresh.innerHTML;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  show(fresh);
  old.replaceWith(fresh);
  const same = (one) => one.tagName === focused.tagName && one.value === focused.value && one.href === focused.href;
  if (focused) [...fresh.querySelectorAll("a, input")].find(same)?.focus();
}

async function follow() {
  let seen = new Date();
  for (;;) {
    await new Promise((resume) => setTimeout(resume, Number(document.body.dataset.seconds) * 1000));
    try {
      await renew();
      seen = new Date();
      byId("note").hidden = true;
    } catch {
      byId("note").textContent = `The server does not answer. This is what it said at ${seen.toLocaleTimeString("en-GB")}.`;
      byId("note").hidden = false;
    }
  }
}

history.replaceState(null, "", "/"); // the list is also the answer to a comparison of nothing
byId("find").hidden = false;
listen();
show(body());
follow();
