// The page around charts and tables: its legend, its controls, and new data from the server of a live page.

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
    const press = () => { button.ariaPressed = String(!state.hidden.includes(label)); };
    press();
    button.addEventListener("click", () => {
      const others = state.hidden.filter((one) => one !== label);
      choose({ hidden: others.length < state.hidden.length ? others : [...others, label] }, showCharts);
      press();
    });
    return button;
  }));
}

function showCharts() {
  byId("window").textContent = state.smooth ? `mean of ${2 * state.smooth + 1}` : "off";
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

// Tie a control to a choice: it begins with what was remembered, unless it does not offer that any more.
function tie(control, name, show) {
  const field = { checkbox: "checked", range: "valueAsNumber" }[control.type] ?? "value";
  control[field] = state[name];
  if (control.selectedIndex === -1) control.selectedIndex = 0;
  state[name] = control[field];
  control.addEventListener("input", () => choose({ [name]: control[field] }, show));
}

function listen() {
  tie(byId("mode"), "mode", showCurves);
  tie(byId("smooth"), "smooth", showCharts);
  tie(byId("by"), "by", showTables);
  tie(byId("configuration").querySelector("input"), "differing", showConfiguration);
  byId("at").addEventListener("input", (event) => choose({ at: event.target.value }, showTables));
  for (const name of ["training", "diagnostics"]) {
    byId(name).querySelector("select").addEventListener("input", (event) => chooseQuantity(name, event.target.value));
  }
}

// Ask for the newest data every few seconds; what is shown stays until there is an answer.
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

listen();
if (data.error) note(data.error);
else showAll();
if (live) {
  byId("home").hidden = false;
  follow();
}
