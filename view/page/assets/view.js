// Tabs, keys, pointer and search.
function fit() {
  if (tab().chart) { view.from = 0; view.to = 1; return redraw(); }
  const f = place(stage()), w = canvas.clientWidth, h = canvas.clientHeight;
  view.scale = Math.min(1.4, Math.max(0.004, Math.min((w - 40) / Math.max(1, f.width), (h - 50) / Math.max(1, f.height))));
  view.x = -(w / view.scale - f.width) / 2;
  view.y = -(h / view.scale - f.height) / 2;
  redraw();
}

// zoom changes the scale around a place of the canvas.
function zoom(by, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) {
  if (tab().chart === "plans") return;
  if (tab().chart) {
    const wide = canvas.clientWidth - LEFT - 20, at = view.from + Math.max(0, px - LEFT) / wide * (view.to - view.from), part = Math.min(1, Math.max(1e-6, (view.to - view.from) / by));
    view.from = Math.max(0, Math.min(1 - part, at - (at - view.from) * part / (view.to - view.from)));
    view.to = view.from + part;
    return redraw();
  }
  const scale = Math.min(6, Math.max(0.004, view.scale * by));
  view.x += px / view.scale - px / scale;
  view.y += py / view.scale - py / scale;
  view.scale = scale;
  redraw();
}

function pan(dx, dy) {
  if (tab().chart) {
    const by = dx / (canvas.clientWidth - LEFT) * (view.to - view.from), part = view.to - view.from;
    view.from = Math.max(0, Math.min(1 - part, view.from + by));
    view.to = view.from + part;
  } else {
    view.x += dx / view.scale;
    view.y += dy / view.scale;
  }
  redraw();
}

function showTab(number) {
  if (number < 0 || number >= tabs.length) return;
  view.tab = number;
  view.picked = -1;
  view.part = -1;
  view.found = new Set();
  [...$("tabs").children].forEach((b, i) => { b.setAttribute("aria-selected", String(i === number)); b.tabIndex = i === number ? 0 : -1; });
  $("panel").setAttribute("aria-labelledby", "tab" + number);
  find();
  tell();
  fit();
}

// tell says what is shown to who does not see it.
function tell() {
  const s = stage(), it = s.items[view.picked];
  canvas.setAttribute("aria-label", `drawing of ${tab().name}: ` + (it ? describe(it) : `${s.items.length} boxes`));
  showDetails();
  if (!$("words").hidden) showWords();
}

function pick(item) {
  view.picked = item;
  view.part = -1;
  tell();
  redraw();
}

// goTo shows an item of a stage, unfolded if it has to be.
function goTo(stageNumber, item) {
  if (tab().chart || stageShown() !== stageNumber) showTab(tabs.findIndex(t => t.stage === stageNumber));
  if (!boxOf(stage(), item)) setFold(false);
  setWords(false);
  const b = boxOf(stage(), item);
  view.scale = Math.max(view.scale, 0.9);
  view.x = b[0] + b[2] / 2 - canvas.clientWidth / view.scale / 2;
  view.y = b[1] + b[3] / 2 - canvas.clientHeight / view.scale / 2;
  pick(item);
}

function next(by) {
  if (tab().chart === "plans") {
    view.plan = (view.plan + by + data.plans.points.length) % data.plans.points.length;
    showDetails();
    return redraw();
  }
  const s = stage(), all = view.found.size ? [...view.found] : tab().chart ? [...new Set((tab().chart === "time" ? data.steps : data.blocks).map(x => kernelAt(x.n)).filter(i => i >= 0))] : place(s).places.flatMap(p => p.seg.b);
  if (!all.length) return;
  const at = all.indexOf(view.picked), item = all[(at + by + all.length) % all.length];
  if (tab().chart) pick(item); else goTo(stageShown(), item);
}

// find marks the items that have all words of the search in what is said of them.
function find() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(x => x), s = stage();
  view.found = new Set();
  if (words.length) s.items.forEach((it, i) => {
    it.all ??= [it.t, it.k, ...it.l, ...(it.f ?? []).map(f => f[1])].join(" ").toLowerCase();
    if (words.every(w => it.all.includes(w))) view.found.add(i);
  });
  $("found").textContent = words.length ? `${view.found.size} found` : "";
  if (!$("words").hidden) showWords();
  redraw();
}

