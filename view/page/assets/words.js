// Everything that is drawn, in words: the details of what is picked, and lists of all that a tab has.
function make(tag, attributes, ...inside) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) if (name === "onclick") e.onclick = value; else e.setAttribute(name, value);
  e.append(...inside.filter(x => x !== null && x !== undefined));
  return e;
}

function factList(facts) {
  const list = make("dl");
  for (const [name, value] of facts) list.append(make("dt", {}, name), make("dd", {}, String(value)));
  return list;
}

// link is a button that goes to an item of a stage.
function link(words, stageNumber, item) {
  return make("button", {class: "go", onclick: () => goTo(stageNumber, item)}, words);
}

function titled(words, content) {
  return content.length ? [make("h3", {}, words), ...content] : [];
}

// describe gives an item in a few words.
function describe(it) {
  let words = `${it.k} ${it.t}`;
  if (fact(it, "element type")) words += `: ${fact(it, "element type")} ${fact(it, "shape") ?? fact(it, "range")}`;
  else if (it.l.length > 1) words += ": " + it.l.slice(1).join(", ");
  if (it.m & OBSERVED) words += ", observed";
  if (it.m & PRUNED) words += ", pruned";
  if (it.m & ALONE) words += ", only here";
  if (it.m & DIFFERS) words += ", not the same";
  if (it.m & PRECOMPUTED) words += ", carried out when the program is built";
  return words;
}

const MOST = 40;

function neighbours(s, item) {
  const side = (joins, end) => joins.slice(0, MOST).map(j => link((j[2] ? j[2] + ": " : "") + describe(s.items[j[end]]) + (j[3] ? " " + j[3] : ""), stageShown(), j[end]));
  return [...titled("reads", side(s.reads[item], 0)), ...titled("gives", side(s.gives[item], 1))];
}

// provenance leads back to the source and to the operations that a kernel carries out, and forward to kernels and their text.
function provenance(s, item) {
  const it = s.items[item], out = [], source = data.programs[programOf(it)];
  const lines = [...new Set(it.at ?? [])].filter(n => n > 0);
  out.push(...titled("source", lines.map(n => make("div", {}, `${source.file}:${n}`, source.lines[n] ? make("pre", {class: "sentences", tabindex: "0"}, source.lines[n]) : ""))));
  const found = [];
  if (it.of) data.stages.forEach((t, i) => {
    if (i === scheduleStage) return;
    for (const op of it.of) if (index(t).byNode.has(op) && (t.compiled ?? true) && i > 0) found.push(link(`${describe(t.items[t.byNode.get(op)])} (${t.name})`, i, t.byNode.get(op)));
  });
  out.push(...titled("carries out", found));
  if (scheduleStage > 0 && stageShown() > 0 && stageShown() !== scheduleStage) {
    const k = index(data.stages[scheduleStage]);
    const users = k.items.map((x, i) => [x, i]).filter(([x]) => x.of?.includes(it.n));
    out.push(...titled("carried out by", users.slice(0, MOST).map(([x, i]) => link(describe(x), scheduleStage, i))));
  }
  return [...out, ...price(it), ...code(it)];
}

function price(it) {
  const step = data.steps?.find(x => x.n === it.n), p = step?.price;
  if (!p) return [];
  const facts = step.measured ? [["measured", seconds(step.measured)]] : [], there = elsewhere(step.n);
  if (there) facts.push(["elsewhere", there]);
  facts.push(["takes", `${seconds(step.time)}, from ${seconds(p.low)} to ${seconds(p.high)}`], ["of its roof", (100 * p.roof / step.time).toFixed(0) + " %"], ["bound by", p.bound],
    ["form", p.form], ["operations", p.operations.toExponential(2)], ["bytes", bytes(p.bytes)], ...p.terms.map(t => [t.what, seconds(t.time)]));
  return titled("on " + data.machine, [factList(facts)]);
}

function code(it) {
  const name = fact(it, "kernel"), found = it.k === "kernel" && data.code.find(c => c.name === name && (c.q ?? 0) === programOf(it));
  return found ? titled("as it is written", [make("pre", {tabindex: "0"}, found.text)]) : [];
}

function shards(it) {
  const list = (it.p ?? []).slice(0, MOST).map((p, i) => make("button", {class: "go", "aria-pressed": String(view.part === p[2]), onclick: () => { view.part = view.part === p[2] ? -1 : p[2]; overview = null; showDetails(); redraw(); }},
    `${i}: [${p[0].map((x, d) => x + ":" + p[1][d]).join(", ")}]${it.k === "tensor" ? (p[4] ? " written" : " read") : ""}`));
  return titled(it.k === "tensor" ? "selections" : "shards", list);
}

