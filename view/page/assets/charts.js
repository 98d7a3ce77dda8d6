// The schedule as a timeline with a lane for each device, and the memory of the arena over the steps. view.from and view.to are the part of the
// width that is shown.
const LEFT = 90, TOP = 34;
let bars = []; // [x, y, width, height, item of the schedule] of what the chart shows

function drawChart(chart, w, h) {
  bars = [];
  if (chart === "plans") return drawPlans(w, h);
  const scale = (w - LEFT - 20) / (view.to - view.from);
  const X = part => LEFT + (part - view.from) * scale;
  paint.save();
  if (chart === "time") timeline(X, w, h); else memory(X, w, h);
  paint.restore();
}

const kernelAt = n => scheduleStage < 0 ? -1 : index(data.stages[scheduleStage]).byNode.get(n) ?? -1;

function axis(X, w, y, most, words, least = 0) {
  let step = 10 ** Math.floor(Math.log10(Math.max(1e-12, most * (view.to - view.from))));
  if (most * (view.to - view.from) / step < 4) step /= 2;
  step = Math.max(step, least);
  paint.strokeStyle = colours.rule;
  paint.lineWidth = 1;
  for (let v = Math.ceil(view.from * most / step) * step; v <= view.to * most + step / 100; v += step) {
    const x = X(v / most);
    paint.beginPath(); paint.moveTo(x, 20); paint.lineTo(x, y); paint.stroke();
    text(paint, words(v), Math.min(x, w - 3.4 * words(v).length - 2), 14, "11px ", colours.soft);
  }
}

// barFill is the colour of an item of the schedule: what is asked for, or else its own.
function barFill(item, own) {
  const s = data.stages[scheduleStage];
  return view.overlay === "kind" || item < 0 ? own : overlays[view.overlay].fill(s, item, s.items[item]);
}

function bar(x, y, w, h, n, words, fill) {
  const item = kernelAt(n);
  paint.fillStyle = barFill(item, fill);
  paint.fillRect(x, y, Math.max(w, 0.7), h);
  if (w > 3) { paint.strokeStyle = colours.page; paint.lineWidth = 1; paint.strokeRect(x, y, w, h); }
  if (item === view.picked && item >= 0) { paint.strokeStyle = colours.pick; paint.lineWidth = 3; paint.strokeRect(x, y, Math.max(w, 2), h); }
  bars.push([x, y, Math.max(w, 2), h, item]);
  const room = Math.floor((w - 8) / 6.2);
  if (room < 3 || h < 12) return;
  paint.font = "10px " + MONO;
  paint.textAlign = "left";
  paint.fillStyle = "#16202c";
  paint.fillText(words.length > room ? words.slice(0, room - 1) + "…" : words, Math.max(x, LEFT) + 4, y + Math.min(h / 2 + 4, 16));
}

function classFill(n, otherwise) {
  const item = kernelAt(n), it = item < 0 ? null : data.stages[scheduleStage].items[item];
  return it && it.c >= 0 ? data.palette[it.c % data.palette.length] : otherwise;
}

function clipped(w, h) {
  paint.beginPath(); paint.rect(LEFT, 0, w - LEFT, h); paint.clip();
}

function lane(words, y) {
  paint.font = "11px " + MONO;
  paint.textAlign = "left";
  paint.fillStyle = colours.ink;
  paint.fillText(words.length > 12 ? words.slice(0, 5) + "…" + words.slice(-6) : words, 6, y);
}

// laneOf tells the name of a device, the last word, from that of its program.
function laneOf(device) {
  const at = device.lastIndexOf(" ");
  return {name: device.slice(at + 1), program: device.slice(0, Math.max(at, 0))};
}

// lanesOf gives the devices of steps or of buffers: those of a program after those of the one before it, by their numbers.
function lanesOf(list) {
  const names = [...new Set(list.map(x => x.device))], programs = names.map(n => laneOf(n).program);
  return names.map(laneOf).map((d, i) => ({...d, device: names[i]})).sort((a, b) => programs.indexOf(a.program) - programs.indexOf(b.program) || a.name.localeCompare(b.name, "en", {numeric: true})).map(d => d.device);
}

