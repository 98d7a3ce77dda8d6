// The frontier: plans as points in two of their objectives. data.plans has the names and units of objectives, and the points with their values,
// words and what the plan says: pairs of the numbers of a thing and of what is said of it.
const value = (p, axis) => p.values[axis];
const unitText = (x, unit) => unit === "s" ? seconds(x) : unit === "bytes" ? bytes(x) : String(Number(x.toPrecision(4))) + (unit ? " " + unit : "");

// ticks gives round values between two, about four of them; those of bytes are round in their unit.
function ticks(low, high, unit) {
  const base = unit === "bytes" ? 1024 ** Math.floor(Math.log(Math.max(1, Math.abs(high))) / Math.log(1024)) : 1, wide = (high - low) / base / 4;
  const power = 10 ** Math.floor(Math.log10(wide)), step = [1, 2, 5, 10].find(n => n * power >= wide * 0.999) * power * base, list = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) list.push(n * step);
  return list;
}

// besides gives where the number of a point is written so that it is not over another one: above it, to its right, below or to its left; null if there is no room.
function besides(x, y, taken) {
  const free = [[0, -12], [14, 4], [0, 20], [-14, 4]].map(([dx, dy]) => [x + dx, y + dy]).find(([a, b]) => taken.every(([c, d]) => Math.abs(a - c) > 13 || Math.abs(b - d) > 11));
  if (free) taken.push(free);
  return free;
}

function drawPlans(w, h) {
  const {objectives, points} = data.plans, [a, b] = view.axes, room = {x: 110, y: 30, w: w - 150, h: h - 100};
  const scaleOf = axis => {
    const all = points.map(p => value(p, axis)), low = Math.min(...all), high = Math.max(...all), wide = high - low || Math.abs(high) || 1;
    return [low - wide * 0.08, high + wide * 0.08];
  };
  const sx = scaleOf(a), sy = scaleOf(b);
  const X = v => room.x + (v - sx[0]) / (sx[1] - sx[0]) * room.w, Y = v => room.y + room.h - (v - sy[0]) / (sy[1] - sy[0]) * room.h;
  paint.strokeStyle = colours.rule;
  paint.strokeRect(room.x, room.y, room.w, room.h);
  for (const v of ticks(...sx, objectives[a].unit)) {
    paint.beginPath(); paint.moveTo(X(v), room.y); paint.lineTo(X(v), room.y + room.h); paint.stroke();
    text(paint, unitText(v, objectives[a].unit), X(v), room.y + room.h + 18, "11px ", colours.soft);
  }
  for (const v of ticks(...sy, objectives[b].unit)) {
    paint.beginPath(); paint.moveTo(room.x, Y(v)); paint.lineTo(room.x + room.w, Y(v)); paint.stroke();
    text(paint, unitText(v, objectives[b].unit), 52, Y(v) + 4, "11px ", colours.soft);
  }
  const taken = points.map(p => [X(value(p, a)), Y(value(p, b)) + 4]);
  text(paint, objectives[a].name, room.x + room.w / 2, h - 34, "bold 12px ", colours.ink);
  text(paint, objectives[b].name, 52, 16, "bold 12px ", colours.ink);
  points.forEach((p, i) => {
    const x = X(value(p, a)), y = Y(value(p, b)), on = i === view.plan;
    paint.beginPath(); paint.arc(x, y, on ? 9 : 6, 0, 7);
    paint.fillStyle = on ? colours.pick : data.palette[2];
    paint.fill();
    paint.strokeStyle = colours.ink; paint.lineWidth = 1; paint.stroke();
    bars.push([x - 9, y - 9, 18, 18, i]);
    const at = (points.length < 40 || on) && besides(x, y, taken);
    if (at) text(paint, String(i + 1), at[0], at[1], "11px ", colours.ink);
  });
}

// said maps the numbers of things to what a plan says of them.
const said = p => new Map((p.plan ?? []).map(([thing, says]) => [thing, data.plans.says[says]]));

// planWords writes what a plan says: of everything, or of what another plan says otherwise.
function planWords(p, other) {
  const {things} = data.plans, here = said(p), there = other && said(other), lines = [];
  for (const [thing, says] of here) {
    if (!there) lines.push(things[thing].of + ": " + says);
    else if (!there.has(thing)) lines.push(`${things[thing].of}: ${says}; it ${things[thing].otherwise} in the other`);
    else if (there.get(thing) !== says) lines.push(`${things[thing].of}: ${says}, instead of ${there.get(thing)}`);
  }
  if (there) for (const [thing, says] of there) if (!here.has(thing)) lines.push(`${things[thing].of}: ${things[thing].otherwise}, instead of ${says}`);
  return lines.join("\n") || "the plans say the same";
}

// showPlan writes the plan that is picked: all that it says, or how it differs from another.
function showPlan(about) {
  const {objectives, points} = data.plans, p = points[view.plan];
  const pick = (label, which) => {
    const s = make("select", {"aria-label": label}, ...objectives.map((o, i) => { const x = make("option", {value: String(i)}, o.name); x.selected = view.axes[which] === i; return x; }));
    s.onchange = () => { view.axes[which] = Number(s.value); redraw(); };
    return make("p", {}, label + " ", s);
  };
  about.append(make("h2", {}, "Frontier"), pick("across", 0), pick("up", 1));
  if (p) about.append(make("h3", {}, "plan " + (view.plan + 1) + ": " + objectives.map((o, k) => unitText(value(p, k), o.unit)).join(", ")), ...(p.words ?? []).map(x => make("p", {}, x)), ...aboutPlan(p));
  about.append(make("h3", {}, "plans"), make("div", {}, ...points.map((q, i) => make("button", {class: "go", "aria-pressed": String(i === view.plan), onclick: () => { view.plan = i; showDetails(); details.scrollTop = 0; redraw(); }}, `${i + 1}: ` + objectives.map((o, k) => unitText(value(q, k), o.unit)).join(", ")))));
}

// aboutPlan is what is written of a plan whose words are known.
function aboutPlan(p) {
  if (!p.plan) return [];
  const which = make("select", {"aria-label": "say of the plan"}, make("option", {value: "-1"}, "all that it says"),
    ...data.plans.points.map((q, i) => i === view.plan || !q.plan ? "" : make("option", {value: String(i)}, `compared with plan ${i + 1}`)));
  which.value = String(view.against);
  if (which.selectedIndex < 0) which.value = "-1";
  which.onchange = () => { view.against = Number(which.value); showDetails(); };
  return [make("p", {}, which), make("pre", {class: "sentences", tabindex: "0"}, planWords(p, data.plans.points[Number(which.value)]))];
}

function planTable() {
  const {objectives, points} = data.plans;
  return make("table", {}, make("tr", {}, make("th", {scope: "col"}, "plan"), ...objectives.map(o => make("th", {scope: "col"}, o.name))),
    ...points.map((p, i) => make("tr", {}, make("td", {}, String(i + 1)), ...objectives.map((o, k) => make("td", {}, unitText(value(p, k), o.unit))))));
}