function matrices(it) {
  return titled("signature", (it.x ?? []).map(m => make("pre", {tabindex: "0"}, `${m.Name}\n[${m.Rows.map(r => r.join(" ")).join("; ")}] + [${m.Offset.join(" ")}] : [${m.Shape.join(" ")}]`)));
}

// showDetails writes what is picked beside the drawing.
function showDetails() {
  const about = $("about");
  about.replaceChildren();
  if (tab().chart === "plans") return showPlan(about);
  const s = index(stage()), it = s.items[view.picked];
  if (!it) return showStage(about, s);
  about.append(make("h2", {}, it.t), make("p", {}, it.k + (it.m & OBSERVED ? ", observed" : "") + (it.m & PRUNED ? ", pruned: nothing observed depends on it" : "")),
    factList([...it.f ?? [], ...coloured(s)]), ...beside(it), ...shards(it), ...matrices(it), ...provenance(s, view.picked), ...neighbours(s, view.picked));
}

// coloured is what the colour of the picked box says, if that is not its kernel.
function coloured(s) {
  const words = overlays[view.overlay].words(s, view.picked);
  return words ? [[overlays[view.overlay].title.replace("by ", ""), words]] : [];
}

// beside leads to what stands for a box in other programs.
const beside = it => titled("in other programs", (it.b ?? []).map(twin => link(`${data.programs[programOf(stage().items[twin])].file}: ${describe(stage().items[twin])}`, stageShown(), twin)));

// showStage writes what there is at a stage, and how to get about.
function showStage(about, s) {
  const kinds = new Map(), columns = s.columns ?? [];
  for (const it of s.items) kinds.set(it.k, (kinds.get(it.k) ?? 0) + 1);
  const facts = [...kinds].map(([k, n]) => [k + "s", n]);
  if (s.blocks) facts.push(["blocks that repeat", s.blocks]);
  if (tab().chart === "time" && data.steps.length) facts.push(["together", amount(Math.max(...data.steps.map(x => x.start + x.time)))], ["machine", data.machine || "none: each step is as long as another; --machine prices them"]);
  about.append(make("h2", {}, tab().name), factList(facts));
  columns.forEach((c, q) => {
    const mine = s.items.map((it, i) => [it, i]).filter(([it]) => programOf(it) === q), some = mark => mine.filter(([it]) => it.m & mark);
    const list = mark => some(mark).slice(0, MOST).map(([it, i]) => link(describe(it), stageShown(), i));
    about.append(make("h3", {}, c.name), factList([["only here", some(ALONE).length], ["not the same", some(DIFFERS).length], ["boxes", mine.length]]), ...list(ALONE), ...list(DIFFERS));
  });
  about.append(make("div", {"class": "keys"}, make("h3", {}, "keys"), factList([["arrows", "move"], ["+ − 0", "zoom in, out, everything"], ["n p", "next, previous box"], ["f", "fold repeated blocks"], ["/", "search; Enter goes on"], ["l", "everything as text"], ["d", "light or dark"], ["1 … 9", "tabs"]])),
    make("p", {}, `${data.programs.map(p => p.file).join(", ")}, by tapc ${data.version}`));
}

const PAGE = 200;
let listed = 0;

// showWords lists all items of a tab, some at a time.
function showWords() {
  const words = $("words");
  words.replaceChildren(make("h2", {}, tab().name));
  if (tab().chart === "plans") return words.append(planTable());
  if (tab().chart) words.append(...chartWords());
  const s = stage(), all = view.found.size ? [...view.found] : s.items.map((_, i) => i);
  listed = Math.min(listed, Math.floor(Math.max(0, all.length - 1) / PAGE) * PAGE);
  const list = make("ol", {start: String(listed + 1)});
  for (const item of all.slice(listed, listed + PAGE)) list.append(make("li", {}, make("button", {class: "go", onclick: () => goTo(stageShown(), item)}, describe(s.items[item]))));
  const turn = (name, by, possible) => { const b = make("button", {onclick: () => { listed += by; showWords(); words.focus(); }}, name); b.disabled = !possible; return b; };
  words.append(make("p", {}, `${all.length} boxes${view.found.size ? " that were found" : ""}, ${listed + 1} to ${Math.min(all.length, listed + PAGE)} `, turn("before", -PAGE, listed > 0), " ", turn("further", PAGE, listed + PAGE < all.length)), list);
}
