// The drawing of a graph on the canvas: shapes and sizes are those of view/svg. Far away, everything is one picture that is made once.
const canvas = $("canvas"), paint = canvas.getContext("2d");
const MONO = '"DejaVu Sans Mono",Menlo,Consolas,monospace';
let colours = {}, overview = null, waiting = false, sharper = 1; // sharper is how many times as many pixels paper gets

function readColours() {
  const css = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["page", "ink", "soft", "line", "panel", "rule", "edge", "pick", "found", "tensor", "tag", "move", "matrix", "pruned", "ref", "boxink", "boxsoft", "cell", "alone", "differs", "same"])
    colours[name] = css.getPropertyValue("--" + name).trim();
  overview = null;
}

// redraw draws with the next frame, and notes what it took.
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    const begun = performance.now();
    drawAll();
    view.frames.push(performance.now() - begun);
    if (view.frames.length > 2000) view.frames.shift();
    view.drawn++;
  });
}

function drawAll() {
  const ratio = (devicePixelRatio || 1) * sharper, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.fillStyle = colours.page;
  paint.fillRect(0, 0, w, h);
  if (tab().chart) return drawChart(tab().chart, w, h);
  paint.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, -view.x * view.scale * ratio, -view.y * view.scale * ratio);
  const s = stage(), f = place(s);
  const detail = view.scale * sharper;
  if (detail < 0.14) far(s, f); else near(paint, s, f, {x: view.x, y: view.y, w: w / view.scale, h: h / view.scale}, detail);
  marks(s, f);
}

// far draws the whole graph as one picture.
function far(s, f) {
  const key = [stageShown(), view.fold, view.overlay].join();
  if (!overview || overview.key !== key) {
    const picture = document.createElement("canvas"), scale = Math.min(0.14, 4000 / f.width, 4000 / f.height);
    picture.width = Math.max(1, f.width * scale);
    picture.height = Math.max(1, f.height * scale);
    const on = picture.getContext("2d");
    on.scale(scale, scale);
    near(on, s, f, {x: 0, y: 0, w: f.width, h: f.height}, scale);
    overview = {key, picture};
  }
  paint.drawImage(overview.picture, 0, 0, f.width, f.height);
}

// near draws the segments in a window.
function near(on, s, f, win, scale) {
  on.lineJoin = "round";
  for (const [name, x] of f.headings) { on.textAlign = "left"; on.fillStyle = colours.ink; on.font = "bold 20px " + MONO; on.fillText(name, x, 8); }
  for (const p of f.places) {
    const shape = s.shapes[p.seg.s];
    if (p.x > win.x + win.w || p.x + shape.w < win.x || p.y > win.y + win.h + 30 || p.y + shape.h < win.y - 30) continue;
    if (p.seg.k && p.seg.k[2] > 0) frame(on, p, shape, scale);
    if (scale > 0.1) edges(on, p, shape);
    shape.b.forEach((b, k) => {
      if (p.x + b[0] > win.x + win.w || p.x + b[0] + b[2] < win.x || p.y + b[1] > win.y + win.h || p.y + b[1] + b[3] < win.y - 14) return;
      const item = k < p.seg.b.length ? p.seg.b[k] : p.seg.r[k - p.seg.b.length];
      if (k < p.seg.b.length) box(on, s, item, p.x + b[0], p.y + b[1], b[2], b[3], scale); else reference(on, s.items[item], p.x + b[0], p.y + b[1], b[2], b[3], scale);
    });
  }
}

function frame(on, p, shape, scale) {
  const [number, instance, instances, piece, pieces] = p.seg.k;
  on.strokeStyle = colours.found;
  on.setLineDash([6, 5]);
  on.lineWidth = 1.2;
  on.strokeRect(p.x - 12, p.y - 10, shape.w + 24, shape.h + 20);
  on.setLineDash([]);
  if (scale < 0.2) return;
  on.fillStyle = colours.soft;
  on.font = "11px " + MONO;
  on.textAlign = "left";
  on.fillText(`block ${number}: ` + (view.fold ? `× ${instances}` : `${instance + 1} of ${instances}`) + (pieces > 1 ? `, part ${piece + 1} of ${pieces}` : ""), p.x - 6, p.y + shape.h + 22);
}

function edges(on, p, shape) {
  on.strokeStyle = on.fillStyle = colours.line;
  on.lineWidth = 1.3;
  on.beginPath();
  for (const l of shape.l) {
    on.moveTo(p.x + l[2], p.y + l[3]);
    for (let i = 4; i < l.length; i += 2) curve(on, p.x + l[i - 2], p.y + l[i - 1], p.x + l[i], p.y + l[i + 1]);
  }
  on.stroke();
  on.beginPath();
  for (const l of shape.l) {
    const x = p.x + l[l.length - 2], y = p.y + l[l.length - 1];
    on.moveTo(x, y); on.lineTo(x - 6, y - 3.5); on.lineTo(x - 6, y + 3.5);
  }
  on.fill();
}

