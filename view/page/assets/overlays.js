// What the colours of boxes say, beside their kind: an amount as a part of the largest, a ratio, the device, or what differs from another program. Each
// overlay has a name, the colour of an item, what it says of an item in words, and whether there is anything to say.
const most = list => list.reduce((a, b) => Math.max(a, b), 1e-30);

// of adds up a number of steps for each item: kernels have steps, operations those of the kernels that carry them out.
function amounts(s, name, number) {
  const key = "of-" + name;
  if (s[key]) return s[key];
  const of = new Map(), k = scheduleStage < 0 ? null : index(data.stages[scheduleStage]);
  for (const step of k ? data.steps : []) {
    const value = number(step), it = k.items[k.byNode.get(step.n)];
    for (const n of [step.n, ...(it?.of ?? [])]) of.set(n, (of.get(n) ?? 0) + value);
  }
  return s[key] = s.items.map(it => of.get(it.n) ?? 0);
}

// heat is the colour of a part of the largest amount, from pale to red.
const heat = share => share > 0 ? `hsl(${55 - 50 * share} 90% ${82 - 27 * share}%)` : colours.tag;

function amountOverlay(title, has, list, words) {
  return {title, has, fill: (s, item) => { const all = list(s); all.most ??= most(all); return heat(all[item] / all.most); }, words: (s, item) => { const x = list(s)[item]; return x > 0 ? words(x) : ""; }};
}

const stepOverlay = (title, name, has, number, words) => amountOverlay(title, has, s => amounts(s, name, number), words);
const itemOverlay = (title, name, number, words) => amountOverlay(title, () => data.stages.some(s => s.items.some(it => number(it) > 0)), s => s["of-" + name] ??= s.items.map(number), words);

// ratio is what was measured, as a multiple of what was thought; 0 where one is not known.
function ratio(s, item) {
  const m = amounts(s, "measured", x => x.measured ?? 0)[item], t = amounts(s, "time", x => x.time)[item];
  return m > 0 && t > 0 ? m / t : 0;
}

const parts = it => new Set((it.p ?? []).map(p => p[2])).size;
const deviceNames = [...new Set(data.stages.flatMap(s => s.items.map(it => fact(it, "device"))).filter(x => x))];

const overlays = {
  kind: {title: "by kernel", has: () => true, fill: null, words: () => ""},
  time: stepOverlay("by time", "time", () => data.steps.length > 0, x => x.time, x => amount(x)),
  measured: stepOverlay("by measured time", "measured", () => data.steps.some(x => x.measured), x => x.measured ?? 0, seconds),
  error: {
    title: "by error of the price", has: () => Boolean(data.machine) && data.steps.some(x => x.measured),
    fill: (s, item) => { // white is as thought, red slower, blue faster, full at four times
      const r = ratio(s, item), far = Math.min(1, Math.abs(Math.log(r || 1)) / Math.log(4));
      return r > 0 ? `hsl(${r > 1 ? 8 : 214} 85% ${92 - 38 * far}%)` : colours.tag;
    },
    words: (s, item) => { const r = ratio(s, item); return r > 0 ? `measured is ${r.toPrecision(3)} times what was thought` : ""; },
  },
  bytes: stepOverlay("by bytes moved", "bytes", () => data.steps.some(x => x.price), x => x.price?.bytes ?? 0, bytes),
  memory: itemOverlay("by memory", "memory", it => it.z ?? 0, bytes),
  shards: itemOverlay("by number of shards", "shards", parts, n => n + (n === 1 ? " part" : " parts")),
  device: {
    title: "by device", has: () => deviceNames.length > 1, words: (s, item) => fact(s.items[item], "device") ?? "",
    fill: (s, item, it) => { const d = deviceNames.indexOf(fact(it, "device")); return d < 0 ? colours.tag : data.palette[d % data.palette.length]; },
  },
  difference: {
    title: "by difference", has: () => data.programs.length > 1,
    fill: (s, item, it) => it.m & ALONE ? colours.alone : it.m & DIFFERS ? colours.differs : colours.same,
    words: (s, item) => { const m = s.items[item].m; return m & ALONE ? "only here" : m & DIFFERS ? "not the same" : ""; },
  },
};
