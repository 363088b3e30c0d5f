// Light or dark, as the system has it or as the reader chose. This runs in the head, before anything is drawn.

const THEME = "teen theme"; // one choice for all pages
const system = matchMedia("(prefers-color-scheme: dark)");
const chosenTheme = () => document.documentElement.dataset.theme;
const dark = () => (chosenTheme() ? chosenTheme() === "dark" : system.matches);

function showTheme(chosen) {
  if (["light", "dark"].includes(chosen)) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  const button = document.getElementById("theme");
  if (button) button.textContent = dark() ? "Light" : "Dark";
}

// The theme that the system has is no choice: the page follows the system again.
function changeTheme() {
  const wanted = dark() ? "light" : "dark";
  const chosen = (wanted === "dark") === system.matches ? null : wanted;
  remember(THEME, chosen);
  showTheme(chosen);
}

showTheme(recall(THEME));
system.addEventListener("change", () => showTheme(chosenTheme()));
addEventListener("storage", () => showTheme(recall(THEME))); // chosen in another tab
addEventListener("pageshow", (event) => event.persisted && showTheme(recall(THEME))); // or on the page one comes back from
addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme").addEventListener("click", changeTheme);
  showTheme(chosenTheme());
});
