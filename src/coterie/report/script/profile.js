// ------------------------------------------------------------------ what the clusters are

if (data.profile) {
  const { clusters, columns } = data.profile;
  const [difference, low, high, auc, typical, typicalRest, mean, meanRest, missing] =
    ["difference", "low", "high", "auc", "typical", "typical_rest", "mean", "mean_rest", "missing"].map((key) => unpack(data.profile[key], "f4"));
  const [own, rest] = ["own", "rest"].map((key) => unpack(data.profile[key], "u1"));
  const level = unpack(data.profile.level, "u2");
  const BINS = data.profile.bins;
  const totalBars = own.length / clusters.length;
  const starts = [];
  let end = 0;
  for (const column of columns) {
    starts.push(end);
    end += column.labels.length || BINS;
  }
  // rows at first, and with each press of the button
  const FEW = window.matchMedia("(max-width: 44rem)").matches ? 6 : 12;
  const MORE = 25;
  // differences of this many standard deviations have the strongest colour
  const STRONG = 2;

  const nameOf = (row, part) => {
    const column = columns[row];
    return column.kind === "category" ? `${column.column} = ${column.levels[level[at(row, part)]]}` : column.column;
  };

  const at = (row, part) => row * clusters.length + part;
  function signed(value, digits) {
    if (Number.isNaN(value)) return "–";
    const text = Math.abs(value).toFixed(digits);
    return Number(text) === 0 ? text : (value > 0 ? "+" : "−") + text;
  }

  const percent = (share) => (share > 0 && share < 0.01 ? "<1\u00a0%" : share > 0.99 && share < 1 ? ">99\u00a0%" : `${Math.round(100 * share)}\u00a0%`);

  function amount(value, kind) {
    if (Number.isNaN(value)) return "–";
    if (kind === "date") return new Date(Math.floor(value) * 86400000).toISOString().slice(0, 10);
    if (Math.abs(value) >= 1000 && Math.abs(value) < 1e15) return count(Math.round(value)).replace("-", "−");
    return short(value);
  }

  function barsOf(row, part) {
    const many = columns[row].labels.length || BINS;
    const from = part * totalBars + starts[row];
    const cut = (all) => Array.from(all.subarray(from, from + many), (value) => value / 255);
    return [cut(own), cut(rest)];
  }

  // what a cell says, in sentences
  function wordsOf(row, part) {
    const column = columns[row];
    const cell = at(row, part);
    const words = [];
    if (column.kind === "category") {
      const which = column.levels[level[cell]];
      words.push(`${which}: ${percent(mean[cell])} of cluster ${clusters[part]}, ${percent(meanRest[cell])} of all others.`);
    } else if (amount(typical[cell], column.kind) === amount(typicalRest[cell], column.kind)) {
      words.push(`Median ${amount(typical[cell], column.kind)} in the cluster and in all others; mean ${amount(mean[cell], column.kind)} against ${amount(meanRest[cell], column.kind)}.`);
    } else words.push(`Median ${amount(typical[cell], column.kind)} in cluster ${clusters[part]}, ${amount(typicalRest[cell], column.kind)} in all others.`);
    if (!Number.isNaN(difference[cell])) {
      const range = Number.isNaN(low[cell]) ? "" : ` (95\u00a0% interval ${signed(low[cell], 2)} to ${signed(high[cell], 2)})`;
      words.push(`Difference of the means: ${signed(difference[cell], 2)} standard deviations${range}.`);
    }
    if (!Number.isNaN(auc[cell]) && column.kind !== "category") {
      const larger = auc[cell] >= 0.5;
      const what = { number: ["larger", "smaller"], date: ["later", "earlier"] }[column.kind][larger ? 0 : 1];
      words.push(`Of one of its samples and one other, its own has the ${what} value in ${percent(larger ? auc[cell] : 1 - auc[cell])} of cases (50\u00a0% is chance).`);
    }
    if (missing[cell] > 0) words.push(`${percent(missing[cell])} of the cluster have no value.`);
    return words;
  }

  // paired bars of a cluster and all others: upright for numbers, lying for categories
  function barPicture(row, part, width, height) {
    const column = columns[row];
    const [mine, others] = barsOf(row, part);
    const most = Math.max(...mine, ...others, 1e-9);
    const colours = [colourOf(clusters[part]), "var(--rest)"];
    if (column.kind === "category") {
      const step = 34;
      const node = svg(width, step * mine.length);
      mine.forEach((_, bar) => {
        const y = bar * step;
        node.append(shape("text", { x: 0, y: y + 12, class: "label" }, {}, cutText(column.labels[bar], width)));
        [mine[bar], others[bar]].forEach((share, which) => {
          const long = (share / most) * (width - 46);
          node.append(shape("rect", { x: 0, y: y + 16 + which * 7, width: Math.max(long, 1), height: 6 }, { fill: colours[which] }));
          if (which === 0) node.append(shape("text", { x: width, y: y + 25, class: "tick end" }, {}, percent(share)));
        });
      });
      return node;
    }
    const node = svg(width, height);
    const floor = height - 18;
    const step = width / mine.length;
    mine.forEach((_, bar) => {
      [mine[bar], others[bar]].forEach((share, which) => {
        const high = share ? Math.max((share / most) * (floor - 4), 1) : 0;
        const wide = Math.max(step * 0.42, 1);
        node.append(shape("rect", { x: bar * step + step * 0.08 + which * wide, y: floor - high, width: wide, height: high }, { fill: colours[which] }));
      });
    });
    node.append(shape("line", { x1: 0, x2: width, y1: floor + 0.5, y2: floor + 0.5, class: "axis" }));
    if (column.labels.length) {
      const each = Math.max(1, Math.ceil((Math.max(...column.labels.map((label) => label.length)) * 7 + 6) / step));
      column.labels.forEach((label, bar) => {
        if (bar % each === 0) node.append(shape("text", { x: (bar + 0.5) * step, y: height - 4, class: "tick middle" }, {}, label));
      });
    } else {
      const [from, to] = column.ends.map((value) => amount(value, column.kind));
      node.append(shape("text", { x: 0, y: height - 4, class: "tick start" }, {}, column.beyond[0] ? `≤ ${from}` : from));
      node.append(shape("text", { x: width, y: height - 4, class: "tick end" }, {}, column.beyond[1] ? `≥ ${to}` : to));
    }
    return node;
  }

  const cutText = (text, width) => (text.length * 6.5 > width ? `${text.slice(0, Math.max(3, Math.floor(width / 6.5) - 1))}…` : text);

  // ---- the heat map

  const body = byId("profile-rows");
  const input = byId("profile-search");
  const status = byId("profile-status");
  const more = byId("profile-more");
  const panel = byId("profile-panel");
  let matching = columns.map((_, row) => row);
  let limit = FEW;
  let chosen = [0, 0];
  // the cell that the tab key reaches
  let active = [0, 0];

  function tint(value) {
    if (Number.isNaN(value)) return [paint("--page"), paint("--muted")];
    const stops = ["--less", "--even", "--more"].map((variable) => paint(variable).slice(1))
      .map((hex) => [0, 2, 4].map((start) => parseInt(hex.slice(start, start + 2), 16)));
    const share = Math.min(Math.abs(value) / STRONG, 1);
    const rgb = stops[1].map((level, channel) => Math.round(level + share * (stops[value < 0 ? 0 : 2][channel] - level)));
    const light = rgb.map((level) => (level / 255) ** 2.2).reduce((sum, level, channel) => sum + level * [0.2126, 0.7152, 0.0722][channel], 0);
    return [`rgb(${rgb.join(" ")})`, light > 0.179 ? "#000000" : "#ffffff"];
  }

  function cellOf(row, part) {
    const value = difference[at(row, part)];
    const button = element("button", { type: "button", tabindex: "-1", "aria-label": `${nameOf(row, part)}, cluster ${clusters[part]}: ${signed(value, 1)}` }, signed(value, 1));
    // clusters may be told by different levels of a category
    if (columns[row].kind === "category") button.append(element("span", { class: "level" }, name(columns[row].levels[level[at(row, part)]])));
    [button.style.background, button.style.color] = tint(value);
    button.addEventListener("click", () => choose(row, part));
    button.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      showNote(event, `${nameOf(row, part)}, cluster ${clusters[part]}`, wordsOf(row, part)[0], barPicture(row, part, 200, 70));
    });
    button.addEventListener("pointerleave", hideNote);
    return element("td", { role: "gridcell" }, button);
  }

  const rowsShown = () => matching.slice(0, limit);

  function fill() {
    body.replaceChildren(...rowsShown().map((row) => {
      const column = columns[row];
      const head = element("th", { scope: "row", role: "rowheader" }, name(column.column));
      if (column.role === "external") head.append(" ", element("span", { class: "quiet" }, "external"));
      return element("tr", { role: "row" }, head, ...clusters.map((_, part) => cellOf(row, part)));
    }));
    const left = matching.length - rowsShown().length;
    more.hidden = left <= 0;
    more.textContent = left <= MORE ? `Show all ${count(matching.length)} columns` : `Show ${MORE} more of ${count(left)} columns`;
    active = [Math.min(active[0], body.rows.length - 1), active[1]];
    reachable(false);
    mark();
  }

  const buttonAt = ([row, part]) => body.rows[row]?.cells[part + 1]?.firstElementChild;

  function reachable(focus) {
    const button = buttonAt(active);
    if (!button) return;
    body.querySelectorAll("button[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    button.tabIndex = 0;
    if (focus) button.focus();
  }

  function mark() {
    body.querySelectorAll("[aria-selected]").forEach((cell) => cell.removeAttribute("aria-selected"));
    buttonAt([rowsShown().indexOf(chosen[0]), chosen[1]])?.parentElement.setAttribute("aria-selected", "true");
  }

  body.addEventListener("keydown", (event) => {
    const [row, part] = active;
    const moves = { ArrowDown: [row + 1, part], ArrowUp: [row - 1, part], ArrowRight: [row, part + 1], ArrowLeft: [row, part - 1], Home: [row, 0], End: [row, clusters.length - 1] };
    const next = moves[event.key];
    if (!next) return;
    event.preventDefault();
    if (!buttonAt(next)) return;
    active = next;
    reachable(true);
  });

  function choose(row, part) {
    chosen = [row, part];
    active = [rowsShown().indexOf(row), part];
    reachable(false);
    mark();
    show();
    byId("said").textContent = `${columns[row].column}, cluster ${clusters[part]}. ${wordsOf(row, part).join(" ")}`;
  }

  function show() {
    const [row, part] = chosen;
    const width = Math.min(panel.clientWidth - 36, 460);
    if (width <= 0) return;
    const [mine, others] = barsOf(row, part);
    const column = columns[row];
    const labels = column.labels.length ? column.labels : mine.map((_, bar) => `bar ${bar + 1} of ${mine.length}`);
    const spoken = labels.map((label, bar) => `${label}: ${percent(mine[bar])} against ${percent(others[bar])}`).join("; ");
    const key = (className, text) => element("span", { class: "key" }, element("span", { class: `swatch ${className}`, "aria-hidden": "true" }), text);
    panel.replaceChildren(
      element("h3", {}, name(nameOf(row, part)), `, cluster ${clusters[part]}`),
      element("p", {}, key(`c${clusters[part] % COLOURS}`, `cluster ${clusters[part]}`), key("rest", "all others")),
      element("div", { class: "plot", role: "img", "aria-label": `Shares of the cluster and of all others. ${spoken}` }, barPicture(row, part, width, 150)),
      ...wordsOf(row, part).map((words) => element("p", {}, words)),
      ...(column.role === "external" ? [element("p", {}, "The clusters were not made from this column.")] : []),
    );
  }

  function search() {
    const wanted = input.value.trim().toLowerCase();
    matching = columns.map((_, row) => row).filter((row) => columns[row].column.toLowerCase().includes(wanted));
    limit = FEW;
    status.textContent = !wanted ? "" : matching.length ? `${count(matching.length)} of ${count(columns.length)} columns` : "No column has this name.";
    fill();
  }

  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => { if (event.key === "Escape") { input.value = ""; search(); } });
  more.addEventListener("click", () => {
    const first = limit;
    limit += MORE;
    fill();
    active = [first, 0];
    reachable(true);
  });
  byId("profile").hidden = false;
  input.parentElement.hidden = columns.length <= FEW;
  // the first cell is the strongest of the first column
  const strength = clusters.map((_, part) => Math.round(1000 * Math.abs(auc[at(0, part)] - 0.5)) || 0);
  chosen = [0, strength.indexOf(Math.max(...strength))];
  active = [...chosen];
  drawings.push(fill, show);
  new ResizeObserver(show).observe(panel.parentElement);
}
