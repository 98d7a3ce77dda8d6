package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/tools/examples/loomdoc"
)

const dir = "../../examples"

func TestCheckedInFilesAreGenerated(t *testing.T) {
	want, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%s differs from what `go run ./tools/examples` writes", name)
		}
	}
	present, err := filepath.Glob(filepath.Join(dir, "inputs", "*"))
	if err != nil || len(present) != len(want)-len(graphs) {
		t.Errorf("inputs holds %v (%v), want the %d generated files", present, err, len(want)-len(graphs))
	}
}

func TestGeneratorIsDeterministic(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, d := range []string{first, second} {
		if err := write(d); err != nil {
			t.Fatal(err)
		}
	}
	all, _ := files()
	for name := range all {
		a, errA := os.ReadFile(filepath.Join(first, name))
		b, errB := os.ReadFile(filepath.Join(second, name))
		if errA != nil || errB != nil || len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: %d and %d bytes, %v, %v", name, len(a), len(b), errA, errB)
		}
	}
}

// The linear example's shard of the specification, section 20.
func TestLinearShard(t *testing.T) {
	block := loomdoc.Span(50, 100, 16, 32)
	d := linearRelu("linear-relu-4", quarters)
	names := map[string]string{}
	for _, n := range d.Nodes {
		names[n.ID] = n.Label
	}
	got := map[string]loomdoc.Range{}
	for _, n := range d.Nodes {
		app, ok := n.Body.(loomdoc.ApplicationBody)
		if !ok || names[app.OperationID] != "linear" || !cmp.Equal(*n.Tags.Index, block) {
			continue
		}
		for _, ports := range []loomdoc.Ports{app.Inputs, app.Outputs} {
			for port, s := range ports {
				got[port+" of "+names[s[0].TensorID]] = s[0].Range
			}
		}
	}
	want := map[string]loomdoc.Range{
		"x of x":      loomdoc.Span(10, 60, 20, 32),
		"A of A":      loomdoc.Span(0, 12, 16, 32),
		"b of b":      loomdoc.Span(16, 32),
		"result of y": loomdoc.Span(50, 100, 16, 32),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Every operation's selection is the projection of its index and its whole
// tensor, and every application's blocks tile the operation's index.
func TestSelectionsAreProjections(t *testing.T) {
	for name, d := range map[string]loomdoc.Document{
		"matmul": matmul(), "linear-relu": linearRelu("linear-relu", nil), "linear-relu-4": linearRelu("linear-relu-4", quarters),
	} {
		ranges, cells := map[string]loomdoc.Range{}, map[string]int{}
		for _, n := range d.Nodes {
			if b, ok := n.Body.(loomdoc.TensorBody); ok {
				ranges[n.ID] = b.Range
			}
			if b, ok := n.Body.(loomdoc.ApplicationBody); ok {
				s := n.Tags.Index.Shape()
				cells[b.OperationID] += s[0] * s[1]
			}
		}
		for _, n := range d.Nodes {
			b, ok := n.Body.(loomdoc.OperationBody)
			if !ok {
				continue
			}
			agree(t, name, ranges, *n.Tags.Index, b.Inputs, n.Tags.Signature.Inputs)
			agree(t, name, ranges, *n.Tags.Index, b.Outputs, n.Tags.Signature.Outputs)
			s := n.Tags.Index.Shape()
			if c := cells[n.ID]; name == "linear-relu-4" && c != s[0]*s[1] {
				t.Errorf("%s: applications of %s cover %d of %d index points", name, n.Label, c, s[0]*s[1])
			}
		}
	}
}

func agree(t *testing.T, name string, tensors map[string]loomdoc.Range, index loomdoc.Range, ports loomdoc.Ports, maps map[string][]loomdoc.Projection) {
	t.Helper()
	if len(ports) != len(maps) {
		t.Errorf("%s: %d ports, %d projections", name, len(ports), len(maps))
	}
	for port, list := range ports {
		for i, s := range list {
			if diff := cmp.Diff(maps[port][i].Apply(index), s.Range); diff != "" {
				t.Errorf("%s: port %s: -projected +selected:\n%s", name, port, diff)
			}
			if diff := cmp.Diff(tensors[s.TensorID], s.Range); diff != "" {
				t.Errorf("%s: port %s: -tensor +selected:\n%s", name, port, diff)
			}
		}
	}
}

// Every Loom JSON file of the examples is one well-formed document whose nodes
// have the format's four members and distinct ids in rising order.
func TestExampleFilesAreWellFormed(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.loom.json"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.loom.json"))
	paths = append(paths, more...)
	if len(paths) < 5 {
		t.Fatalf("found only %v", paths)
	}
	type node struct {
		ID    string                     `json:"id"`
		Type  string                     `json:"type"`
		Label string                     `json:"label"`
		Body  map[string]json.RawMessage `json:"body"`
		Tags  map[string]json.RawMessage `json:"tags"`
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			ID    string `json:"id"`
			Nodes []node `json:"nodes"`
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&d); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		last := ""
		for _, n := range d.Nodes {
			if n.ID <= last || len(n.ID) != 36 || n.Type == "" || n.Body == nil {
				t.Errorf("%s: node %+v after %s", path, n, last)
			}
			last = n.ID
		}
		if len(d.ID) != 36 || last == "" || dec.More() {
			t.Errorf("%s: id %q, last node %q, trailing text %v", path, d.ID, last, dec.More())
		}
	}
}
