// The data of the page, as view/page/data.go writes it, and what is shown of it now. A stage has items (n: node, k: kind, t: title, l: lines, c: class of
// colour, m: marks, cut and w and p: the parts of a box, x: matrices, f: facts, at: lines of the source, of: nodes that a kernel carries out, z: bytes,
// b: items of other programs that stand for the same), joins [from, to, port, part], columns, one for each of several
// programs (name, and segments: the number of the first segment behind it), segments (s: shape, b: boxes, r: references, k: [block, instance, instances, piece, pieces]) and shapes (b: boxes, l: lines).
const data = JSON.parse(document.getElementById("data").textContent);
const OBSERVED = 1, PRUNED = 2, PRECOMPUTED = 4, ALONE = 8, DIFFERS = 16;
const $ = id => document.getElementById(id);

const view = {
  tab: 0, fold: true, scale: 1, x: 0, y: 0, picked: -1, part: -1, found: new Set(), order: [], overlay: data.programs.length > 1 ? "difference" : "kind",
  from: 0, to: 1, plan: -1, against: -1, axes: [0, 1], frames: [], drawn: 0,
};

// tabs are the stages, then the charts that there is something for.
const tabs = data.stages.map((s, i) => ({name: s.name, stage: i}));
if (data.steps.length) tabs.push({name: "Timeline", chart: "time"});
if (data.blocks.length) tabs.push({name: "Memory", chart: "memory"});
if (data.plans) tabs.push({name: "Frontier", chart: "plans"});

const tab = () => tabs[view.tab];
const scheduleStage = data.stages.findIndex(s => s.items.some(it => it.k === "kernel"));
const stageShown = () => tab().stage ?? Math.max(scheduleStage, 0);
const stage = () => data.stages[stageShown()];

// index adds what is looked up often to a stage, once.
function index(s) {
  if (s.byNode) return s;
  s.byNode = new Map(s.items.map((it, i) => [it.n, i]));
  s.reads = s.items.map(() => []);
  s.gives = s.items.map(() => []);
  for (const j of s.joins) { s.reads[j[1]].push(j); s.gives[j[0]].push(j); }
  s.blocks = Math.max(0, ...s.segments.map(x => x.k ? x.k[0] : 0));
  return s;
}

const GAP = 56, LINE = 46, COLUMN = 160, HEADING = 40;

// flow puts the shown segments into rows of a width, as layered.Rows does.
function flow(s, shown, width) {
  const places = [];
  let first = 0, x = 0, y = 0, most = 0;
  const finish = end => {
    let high = 0;
    for (let i = first; i < end; i++) high = Math.max(high, s.shapes[shown[i].s].h);
    for (let i = first; i < end; i++) places[i].y = y + (high - s.shapes[shown[i].s].h) / 2;
    first = end; x = 0; y += high + LINE;
  };
  shown.forEach((seg, i) => {
    const w = s.shapes[seg.s].w;
    if (x > 0 && x + w > width) finish(i);
    places.push({seg, x, y});
    x += w + GAP;
    most = Math.max(most, x - GAP);
  });
  finish(shown.length);
  return {places, width: most, height: Math.max(0, y - LINE)};
}

// filled puts shown segments into rows that fill a part of the canvas best, which is so much higher than others.
function filled(s, shown, high) {
  const widest = Math.max(600, ...shown.map(x => s.shapes[x.s].w));
  let best = null, least = Infinity;
  for (let w = widest; w < widest * 16; w += w / 6) {
    const f = flow(s, shown, w), page = Math.max(2 * high * f.width, 3 * f.height);
    if (page < least) { least = page; best = f; }
  }
  return best;
}

// place gives where segments are, folded or not: the programs of a stage beside each other, with their names above them.
function place(s) {
  index(s);
  const key = view.fold ? "folded" : "open";
  if (s[key]) return s[key];
  const columns = s.columns ?? [{segments: s.segments.length}], f = {places: [], width: 0, height: 0, headings: [], at: new Map()};
  let first = 0;
  for (const c of columns) {
    const shown = s.segments.slice(first, c.segments).filter(x => !view.fold || !x.k || x.k[2] === 0 || x.k[1] === 0), one = filled(s, shown, columns.length);
    const left = f.width + (first > 0 ? COLUMN : 0), top = c.name ? HEADING : 0;
    if (c.name) f.headings.push([c.name, left]);
    for (const p of one.places) f.places.push({seg: p.seg, x: p.x + left, y: p.y + top});
    f.width = left + one.width;
    f.height = Math.max(f.height, top + one.height);
    first = c.segments;
  }
  for (const p of f.places) p.seg.b.forEach((item, k) => f.at.set(item, [p, k]));
  return s[key] = f;
}

// boxOf gives where an item is drawn: [x, y, width, height], or null if it is folded away.
function boxOf(s, item) {
  const found = place(s).at.get(item);
  if (!found) return null;
  const [p, k] = found, b = s.shapes[p.seg.s].b[k];
  return [p.x + b[0], p.y + b[1], b[2], b[3]];
}

const bytes = n => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < 4; i++) n /= 1024;
  return n.toFixed(i ? 1 : 0) + " " + units[i];
};
const seconds = t => t >= 1 ? t.toPrecision(3) + " s" : t >= 1e-3 ? (t * 1e3).toPrecision(3) + " ms" : (t * 1e6).toPrecision(3) + " µs";
const amount = t => data.machine ? seconds(t) : t + (t === 1 ? " step" : " steps");
const programOf = it => Math.floor(it.n / 2 ** 32); // nodes of the second program follow all of the first's
const fact = (it, name) => (it.f?.find(f => f[0] === name) ?? [])[1];
