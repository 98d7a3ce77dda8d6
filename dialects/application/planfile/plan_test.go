package planfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/ir/diag"
)

const good = `{
  "version": 1,
  "cuts": [
    {"target": "op:linear", "cut": "2x1"},
    {"target": "y", "cut": "m:by16/2x1"}
  ],
  "mesh": [{"axis": "x", "size": 2}, {"axis": "y", "size": 4}],
  "tensors": [
    {"tensor": "a", "dims": ["x*y", "", "-"]},
    {"tensor": "b", "dims": ["y?", "?"], "partial": ["x"], "priority": 3}
  ],
  "choices": [{"choice": "z", "branch": "steps"}]
}`

func TestParse(t *testing.T) {
	p, err := Parse("p.json", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, column int, pointer string) diag.Location {
		return diag.Location{File: "p.json", Line: line, Column: column, Pointer: pointer}
	}
	want := &Plan{
		Cuts: []Cut{{"op:linear", cut.Grid(2, 1), at(4, 5, "/cuts/0")},
			{"y", cut.Cut{Levels: []cut.Level{{Names: []string{"m"}, Parts: []cut.Part{{Size: 16}}}, cut.Grid(2, 1).Levels[0]}}, at(5, 5, "/cuts/1")}},
		Mesh: Mesh{{"x", 2}, {"y", 4}},
		Tensors: []Annotation{{"a", Layout{[]Axes{{0, 1}, nil, nil}, []bool{false, false, false}}, nil, 0, at(9, 5, "/tensors/0")},
			{"b", Layout{[]Axes{{1}, nil}, []bool{true, true}}, Axes{0}, 3, at(10, 5, "/tensors/1")}},
		Choices: []Choice{{"z", "steps", at(12, 15, "/choices/0")}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("q.json", b.Bytes())
	if diff := cmp.Diff(p, again, cmpopts.IgnoreTypes(diag.Location{})); err != nil || diff != "" {
		t.Errorf("%v\n%s\n%s", err, diff, &b)
	}
}

// Every fault has its code, and the place of what is wrong.
func TestFaults(t *testing.T) {
	for _, c := range [][2]string{
		{`{`, "TAP0831: p.json "}, {`[]`, "TAP0831: p.json:1:1 found array"}, {`{"version": 1, "cuts": []} x`, "TAP0831: p.json:1:27 "}, {"{\"version\": 1,\n\"cut\": []}", "TAP0831: p.json:2:1 found \"cut\""},
		{`{"version": 1, "cuts": [{"target": "x", "cut": 2}]}`, "TAP0831: p.json:1:48 found number"}, {"", "TAP0831: p.json "},
		{`{"cuts": []}`, "TAP0832: p.json:1:1 found none"}, {`{}`, "TAP0832: p.json:1:1 found none"}, {`{"version": 0}`, "TAP0832: p.json:1:13 found 0"}, {`{"version": 2}`, "TAP0832: p.json:1:13 found 2"}, {`{"version": -1}`, "TAP0832: p.json:1:13 found -1"},
		{`{"shard": [{"target": "op:linear", "parts": [2, 2]}]}`, `TAP0833: p.json:1:11 found shard`},
		{"{\"version\": 1,\n \"devices\": [], \"place\": [{}]}", "TAP0837: p.json:2:13 found []"}, {`{"version": 1, "place": {}}`, "TAP0831: p.json:1:25 found object"},
		{devices(`0`), "TAP0837: p.json:1:27 found 0"}, {devices(`65537`), "TAP0837: p.json:1:27 found 65537"}, {devices(`"2"`), "TAP0837: p.json:1:27 found \"2\""},
		{devices(`[{"speed": 1}]`), "TAP0837: p.json:1:27 found [{\"speed\": 1}]"}, {devices(`[{"memory": -1}]`), "TAP0837: p.json:1:39 found -1"},
		{devices(`3, "mesh": [{"axis": "x", "size": 2}]`), "TAP0837: p.json:1:27 found 3"}, {devices(`1e99`), "TAP0837: p.json:1:27 found 1e99"},
		{placed(`{"devices": [0]}`), "TAP0836: p.json:1:40 found none"}, {placed(`{"target": "y"}`), "TAP0836: p.json:1:40 found none"},
		{placed(`{"target": "y", "devices": [2]}`), "TAP0836: p.json:1:68 found 2"}, {placed(`{"target": "y", "devices": [[]]}`), "TAP0836: p.json:1:68 found []"},
		{placed(`{"target": "y", "devices": [[1, 1]]}`), "TAP0836: p.json:1:68 found [1, 1]"}, {placed(`{"target": "y", "devices": ["a"]}`), "TAP0836: p.json:1:68 found \"a\""},
		{placed(`{"target": "y", "devices": [0]}, {"target": "y", "devices": [0]}`), "TAP0836: p.json:1:84 found another"},
		{`{"version": 1, "place": [{"target": "y", "devices": [0]}]}`, "TAP0836: p.json:1:26 found none"},
		{`{"version": 1, "choices": 1}`, "TAP0831: p.json:1:27 found number"}, {`{"version": 1, "permissions": ["tf32"]}`, "TAP0835: p.json:1:1 found none"},
		{allowed(`["tf32", "fast"]`), "TAP0924: p.json:1:40 found fast"}, {allowed(`["tf32", "bf16", "tf32"]`), "TAP0924: p.json:1:48 found tf32"},
		{allowed(`["tf32,bf16", "tf32"]`), "TAP0924: p.json:1:32 found tf32,bf16"}, {allowed(`[""]`), "TAP0924: p.json:1:32 found "}, {allowed(`"tf32"`), "TAP0831: p.json:1:36 found string"},
		// keys are read letter by letter, and null is no device 0
		{`{"version": 1, "Cuts": [{"target": "x", "cut": "2"}]}`, `TAP0831: p.json:1:16 found "Cuts"`}, {devices(`[{"Memory": 1}]`), "TAP0837: p.json:1:27 found [{\"Memory\": 1}]"},
		{`{"version": 1, "cuts": [{"target": "x", "cut": "2", "Target": "y"}]}`, `TAP0831: p.json:1:53 found "Target"`},
		{`{"version": 1, "cuts": [{"target": "x", "cut": "2", "target": "y"}]}`, `TAP0831: p.json:1:53 found another`}, {`{"version": 1, "cuts": [], "\u0063uts": []}`, `TAP0831: p.json:1:28 found another`},
		{placed(`{"target": "y", "devices": [null]}`), "TAP0831: p.json:1:68 found null"}, {devices(`[null, {}]`), "TAP0831: p.json:1:28 found null"}, {`null`, "TAP0831: p.json:1:1 found null"},
		{devices("[" + strings.Repeat("{}, ", MaxDevices) + "{}]"), "TAP0837: p.json:1:27 found [" + strings.Repeat("{}, ", 29) + "{},… (262148 bytes)"},
		{`{"version": 1}`, "TAP0835: p.json:1:1 found none"}, {`{"version": 1, "mesh": [{"axis": "x", "size": 2}]}`, "TAP0835: p.json:1:1 found none"},
		{`{"version": 1, "choices": [{"choice": "y"}]}`, `TAP0840: p.json:1:28 found "y" and ""`},
		{`{"version": 1, "choices": [{"choice": "y", "branch": "a"}, {"choice": "y", "branch": "b"}]}`, "TAP0840: p.json:1:71 found another"},
		{`{"version": 1, "cuts": [{"cut": "2"}]}`, "TAP0836: p.json:1:25 found none"},
		{`{"version": 1, "cuts": [{"target": "x"}]}`, "TAP0836: p.json:1:25 found none"},
		{`{"version": 1, "cuts": [{"target": "x", "cut": "0x2"}]}`, "TAP0836: p.json:1:48 found 0x2"},
		{`{"version": 1, "cuts": [{"target": "x", "cut": "1"}, {"target": "x", "cut": "2"}]}`, "TAP0836: p.json:1:65 found another"},
		{`{"version": 1, "mesh": [{"axis": "", "size": 2}], "tensors": [{}]}`, `TAP0837: p.json:1:25 found ""`},
		{`{"version": 1, "mesh": [{"axis": "x*y", "size": 2}], "tensors": [{}]}`, `TAP0837: p.json:1:25 found "x*y"`},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}, {"axis": "x", "size": 2}], "tensors": [{}]}`, "TAP0837: p.json:1:51 found x"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 0}], "tensors": [{}]}`, "TAP0837: p.json:1:25 found 0"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 9223372036854775807}], "tensors": [{}]}`, "TAP0837: p.json:1:25 found 9223372036854775807"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 256}, {"axis": "y", "size": 257}], "tensors": [{}]}`, "TAP0837: p.json:1:53 found 257"},
		{`{"version": 1, "tensors": [{"dims": []}]}`, "TAP0838: p.json:1:28 found none"},
		{`{"version": 1, "tensors": [{"tensor": "a", "dims": ["x"]}]}`, "TAP0838: p.json:1:53 found x"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": ["x", "x"]}]}`, "TAP0838: p.json:1:94 found x"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": ["x*"]}]}`, "TAP0838: p.json:1:89 found x*"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": []}, {"tensor": "a", "dims": []}]}`, "TAP0838: p.json:1:104 found another"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": [""], "partial": ["z"]}]}`, "TAP0838: p.json:1:106 found z"},
		{`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": ["x"], "partial": ["x"]}]}`, "TAP0839: p.json:1:107 found x"},
	} {
		p, err := Parse("p.json", []byte(c[0]))
		if err == nil {
			t.Errorf("%s: no error, but %v", c[0], p)
			continue
		}
		d := diag.FromError(err)[0]
		code, rest, _ := strings.Cut(c[1], ": ")
		place, found, _ := strings.Cut(rest, " ")
		if d.Code != code || d.Location.String() != place || "found "+d.Found != found && found != "" {
			t.Errorf("%s:\n%s %v found %s; expected %s", c[0], d.Code, d.Location, d.Found, c[1])
		}
	}
}

