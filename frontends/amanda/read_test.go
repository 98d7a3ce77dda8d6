package amanda

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/ir/diag"
)

// noPlaces compares graphs without where they stand.
var noPlaces = cmp.Options{
	cmp.Comparer(func(Place, Place) bool { return true }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".File" }, cmp.Ignore()),
}

// faultsOf gives the codes and lines of what is wrong with a graph, its form included.
func faultsOf(text string) (codes []string, lines []int, all string) {
	g, err := Read([]byte(text), "g.yaml")
	list := diag.FromError(err)
	if err == nil {
		list = Check(g)
	}
	for _, d := range list {
		codes, lines = append(codes, d.Code), append(lines, d.Location.Line)
	}
	return codes, lines, list.Error()
}

const head = `graph:
  ops:
    - {name: f, input_ports: [{name: x}], output_ports: [{name: m, attrs: {dtype: float32, shape: [2, n]}}, {name: k}]}
    - {name: g, input_ports: [{name: z, attrs: {dtype: float32, shape: [2, 3]}}, {name: w, attrs: {optional: true}}], output_ports: [{name: y}]}
`

// Every invariant, broken, with the code and the line of the report; and a graph that is nearly the same, which is accepted.
func TestInvariants(t *testing.T) {
	for _, c := range []struct{ name, broken, near, code string }{
		{"two ops of one name", "    - {name: f}\n", "    - {name: F}\n", CodeName},
		{"the reserved name", "    - {name: .}\n", "    - {name: ..}\n", CodeName},
		{"an op with its subgraph's name", "    - {name: h, ops: [{name: h}]}\n", "    - {name: h, ops: [{name: i}]}\n", CodeName},
		{"two ports of one name", "    - {name: h, input_ports: [{name: a}, {name: a}]}\n", "    - {name: h, input_ports: [{name: a}], output_ports: [{name: a}]}\n", CodeName},
		{"an op that is not there", edge("e, port: m", "g, port: z"), edge("f, port: m", "g, port: z"), CodeReference},
		{"a number as a name", edge(`"0", port: m`, "g, port: z"), edge("0, port: m", "g, port: z"), CodeReference},
		{"an index too large", edge("f, port: 2", "g, port: 0"), edge("f, port: 0", "g, port: 0"), CodeReference},
		{"an index below the control port's", edge("f, port: -2", "g, port: 0"), edge("f, port: -1", "g, port: -1"), CodeForm},
		{"a negative index of an op", edge("-1, port: 0", "g, port: 0"), edge("0, port: 0", "1, port: 0"), CodeForm},
		{"a port of the other side", edge("f, port: x", "g, port: z"), edge("f, port: m", "g, port: z"), CodeReference},
		{"two producers", edge("f, port: m", "g, port: z") + more("f, port: k", "g, port: z"), edge("f, port: -1", "g, port: -1") + more("f, port: m", "g, port: z"), CodeFanIn},
		{"data into control", edge("f, port: m", "g, port: -1"), edge("f, port: -1", "g, port: -1"), CodeKinds},
		{"another element type", strings.Replace(edge("f, port: m", "g, port: z"), "  edges:", "    - {name: d, input_ports: [{name: a, attrs: {dtype: int32}}]}\n  edges:", 1) + more("f, port: m", "d, port: a"),
			edge("f, port: m", "g, port: z"), CodeType},
		{"another shape", strings.Replace(edge("f, port: m", "g, port: z"), "  edges:", "    - {name: d, input_ports: [{name: a, attrs: {shape: [3, 3]}}]}\n  edges:", 1) + more("f, port: m", "d, port: a"),
			strings.Replace(edge("f, port: m", "g, port: z"), "  edges:", "    - {name: d, input_ports: [{name: a, attrs: {shape: [2, 4]}}]}\n  edges:", 1) + more("f, port: m", "d, port: a"), CodeType},
		{"a loop", edge("f, port: m", "f, port: x"), edge("f, port: m", "g, port: z"), CodeCycle},
		{"a cycle of control", edge("f, port: -1", "g, port: -1") + more("g, port: -1", "f, port: -1"), edge("f, port: -1", "g, port: -1"), CodeCycle},
		{"an input that stays open", "    - {name: d, input_ports: [{name: a}, {name: b}]}\n" + edge("f, port: k", "d, port: a"),
			"    - {name: d, input_ports: [{name: a}, {name: b, attrs: {optional: true}}]}\n" + edge("f, port: k", "d, port: a"), CodeOpen},
		{"an output that comes from nowhere", "    - {name: h, output_ports: [{name: o}], ops: []}\n",
			"    - {name: h, input_ports: [{name: i}], output_ports: [{name: o}], ops: [], edges: [{output_port: {op: ., port: i}, input_port: {op: h, port: o}}]}\n", CodeOpen},
		{"an edge of another graph", "    - {name: h, ops: [{name: i}], edges: [{output_port: {op: f, port: -1}, input_port: {op: i, port: -1}}]}\n",
			"    - {name: h, ops: [{name: i}], edges: [{output_port: {op: h, port: -1}, input_port: {op: i, port: -1}}]}\n", CodeReference},
		{"a key that means nothing", "  edge: []\n", "  edges: []\n", CodeForm},
		{"a key twice", "  attrs: {a: 1, a: 2}\n", "  attrs: {a: 1, b: 2}\n", CodeForm},
		{"a name that is a number", "    - {name: 1}\n", "    - {name: \"1\"}\n", CodeForm},
		{"an edge without an end", "  edges: [{output_port: {op: f, port: m}}]\n", edge("f, port: m", "g, port: z"), CodeForm},
		{"an attribute against its key", "    - {name: a, attrs: {name: b}}\n", "    - {name: a, attrs: {name: a}}\n", CodeForm},
		{"a tag", "  attrs: {a: !ref h5}\n", "  attrs: {a: \"!ref h5\"}\n", CodeForm},
		{"an integer of 65 bits", "  attrs: {a: 18446744073709551616}\n", "  attrs: {a: 9223372036854775807}\n", CodeForm},
		{"an alias", "  attrs: {a: &x [1], b: *x}\n", "  attrs: {a: &x [1], b: [1]}\n", CodeForm},
		{"a second document", "---\ngraph: {}\n", "", CodeForm},
	} {
		t.Run(c.name, func(t *testing.T) {
			codes, lines, text := faultsOf(head + c.broken)
			if len(codes) == 0 || codes[0] != c.code || lines[0] < 3 {
				t.Errorf("expected %s with a line, found %s", c.code, text)
			}
			if codes, _, text := faultsOf(head + c.near); len(codes) > 0 {
				t.Errorf("the near one is accepted, found %s", text)
			}
		})
	}
}

