"use strict";
(() => {
  const controls = document.querySelector(".controls"), table = controls.nextElementSibling.querySelector("table");
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const search = controls.querySelector("input"), shown = controls.querySelector("output");
  const buttons = [...controls.querySelectorAll("button[data-op]")];
  const pressed = button => button.getAttribute("aria-pressed") === "true";

  function filter() {
    const wanted = new Set(buttons.filter(pressed).map(button => button.dataset.op));
    const words = search.value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      row.hidden = !(wanted.has(row.dataset.op) && row.cells[0].textContent.toLowerCase().includes(words));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length} rows`;
  }

  function value(row, column) {
    const found = row.cells[column].dataset.v;
    return found === "" || isNaN(found) ? found === "inf" ? Infinity : found === "-inf" ? -Infinity : found : Number(found);
  }

  function sort(column) {
    const head = heads[column], up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const order = rows.map((row, index) => [value(row, column), index, row]);
    order.sort(([a, i], [b, j]) => {
      if (a === "" || b === "") return (a === "") - (b === "") || i - j;
      return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1) || i - j;
    });
    body.append(...order.map(entry => entry[2]));
  }

  function show() {
    const row = rows.find(row => row.id === location.hash.slice(1));
    if (!row || !row.hidden) return;
    search.value = "";
    buttons.find(button => button.dataset.op === row.dataset.op).setAttribute("aria-pressed", "true");
    filter();
    row.scrollIntoView();
  }

  controls.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.all) for (const other of buttons) other.setAttribute("aria-pressed", button.dataset.all);
    else button.setAttribute("aria-pressed", String(!pressed(button)));
    filter();
  });
  search.addEventListener("input", filter);
  table.tHead.addEventListener("click", event => {
    const head = event.target.closest("th");
    if (head) sort(heads.indexOf(head));
  });
  addEventListener("hashchange", show);
  controls.hidden = false;
  filter();
  show();
})();
