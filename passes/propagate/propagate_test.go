package propagate

import (
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

const mlp = `tapc 1
%x = tensor float32 [0:8, 0:16]
%w1 = tensor float32 [0:16, 0:64]
%w2 = tensor float32 [0:64, 0:16]
%h = tensor float32 [0:8, 0:64]
%a = tensor float32 [0:8, 0:64]
%y = tensor float32 [0:8, 0:16]
%up = operation op:matmul (X: %x, Y: %w1) -> (Z: %h)
%act = operation op:gelu (tensor: %h) -> (result: %a)
%down = operation op:matmul (X: %a, Y: %w2) -> (Z: %y)
`

const conv = `tapc 1
%x = tensor float32 [0:1, 0:2, 0:16, 0:16]
%w = tensor float32 [0:3, 0:2, 0:3, 0:3]
%y = tensor float32 [0:1, 0:3, 0:16, 0:16]
%z = tensor float32 [0:1, 0:3, 0:16, 0:16]
%conv = operation op:conv {pads: [1, 1]} (W: %w, X: %x) -> (Y: %y)
%relu = operation op:relu (tensor: %y) -> (result: %z)
`

// run propagates a plan through a graph, and gives the number of shards of each operation and the transfers.
func run(t *testing.T, graph, plan string) (cuts, moves string) {
	t.Helper()
	g, err := text.Read([]byte(graph), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	p, err := planfile.Parse("p.json", []byte(`{"version": 1, "mesh": [{"axis": "s", "size": 2}, {"axis": "t", "size": 4}], "tensors": [`+plan+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	whole := g.Clone()
	found, foundErr := Find(whole, p, Settings{Library: kernels.Builtin()})
	_, r, err := Run(g, p, Settings{Library: kernels.Builtin()})
	if err != nil {
		return "!" + err.Error(), ""
	}
	if text := fmt.Sprintf("%+v", r.Operations); foundErr != nil || fmt.Sprintf("%+v", found) != text || len(application.ByOperation(whole)) > 0 {
		t.Errorf("%v: Find says %+v, Run %s", foundErr, found, text)
	}
	apps := application.ByOperation(g)
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.OperationKind {
			cuts += fmt.Sprintf("%s %s ", n.Label, blocks(g, apps[n.ID]))
		}
	}
	for _, m := range r.Transfers {
		halo := ""
		if m.Halo {
			halo = "halo "
		}
		moves += fmt.Sprintf("%s%s %s %s→%s %v; ", halo, m.Operation, m.Tensor, m.From, m.To, m.Bytes)
	}
	return strings.TrimSpace(cuts), strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(moves, "operation ", ""), "tensor ", ""), `"`, "")
}

// blocks writes the number of shards and the index of the last.
func blocks(g *ir.Graph, apps []ir.NodeID) string {
	if len(apps) == 0 {
		return "whole"
	}
	return fmt.Sprint(len(apps), tensorops.IndexOf(g.Node(apps[len(apps)-1])).Range.Text())
}

// Layouts go forwards and backwards; the bytes of what does not agree are counted by hand.
func TestPropagation(t *testing.T) {
	const spread = `up 4[0:8, 48:64] act 4[0:8, 48:64] down whole`
	for _, c := range []struct{ name, graph, plan, cuts, moves string }{
		// 8 devices; each lacks three quarters of the 2,048 bytes of a, and of the 4,096 of w2, which its sum goes along
		{"forwards, to what is reduced", mlp, `{"tensor": "w1", "dims": ["", "t"]}`, spread, "down a [-, t]→[-, -] 12288; "},
		{"backwards", mlp, `{"tensor": "a", "dims": ["", "t"]}`, spread, "down a [-, t]→[-, -] 12288; "},
		{"both matrices", mlp, `{"tensor": "w1", "dims": ["", "t"]}, {"tensor": "w2", "dims": ["t", ""]}`, spread,
			"down a [-, t]→[-, -] 12288; down w2 [t, -]→[-, -] 24576; "},
		{"nothing is reduced along rows", mlp, `{"tensor": "x", "dims": ["t", ""]}`, "up 4[6:8, 0:64] act 4[6:8, 0:64] down 4[6:8, 0:16]", ""},
		{"rows from the end", mlp, `{"tensor": "y", "dims": ["t", "?"]}`, "up 4[6:8, 0:64] act 4[6:8, 0:64] down 4[6:8, 0:16]", ""},
		{"two axes", mlp, `{"tensor": "h", "dims": ["s", "t"]}`, "up 8[4:8, 48:64] act 8[4:8, 48:64] down 2[4:8, 0:16]", "down a [s, t]→[s, -] 6144; "},
		{"two axes on one dimension", mlp, `{"tensor": "x", "dims": ["s*t", ""]}`, "up 8[7:8, 0:64] act 8[7:8, 0:64] down 8[7:8, 0:16]", ""},
		// one axis can not cut rows and columns of h: the first annotation wins, so w1 is gathered, three quarters of 4,096 bytes on 8 devices
		{"a conflict", mlp, `{"tensor": "x", "dims": ["t", ""]}, {"tensor": "w1", "dims": ["", "t"]}`, "up 4[6:8, 0:64] act 4[6:8, 0:64] down 4[6:8, 0:16]",
			"up w1 [-, t]→[-, -] 24576; "},
		{"a conflict that a priority resolves", mlp, `{"tensor": "x", "dims": ["t", ""], "priority": 1}, {"tensor": "w1", "dims": ["", "t"]}`,
			"up 4[0:8, 48:64] act 4[0:8, 48:64] down whole", "up x [t, -]→[-, -] 3072; down a [-, t]→[-, -] 12288; "},
		// y is to be whole on each device: each lacks seven eighths of 512 bytes
		{"a result that is gathered", mlp, `{"tensor": "x", "dims": ["s*t", ""]}, {"tensor": "y", "dims": ["", ""]}`,
			"up 8[7:8, 0:64] act 8[7:8, 0:64] down 8[7:8, 0:16]", "down y [s*t, -]→[-, -] 3584; "},
		// rows of 2 by 16 float32: the inner parts lack one above and one below, the outer ones one, on both values of s
		{"spatial halos", conv, `{"tensor": "x", "dims": ["", "", "t", ""]}`, "conv 4[0:1, 0:1, 0:3, 12:16, 0:16] relu 4[0:1, 0:3, 12:16, 0:16]",
			"halo conv x [-, -, t, -]→[-, -, t, -] 1536; "},
		{"filters", conv, `{"tensor": "w", "dims": ["s", "", "", ""]}`, "conv 2[0:1, 0:1, 2:3, 0:16, 0:16] relu 2[0:1, 2:3, 0:16, 0:16]", ""},
		{"more parts than cells", conv, `{"tensor": "w", "dims": ["t", "", "", ""]}`, `!p.json:1:90: error: the annotation of w does not fit: expected at most 3 parts of dimension 0, found 4 [TAP0841 propagate]`, ""},
		{"another rank", mlp, `{"tensor": "x", "dims": ["t"]}`, `!p.json:1:90: error: the annotation of x does not fit: expected dims of 2 dimensions, found 1 [TAP0841 propagate]`, ""},
		{"no such tensor", mlp, `{"tensor": "w3", "dims": ["t"]}`, `!p.json:1:90: error: the annotation of w3 does not fit: expected the label of a tensor, found w3 [TAP0841 propagate]`, ""},
		{"replicated", mlp, `{"tensor": "x", "dims": ["", ""]}`, "up whole act whole down whole", ""},
	} {
		cuts, moves := run(t, c.graph, c.plan)
		if cuts != c.cuts || moves != c.moves {
			t.Errorf("%s:\n%s\n%s\nexpected\n%s\n%s", c.name, cuts, moves, c.cuts, c.moves)
		}
	}
}
