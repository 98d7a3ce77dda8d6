package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/internal/chromium"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/view/figure"
	viewpage "tensortapestry.org/tapc/view/page"
)

// browser starts one for a test. Its limit is for a browser that hangs: it is far from what the test takes.
func browser(t *testing.T) *chromium.Page {
	t.Helper()
	path := testkit.Program(t, testkit.Chromium, "chromium")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	p, err := chromium.Start(ctx, path, t.TempDir(), 1400, 900)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// page writes a page and opens it.
func page(t *testing.T, p *chromium.Page, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if status, _, errs := tapc(t, "", append([]string{"view", "-o", file}, args...)...); status != 0 {
		t.Fatal(errs)
	}
	if err := p.Open(file); err != nil {
		t.Fatal(err)
	}
}

// expect evaluates an expression in a page and compares what it gives, as text.
func expect(t *testing.T, p *chromium.Page, expression, want string) {
	t.Helper()
	var got any
	if err := p.Eval(expression, &got); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	if fmt.Sprint(got) != want {
		t.Errorf("%s is %v, expected %s", expression, got, want)
	}
}

// quietPage fails if a page said or asked for anything.
func quietPage(t *testing.T, p *chromium.Page) {
	t.Helper()
	if len(p.Console)+len(p.Requests) > 0 {
		t.Errorf("on the console %q, of the network %q", p.Console, p.Requests)
	}
}

// drawn waits for the next frame, and looks whether the canvas has more than its background.
const drawn = `new Promise(done => { redraw(); requestAnimationFrame(() => requestAnimationFrame(() => {
  const copy = document.createElement("canvas");
  copy.width = 350; copy.height = 220;
  const on = copy.getContext("2d", {willReadFrequently: true});
  on.drawImage(canvas, 0, 0, 350, 220);
  const p = on.getImageData(0, 0, 350, 220).data, seen = new Set();
  for (let i = 0; i < p.length; i += 4) seen.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]);
  done(seen.size > 3);
})); })`

// picture keeps what the browser shows, where TAPC_PICTURES names a folder for it, to be looked at.
func picture(t *testing.T, p *chromium.Page, name string) {
	t.Helper()
	folder := os.Getenv("TAPC_PICTURES")
	if folder == "" {
		return
	}
	expect(t, p, drawn, "true")
	data, err := p.Picture()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func press(t *testing.T, p *chromium.Page, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if err := p.Key(k); err != nil {
			t.Fatal(err)
		}
	}
}

// A page of a plan: every tab draws, keys and clicks do what they say, and provenance leads from a kernel to its line, its C and its operations.
func TestViewInABrowser(t *testing.T) {
	p := browser(t)
	page(t, p, "../../examples/mlp/mlp.tap", "--plan=../../examples/mlp/plan.json")
	expect(t, p, "tabs.map(t => t.name).join()", "As read,Operation Expression,Application Expression,Scheduled Kernels,Timeline,Memory")
	for i := range 6 {
		press(t, p, fmt.Sprint(i+1))
		expect(t, p, "view.tab", fmt.Sprint(i))
		expect(t, p, drawn, "true")
		picture(t, p, fmt.Sprintf("plan-%d", i+1))
	}
	expect(t, p, `showTab(2); const up = stage().items.findIndex(it => it.t === "matmul" && it.p); goTo(2, up); stage().items[up].p.length`, "4")
	expect(t, p, `[...document.querySelectorAll("#about h3")].map(h => h.textContent).join()`, "shards,source,carried out by,reads,gives")
	expect(t, p, `document.querySelector("#about .go").click(); view.part === stage().items[up].p[0][2] && stage().items.filter(it => it.p?.some(q => q[2] === view.part)).map(it => it.t).join()`, "w1,h,matmul")
	picture(t, p, "plan-shard")
	expect(t, p, `goTo(scheduleStage, stage().items.length && data.stages[scheduleStage].items.findIndex(it => it.k === "kernel")); document.querySelector("#about").textContent.includes("mlp.tap:8") && document.querySelector("#about").textContent.includes("op:matmul")`, "true")
	expect(t, p, `[...document.querySelectorAll("#about pre")].some(e => e.textContent.includes("contraction, m"))`, "true")
	picture(t, p, "plan-kernel")
	quietPage(t, p)
}

// Search, zoom, pan, folding, the list and the themes, by keys; a click picks what is drawn there.
func TestViewIsUsedByKeys(t *testing.T) {
	p := browser(t)
	page(t, p, write(t, "deep.tap", deep(40)))
	expect(t, p, `stage().segments.filter(s => s.k && s.k[2] > 20).length >= 38 && place(stage()).places.length < stage().segments.length / 4`, "true")
	picture(t, p, "deep-folded")
	press(t, p, "f")
	expect(t, p, `view.fold + " " + (place(stage()).places.length === stage().segments.length)`, "false true")
	picture(t, p, "deep-open")
	press(t, p, "0", "+", "+")
	expect(t, p, `canvas.focus(); const before = [view.x, view.y, view.scale]; true`, "true")
	press(t, p, "ArrowRight", "ArrowDown", "+")
	expect(t, p, `view.x > before[0] && view.y > before[1] && view.scale > before[2]`, "true")
	press(t, p, "/")
	expect(t, p, `document.activeElement.id`, "search")
	press(t, p, "w", "3", "9", "Enter")
	expect(t, p, `stage().items[view.picked].t + " " + $("found").textContent`, "w39 1 found")
	press(t, p, "Escape", "n", "p", "l")
	expect(t, p, `document.querySelectorAll("#words li").length`, "200")
	press(t, p, "l", "d")
	expect(t, p, `$("words").hidden + " " + document.documentElement.classList.contains("dark")`, "true true")
	picture(t, p, "deep-dark")
	expect(t, p, `setFold(true); view.picked = -1; true`, "true")
	var at [2]float64
	if err := p.Eval(`(() => { const b = boxOf(stage(), place(stage()).places[0].seg.b[0]), r = canvas.getBoundingClientRect(); return [r.x + (b[0] + b[2] / 2 - view.x) * view.scale, r.y + (b[1] + b[3] / 2 - view.y) * view.scale]; })()`, &at); err != nil {
		t.Fatal(err)
	}
	if err := p.Click(at[0], at[1]); err != nil {
		t.Fatal(err)
	}
	expect(t, p, `view.picked === place(stage()).places[0].seg.b[0]`, "true")
	quietPage(t, p)
}

// deep is a chain of products with an activation each.
func deep(layers int) string {
	var b strings.Builder
	b.WriteString("tapc 1\n%x0 = tensor float32 [0:4, 0:8]\n")
	for i := range layers {
		fmt.Fprintf(&b, "%%w%[1]d = tensor float32 [0:8, 0:8]\n%%h%[1]d = tensor float32 [0:4, 0:8]\n%%x%[2]d = tensor float32 [0:4, 0:8]\n", i, i+1)
		fmt.Fprintf(&b, "operation op:matmul (X: %%x%[1]d, Y: %%w%[1]d) -> (Z: %%h%[1]d)\noperation op:relu (tensor: %%h%[1]d) -> (result: %%x%[2]d)\n", i, i+1)
	}
	return b.String()
}

// The frontier: its points can be picked by keys and with a pointer, any two objectives are drawn, and the plan behind a point is in words.
func TestViewOfAFrontier(t *testing.T) {
	p := browser(t)
	frontier := write(t, "frontier.json", `{"version": 1, "objectives": ["time", "memory", "sent"], "machine": "8xa100", "devices": 8, "points": [
		{"costs": {"time": 0.001, "memory": 4000000, "sent": 100}, "mesh": [8], "from": "seed", "round": 0, "trial": [1, 2]},
		{"costs": {"time": 0.002, "memory": 1000000, "sent": 50}, "mesh": [2, 4], "from": "cut", "round": 3, "trial": [0, 2]}]}`)
	page(t, p, "../../examples/mlp/mlp.tap", "--frontier="+frontier)
	expect(t, p, `showTab(tabs.findIndex(t => t.chart === "plans")); view.tab`, "6")
	expect(t, p, drawn, "true")
	press(t, p, "n", "n")
	expect(t, p, `document.querySelector("#about").textContent.includes("found by cut in round 3")`, "true")
	picture(t, p, "frontier")
	var at [2]float64
	if err := p.Eval(`(() => { const b = bars[0], r = canvas.getBoundingClientRect(); return [r.x + b[0] + 9, r.y + b[1] + 9]; })()`, &at); err != nil {
		t.Fatal(err)
	}
	if err := p.Click(at[0], at[1]); err != nil {
		t.Fatal(err)
	}
	expect(t, p, "view.plan", "0")
	expect(t, p, `const s = document.querySelectorAll("#about select")[1]; s.value = "2"; s.onchange(); view.axes.join()`, "0,2")
	expect(t, p, `setWords(true); document.querySelectorAll("#words tr").length`, "3")
	quietPage(t, p)
	for _, wrong := range []string{`{"version": 2}`, `[]`, `{"version": 1, "objectives": ["time"], "points": [{"costs": {}}]}`} {
		if status, _, errs := tapc(t, "", "view", example, "--frontier="+write(t, "wrong.json", wrong), "-o", filepath.Join(t.TempDir(), "p.html")); status != 1 || !strings.Contains(errs, "TAP2981") {
			t.Errorf("%s: %d, %s", wrong, status, errs)
		}
	}
}

// A graph of 10,000 operations is drawn from far and near; what its frames take is logged, and held to nothing, as no test is of time.
func TestViewOfManyOperations(t *testing.T) {
	g, err := text.Read([]byte(deep(5000)), "deep.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "deep.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(viewpage.Write(file, &viewpage.Page{Title: "deep", Stages: []*figure.Figure{figure.Operations(g, "As read", false)}}), file.Close()); err != nil {
		t.Fatal(err)
	}
	p := browser(t)
	if err := p.Open(file.Name()); err != nil {
		t.Fatal(err)
	}
	expect(t, p, `setFold(false); place(stage()).at.size`, "25001")
	expect(t, p, drawn, "true")
	var frames []float64
	if err := p.Eval(`new Promise(done => {
  let left = 60;
  view.frames.length = 0;
  const go = () => { if (!left--) return done(view.frames); left > 30 ? zoom(1.12) : pan(40, 25); requestAnimationFrame(() => requestAnimationFrame(go)); };
  go();
})`, &frames); err != nil {
		t.Fatal(err)
	}
	if len(frames) < 50 {
		t.Fatalf("%d frames of 60", len(frames))
	}
	slices.Sort(frames)
	t.Logf("frames of 10,000 operations: half within %.1f ms, 95 %% within %.1f ms", frames[len(frames)/2], frames[len(frames)*95/100])
	quietPage(t, p)
}
