package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	expect(t, p, `JSON.stringify([laneOf("cpu3"), laneOf("a.tap with b.json cpu3")])`, `[{"name":"cpu3","program":""},{"name":"cpu3","program":"a.tap with b.json"}]`)
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
	expect(t, p, `document.querySelector("#about").textContent.includes("mesh 2x4")`, "true")
	expect(t, p, `[...document.querySelectorAll("#about h3")].map(h => h.textContent).join()`, "plan 2: 2.00 ms, 976.6 KiB, 50 bytes,plans") // before the list, whose length is any
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

// What a plan that a search found says is behind its point, and any two of them are compared, in words.
func TestViewOfASearch(t *testing.T) {
	p := browser(t)
	frontier := filepath.Join(t.TempDir(), "f.json")
	if status, _, errs := tapc(t, "", "plan", "../../examples/mlp/mlp.tap", "--machine=8xh100", "--devices=4", "--rounds=3", "--frontier="+frontier); status != 0 {
		t.Fatal(errs)
	}
	page(t, p, "../../examples/mlp/mlp.tap", "--frontier="+frontier)
	expect(t, p, `showTab(tabs.findIndex(t => t.chart === "plans")); next(1); document.querySelector("#about pre").textContent.includes("mesh: x=2, y=2 (4 devices)")`, "true")
	expect(t, p, `view.plan = data.plans.points.length - 1; view.against = 0; showDetails(); document.querySelector("#about pre").textContent.split("\n").every(x => x.includes(", instead of ")) + " " + document.querySelector("#about pre").textContent.includes("tensor")`, "true true")
	picture(t, p, "frontier-search")
	expect(t, p, `view.plan = 0; showDetails(); document.querySelectorAll("#about select")[2].value`, "-1")
	var words string
	if err := p.Eval(`data.plans.points[0].words[2]`, &words); err != nil {
		t.Fatal(err)
	}
	command, says := strings.CutSuffix(words, " writes it")
	status, picked, errs := tapc(t, "", strings.Fields(command)[1:]...)
	if !says || status != 0 {
		t.Fatalf("%s: %d, %s", words, status, errs)
	}
	var file struct{ Points []struct{ Plan any } }
	var plan any
	data, err := os.ReadFile(frontier)
	if err := cmp.Or(err, json.Unmarshal(data, &file), json.Unmarshal([]byte(picked), &plan)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(plan, file.Points[0].Plan) || len(file.Points) > 1 && reflect.DeepEqual(plan, file.Points[1].Plan) {
		t.Errorf("%s gives %v, expected %v", command, plan, file.Points[0].Plan)
	}
	quietPage(t, p)
}

// Devices work beside each other: the timeline is the walk that cost makes, in lanes by their numbers. Near miss: one device carries out one step after the other.
func TestViewOfDevices(t *testing.T) {
	p := browser(t)
	const layer = "../../examples/parallel/"
	for devices, lanes := range map[string]string{"4": "cpu0,cuda0,cuda1,cuda2,cuda3", "1": "cpu0,cuda0"} {
		args := []string{layer + "layer.tap", "--machine=8xh100", "--target=cuda", "--allow=reassociate", "--plan=" + layer + "tensor.json", "--devices=" + devices}
		page(t, p, args...)
		expect(t, p, `lanesOf(data.steps).join()`, lanes)
		expect(t, p, `["matmul", "op:"].map(word => data.steps.some(s => s.name.startsWith(word))).join()`, "true,false") // as boxes say it
		expect(t, p, `lanesOf(["b two10", "b two9", "a two1"].map(device => ({device}))).join()`, "b two9,b two10,a two1")
		if devices == "1" {
			expect(t, p, `data.steps.every((s, i) => i === 0 || s.start >= data.steps[i - 1].start + data.steps[i - 1].time - 1e-12)`, "true")
			continue
		}
		expect(t, p, `showTab(tabs.findIndex(t => t.chart === "time")); `+drawn, "true")
		picture(t, p, "devices-time")
		status, out, errs := tapc(t, "", append([]string{"cost", "--json"}, args...)...)
		var cost struct{ Seconds struct{ Value float64 } }
		if err := json.Unmarshal([]byte(out), &cost); status != 0 || err != nil {
			t.Fatal(errs, err)
		}
		expect(t, p, fmt.Sprintf(`Math.abs(Math.max(...data.steps.map(s => s.start + s.time)) / %g - 1) < 1e-6`, cost.Seconds.Value), "true")
		expect(t, p, `data.steps.some(s => data.steps.some(x => x.device !== s.device && x.price && s.price && x.start < s.start + s.time && s.start < x.start + x.time))`, "true")
		expect(t, p, `[...new Set(data.steps.map(s => s.device))].every(d => { const l = data.steps.filter(s => s.device === d && s.price).sort((a, b) => a.start - b.start); return l.every((s, i) => i === 0 || s.start >= l[i - 1].start + l[i - 1].time - 1e-12); })`, "true")
	}
	quietPage(t, p)
}

// Two programs side by side: what is only in one and what is not the same is marked, counted and in words, and boxes lead to those of the other.
func TestViewSideBySide(t *testing.T) {
	p := browser(t)
	data, err := os.ReadFile("../../examples/mlp/mlp.tap")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("op:gelu", "op:relu", "0:64", "0:48").Replace(string(data)) +
		"%z = tensor float32 [0:8, 0:16]\n%more = operation op:tanh (tensor: %y) -> (result: %z)\n"
	page(t, p, "../../examples/mlp/mlp.tap", write(t, "other.tap", other))
	const counts = `stage().columns.map((c, q) => [ALONE, DIFFERS].map(m => stage().items.filter(it => programOf(it) === q && it.m & m).map(it => it.t).join("+")).join(" | ")).join(" || ")`
	expect(t, p, `showTab(0); `+counts, "gelu | w1+w2+h+a || relu+z+tanh | w1+w2+h+a")
	expect(t, p, `stage().items[stage().items.findIndex(it => it.t === "h")].b.map(i => stage().items[i].t + programOf(stage().items[i])).join()`, "h1")
	expect(t, p, drawn, "true")
	picture(t, p, "beside-read")
	expect(t, p, `pick(stage().items.findIndex(it => it.t === "h")); document.querySelector("#about").textContent.includes("shape: [8, 48] in other.tap")`, "true")
	expect(t, p, `const left = boxOf(stage(), view.picked), right = boxOf(stage(), stage().items[view.picked].b[0]); right[0] > left[0] + left[2] && left[1] === right[1]`, "true")
	picture(t, p, "beside-picked")
	expect(t, p, `showTab(tabs.findIndex(t => t.chart === "time")); new Set(data.steps.map(s => s.device)).size`, "2")
	picture(t, p, "beside-time")
	// The first kernels are not the same, and each second one is in one program alone. Near miss: by kernel, bars have their own colours.
	const fills = `data.steps.map(s => Object.entries(colours).find(c => c[1] === barFill(kernelAt(s.n), "own"))?.[0] ?? barFill(kernelAt(s.n), "own")).join()`
	expect(t, p, `view.overlay + " " + `+fills, "difference differs,alone,differs,alone")
	expect(t, p, `view.overlay = "kind"; `+fills, "own,own,own,own")
	expect(t, p, `view.overlay = "difference"; setWords(true); [...document.querySelectorAll("#words th")].map(e => e.textContent).join()`, "step,device,from,takes,elsewhere,by difference")
	expect(t, p, `[...document.querySelectorAll("#words tr")].map(e => e.lastChild.textContent).join()`, "by difference,not the same,only here,not the same,only here")
	expect(t, p, `elsewhere(data.steps[0].n) + " | " + elsewhere(data.steps[1].n)`, "1 step in other.tap | ")
	expect(t, p, `setWords(false); next(1); stage().items[view.picked].n === data.steps[0].n`, "true")
	expect(t, p, `showTab(tabs.findIndex(t => t.chart === "memory")); new Set(data.blocks.map(b => b.device)).size`, "2")
	picture(t, p, "beside-memory")
	expect(t, p, `next(1); stage().items[view.picked].n === data.blocks[0].n`, "true")
	expect(t, p, `showTab(scheduleStage); $("overlay").options.length + " " + document.querySelector("#about").textContent.includes("other.tap")`, "4 true")
	quietPage(t, p)
}

// One program with two plans: operations are cut as each says, and the overlay by number of shards says so.
func TestViewOfTwoPlans(t *testing.T) {
	p := browser(t)
	const mlp = "../../examples/mlp/"
	page(t, p, mlp+"mlp.tap", "--allow=reassociate", "--plan="+mlp+"plan.json", "--beside-plan="+mlp+"partial.json")
	expect(t, p, `data.stages[2].columns.map(c => c.name).join()`, "mlp.tap with plan.json,mlp.tap with partial.json")
	expect(t, p, `showTab(2); $("overlay").value = "shards"; $("overlay").onchange(); view.overlay + " " + stage().items.filter(it => it.k === "operation").map(it => overlays.shards.words(stage(), stage().items.indexOf(it))).join()`,
		"shards 4 parts,4 parts,,,,,,4 parts,4 parts,,,,,")
	expect(t, p, drawn, "true")
	picture(t, p, "plans-beside")
	quietPage(t, p)
}

// What a program printed of its steps: measured times beside prices, and the error of each; a profile of another program is refused.
func TestViewOfAProfile(t *testing.T) {
	const text = "bench: median 0.001 ms, p10 0.001 ms, p90 0.001 ms (5 runs, 1 thread)\n    0.0900 ms  90.0 %  step 0: up+act -> float32 [8, 64]\n    0.0100 ms  10.0 %  step 1: down -> float32 [8, 16]\n"
	p := browser(t)
	page(t, p, "../../examples/mlp/mlp.tap", "--machine=laptop", "--profile="+write(t, "profile.txt", text))
	expect(t, p, `showTab(scheduleStage); [...$("overlay").options].map(o => o.value).join()`, "kind,time,measured,error,bytes,memory")
	expect(t, p, `data.steps.map(s => s.measured.toPrecision(3)).join()`, "0.0000900,0.0000100")
	expect(t, p, `view.overlay = "error"; pick(stage().items.findIndex(it => it.k === "kernel")); /measured is [0-9.e+]+ times what was thought/.test($("about").textContent) && $("about").textContent.includes("90.0 µs")`, "true")
	expect(t, p, drawn, "true")
	picture(t, p, "error")
	quietPage(t, p)
	page(t, p, "../../examples/mlp/mlp.tap", "--profile="+write(t, "profile.txt", text))
	expect(t, p, `showTab(tabs.findIndex(t => t.chart === "time")); data.machine + " " + data.steps[1].start.toPrecision(3)`, "as measured 0.0000900")
	for wrong, code := range map[string]string{"bench: median\n": "TAP2982", strings.Replace(text, "up+act", "up", 1): "TAP2982", strings.Replace(text, "step 1", "step 7", 1): "TAP2982"} {
		status, _, errs := tapc(t, "", "view", "../../examples/mlp/mlp.tap", "--profile="+write(t, "wrong.txt", wrong), "-o", filepath.Join(t.TempDir(), "p.html"))
		if status != 1 || !strings.Contains(errs, code) {
			t.Errorf("%q: %d, %s", wrong, status, errs)
		}
	}
}

// A page prints light, fitted and sharp, without what is for the screen, on as many sheets as it needs; behind that the screen is as it was.
func TestViewPrints(t *testing.T) {
	p := browser(t)
	page(t, p, write(t, "deep.tap", deep(40)))
	expect(t, p, `setDark(true); zoom(4); addEventListener("beforeprint", () => window.paper = [canvas.width / canvas.clientWidth, document.documentElement.className]);
		window.before = [view.x, view.y, view.scale].join(); true`, "true")
	if n := sheets(t, p, "print-drawing"); n != 1 {
		t.Errorf("the drawing is on %d sheets", n)
	}
	expect(t, p, `window.paper.join() + document.documentElement.className + [[view.x, view.y, view.scale].join() === window.before, sharper]`, "3,darktrue,1")
	press(t, p, "l")
	if n := sheets(t, p, "print-words"); n < 3 {
		t.Errorf("200 lines are on %d sheets", n)
	}
	quietPage(t, p)
}

// axe-core, where TAPC_AXE names its axe.min.js (npm pack axe-core), finds nothing that keeps anybody from using a page: on any tab, light and dark, as a drawing and as
// text, with something picked.
func TestViewIsAccessible(t *testing.T) {
	file := os.Getenv("TAPC_AXE")
	if file == "" {
		t.Skip("TAPC_AXE names no axe.min.js")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := browser(t)
	frontier := filepath.Join(t.TempDir(), "f.json")
	if status, _, errs := tapc(t, "", "plan", "../../examples/mlp/mlp.tap", "--machine=8xh100", "--devices=4", "--rounds=3", "--frontier="+frontier); status != 0 {
		t.Fatal(errs)
	}
	page(t, p, "../../examples/mlp/mlp.tap", "--machine=8xh100", "--frontier="+frontier, "--plan=../../examples/mlp/plan.json")
	expect(t, p, string(axe)+"; typeof axe.run", "function")
	var tabs int
	if err := p.Eval("tabs.length", &tabs); err != nil || tabs < 7 {
		t.Fatal(tabs, err)
	}
	for i := range tabs {
		for _, state := range []string{"setDark(false); setWords(false); next(1)", "setDark(true)", "setWords(true)", "setDark(false)"} {
			expect(t, p, fmt.Sprintf(`showTab(%d); %s; axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(", ")).join("; "))`, i, state), "")
		}
	}
	quietPage(t, p)
}

// sheets prints a page, and counts the sheets.
func sheets(t *testing.T, p *chromium.Page, name string) int {
	t.Helper()
	data, err := p.Print()
	if err != nil {
		t.Fatal(err)
	}
	if folder := os.Getenv("TAPC_PICTURES"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".pdf"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Count(data, []byte("/Type /Page\n"))
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
