// The HTML report: sorting and searching of tables, values on hover. Without it the
// report is complete.
"use strict";
(() => {
  const value = (cell) => (cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim());
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (down ? -1 : 1) * order(value(a.cells[column]), value(b.cells[column])));
        table.tBodies[0].append(...rows);
      });
    });
  }

  for (const input of document.querySelectorAll(".filter input")) {
    const rows = [...document.getElementById(input.dataset.for).tBodies[0].rows];
    input.closest(".filter").hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  const tip = document.getElementById("tip");
  const show = (event, text) => {
    tip.textContent = text;
    tip.hidden = !text;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  };
  const at = (svg, event) => {
    const box = svg.getBoundingClientRect();
    const view = svg.viewBox.baseVal;
    return [((event.clientX - box.left) / box.width) * view.width, ((event.clientY - box.top) / box.height) * view.height];
  };
  const numbers = (text) => text.trim().split(/\s+/).map(Number);
  const hover = (svg, find) => {
    svg.addEventListener("pointermove", (event) => show(event, find(...at(svg, event))));
    svg.addEventListener("pointerleave", (event) => show(event, ""));
  };

  const names = JSON.parse(document.getElementById("names").textContent);
  for (const svg of document.querySelectorAll("svg[data-p]")) {
    let dots;
    hover(svg, (x, y) => {
      if (!dots) {
        const who = numbers(svg.dataset.p);
        const d = svg.querySelector(".dots").getAttribute("d");
        dots = [...d.matchAll(/M([\d.-]+) ([\d.-]+)/g)].map((m, i) => [Number(m[1]), Number(m[2]), who[2 * i], who[2 * i + 1]]);
      }
      let best = 100;
      let text = "";
      for (const [px, py, name, v] of dots) {
        const far = (px - x) ** 2 + (py - y) ** 2;
        if (far < best) {
          best = far;
          text = `${names[name]}: ${v} ${svg.dataset.unit}`;
        }
      }
      return text;
    });
  }
  for (const svg of document.querySelectorAll("svg[data-m]")) {
    const [left, top, side, n] = numbers(svg.dataset.cell);
    const rows = svg.dataset.names.split("|");
    let cells;
    hover(svg, (x, y) => {
      if (!cells) {
        const list = numbers(svg.dataset.m);
        cells = new Map();
        for (let i = 0; i < list.length; i += 2) cells.set(list[i], list[i + 1]);
      }
      const to = Math.floor((x - left) / side);
      const from = Math.floor((y - top) / side);
      const v = to >= 0 && to < n && from >= 0 && from < n ? cells.get(from * n + to) : undefined;
      return v === undefined ? "" : `${rows[from]} \u2192 ${rows[to]}: ${v} ${svg.dataset.unit}`;
    });
  }
})();
