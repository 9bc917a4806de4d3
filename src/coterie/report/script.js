(() => {
  "use strict";

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

  const name = (value) => element("bdi", {}, value);

  function unpack(text, kind) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array }[kind];
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

  // ------------------------------------------------------------------ the matrix

  if (data.matrix) {
    const { size, clusters, per } = data.matrix;
    const views = data.matrix.views.map((view) => ({ ...view, levels: unpack(view.values, "u1") }));
    const owner = new Int32Array(size);
    const spans = [];
    let start = 0;
    for (const [cluster, length] of clusters) {
      owner.fill(cluster, start, start + length);
      spans.push({ cluster, start, length });
      start += length;
    }
    let view = views[0];
    const draw = (width) => {
      const margin = 30;
      const side = Math.min(width - margin, 520);
      const [node, pen] = canvas(side + margin, side + margin);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(matrixImage(size, (row, column) => view.levels[inTriangle(size, row, column)]), margin, margin, side, side);
      const step = side / size;
      pen.font = `12px ${paint("--sans")}`;
      pen.textBaseline = "middle";
      for (const span of spans) {
        const [from, long] = [margin + span.start * step, span.length * step];
        pen.fillStyle = paint(`--c${span.cluster % COLOURS}`);
        const gap = long > 4 ? 1 : 0;
        pen.fillRect(margin - 8, from + gap / 2, 5, long - gap);
        pen.fillRect(from + gap / 2, margin - 8, long - gap, 5);
        pen.fillStyle = paint("--text");
        if (long > 13) {
          pen.textAlign = "right";
          pen.fillText(String(span.cluster), margin - 11, from + long / 2);
          pen.textAlign = "center";
          pen.fillText(String(span.cluster), from + long / 2, margin - 17);
        }
      }
      onPoint(node, (x, y) => {
        const [column, row] = [Math.floor((x - margin) / step), Math.floor((y - margin) / step)];
        if (row < 0 || column < 0 || row >= size || column >= size) return null;
        const value = (view.levels[inTriangle(size, row, column)] / 255) * view.top;
        const pair = owner[row] === owner[column] ? `inside cluster ${owner[row]}` : `cluster ${owner[row]} with cluster ${owner[column]}`;
        return [`${view.name} ${fixed(value)}`, pair, per];
      });
      return node;
    };
    drawn("matrix-plot", draw);
    scaleBar("matrix-scale", "0", short(view.top));
    document.querySelectorAll("input[name='matrix-view']").forEach((choice) => {
      choice.addEventListener("change", () => {
        view = views[Number(choice.value)];
        byId("matrix-scale-ends").textContent = `0 to ${short(view.top)}`;
        redraw();
      });
    });
  }

  // ------------------------------------------------------------------ the map

  function mark(pen, kind, x, y, radius) {
    pen.beginPath();
    if (kind === "circle") pen.arc(x, y, radius, 0, 2 * Math.PI);
    else if (kind === "square") pen.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
    else if (kind === "triangle") {
      pen.moveTo(x, y - radius * 1.2);
      pen.lineTo(x + radius * 1.1, y + radius * 0.8);
      pen.lineTo(x - radius * 1.1, y + radius * 0.8);
      pen.closePath();
    } else {
      pen.moveTo(x, y - radius * 1.3);
      pen.lineTo(x + radius * 1.3, y);
      pen.lineTo(x, y + radius * 1.3);
      pen.lineTo(x - radius * 1.3, y);
      pen.closePath();
    }
  }

  // numbers that would overlap are moved apart
  function apart(positions, least) {
    for (let pass = 0; pass < 30; pass++) {
      positions.forEach((one, i) => positions.slice(i + 1).forEach((two) => {
        const [dx, dy] = [two[0] - one[0], two[1] - one[1]];
        const far = Math.hypot(dx, dy);
        if (far >= least) return;
        const push = (least - far) / 2;
        const [ux, uy] = far > 0.01 ? [dx / far, dy / far] : [1, 0];
        one[0] -= ux * push; one[1] -= uy * push;
        two[0] += ux * push; two[1] += uy * push;
      }));
    }
  }

  let chosenPoint = -1;
  if (data.map) {
    const xs = unpack(data.map.x, "u2");
    const ys = unpack(data.map.y, "u2");
    const label = unpack(data.map.label, "u2");
    const sure = unpack(data.map.confidence, "u1");
    const row = unpack(data.map.row, "u4");
    const radius = xs.length > 2000 ? 2.2 : 3;
    const hidden = new Set();
    const draw = (width) => {
      const wide = Math.min(width, 640);
      const high = Math.round(Math.min(Math.max(wide * data.map.aspect, wide * 0.55), wide));
      const pad = 10;
      const at = (point) => [pad + (xs[point] / 65535) * (wide - 2 * pad), high - pad - (ys[point] / 65535) * (high - 2 * pad)];
      const [node, pen] = canvas(wide, high);
      const fills = Array.from({ length: COLOURS }, (_, index) => paint(`--c${index}`));
      for (let point = 0; point < xs.length; point++) {
        const [x, y] = at(point);
        const off = hidden.has(label[point]);
        pen.globalAlpha = off ? 0.06 : 0.22 + (0.78 * sure[point]) / 255;
        pen.fillStyle = off ? paint("--muted") : fills[label[point] % COLOURS];
        mark(pen, shapeOf(label[point]), x, y, radius);
        pen.fill();
      }
      pen.globalAlpha = 1;
      pen.font = `600 14px ${paint("--sans")}`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.lineJoin = "round";
      const names = data.map.centres.filter(([cluster]) => !hidden.has(cluster))
        .map(([cluster, x, y]) => [cluster, [pad + x * (wide - 2 * pad), high - pad - y * (high - 2 * pad)]]);
      apart(names.map(([, position]) => position), 20);
      for (const [cluster, position] of names) {
        pen.lineWidth = 4;
        pen.strokeStyle = paint("--page");
        pen.strokeText(String(cluster), ...position);
        pen.fillStyle = paint("--text");
        pen.fillText(String(cluster), ...position);
      }
      if (chosenPoint >= 0) {
        pen.lineWidth = 2.5;
        pen.strokeStyle = paint("--text");
        pen.beginPath();
        pen.arc(...at(chosenPoint), radius + 5, 0, 2 * Math.PI);
        pen.stroke();
      }
      const nearest = (x, y) => {
        let [best, distance] = [-1, 12 * 12];
        for (let point = 0; point < xs.length; point++) {
          if (hidden.has(label[point])) continue;
          const [px, py] = at(point);
          const squared = (px - x) ** 2 + (py - y) ** 2;
          if (squared < distance) [best, distance] = [point, squared];
        }
        return best;
      };
      onPoint(node, (x, y) => {
        const point = nearest(x, y);
        node.style.cursor = point >= 0 && samples?.sampleOfRow(row[point]) >= 0 ? "pointer" : "default";
        if (point < 0) return null;
        return [samples ? samples.titleOfRow(row[point]) : `Row ${row[point]}`, `cluster ${label[point]}${sureness(sure[point] / 255)}`];
      });
      node.addEventListener("click", (event) => {
        const box = node.getBoundingClientRect();
        const point = nearest(event.clientX - box.left, event.clientY - box.top);
        const sample = point >= 0 && samples ? samples.sampleOfRow(row[point]) : -1;
        if (sample >= 0) samples.choose(sample, true);
      });
      return node;
    };
    drawn("map-plot", draw);
    const legend = byId("map-legend");
    for (const [cluster, size] of data.map.legend) {
      const swatch = shape("svg", { width: 12, height: 12, viewBox: "-6 -6 12 12", "aria-hidden": "true" });
      const outline = { circle: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", square: "M-4.5,-4.5h9v9h-9z", triangle: "M0,-5.5L5,4.5H-5z", diamond: "M0,-6L6,0L0,6L-6,0z" };
      swatch.append(shape("path", { d: outline[shapeOf(cluster)] }, { fill: colourOf(cluster) }));
      const button = element("button", { type: "button", "aria-pressed": "true" }, swatch, element("span", { class: "unseen" }, "Cluster "), String(cluster), element("span", { class: "quiet" }, count(size)), element("span", { class: "unseen" }, " samples"));
      button.addEventListener("click", () => {
        if (!hidden.delete(cluster)) hidden.add(cluster);
        button.setAttribute("aria-pressed", String(!hidden.has(cluster)));
        redraw();
      });
      legend.append(element("li", {}, button));
    }
    data.map.find = (wanted) => row.indexOf(wanted);
  }

  // ------------------------------------------------------------------ lines and bars

  function niceTicks(low, high, wanted) {
    const span = high - low || 1;
    const raw = span / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw);
    const ticks = [];
    for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  }

  // series: {name, values, colour, plain}; null values leave a gap, and plain curves have no points
  function lines(width, { xs, series, xName, whole, low, high, at, tall = 200, bars = false, log = false }) {
    const [right, top, bottom] = [12, 10, 36];
    const height = tall;
    const flat = series.flatMap((one) => one.values).filter((value) => value !== null && Number.isFinite(value));
    const forward = log ? Math.log10 : (value) => value;
    let least = low ?? Math.min(...flat.map(forward));
    let most = high ?? Math.max(...flat.map(forward));
    if (bars) least = Math.min(0, least);
    if (least === most) [least, most] = [least - (Math.abs(least) || 1) * 0.1, most + (Math.abs(most) || 1) * 0.1];
    else if (low === undefined || high === undefined) {
      const slack = (most - least) * 0.06;
      if (low === undefined && !bars) least -= slack;
      if (high === undefined) most += slack;
    }
    const levels = niceTicks(least, most, Math.max(2, Math.round(height / 55))).filter((tick) => !log || Number.isInteger(tick))
      .map((tick) => (log ? 10 ** tick : tick));
    const left = Math.max(30, ...levels.map((tick) => 12 + 6.6 * short(tick).length));
    const half = bars ? 0.5 : 0;
    const [first, last] = [xs[0] - half, xs[xs.length - 1] + half];
    const px = (x) => left + ((x - first) / (last - first || 1)) * (width - left - right);
    const py = (y) => height - bottom - ((forward(y) - least) / (most - least)) * (height - top - bottom);
    const node = svg(width, height);
    for (const tick of levels) {
      const y = py(tick);
      node.append(shape("line", { x1: left, x2: width - right, y1: y, y2: y, class: "grid" }));
      node.append(shape("text", { x: left - 6, y: y + 4, class: "tick end" }, {}, short(tick)));
    }
    const room = Math.max(2, Math.floor((width - left - right) / 34));
    const ticks = whole && xs.length <= room ? xs : niceTicks(xs[0], xs[xs.length - 1], Math.min(room, 6)).filter((tick) => !whole || Number.isInteger(tick));
    for (const tick of ticks) node.append(shape("text", { x: px(tick), y: height - bottom + 16, class: "tick middle" }, {}, short(tick)));
    node.append(shape("text", { x: left + (width - left - right) / 2, y: height - 3, class: "tick middle" }, {}, xName));
    if (at !== undefined && at >= first && at <= last) node.append(shape("line", { x1: px(at), x2: px(at), y1: top, y2: height - bottom, class: "chosen" }));
    for (const one of series) {
      if (bars) {
        const wide = Math.min(36, ((width - left - right) / xs.length) * 0.62);
        one.values.forEach((value, index) => {
          if (value === null) return;
          const [from, to] = [py(Math.max(value, 0)), py(Math.min(value, 0))];
          node.append(shape("rect", { x: px(xs[index]) - wide / 2, width: wide, y: from, height: Math.max(to - from, 1) }, { fill: one.colour }));
        });
        continue;
      }
      let path = "";
      let open = false;
      one.values.forEach((value, index) => {
        if (value === null || !Number.isFinite(value)) { open = false; return; }
        path += `${open ? "L" : "M"}${px(xs[index]).toFixed(1)},${py(value).toFixed(1)}`;
        open = true;
      });
      node.append(shape("path", { d: path, class: "curve" }, { stroke: one.colour }));
      if (xs.length <= 30 && !one.plain) {
        one.values.forEach((value, index) => {
          if (value === null) return;
          node.append(shape("circle", { cx: px(xs[index]), cy: py(value), r: 2.8 }, { fill: one.colour }));
        });
      }
    }
    onPoint(node, (x) => {
      const reach = xs.map((value) => Math.abs(px(value) - x));
      const index = reach.indexOf(Math.min(...reach));
      return [`${xName} ${short(xs[index])}`, ...series.map((one) => `${one.name} ${short(one.values[index])}`)];
    });
    return node;
  }

  // ------------------------------------------------------------------ confidence of each cluster

  for (const entry of data.confidence) {
    drawn(`confidence-${entry.cluster}`, (width) => {
      const height = 64;
      const node = svg(width, height);
      const most = Math.max(...entry.counts, 1);
      const step = width / entry.counts.length;
      entry.counts.forEach((value, bin) => {
        const high = value ? Math.max((value / most) * (height - 18), 1.5) : 0;
        node.append(shape("rect", { x: bin * step + 0.75, width: Math.max(step - 1.5, 1), y: height - 14 - high, height: high }, { fill: colourOf(entry.cluster) }));
      });
      node.append(shape("line", { x1: 0, x2: width, y1: height - 13.5, y2: height - 13.5, class: "axis" }));
      for (const [value, anchor] of [["0", "start"], ["0.5", "middle"], ["1", "end"]]) {
        node.append(shape("text", { x: Number(value) * width, y: height - 2, class: `tick ${anchor}` }, {}, value));
      }
      onPoint(node, (x) => {
        const bin = Math.min(Math.max(Math.floor(x / step), 0), entry.counts.length - 1);
        const bins = entry.counts.length;
        return [`cluster ${entry.cluster}`, `confidence ${fixed(bin / bins)} to ${fixed((bin + 1) / bins)}`, `${count(entry.counts[bin])} samples`];
      });
      return node;
    });
  }

  // ------------------------------------------------------------------ convergence

  for (const [index, series] of (data.convergence?.series ?? []).entries()) {
    drawn(`convergence-${index}`, (width) => lines(width, {
      xs: data.convergence.passes, whole: true, xName: "pass", log: series.log,
      series: [{ name: series.name, values: series.values, colour: "var(--accent)" }],
    }));
  }

  // ------------------------------------------------------------------ the number of clusters

  if (data.selection) {
    const { ks, criteria, cdf, grid, delta, recommended } = data.selection;
    criteria.forEach((one, index) => {
      const series = [{ name: one.title, values: one.values, colour: "var(--accent)" }];
      drawn(`criterion-${index}`, (width) => lines(width, { xs: ks, whole: true, xName: "clusters k", series, at: recommended, tall: 150 }));
    });
    if (cdf) {
      drawn("cdf-plot", (width) => {
        const colour = ramp();
        const shade = (index) => `rgb(${colour(0.35 + (0.65 * index) / Math.max(ks.length - 1, 1)).join(" ")})`;
        return lines(width, {
          xs: grid, xName: "consensus index", low: 0, high: 1, tall: 260,
          series: cdf.map((values, index) => ({ name: `k = ${ks[index]}`, values, colour: ks[index] === recommended ? "var(--mark)" : shade(index), plain: true })),
        });
      });
    }
    if (delta) drawn("delta-plot", (width) => lines(width, { xs: ks, whole: true, xName: "clusters k", bars: true, tall: 260, series: [{ name: "gain in area", values: delta, colour: "var(--accent)" }] }));
  }

  if (data.tracking) {
    drawn("tracking-plot", (width) => {
      const { ks, sizes, flows, colours } = data.tracking;
      const [height, top, bottom, gap] = [340, 6, 24, 4];
      const total = sizes[0].reduce((sum, value) => sum + value, 0);
      const bar = Math.min(16, width / ks.length / 3);
      const px = (index) => (ks.length === 1 ? 0 : (index * (width - bar)) / (ks.length - 1));
      const most = Math.max(...sizes.map((column) => column.length));
      const space = Math.min(gap, (0.25 * height) / most);
      const usable = height - top - bottom - space * (most - 1);
      const node = svg(width, height);
      const starts = sizes.map((column) => {
        let y = top;
        return column.map((value) => { const from = y; y += (value / total) * usable + space; return from; });
      });
      const [out, into] = [sizes.map((column) => column.map(() => 0)), sizes.map((column) => column.map(() => 0))];
      flows.forEach((column, index) => {
        for (const [from, to, weight] of column) {
          const thick = (weight / total) * usable;
          const [y1, y2] = [starts[index][from] + out[index][from], starts[index + 1][to] + into[index + 1][to]];
          out[index][from] += thick;
          into[index + 1][to] += thick;
          const [x1, x2] = [px(index) + bar, px(index + 1)];
          const middle = (x1 + x2) / 2;
          const ribbon = shape("path", {
            d: `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}V${y2 + thick}C${middle},${y2 + thick} ${middle},${y1 + thick} ${x1},${y1 + thick}Z`, class: "ribbon",
          }, { fill: colourOf(colours[index + 1][to]) });
          onPoint(ribbon, () => [`k = ${ks[index]}, part ${from} → k = ${ks[index + 1]}, part ${to}`, `${count(weight)} samples`]);
          node.append(ribbon);
        }
      });
      sizes.forEach((column, index) => {
        column.forEach((value, part) => {
          const box = shape("rect", { x: px(index), width: bar, y: starts[index][part], height: Math.max((value / total) * usable, 1) }, { fill: colourOf(colours[index][part]) });
          onPoint(box, () => [`k = ${ks[index]}, part ${part}`, `${count(value)} samples`]);
          node.append(box);
        });
        const anchor = index === 0 ? "start" : index === ks.length - 1 ? "end" : "middle";
        const x = index === 0 ? 0 : index === ks.length - 1 ? width : px(index) + bar / 2;
        node.append(shape("text", { x, y: height - 6, class: `tick ${anchor}` }, {}, ks[index] === data.tracking.chosen ? `k = ${ks[index]}` : String(ks[index])));
      });
      return node;
    });
  }

  // ------------------------------------------------------------------ how members agree

  if (data.agreement) {
    const { members, values, low } = data.agreement;
    const size = members.length;
    const levels = unpack(values, "u1");
    drawn("agreement-plot", (width) => {
      const names = size <= 40;
      const pen0 = document.createElement("canvas").getContext("2d");
      pen0.font = `12px ${paint("--sans")}`;
      const cut = (text, room) => {
        if (pen0.measureText(text).width <= room) return text;
        let kept = text;
        while (kept.length > 1 && pen0.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
        return `${kept}…`;
      };
      const widest = Math.min(Math.max(...members.map((member) => pen0.measureText(member).width)) + 8, width * 0.3);
      const margin = names ? widest : 0;
      const side = Math.min(width - margin, 480);
      const [node, pen] = canvas(side + margin, side);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(matrixImage(size, (row, column) => levels[inTriangle(size, row, column)]), margin, 0, side, side);
      const step = side / size;
      if (names && step >= 11) {
        pen.font = `12px ${paint("--sans")}`;
        pen.fillStyle = paint("--text");
        pen.textAlign = "right";
        pen.textBaseline = "middle";
        members.forEach((member, row) => pen.fillText(cut(member, margin - 8), margin - 6, (row + 0.5) * step));
      }
      onPoint(node, (x, y) => {
        const [column, row] = [Math.floor((x - margin) / step), Math.floor(y / step)];
        if (row < 0 || column < 0 || row >= size || column >= size) return null;
        if (row === column) return [members[row]];
        return [`NMI ${fixed(low + ((1 - low) * levels[inTriangle(size, row, column)]) / 255)}`, members[row], members[column]];
      });
      return node;
    });
    scaleBar("agreement-scale", short(low), "1");
  }

  // ------------------------------------------------------------------ finding a sample

  const samples = data.samples ? sampleStore(data.samples) : null;

  function sampleStore(given) {
    const micro = unpack(given.micro, given.micro_kind);
    const rows = given.rows ? unpack(given.rows, "u4") : null;
    const codes = unpack(given.codes, given.codes_kind);
    const absent = { u1: 255, u2: 65535, u4: 4294967295 }[given.codes_kind];
    const m = given.members.length;
    const [cluster, confidence, rival, support, rivalSupport, attachment] = ["cluster", "confidence", "rival", "support", "rival_support", "attachment"].map((key) => unpack(given[key], "u2"));
    const [goes, share] = [unpack(given.goes, "u2"), unpack(given.share, "u2")];
    const rowOf = (sample) => (rows ? rows[sample] : sample);
    const idOf = (sample) => (given.ids ? given.ids[sample] : String(rowOf(sample)));
    let samplesByRow = null;

    function sampleOfRow(row) {
      if (!rows) return row < micro.length ? row : -1;
      if (!samplesByRow) {
        samplesByRow = new Map();
        rows.forEach((value, sample) => samplesByRow.set(value, sample));
      }
      return samplesByRow.get(row) ?? -1;
    }

    function titleOfRow(row) {
      const sample = sampleOfRow(row);
      if (sample >= 0 && given.ids) return given.ids[sample];
      return `Row ${row}`;
    }

    const lowered = [];
    const lower = (sample) => (lowered[sample] ??= idOf(sample).toLowerCase());

    // optimal string alignment distance, given up as soon as it exceeds the limit
    function distance(one, two, limit) {
      if (Math.abs(one.length - two.length) > limit) return limit + 1;
      let [previous, current] = [[], Array.from({ length: two.length + 1 }, (_, index) => index)];
      for (let i = 1; i <= one.length; i++) {
        const older = previous;
        previous = current;
        current = [i];
        let least = i;
        for (let j = 1; j <= two.length; j++) {
          let value = Math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (one[i - 1] !== two[j - 1]));
          if (i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1]) value = Math.min(value, older[j - 2] + 1);
          current.push(value);
          least = Math.min(least, value);
        }
        if (least > limit) return limit + 1;
      }
      return current[two.length];
    }

    function matches(text, most = 8) {
      const wanted = text.trim().toLowerCase();
      if (!wanted) return { matched: [], near: false };
      const ranks = [[], [], []];
      for (let sample = 0; sample < micro.length; sample++) {
        const id = lower(sample);
        if (id === wanted) ranks[0].push(sample);
        else if (id.startsWith(wanted)) { if (ranks[1].length < most) ranks[1].push(sample); }
        else if (ranks[2].length < most && id.includes(wanted)) ranks[2].push(sample);
      }
      const matched = ranks.flat().slice(0, most);
      if (matched.length) return { matched, near: false };
      const limit = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)));
      const close = [];
      for (let sample = 0; sample < micro.length; sample++) {
        const far = distance(wanted, lower(sample).slice(0, wanted.length + limit), limit);
        if (far <= limit) close.push([far, sample]);
      }
      close.sort((one, two) => one[0] - two[0] || one[1] - two[1]);
      return { matched: close.slice(0, most).map(([, sample]) => sample), near: true };
    }

    function votes(unit) {
      return given.members.map((member, j) => {
        const code = codes[unit * m + j];
        if (code === absent) return { member, labelled: false, label: null, goes: null, agrees: null };
        const at = given.offsets[j] + code;
        // a label whose samples lie equally in several clusters goes with none of them
        const tied = given.ties[at] ?? [];
        const own = goes[at] === cluster[unit] || tied.includes(cluster[unit]);
        return {
          member,
          labelled: true,
          label: given.labels ? given.labels[at] : null,
          goes: tied.length ? null : goes[at],
          share: share[at] / 65535,
          agrees: tied.length && own ? null : own,
        };
      });
    }

    const input = byId("sample-input");
    const list = byId("sample-list");
    const panel = byId("sample-panel");
    const said = byId("said");
    let shown = [];
    let active = -1;

    function close() {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
      active = -1;
    }

    function activate(order) {
      active = order;
      [...list.children].forEach((option, index) => option.setAttribute("aria-selected", String(index === order)));
      if (order >= 0) {
        input.setAttribute("aria-activedescendant", `sample-option-${order}`);
        list.children[order].scrollIntoView({ block: "nearest" });
      } else input.removeAttribute("aria-activedescendant");
    }

    function suggest() {
      const { matched, near } = matches(input.value);
      shown = matched;
      const hint = byId("sample-hint");
      hint.replaceChildren();
      if (!input.value.trim()) { close(); return; }
      list.replaceChildren(...matched.map((sample, order) => {
        const unit = micro[sample];
        const option = element("li", { role: "option", id: `sample-option-${order}`, "aria-selected": "false" }, name(idOf(sample)),
          element("span", { class: "quiet" }, `cluster ${cluster[unit]}${sureness(confidence[unit] / 65535)}`));
        // before the input loses the focus
        option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(sample); });
        return option;
      }));
      if (near || !matched.length) {
        hint.append("No searchable sample has the id “", name(input.value.trim()), matched.length ? "”. Similar ids:" : "”, and no id is similar. ");
        if (!matched.length && given.count < data.n) hint.append(`Only ${count(given.count)} of ${count(data.n)} ${data.weighted ? "weighted rows" : "samples"} are stored in this page; coterie explain explains any sample.`);
      }
      list.hidden = !matched.length;
      input.setAttribute("aria-expanded", String(!!matched.length));
      activate(-1);
      said.textContent = matched.length ? `${matched.length} ${near ? "similar ids" : "matches"}` : "no match";
    }

    function choose(sample, fromMap = false) {
      input.value = idOf(sample);
      byId("sample-hint").replaceChildren();
      close();
      explain(sample);
      chosenPoint = data.map ? data.map.find(rowOf(sample)) : -1;
      redraw();
      if (fromMap) byId("find").scrollIntoView({ block: "start" });
    }

    function bar(title, value, colour) {
      const node = svg(120, 10);
      node.append(shape("rect", { x: 0, y: 0, width: 120, height: 10, rx: 2, class: "track" }), shape("rect", { x: 0, y: 0, width: 120 * value, height: 10, rx: 2 }, { fill: colour }));
      return element("div", { class: "support" }, element("span", {}, title), node, element("span", { class: "number" }, fixed(value)));
    }

    function sentence(unit, all) {
      const saw = all.filter((vote) => vote.labelled);
      if (!saw.length) return "No member labelled it, so nothing is known about it.";
      if (rival[unit] === cluster[unit]) return "There is no other cluster.";
      const agree = saw.filter((vote) => vote.agrees).length;
      const towards = saw.filter((vote) => vote.goes === rival[unit]).length;
      const tied = saw.filter((vote) => vote.agrees === null).length;
      const elsewhere = saw.length - agree - towards - tied;
      const sure = confidence[unit] / 65535;
      const degree = !data.reliable ? "The partition is not reliable" : sure >= data.sure ? "Sure" : sure >= data.unsure ? "Fairly sure" : "Unsure";
      const percent = (value) => `${Math.round((value / 65535) * 100)} %`;
      if (!attachment[unit] && support[unit] === rivalSupport[unit]) return "Unsure: the members that labelled it put it with no other sample.";
      const parts = [`${degree}: of the ${saw.length === 1 ? "one member" : `${count(saw.length)} members`} that labelled it, ${agree} ${agree === 1 ? "groups" : "group"} it mostly with cluster ${cluster[unit]}`];
      if (towards) parts.push(`${towards} with cluster ${rival[unit]}`);
      if (tied) parts.push(`${tied} equally with another cluster`);
      if (elsewhere) parts.push(`${elsewhere} elsewhere`);
      let text = `${parts.join(", ")}. `;
      if (support[unit] === 65535) text += "All samples they put it with are in that cluster.";
      else text += `Of the samples they put it with, ${percent(support[unit])} are in cluster ${cluster[unit]} and ${percent(rivalSupport[unit])} in cluster ${rival[unit]}.`;
      if (rivalSupport[unit] > support[unit]) text += ` The votes favour cluster ${rival[unit]}; the method decided against them.`;
      if (m > saw.length) text += ` ${count(m - saw.length)} did not label it.`;
      const lead = Math.max(0, 1 - rivalSupport[unit] / support[unit]);
      if (lead * (1 - Math.sqrt(Math.sqrt(attachment[unit] / 65535))) >= data.loose) text += ` It is loosely attached: members put it with the samples of its cluster only ${percent(attachment[unit])} as often as is typical, which lowers the confidence.`;
      return text;
    }

    function explain(sample) {
      const unit = micro[sample];
      const all = votes(unit);
      const order = all.map((_, j) => j).sort((one, two) => rank(all[one]) - rank(all[two]) || one - two);
      const most = 300;
      const rowsShown = order.slice(0, most).map((j) => {
        const vote = all[j];
        if (!vote.labelled) return element("tr", {}, element("th", { scope: "row" }, name(vote.member)), element("td", { colspan: "2", class: "quiet" }, "did not label it"), element("td", {}, "–"));
        return element("tr", { class: vote.agrees === false ? "against" : "" },
          element("th", { scope: "row" }, name(vote.member)),
          element("td", {}, name(vote.label ?? "–")),
          element("td", {}, vote.goes === null ? "several, each" : `cluster ${vote.goes}`, element("span", { class: "quiet" }, `${fixed(vote.share * 100, 0)} %`)),
          element("td", {}, vote.agrees === null ? "– undecided" : vote.agrees ? "✓ agrees" : "✗ differs"));
      });
      const head = element("tr", {}, ...["Member", "Its label", "That label mostly goes with", "Vote"].map((text) => element("th", { scope: "col" }, text)));
      const table = element("table", { class: "votes" }, element("caption", { class: "unseen" }, "How each member votes on this sample"), element("thead", {}, head), element("tbody", {}, ...rowsShown));
      const frame = element("div", { class: "frame short", tabindex: "0", role: "region", "aria-label": "Votes of the members" }, table);
      const parts = [
        element("h3", { id: "sample-title" }, given.ids ? "Sample " : "Row ", name(idOf(sample))),
        element("p", {}, element("strong", {}, `Cluster ${cluster[unit]}${sureness(confidence[unit] / 65535)}. `), sentence(unit, all)),
        bar(`Support of cluster ${cluster[unit]}`, support[unit] / 65535, colourOf(cluster[unit])),
      ];
      if (rival[unit] !== cluster[unit]) parts.push(bar(`Support of cluster ${rival[unit]}, the rival`, rivalSupport[unit] / 65535, colourOf(rival[unit])));
      parts.push(frame);
      if (order.length > most) parts.push(element("p", { class: "quiet" }, `The first ${most} of ${count(order.length)} members, disagreeing ones first.`));
      panel.replaceChildren(...parts);
      panel.hidden = false;
      said.textContent = `Showing sample ${idOf(sample)}: cluster ${cluster[unit]}${sureness(confidence[unit] / 65535)}.`;
    }

    const rank = (vote) => (!vote.labelled ? 3 : vote.agrees === null ? 1 : vote.agrees ? 2 : 0);

    input.disabled = false;
    input.addEventListener("input", suggest);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (list.hidden) suggest();
        if (shown.length && !list.hidden) {
          const step = event.key === "ArrowDown" ? 1 : -1;
          activate(active < 0 ? (step > 0 ? 0 : shown.length - 1) : (active + step + shown.length) % shown.length);
        }
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (list.hidden) suggest();
        if (active >= 0) choose(shown[active]);
        else if (shown.length && (shown.length === 1 || lower(shown[0]) === input.value.trim().toLowerCase())) choose(shown[0]);
        else if (shown.length) activate(0);
      } else if (event.key === "Escape") {
        if (!list.hidden) close();
        else { input.value = ""; suggest(); }
      }
    });
    input.addEventListener("blur", close);

    const chips = byId("sample-chips");
    for (const sample of given.least) {
      const button = element("button", { type: "button" }, name(idOf(sample)), element("span", { class: "quiet" }, fixed(confidence[micro[sample]] / 65535)));
      button.addEventListener("click", () => choose(sample));
      chips.append(element("li", {}, button));
    }
    if (given.least.length) chips.parentElement.hidden = false;
    return { sampleOfRow, titleOfRow, choose };
  }

  redraw();
})();
