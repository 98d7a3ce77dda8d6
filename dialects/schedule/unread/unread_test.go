package unread_test

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/unread"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

// Of what arrives on a device, the kernel reads one box through a load, and nothing through another operand; one more box goes on to a buffer
// that nobody reads.
const arrivals = `tapc 1
%x = tensor float32 [0:8]
%y = tensor float32 [0:4]
%host = device cpu 0
%gpu = device cuda 0
%in = buffer input float32 [0:8] {device: %host, tensor: %x, strides: [1], align: 64, bytes: 32}
%there = buffer arena float32 [0:8] {device: %gpu, tensor: %x, strides: [1], align: 64, bytes: 32, last: 9}
%other = buffer arena float32 [0:8] {device: %gpu, tensor: %x, strides: [1], align: 64, bytes: 32, offset: 64, last: 9}
%more = buffer arena float32 [0:8] {device: %gpu, tensor: %x, strides: [1], align: 64, bytes: 32, offset: 128, last: 9}
%result = buffer arena float32 [0:4] {device: %gpu, tensor: %y, strides: [1], align: 64, bytes: 16, offset: 192, last: 9}
%out = buffer output float32 [0:4] {device: %host, tensor: %y, strides: [1], align: 64, bytes: 16}
%first = transfer %in -> %there {range: [0:4]}
%second = transfer %in -> %there {after: [%first], range: [4:8]}
%third = transfer %there -> %more {after: [%second], range: [4:6]}
%fourth = transfer %in -> %other
%k = kernel k {device: %gpu, applications: [], after: [%third, %fourth], loops: [i 0 4 {levels: [serial 1]}], operands: [
    a read float32 %there (d0) -> (d0),
    b read float32 %other (d0) -> (d0),
    r write float32 %result (d0) -> (d0)
  ], statements: [r_value [0] 2 "a + a"]}
%back = transfer %result -> %out {after: [%k]}
`

func TestDrop(t *testing.T) {
	for _, c := range []struct{ name, edit, with, left, after string }{
		{"unread", "", "", "back first", "first"},
		{"near miss: read by a kernel", "a + a", "a + b", "back first fourth", "first fourth"},
		{"near miss: another box of it is read", "(d0) -> (d0),\n    b", "(d0) -> (d0 + 4),\n    b", "back second", "second"},
		{"strides leap over it", "(d0) -> (d0),\n    b", "(d0) -> (8*d0),\n    b", "back first", "first"},
		{"near miss: strides meet it", "(d0) -> (d0),\n    b", "(d0) -> (7*d0),\n    b", "back first second", "second"},
		{"near miss: given to the caller", "%more {after: [%second], range: [4:6]}", "%out {after: [%second], range: [0:1]}", "back first third", "third"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := text.Read([]byte(strings.Replace(arrivals, c.edit, c.with, 1)), "t.tap", dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			unread.Drop(g)
			var left, after []string
			for n := range g.Nodes() {
				switch b := n.Body.(type) {
				case *schedule.Transfer:
					left = append(left, n.Label)
				case *schedule.Kernel:
					after = labels(g, b.After)
				}
			}
			if got := strings.Join(left, " "); !sameWords(got, c.left) {
				t.Errorf("transfers left: %s, expected %s", got, c.left)
			}
			if got := strings.Join(after, " "); !sameWords(got, c.after) {
				t.Errorf("the kernel waits for %s, expected %s", got, c.after)
			}
		})
	}
}

func labels(g *ir.Graph, ids []ir.NodeID) (out []string) {
	for _, id := range ids {
		out = append(out, g.Node(id).Label)
	}
	return out
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
