package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/diag"
)

// layered is a graph that plans cut among devices.
const layered = `tapc 1
%x = tensor float32 [0:8, 0:16]
%w1 = tensor float32 [0:16, 0:12]
%h = tensor float32 [0:8, 0:12]
%a = tensor float32 [0:8, 0:12]
%w2 = tensor float32 [0:12, 0:4]
%y = tensor float32 [0:8, 0:4]
%up = operation op:matmul (X: %x, W: %w1) -> (Z: %h)
%act = operation op:relu (tensor: %h) -> (result: %a)
%down = operation op:matmul (X: %a, W: %w2) -> (Z: %y)
`

const dictionary = `namespace mine
versions 1..3

Treble 1 (x: T) -> (y: T) {by: int = 3, mode: string = "up"} T: float32 int64;
Treble 2 (x: T, z?: T) -> (y: T) {by: float = 3.0} T: float32 int64;
`

// sideFiles are files that commands read beside a graph, whole, and the commands: FILE is the path of the file, GRAPH that of the graph.
func sideFiles(t *testing.T) map[string][][]string {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	save := func(name, text string) string {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	done := func(args ...string) string {
		status, out, stderr := tapc(t, "", args...)
		if status != diag.ExitOK {
			t.Fatalf("tapc %s: %s", strings.Join(args, " "), stderr)
		}
		return out
	}
	graph := save("graph.tap", layered)
	plan := save("plan.json", `{"version": 1, "mesh": [{"axis": "t", "size": 2}], "tensors": [{"tensor": "x", "dims": ["-", "-"]}, {"tensor": "w1", "dims": ["-", "t"]},
  {"tensor": "w2", "dims": ["t", "-"]}]}`)
	placed := save("placed.json", `{"version": 1, "devices": 2, "cuts": [{"target": "up", "cut": "d0:2"}], "place": [{"target": "up", "devices": [0, 1]}]}`)
	done("build", graph, "--plan", placed, "--emit=schedule", "-o", path("placed.tap"))
	done("plan", graph, "--machine=8xh100", "--allow=reassociate", "--rounds=2", "-j=1", "--frontier="+path("frontier.json"))
	save("machine.yaml", done("machine", "8xh100"))
	save("names.ns", dictionary)
	done("build", graph, "--plan", plan, "--devices=2", "--allow=reassociate", "--emit=schedule", "-o", path("devices.tap"))
	built := [][]string{{"verify", "FILE"}, {"build", "FILE", "--emit=c", "-o", "-"}, {"cost", "FILE", "--machine=8xh100"}, {"translate", "--to=loom", "FILE"}}
	return map[string][][]string{
		placed: {{"build", "GRAPH", "--plan=FILE", "--emit=schedule", "-o", "-"}, {"explain", "plan", "GRAPH", "FILE", "FILE", "--machine=8xh100"}},
		plan: {{"build", "GRAPH", "--plan=FILE", "--devices=2", "--emit=schedule", "-o", "-"}, {"cost", "GRAPH", "--plan=FILE", "--machine=8xh100"},
			{"explain", "plan", "GRAPH", "FILE", "FILE", "--machine=8xh100"}},
		path("frontier.json"): {{"plan", "GRAPH", "--machine=8xh100", "--allow=reassociate", "--rounds=3", "-j=1", "--resume=FILE"}, {"view", "GRAPH", "--frontier=FILE", "-o", path("view.html")}},
		path("machine.yaml"):  {{"machine", "FILE"}, {"machine", "FILE", "--collective=all-reduce=1 GB"}, {"cost", "GRAPH", "--machine=FILE"}, {"plan", "GRAPH", "--machine=FILE", "--rounds=1", "-j=1"}},
		path("names.ns"):      {{"verify", "GRAPH", "--namespace=FILE"}, {"translate", "GRAPH", "--namespace=FILE", "--into=mine/1"}},
		path("devices.tap"):   built, path("placed.tap"): built,
		graph: {{"plan", "FILE", "--machine=laptop", "--rounds=1", "-j=1"}, {"explain", "cuts", "FILE"}},
	}
}

// Files beside a graph (plans, frontiers, machines, dictionaries, schedules for several devices) that are cut off or damaged anywhere are refused, or taken where the
// damage is none.
func TestDamagedSideFilesAreRefused(t *testing.T) {
	files := sideFiles(t)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	graph := names[slices.IndexFunc(names, func(n string) bool { return filepath.Base(n) == "graph.tap" })]
	damaged := filepath.Join(t.TempDir(), "damaged")
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "file")
		whole, err := os.ReadFile(name)
		if err != nil {
			rt.Fatal(err)
		}
		file := damaged + filepath.Ext(name)
		text := damageText(rt, whole)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			rt.Fatal(err)
		}
		args := slices.Clone(rapid.SampledFrom(files[name]).Draw(rt, "command"))
		for i, a := range args {
			args[i] = strings.ReplaceAll(strings.ReplaceAll(a, "FILE", file), "GRAPH", graph)
		}
		if status, _, stderr := tapc(t, "", args...); status != diag.ExitOK && status != diag.ExitInput && status != diag.ExitUsage {
			rt.Fatalf("tapc %s: status %d\n%s\n%s", strings.Join(args, " "), status, stderr, text)
		}
	})
}

var (
	numerals = regexp.MustCompile(`-?\d+(\.\d+)?`)
	tokens   = regexp.MustCompile(`[A-Za-z][\w:./-]*`)
)

// damageText cuts a file off, takes out a line or a byte, or puts another number or word in the place of one; documents of JSON are also damaged as such.
func damageText(t *rapid.T, whole []byte) []byte {
	var doc any
	isJSON := json.Unmarshal(whole, &doc) == nil
	switch kind := rapid.IntRange(0, 6).Draw(t, "damage"); {
	case kind == 0:
		return whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "length")]
	case kind == 1:
		at := rapid.IntRange(0, len(whole)-1).Draw(t, "byte")
		return slices.Concat(whole[:at], []byte{rapid.Byte().Draw(t, "value")}, whole[at+1:])
	case kind == 2:
		lines := strings.SplitAfter(string(whole), "\n")
		at, to := rapid.IntRange(0, len(lines)-1).Draw(t, "line"), rapid.IntRange(0, len(lines)-1).Draw(t, "to")
		lines[to] = lines[at]
		return []byte(strings.Join(lines, ""))
	case kind < 5 && isJSON:
		text, err := json.Marshal(damage(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	places := numerals.FindAllIndex(whole, -1)
	others := []string{"-1", "0", "1", "3", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e308", "4611686018427387904", "1099511627776", "NaN", ""}
	if rapid.Bool().Draw(t, "word") || len(places) == 0 {
		places, others = tokens.FindAllIndex(whole, -1), nil
		for _, w := range tokens.FindAll(whole, -1) {
			others = append(others, string(w))
		}
	}
	at := places[rapid.IntRange(0, len(places)-1).Draw(t, "place")]
	return slices.Concat(whole[:at[0]], []byte(rapid.SampledFrom(others).Draw(t, "other")), whole[at[1]:])
}