func devices(text string) string {
	return `{"version": 1, "devices": ` + text + `, "cuts": [{"target": "y", "cut": "2"}]}`
}

func allowed(text string) string {
	return `{"version": 1, "permissions": ` + text + `, "cuts": [{"target": "y", "cut": "2"}]}`
}

func placed(text string) string { return `{"version": 1, "devices": 2, "place": [` + text + `]}` }

// Devices and places are written as they are read.
func TestDevices(t *testing.T) {
	for _, c := range []struct {
		text    string
		devices []Device
		shards  [][]int64
	}{
		{`{"version": 1, "devices": 2, "place": [{"target": "y", "devices": [1, [0, 1]]}]}`, []Device{{}, {}}, [][]int64{{1}, {0, 1}}},
		{`{"version": 1, "devices": [{"memory": 100}, {}], "place": [{"target": "y", "devices": [0]}]}`, []Device{{100}, {}}, [][]int64{{0}}},
	} {
		p, err := Parse("p.json", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.devices, p.Devices) + cmp.Diff(c.shards, p.Place[0].Shards); diff != "" {
			t.Error(diff)
		}
		var b bytes.Buffer
		if err := Write(&b, p); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("p.json", b.Bytes())
		if diff := cmp.Diff(p, again, cmpopts.IgnoreTypes(diag.Location{})); err != nil || diff != "" {
			t.Errorf("%v\n%s\n%s", err, diff, &b)
		}
	}
}
