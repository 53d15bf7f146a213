"use strict";
// Filters figures and claims, and compares two engines. What is chosen stands in the
// address after #, so that a link keeps it; without scripts everything is shown.

const KEYS = ["paper", "engine", "device", "verdict", "text"];
const filter = document.querySelector("form.filter");
const shown = document.querySelector("#shown");

function words(element, key) {
  return (element.dataset[key] || "").split("|");
}

function matches(element, wanted) {
  return KEYS.every((key) => {
    if (!wanted[key]) return true;
    if (key === "text") {
      return element.textContent.toLowerCase().includes(wanted.text.toLowerCase());
    }
    // A claim has no engine or device of its own; its figure has.
    return !(key in element.dataset) || words(element, key).includes(wanted[key]);
  });
}

function apply() {
  const wanted = Object.fromEntries(KEYS.map((key) => [key, filter.elements[key].value]));
  const figures = [...document.querySelectorAll("article")];
  for (const element of [...figures, ...document.querySelectorAll("#claims tbody tr")]) {
    element.hidden = !matches(element, wanted);
  }
  for (const section of document.querySelectorAll("section.paper")) {
    section.hidden = ![...section.querySelectorAll("article")].some((one) => !one.hidden);
  }
  const left = figures.filter((one) => !one.hidden).length;
  shown.textContent = `${left} of ${figures.length} figures`;
  return wanted;
}

function remember(wanted) {
  const said = KEYS.filter((key) => wanted[key]).map((key) => [key, wanted[key]]);
  const text = new URLSearchParams(said).toString();
  history.replaceState(null, "", text ? `#${text}` : "#");
}

function recall() {
  const text = location.hash.slice(1);
  if (!text.includes("=")) return; // a place on the page
  const said = new URLSearchParams(text);
  for (const key of KEYS) filter.elements[key].value = said.get(key) || "";
  apply();
}

filter.hidden = false;
filter.addEventListener("input", () => remember(apply()));
filter.addEventListener("submit", (event) => event.preventDefault());
filter.addEventListener("reset", () => setTimeout(() => remember(apply())));
addEventListener("hashchange", recall);
apply();
recall();

const measured = JSON.parse(document.querySelector("#measured").textContent);
const compare = document.querySelector("form.compare");
const rows = document.querySelector("#compared tbody");

function cell(text, name) {
  const made = document.createElement("td");
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function short(value) {
  return Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(4));
}

function compared() {
  const [first, second] = [compare.elements.first.value, compare.elements.second.value];
  const found = measured.filter((one) => first in one.engines && second in one.engines);
  rows.replaceChildren(...found.map((one) => {
    const [a, b] = [one.engines[first], one.engines[second]];
    const ratio = b[0] / a[0];
    const apart = a[1] !== null && b[1] !== null && (b[1] > a[2] || b[2] < a[1]);
    const row = document.createElement("tr");
    const link = document.createElement("a");
    link.href = `#${one.figure}`;
    link.textContent = one.figure;
    const named = document.createElement("td");
    named.append(link);
    const name = !apart || ratio === 1 ? "" : ratio > 1 === one.more ? "better" : "worse";
    row.append(named, cell([one.panel, one.series, one.x].filter(Boolean).join(", ")),
      cell(`${short(a[0])} ${one.unit}`, "value"), cell(`${short(b[0])} ${one.unit}`, "value"),
      cell(a[0] ? `${short(ratio)}${name && `, ${name}`}` : "-", `value ${name}`));
    return row;
  }));
  document.querySelector("#pairs").textContent = `${found.length} cells have both`;
}

compare.hidden = false;
compare.addEventListener("input", compared);
compare.addEventListener("submit", (event) => event.preventDefault());
compared();
