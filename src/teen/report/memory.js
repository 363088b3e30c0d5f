"use strict";
// What the reader chose, kept by the browser for the next visit. Where it keeps nothing, choices last as long as the page.

function recall(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch { // storage is forbidden, or holds something else
    return null;
  }
}

function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {} // storage is forbidden, or full
}

// Return these choices, replaced by those remembered which are of the same type: another version may have written them.
function recalled(key, choices) {
  const kept = recall(key) ?? {};
  const type = (value) => (Array.isArray(value) ? "list" : value === null ? "nothing" : typeof value);
  const usable = (name) => Object.hasOwn(kept, name) && type(kept[name]) === type(choices[name]);
  return { ...choices, ...Object.fromEntries(Object.keys(choices).filter(usable).map((name) => [name, kept[name]])) };
}