function curve(on, x, y, u, v) {
  if (y === v) on.lineTo(u, v); else on.bezierCurveTo((x + u) / 2, y, (x + u) / 2, v, u, v);
}

function reference(on, it, x, y, w, h, scale) {
  on.fillStyle = colours.ref;
  on.strokeStyle = colours.line;
  on.lineWidth = 1;
  on.setLineDash([3, 2]);
  on.beginPath();
  on.roundRect(x, y, w, h, h / 2);
  on.fill(); on.stroke();
  on.setLineDash([]);
  if (scale > 0.3) text(on, it.l[0].length > 22 ? it.l[0].slice(0, 10) + "…" + it.l[0].slice(-11) : it.l[0], x + w / 2, y + h / 2 + 4, "10px ", colours.soft);
}

function text(on, words, x, y, font, colour) {
  on.font = font + MONO;
  on.textAlign = "center";
  on.fillStyle = colour;
  on.fillText(words, x, y);
}

const lively = it => it.k === "operation" || it.k === "kernel";

function fillOf(s, item) {
  const it = s.items[item];
  if (view.overlay !== "kind") return overlays[view.overlay].fill(s, item, it);
  if (it.m & PRUNED) return colours.pruned;
  if (it.k === "tensor" || it.k === "buffer") return colours.tensor;
  if (it.k === "selector") return colours.move;
  return it.c >= 0 && lively(it) ? data.palette[it.c % data.palette.length] : colours.tag;
}

function outline(on, it, x, y, w, h) {
  on.beginPath();
  switch (it.k) {
    case "tensor": case "buffer":
      poly(on, [x, y + 4, x + 4, y, x + w, y, x + w, y + h - 4, x + w - 4, y + h, x, y + h]); break;
    case "source": case "sink": case "constant":
      poly(on, [x, y, x + w - 7, y, x + w, y + h / 2, x + w - 7, y + h, x, y + h]); break;
    case "operation":
      poly(on, [x, y + 4, x + w - 12, y + 4, x + w - 12, y, x + w, y + h / 2, x + w - 12, y + h, x + w - 12, y + h - 4, x, y + h - 4]); break;
    case "selector": case "transfer":
      poly(on, [x + 8, y, x + w, y, x + w - 8, y + h, x, y + h]); break;
    case "kernel":
      poly(on, [x + 6, y, x + w - 6, y, x + w, y + 6, x + w, y + h - 6, x + w - 6, y + h, x + 6, y + h, x, y + h - 6, x, y + 6]); break;
    default: on.rect(x, y, w, h);
  }
}

function poly(on, p) {
  on.moveTo(p[0], p[1]);
  for (let i = 2; i < p.length; i += 2) on.lineTo(p[i], p[i + 1]);
  on.closePath();
}

const tip = it => it.k === "operation" ? 12 : it.k === "source" || it.k === "sink" || it.k === "constant" ? 7 : 0;

function box(on, s, item, x, y, w, h, scale) {
  const it = s.items[item];
  on.fillStyle = fillOf(s, item);
  if (scale < 0.1) return on.fillRect(x, y, w, h);
  on.strokeStyle = colours.edge;
  on.lineWidth = 1;
  const inner = it.m & OBSERVED ? w - 26 : w;
  outline(on, it, x, y, inner, h);
  on.fill(); on.stroke();
  if (it.k === "tensor" || it.k === "buffer") {
    on.beginPath(); on.moveTo(x, y + 4); on.lineTo(x + inner - 4, y + 4); on.lineTo(x + inner - 4, y + h); on.moveTo(x + inner - 4, y + 4); on.lineTo(x + inner, y); on.stroke();
  }
  if (it.m & OBSERVED) {
    on.strokeStyle = colours.ink;
    for (const r of [7, 10]) { on.beginPath(); on.arc(x + w - 11, y + h / 2, r, 0, 7); on.stroke(); }
  }
  if (scale < 0.28) return;
  let top = y + 7;
  const small = it.k === "constant", middle = x + (inner - tip(it)) / 2;
  it.l.forEach((line, i) => {
    if (small) text(on, line, middle, top + 5, "10px ", colours.boxsoft);
    else text(on, line, middle, top + 11, i ? "10px " : "bold 12px ", i ? colours.boxsoft : colours.boxink);
    top += small ? 12 : 15;
  });
  if (it.m & PRUNED) text(on, "pruned", x + inner / 2, y + h + 10, "10px ", colours.soft);
  if (it.p) { cells(on, it, middle - 42, top + 3); top += 41; }
  for (const m of it.x ?? []) top += matrix(on, m, x + 14, top);
}