function timeline(X, w, h) {
  const steps = data.steps, end = Math.max(1e-12, ...steps.map(s => s.start + s.time)), devices = lanesOf(steps);
  const high = Math.max(22, Math.min(90, (h - TOP - 20) / Math.max(1, devices.length) - 10));
  let program = "";
  devices.map(laneOf).forEach((d, i) => {
    const y = TOP + i * (high + 10);
    lane(d.name, y + high / 2 + 4);
    if (d.program !== program) { paint.font = "9px " + MONO; paint.fillStyle = colours.soft; paint.fillText(d.program, LEFT + 4, y - 2); }
    program = d.program;
  });
  axis(X, w, TOP + devices.length * (high + 10), end, v => data.machine ? seconds(v) : String(Math.round(v)), data.machine ? 0 : 1);
  clipped(w, h);
  for (const s of steps) {
    const x = X(s.start / end), wide = X((s.start + s.time) / end) - x;
    if (x > w || x + wide < LEFT) continue;
    const y = TOP + devices.indexOf(s.device) * (high + 10);
    bar(x, y, wide, high, s.n, s.name, classFill(s.n, colours.tag));
    if (s.price && wide > 4) { // how much of it its roof is
      paint.fillStyle = "rgba(22,32,44,.55)";
      paint.fillRect(x, y + high - 6, wide * Math.min(1, s.price.roof / s.time), 6);
    }
  }
}

function memory(X, w, h) {
  const blocks = data.blocks, last = Math.max(1, ...blocks.map(b => b.last + 1)), size = Math.max(1, ...blocks.map(b => b.offset + b.bytes));
  const devices = lanesOf(blocks), each = (h - TOP - 30) / devices.length, high = each - (devices.length > 1 ? 22 : 0), marks = Math.max(1, Math.min(4, Math.floor(high / 40)));
  devices.forEach((d, k) => {
    const foot = TOP + each * k + high;
    for (let i = 0; i <= marks; i++) lane(bytes(size * i / marks), foot - high * i / marks + 4);
    if (devices.length > 1) { paint.fillStyle = colours.soft; paint.fillText(d, LEFT, foot + 16); }
  });
  axis(X, w, TOP + each * devices.length, last, v => "step " + Math.round(v), 1);
  clipped(w, h);
  blocks.forEach((b, i) => {
    const x = X(b.first / last), wide = X((b.last + 1) / last) - x, tall = Math.max(1, b.bytes / size * high), foot = TOP + each * devices.indexOf(b.device) + high;
    if (x <= w && x + wide >= LEFT) bar(x, foot - b.offset / size * high - tall, wide, tall, b.n, `${b.name} ${bytes(b.bytes)}`, data.palette[i % data.palette.length]);
  });
}

function barAt(px, py) {
  for (let i = bars.length - 1; i >= 0; i--) {
    const [x, y, w, h, item] = bars[i];
    if (px >= x && px <= x + w && py >= y && py <= y + h) return item;
  }
  return -1;
}

// elsewhere says what what stands for a step in other programs takes there.
function elsewhere(n) {
  const s = data.stages[scheduleStage], twins = s?.items[kernelAt(n)]?.b ?? [];
  return twins.map(i => s.items[i]).flatMap(it => data.steps.filter(x => x.n === it.n).map(x => `${amount(x.time)} in ${data.programs[programOf(it)].file}`)).join(", ");
}

// chartWords is what a chart shows, as a table, and what its colours say.
function chartWords() {
  const time = tab().chart === "time", o = overlays[view.overlay], says = n => kernelAt(n) < 0 ? "" : o.words(data.stages[scheduleStage], kernelAt(n));
  const columns = time ? [["step", s => s.name], ["device", s => s.device], ["from", s => amount(s.start)], ["takes", s => amount(s.time)]]
    : [["buffer", b => b.name], ["place", b => b.offset], ["bytes", b => b.bytes], ["alive in steps", b => `${b.first} to ${b.last}`]];
  if (time && data.steps.some(s => s.measured)) columns.push(["measured", s => s.measured ? seconds(s.measured) : ""]);
  if (time && data.programs.length > 1) columns.push(["elsewhere", s => elsewhere(s.n)]);
  if (view.overlay !== "kind") columns.push([o.title, x => says(x.n)]);
  const head = columns.map(c => c[0]), rows = (time ? data.steps : data.blocks).map(x => columns.map(c => c[1](x)));
  const table = make("table", {}, make("tr", {}, ...head.map(x => make("th", {scope: "col"}, x))), ...rows.slice(0, 1000).map(r => make("tr", {}, ...r.map(x => make("td", {}, String(x))))));
  return rows.length > 1000 ? [table, make("p", {}, `and ${rows.length - 1000} more`)] : [table];
}