func edge(from, to string) string {
	return "  edges:\n" + more(from, to)
}

func more(from, to string) string {
	return "    - output_port: {op: " + from + "}\n      input_port: {op: " + to + "}\n"
}

// An edge that is there twice is one edge, and a warning.
func TestTwice(t *testing.T) {
	g, err := Read([]byte(head+edge("f, port: m", "g, port: z")+more("f, port: 0", "1, port: 0")), "g.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := Check(g)
	if list.HasErrors() || len(list) != 1 || list[0].Code != CodeTwice || list[0].Location.Line != 8 {
		t.Errorf("expected one warning at line 8, found %v", list)
	}
}

// A cycle is reported with the ops on it, in order.
func TestCycleIsNamed(t *testing.T) {
	_, _, text := faultsOf("graph:\n  ops: [{name: a, type: t}, {name: b}, {name: c}, {name: d}]\n" + edge("a, port: -1", "b, port: -1") +
		more("b, port: -1", "c, port: -1") + more("c, port: -1", "b, port: -1") + more("c, port: -1", "d, port: -1"))
	if !strings.Contains(text, `"b" → "c" → "b"`) && !strings.Contains(text, `"c" → "b" → "c"`) {
		t.Errorf("expected the cycle b, c, found %s", text)
	}
}

// What is nested too deep, and what would grow by aliases, ends with one error.
func TestBounds(t *testing.T) {
	deep := "graph:\n  attrs: {a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}\n"
	bomb := "graph:\n  attrs:\n    a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := range 12 {
		n := string(rune('a' + i))
		bomb += "    x" + n + ": &x" + n + " [" + strings.Repeat("*a0, ", 9) + "*a0]\n"
	}
	nested := strings.Repeat(`{"op": {"ops": [`, 1) + strings.Repeat(`{"ops": [`, 80) + strings.Repeat("]}", 80) + "]}}"
	for name, text := range map[string]string{"deep": deep, "bomb": bomb, "nested ops": nested, "deep json": `{"graph": ` + strings.Repeat("[", 20000), "empty": "", "scalar": "x", "list": "[graph]"} {
		if _, err := Read([]byte(text), "g"); err == nil {
			t.Errorf("%s: expected an error", name)
		} else if strings.Count(err.Error(), "\n") > 200 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// The documents' examples are read, are sound, and are written so that the same comes back, in both forms.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.yaml")
	if len(files) < 3 {
		t.Fatal("no examples")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Read(data, file)
		if err != nil {
			t.Fatal(err)
		}
		if list := Check(g); len(list) > 0 {
			t.Error(list)
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"yaml": func(b *bytes.Buffer) error { return Write(b, g) }, "json": func(b *bytes.Buffer) error { return WriteJSON(b, g) }} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			h, err := Read(b.Bytes(), file)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, &b)
			}
			if diff := cmp.Diff(g, h, noPlaces); diff != "" {
				t.Errorf("%s %s: %s", file, name, diff)
			}
		}
	}
}

// JSON faults have a line and a column.
func TestPlacesInJSON(t *testing.T) {
	g, err := Read([]byte("{\"graph\": {\n\t\"ops\": [\n\t\t{\"name\": \"\\ud83d\\ude00\"},\n\t\t{\"name\": \"b\"}]}}"), "g.json")
	if err != nil {
		t.Fatal(err)
	}
	if at := g.Ops[1].Place; at != (Place{4, 3}) || g.Ops[0].Name != "😀" {
		t.Errorf("expected line 4, column 3, found %v of %q", at, g.Ops[0].Name)
	}
	_, lines, text := faultsOf("{\"graph\": {\n \"ops\": [}}")
	if len(lines) != 1 || lines[0] != 2 {
		t.Errorf("expected line 2, found %s", text)
	}
}
