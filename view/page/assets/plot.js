// The frontier: plans as points in two of their objectives. data.plans has the names and units of objectives, and the points with their values,
// words and what the plan says: pairs of the numbers of a thing and of what is said of it.
const value = (p, axis) => p.values[axis];
const unitText = (x, unit) => unit === "s" ? seconds(x) : unit === "bytes" ? bytes(x) : String(Number(x.toPrecision(4))) + (unit ? " " + unit : "");

function drawPlans(w, h) {
  const {objectives, points} = data.plans, [a, b] = view.axes, room = {x: 110, y: 30, w: w - 150, h: h - 100};
  const scaleOf = axis => {
    const all = points.map(p => value(p, axis)), low = Math.min(...all), high = Math.max(...all), wide = high - low || Math.abs(high) || 1;
    return [low - wide * 0.08, high + wide * 0.08];
  };
  const sx = scaleOf(a), sy = scaleOf(b);
  const X = v => room.x + (v - sx[0]) / (sx[1] - sx[0]) * room.w, Y = v => room.y + room.h - (v - sy[0]) / (sy[1] - sy[0]) * room.h;
  paint.strokeStyle = colours.rule;
  for (let i = 0; i <= 4; i++) {
    const vx = sx[0] + (sx[1] - sx[0]) * i / 4, vy = sy[0] + (sy[1] - sy[0]) * i / 4;
    paint.beginPath(); paint.moveTo(X(vx), room.y); paint.lineTo(X(vx), room.y + room.h); paint.moveTo(room.x, Y(vy)); paint.lineTo(room.x + room.w, Y(vy)); paint.stroke();
    text(paint, unitText(vx, objectives[a].unit), X(vx), room.y + room.h + 18, "11px ", colours.soft);
    text(paint, unitText(vy, objectives[b].unit), 52, Y(vy) + 4, "11px ", colours.soft);
  }
  text(paint, objectives[a].name, room.x + room.w / 2, h - 34, "bold 12px ", colours.ink);
  text(paint, objectives[b].name, 52, 16, "bold 12px ", colours.ink);
  points.forEach((p, i) => {
    const x = X(value(p, a)), y = Y(value(p, b)), on = i === view.plan;
    paint.beginPath(); paint.arc(x, y, on ? 9 : 6, 0, 7);
    paint.fillStyle = on ? colours.pick : data.palette[2];
    paint.fill();
    paint.strokeStyle = colours.ink; paint.lineWidth = 1; paint.stroke();
    bars.push([x - 9, y - 9, 18, 18, i]);
    if (points.length < 40 || on) text(paint, String(i + 1), x, y - 12, "11px ", colours.ink);
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
