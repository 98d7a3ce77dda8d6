// Every word must be in a part's heading, page or text; where it stands decides the order.
const box = document.getElementById("search"), found = document.getElementById("found"), list = document.getElementById("pages");

function score(part, words) {
  const title = part.t.toLowerCase(), page = pages[part.p][1].toLowerCase(), text = part.x.toLowerCase();
  let sum = 0;
  for (const w of words) {
    let s = 0;
    if (title === w) s += 40;
    if (title.includes(w)) s += 20;
    if (page.includes(w)) s += 8;
    if (text.includes(w)) s += 1 + Math.min(4, text.split(w).length - 2);
    if (s === 0) return 0;
    sum += s;
  }
  return sum;
}

function snippet(text, word) {
  const at = text.toLowerCase().indexOf(word), from = Math.max(0, at - 40);
  const p = document.createElement("p");
  if (at < 0) {
    p.textContent = text.slice(0, 120);
    return p;
  }
  const mark = document.createElement("mark");
  mark.textContent = text.slice(at, at + word.length);
  p.append((from > 0 ? "…" : "") + text.slice(from, at), mark, text.slice(at + word.length, at + 90));
  return p;
}

function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  list.hidden = words.length > 0;
  found.replaceChildren();
  const hits = words.length ? parts.map((part, n) => [score(part, words), n]).filter((h) => h[0] > 0) : [];
  hits.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, n] of hits.slice(0, 20)) {
    const part = parts[n], [file, title] = pages[part.p], a = document.createElement("a");
    a.href = file + (part.i ? "#" + part.i : "");
    const b = document.createElement("b");
    b.textContent = part.t || title;
    const small = document.createElement("small");
    small.textContent = title;
    a.append(b, small, snippet(part.x, words[0]));
    found.append(a);
  }
  if (words.length && hits.length === 0) found.textContent = "Nothing has all of these words.";
}

box.addEventListener("input", search);
box.addEventListener("keydown", (e) => {
  const first = found.querySelector("a");
  if (e.key === "Enter" && first) location.href = first.href;
  if (e.key === "Escape") {
    box.value = "";
    search();
  }
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== box) {
    e.preventDefault();
    box.focus();
  }
});
const asked = new URLSearchParams(location.search).get("q");
if (asked) {
  box.value = asked;
  search();
}
