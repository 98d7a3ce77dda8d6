// Package shard is the pass that cuts operations into applications along their index space.
//
// A request names operations (by kernel or by label) and how many parts each index dimension is cut into. The operation's
// signature, its own or the one derived from its kernel, projects each block to the boxes of the shard. Read next:
// passes/lower.
package shard

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Request asks for the operations that Target names, a kernel name or a label, to be cut into a grid of Counts blocks.
type Request struct {
	Target string
	Counts []int64
}

// maxShards bounds the applications that one request makes of one operation.
const maxShards = 1 << 20

// Parse reads "TARGET=2x2": the target, and for each index dimension the number of parts.
func Parse(text string) (Request, error) {
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return Request{}, diag.Usage("--shard %q: expected TARGET=COUNTxCOUNT…, such as op:linear=2x2", text)
	}
	r := Request{Target: text[:at]}
	for _, part := range strings.Split(text[at+1:], "x") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return r, diag.Usage("--shard %q: %q is not a number of parts", text, part)
		}
		r.Counts = append(r.Counts, n)
	}
	if err := r.check(); err != nil {
		return r, diag.Usage("--shard %q: %v", text, err)
	}
	return r, nil
}

// check refuses counts that are no numbers of parts, and too many parts in all.
func (r Request) check() error {
	total := int64(1)
	for _, n := range r.Counts {
		if n < 1 {
			return fmt.Errorf("%d is not a number of parts", n)
		}
		if n > maxShards || total*n > maxShards {
			return fmt.Errorf("more than %d shards", maxShards)
		}
		total *= n
	}
	return nil
}

// Run cuts the operations that each request names, replacing applications they had, and gives the number of applications
// made. A request that names nothing, or does not fit an operation's index, is an error.
func Run(g *ir.Graph, lib *kernels.Library, requests []Request) (int, error) {
	apps := application.ByOperation(g)
	named := operations(g)
	made := 0
	for i, r := range requests {
		if slices.ContainsFunc(requests[:i], func(x Request) bool { return x.Target == r.Target }) {
			return made, diag.Usage("--shard %s is given twice", r.Target)
		}
		if len(named[r.Target]) == 0 {
			if near, ok := diag.Nearest(r.Target, slices.Sorted(maps.Keys(named))); ok {
				return made, diag.Usage("--shard: no operation has the kernel or label %q: did you mean %q?", r.Target, near)
			}
			return made, diag.Usage("--shard: no operation has the kernel or label %q", r.Target)
		}
		for _, n := range named[r.Target] {
			for _, a := range apps[n.ID] {
				g.Remove(a)
			}
			cut, err := cutOperation(g, lib, n, r)
			if err != nil {
				return made, err
			}
			apps[n.ID] = cut
			made += len(cut)
		}
	}
	return made, nil
}

// operations gives the operations by what a request may call them, in graph order.
func operations(g *ir.Graph) map[string][]*ir.Node {
	named := map[string][]*ir.Node{}
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		named[op.Kernel] = append(named[op.Kernel], n)
		if n.Label != op.Kernel {
			named[n.Label] = append(named[n.Label], n)
		}
	}
	return named
}

func cutOperation(g *ir.Graph, lib *kernels.Library, n *ir.Node, r Request) ([]ir.NodeID, error) {
	if err := Sign(g, lib, n); err != nil {
		return nil, err
	}
	index := tensorops.IndexOf(n).Range
	if len(r.Counts) != index.Rank() {
		return nil, diag.Errorf("TAP0801", "shard", g.At(n, ""), "--shard %s does not fit %s", r.Target, g.Name(n.ID)).
			Want(fmt.Sprintf("%d counts, for the index %s", index.Rank(), index), fmt.Sprintf("%d counts", len(r.Counts)))
	}
	for i, c := range r.Counts {
		if extent := index.End[i] - index.Start[i]; c > max(extent, 1) {
			return nil, diag.Errorf("TAP0802", "shard", g.At(n, ""), "--shard %s cuts dimension %d of %s too finely", r.Target, i, g.Name(n.ID)).
				Want(fmt.Sprintf("at most %d parts", max(extent, 1)), fmt.Sprint(c))
		}
	}
	blocks, err := index.Grid(r.Counts)
	if err != nil {
		return nil, err
	}
	ids := make([]ir.NodeID, 0, len(blocks))
	for _, b := range blocks {
		a, err := Application(g, n, b)
		if err != nil {
			return nil, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// Sign gives an operation the signature and index that its kernel derives, unless it has them.
func Sign(g *ir.Graph, lib *kernels.Library, n *ir.Node) error {
	if tensorops.SignatureOf(n) != nil && tensorops.IndexOf(n) != nil {
		return nil
	}
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		return err
	}
	inputs, outputs, err := in.Signature()
	if err != nil {
		return err
	}
	n.SetTag(&tensorops.Signature{Inputs: inputs, Outputs: outputs})
	n.DropTag(tensorops.ReadsKind)
	if r := in.Pieces(inputs); len(r.Selections) > 0 {
		n.SetTag(&r)
	}
	n.SetTag(&tensorops.Index{Range: in.Index()})
	return nil
}

// Application adds the shard of a signed operation that covers a block of its index.
func Application(g *ir.Graph, n *ir.Node, block zspace.Range) (*ir.Node, error) {
	op, sig := n.Body.(*tensorops.Operation), tensorops.SignatureOf(n)
	in, err := project(op.Inputs, sig.Inputs, tensorops.ReadsOf(n), block)
	if err != nil {
		return nil, err
	}
	out, err := project(op.Outputs, sig.Outputs, nil, block)
	if err != nil {
		return nil, err
	}
	a := g.Add(&application.Application{Operation: n.ID, Inputs: in, Outputs: out}, "")
	a.Pos = n.Pos
	a.SetTag(&tensorops.Index{Range: block})
	return a, nil
}

func project(ports ir.Ports, maps ir.PortMaps, reads *tensorops.Reads, block zspace.Range) (ir.Ports, error) {
	cut := ports.Clone()
	for i := range cut.Len() {
		m := maps.Get(cut.At(i).Name)
		for j := range cut.At(i).Sel {
			if m == nil || j >= len(m.Maps) {
				return ir.Ports{}, fmt.Errorf("port %s[%d] has no projection", cut.At(i).Name, j)
			}
			r, err := reads.Selects(m.Name, j, m.Maps[j], block)
			if err != nil {
				return ir.Ports{}, err
			}
			cut.At(i).Sel[j].SetRange(r)
		}
	}
	return cut, nil
}
