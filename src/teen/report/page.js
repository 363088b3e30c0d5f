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

// Follow the system's colour scheme until the reader chooses one.
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

theme();
listen();
if (data.error) note(data.error);
else showAll();
if (live) {
  byId("home").hidden = false;
  follow();
}