// cells draws parts to scale; the shard that is picked stands out, and what it reads and writes with it.
function cells(on, it, x, y) {
  const W = 84, H = 34, [down, across] = it.cut, [start, end] = it.w;
  on.fillStyle = colours.cell;
  on.fillRect(x, y, W, H);
  const span = (p, d, n) => {
    const all = d < 0 ? 0 : end[d] - start[d];
    return all > 0 && d < p[0].length ? [(p[0][d] - start[d]) / all * n, (p[1][d] - start[d]) / all * n] : [0, n];
  };
  const shown = it.p.slice(0, 256).map((p, i) => [p, i]);
  if (view.part >= 0) shown.sort((a, b) => (a[0][2] === view.part) - (b[0][2] === view.part)); // what is picked is seen
  shown.forEach(([p, i]) => {
    const [top, bottom] = span(p, down, H), [left, right] = span(p, across, W), picked = p[2] === view.part;
    on.globalAlpha = picked ? 1 : 0.35 + 0.075 * (i % 8);
    on.fillStyle = picked ? colours.pick : data.palette[Math.max(p[3], 0) % data.palette.length];
    on.fillRect(x + left, y + top, Math.max(1, right - left), Math.max(1, bottom - top));
    on.globalAlpha = 1;
    on.strokeStyle = "#fff";
    on.lineWidth = 0.6;
    on.strokeRect(x + left, y + top, Math.max(1, right - left), Math.max(1, bottom - top));
  });
  on.strokeStyle = colours.edge;
  on.lineWidth = 1;
  on.strokeRect(x, y, W, H);
}

// matrix draws a projection and gives its height.
function matrix(on, m, x, y) {
  const all = [...m.Rows.flat(), ...m.Offset, ...m.Shape], step = 6 * Math.max(1, ...all.map(v => String(v).length)) + 6, rows = Math.max(1, m.Rows.length);
  const wide = Math.max(0, ...m.Rows.map(r => r.length)) * step, height = rows * 12;
  on.fillStyle = colours.matrix;
  on.fillRect(x - 4, y, Math.max(m.Name.length * 7, wide + 2 * step + 40) + 8, height + 17);
  on.fillStyle = colours.boxsoft;
  on.font = "10px " + MONO;
  on.textAlign = "left";
  on.fillText(m.Name, x, y + 11);
  let left = x;
  const column = (values, w) => {
    on.strokeStyle = colours.boxink;
    on.beginPath();
    for (const [at, by] of [[left, 3], [left + w + 6, -3]]) { on.moveTo(at + by, y + 15); on.lineTo(at, y + 15); on.lineTo(at, y + 15 + height); on.lineTo(at + by, y + 15 + height); }
    on.stroke();
    on.textAlign = "right";
    on.fillStyle = colours.boxink;
    values.forEach((row, r) => row.forEach((v, c) => on.fillText(v, left + (c + 1) * step, y + 25 + 12 * r)));
    left += w + 10;
  };
  column(m.Rows, wide);
  on.textAlign = "left"; on.fillText("+", left, y + 25); left += 9;
  column(m.Offset.map(v => [v]), step);
  on.textAlign = "left"; on.fillText(":", left - 2, y + 25); left += 6;
  column(m.Shape.map(v => [v]), step);
  return rows * 12 + 19;
}

// marks draws what is found and what is picked over everything, with lines to its neighbours.
function marks(s, f) {
  const ring = (item, colour, wide) => {
    const b = boxOf(s, item);
    if (!b) return;
    paint.strokeStyle = colour;
    paint.lineWidth = wide / Math.min(1, view.scale);
    paint.strokeRect(b[0] - 4, b[1] - 4, b[2] + 8, b[3] + 8);
  };
  for (const item of view.found) ring(item, colours.found, 2);
  if (view.picked < 0) return;
  ring(view.picked, colours.pick, 3);
  for (const twin of s.items[view.picked].b ?? []) ring(twin, colours.pick, 2);
  const from = boxOf(s, view.picked);
  if (!from) return;
  paint.strokeStyle = colours.pick;
  paint.lineWidth = 1.6 / Math.min(1, view.scale);
  const join = (a, b) => { if (!a || !b) return; paint.beginPath(); paint.moveTo(a[0] + a[2], a[1] + a[3] / 2); curve(paint, a[0] + a[2], a[1] + a[3] / 2, b[0], b[1] + b[3] / 2); paint.stroke(); };
  for (const j of s.reads[view.picked].slice(0, 64)) join(boxOf(s, j[0]), from);
  for (const j of s.gives[view.picked].slice(0, 64)) join(from, boxOf(s, j[1]));
}

// itemAt finds what is drawn at a place of the canvas; references lead to what they stand for.
function itemAt(px, py) {
  const s = stage(), x = view.x + px / view.scale, y = view.y + py / view.scale;
  for (const p of place(s).places) {
    const shape = s.shapes[p.seg.s];
    if (x < p.x || x > p.x + shape.w || y < p.y || y > p.y + shape.h) continue;
    for (let k = 0; k < shape.b.length; k++) {
      const b = shape.b[k];
      if (x >= p.x + b[0] && x <= p.x + b[0] + b[2] && y >= p.y + b[1] && y <= p.y + b[1] + b[3]) return k < p.seg.b.length ? p.seg.b[k] : p.seg.r[k - p.seg.b.length];
    }
  }
  return -1;
}
