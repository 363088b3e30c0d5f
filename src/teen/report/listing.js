"use strict";
// Ask for the list again every few seconds. What is ticked stays ticked, and what has the focus keeps it.

const note = document.getElementById("note");

async function renew() {
  const answer = await fetch("/", { cache: "no-store" });
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const whole = [document, page].map((one) => one.getElementById("runs"));
  const rows = whole.map((one) => one.querySelector("tbody"));
  const [old, fresh] = rows[0] && rows[1] ? rows : whole; // the rows alone, so that a scrolled table stays where it is
  if (old.innerHTML === fresh.innerHTML) return;
  const boxes = (list) => [...list.querySelectorAll("input")];
  const ticked = new Set(boxes(old).filter((box) => box.checked).map((box) => box.value));
  for (const box of boxes(fresh)) box.checked = ticked.has(box.value);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  old.replaceWith(fresh);
  const same = (one) => one.tagName === focused.tagName && one.value === focused.value && one.href === focused.href;
  if (focused) [...fresh.querySelectorAll("a, button, input")].find(same)?.focus();
}

async function follow() {
  let seen = new Date();
  for (;;) {
    await new Promise((resume) => setTimeout(resume, Number(document.body.dataset.seconds) * 1000));
    try {
      await renew();
      seen = new Date();
      note.hidden = true;
    } catch {
      note.textContent = `The server does not answer. This is what it said at ${seen.toLocaleTimeString("en-GB")}.`;
      note.hidden = false;
    }
  }
}

follow();