function setFold(on) {
  view.fold = on;
  $("fold").setAttribute("aria-pressed", String(on));
  fit();
}

function setWords(on) {
  $("words").hidden = !on;
  $("list").setAttribute("aria-pressed", String(on));
  if (on) { showWords(); $("words").focus(); }
}

function setDark(on) {
  document.documentElement.classList.toggle("dark", on);
  $("theme").textContent = on ? "light" : "dark";
  readColours();
  redraw();
}

const keys = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": fit, f: () => setFold(!view.fold), l: () => setWords($("words").hidden),
  d: () => setDark(!document.documentElement.classList.contains("dark")), "/": () => $("search").focus(), n: () => next(1), p: () => next(-1), Escape: () => pick(-1),
};
const moves = {ArrowLeft: [-80, 0], ArrowRight: [80, 0], ArrowUp: [0, -80], ArrowDown: [0, 80]};

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target === $("search")) {
    if (e.key === "Enter") next(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") { $("search").value = ""; find(); canvas.focus(); }
    return;
  }
  if (e.target.tagName === "SELECT") return;
  if (e.target.role === "tab" && (e.key === "ArrowLeft" || e.key === "ArrowRight")) {
    showTab((view.tab + (e.key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length);
    $("tab" + view.tab).focus();
  } else if (moves[e.key] && e.target === canvas) pan(...moves[e.key]);
  else if (keys[e.key]) keys[e.key]();
  else if (e.key >= "1" && e.key <= "9") showTab(Number(e.key) - 1);
  else return;
  e.preventDefault();
});

canvas.addEventListener("wheel", e => {
  e.preventDefault();
  zoom(Math.exp(-Math.max(-240, Math.min(240, e.deltaY)) / 400), e.offsetX, e.offsetY);
}, {passive: false});

let held = null;
canvas.addEventListener("pointerdown", e => { held = {x: e.offsetX, y: e.offsetY, moved: 0}; canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointermove", e => {
  if (!held) return;
  held.moved += Math.abs(e.offsetX - held.x) + Math.abs(e.offsetY - held.y);
  pan(held.x - e.offsetX, held.y - e.offsetY);
  held.x = e.offsetX;
  held.y = e.offsetY;
});
canvas.addEventListener("pointerup", e => {
  if (held && held.moved < 4) {
    if (tab().chart === "plans") { view.plan = barAt(e.offsetX, e.offsetY); showDetails(); redraw(); }
    else pick(tab().chart ? barAt(e.offsetX, e.offsetY) : itemAt(e.offsetX, e.offsetY));
  }
  held = null;
});

tabs.forEach((t, i) => $("tabs").append(make("button", {role: "tab", id: "tab" + i, "aria-controls": "panel", onclick: () => showTab(i)}, t.name)));
for (const [name, o] of Object.entries(overlays)) if (o.has()) $("overlay").append(make("option", {value: name}, o.title));
$("overlay").value = view.overlay;
$("search").oninput = find;
$("overlay").onchange = () => { view.overlay = $("overlay").value; tell(); redraw(); };
$("fold").onclick = () => setFold(!view.fold);
$("in").onclick = () => zoom(1.25);
$("out").onclick = () => zoom(0.8);
$("fit").onclick = fit;
$("list").onclick = () => setWords($("words").hidden);
$("theme").onclick = () => setDark(!document.documentElement.classList.contains("dark"));
addEventListener("resize", redraw);
let onScreen = null; // what is put back behind printing
addEventListener("beforeprint", () => {
  onScreen = {dark: document.documentElement.classList.contains("dark"), at: {x: view.x, y: view.y, scale: view.scale, from: view.from, to: view.to}};
  setDark(false);
  fit();
  sharper = 3;
  drawAll();
});
addEventListener("afterprint", () => {
  sharper = 1;
  Object.assign(view, onScreen.at);
  setDark(onScreen.dark);
});
setDark(matchMedia("(prefers-color-scheme: dark)").matches);
showTab(Math.max(0, tabs.findIndex(t => t.stage === 1)));
window.tapcReady = performance.now();
