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
      const most = view.above && value >= view.top ? " or more" : "";
      return [`${view.name} ${short(value)}${most}`, pair, per];
    });
    return node;
  };
  drawn("matrix-plot", draw);
  const ends = () => [fixed(0, 0), `${short(view.top)}${view.above ? " or more" : ""}`];
  scaleBar("matrix-scale", ...ends());
  document.querySelectorAll("input[name='matrix-view']").forEach((choice) => {
    choice.addEventListener("change", () => {
      view = views[Number(choice.value)];
      byId("matrix-scale-ends").textContent = ends().join(" to ");
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
      pen.lineWidth = 3;
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
