const root = document.documentElement;
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 10;
const SHAPES = ["circle", "square", "triangle", "diamond"];

// ------------------------------------------------------------------ elements, numbers, colours

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const count = (value) => number.format(value);

function fixed(value, digits = 2) {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits);
}

function short(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(1).replace("e+", "e").replaceAll("-", "−");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

// children are nodes or text; text never becomes markup
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function shape(tag, attributes = {}, style = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  Object.assign(node.style, style);
  node.append(...children);
  return node;
}

// with one cluster there is no rival, and confidence carries no information
const sureness = (value) => (data.n_clusters > 1 ? `, confidence ${fixed(value)}` : "");

// long names break after _ . - and / rather than anywhere
const name = (value) => element("bdi", {}, ...String(value).split(/(?<=[_./-])/).flatMap((part, i) => (i ? [element("wbr", {}), part] : [part])));

function unpack(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array }[kind];
  return new view(bytes.buffer);
}

const paint = (variable) => getComputedStyle(root).getPropertyValue(variable).trim();
const colourOf = (cluster) => `var(--c${cluster % COLOURS})`;
const shapeOf = (cluster) => SHAPES[Math.floor(cluster / COLOURS) % SHAPES.length];

// ------------------------------------------------------------------ theme

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const themeButton = byId("theme");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
const drawings = [];

function redraw() {
  themeButton.setAttribute("aria-pressed", String(isDark()));
  for (const draw of drawings) draw();
}

themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  redraw();
});
prefersDark.addEventListener("change", redraw);

// always print on white
let before = null;
window.addEventListener("beforeprint", () => {
  before = root.dataset.theme ?? "";
  root.dataset.theme = "light";
  redraw();
});
window.addEventListener("afterprint", () => {
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
  redraw();
});

// ------------------------------------------------------------------ sections that fold

const folds = [...document.querySelectorAll("details.fold, details[data-folds]")];
if (window.matchMedia("(max-width: 44rem)").matches) {
  for (const fold of folds) if ("folds" in fold.dataset) fold.open = false;
}

function unfold(id) {
  const target = id ? byId(id) : null;
  for (let node = target; node; node = node.parentElement) if (node instanceof HTMLDetailsElement) node.open = true;
}

document.querySelectorAll("a[href^='#']").forEach((link) => link.addEventListener("click", () => unfold(link.hash.slice(1))));
window.addEventListener("hashchange", () => unfold(location.hash.slice(1)));
unfold(location.hash.slice(1));
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = folds.filter((fold) => !fold.open);
  for (const fold of folded) fold.open = true;
});
window.addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });

// ------------------------------------------------------------------ the note beside the pointer

const note = byId("note");

function showNote(event, ...lines) {
  note.replaceChildren(...lines.map((line) => element("div", {}, line)));
  note.hidden = false;
  const box = note.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
  const top = event.clientY + 14 + box.height > innerHeight ? event.clientY - 10 - box.height : event.clientY + 14;
  note.style.left = `${Math.max(4, left)}px`;
  note.style.top = `${Math.max(4, top)}px`;
}

const hideNote = () => { note.hidden = true; };
window.addEventListener("scroll", hideNote, { passive: true });
window.addEventListener("keydown", (event) => { if (event.key === "Escape") hideNote(); });

function onPoint(node, say) {
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect();
    const lines = say(event.clientX - box.left, event.clientY - box.top);
    if (lines) showNote(event, ...lines);
    else hideNote();
  });
  node.addEventListener("pointerleave", hideNote);
}

// ------------------------------------------------------------------ drawing at the available width

function drawn(id, draw) {
  const host = byId(id);
  if (!host) return;
  let width = 0;
  const again = () => {
    width = host.clientWidth;
    if (width > 0) host.replaceChildren(draw(width));
  };
  drawings.push(again);
  new ResizeObserver(() => { if (host.clientWidth !== width) again(); }).observe(host);
  again();
}

function canvas(width, height) {
  const scale = window.devicePixelRatio || 1;
  const node = element("canvas", { "aria-hidden": "true" });
  node.width = Math.round(width * scale);
  node.height = Math.round(height * scale);
  node.style.width = `${width}px`;
  node.style.height = `${height}px`;
  const pen = node.getContext("2d");
  pen.scale(scale, scale);
  return [node, pen];
}

const svg = (width, height) => shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });

function ramp() {
  const stops = [0, 1, 2, 3].map((step) => paint(`--ramp${step}`).slice(1))
    .map((hex) => [0, 2, 4].map((start) => parseInt(hex.slice(start, start + 2), 16)));
  return (value) => {
    const at = Math.min(Math.max(value, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((level, channel) => Math.round(level + (at - low) * (stops[low + 1][channel] - level)));
  };
}

// values of a symmetric matrix, stored from the diagonal to the right, row after row
const inTriangle = (size, row, column) => {
  const [low, high] = row < column ? [row, column] : [column, row];
  return low * size - (low * (low - 1)) / 2 + (high - low);
};

function matrixImage(size, value) {
  const colour = ramp();
  const table = Array.from({ length: 256 }, (_, level) => colour(level / 255));
  const source = document.createElement("canvas");
  source.width = source.height = size;
  const pen = source.getContext("2d");
  const image = pen.createImageData(size, size);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const [red, green, blue] = table[value(row, column)];
      image.data.set([red, green, blue, 255], 4 * (row * size + column));
    }
  }
  pen.putImageData(image, 0, 0);
  return source;
}

function scaleBar(id, low, high) {
  drawn(id, (width) => {
    const [node, pen] = canvas(Math.min(width, 160), 12);
    const wide = Math.min(width, 160);
    const colour = ramp();
    for (let x = 0; x < wide; x++) {
      pen.fillStyle = `rgb(${colour(x / (wide - 1)).join(" ")})`;
      pen.fillRect(x, 0, 1, 12);
    }
    pen.strokeStyle = paint("--line");
    pen.strokeRect(0.5, 0.5, wide - 1, 11);
    return node;
  });
  const words = byId(`${id}-ends`);
  if (words) words.textContent = `${low} to ${high}`;
}

// ------------------------------------------------------------------ tables

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const current = head.getAttribute("aria-sort");
      // numbers sort from the largest down first, names from a to z
      const first = head.dataset.first ?? "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const wanted = current === first ? other : first;
      for (const cell of heads) if (cell.hasAttribute("aria-sort")) cell.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", wanted);
      const sign = wanted === "ascending" ? 1 : -1;
      const value = (row) => {
        const text = row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
        return head.dataset.kind === "number" ? (text === "" ? NaN : Number(text)) : text;
      };
      const rows = [...body.rows].map((row, index) => ({ row, index, value: value(row) }));
      rows.sort((one, two) => {
        if (head.dataset.kind === "number") {
          const absent = Number.isNaN(one.value) - Number.isNaN(two.value);
          return absent || sign * (one.value - two.value) || one.index - two.index;
        }
        return sign * one.value.localeCompare(two.value, "en", { numeric: true }) || one.index - two.index;
      });
      body.append(...rows.map((entry) => entry.row));
      const said = byId("said");
      said.textContent = `Sorted by ${button.textContent.trim()}, ${wanted}.`;
    });
  });
}

document.querySelectorAll("table[data-sortable]").forEach(sortable);
