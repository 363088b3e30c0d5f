"use strict";
// Asks for the list anew every few seconds. What is ticked stays ticked, and what has the focus keeps it.

async function renew() {
  const answer = await fetch("/", { cache: "no-store" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [old, fresh] = [document, page].map((one) => one.getElementById("runs"));
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
  for (;;) {
    await new Promise((resume) => setTimeout(resume, Number(document.body.dataset.seconds) * 1000));
    await renew().catch(() => {}); // the server is gone: what it said last stays
  }
}

follow();
