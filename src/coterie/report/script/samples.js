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
    if (fromMap) {
      unfold("find");
      byId("find").scrollIntoView({ block: "start" });
    }
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
