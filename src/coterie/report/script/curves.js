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
