// Package inline is the pass that puts the steps of a definition in the place of each operation that uses it (docs/composites.md).
//
// Values do not change: the steps are what the operation computes. It must not import another pass. Read next: dialects/tensorops/composite.
package inline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Name is what the rewrite is called.
const Name = "inline"

// Options say which operations are replaced: those that use one of Only, if there are any, and none of Keep. Take is asked before each; nil allows all.
type Options struct {
	Library    *kernels.Library
	Only, Keep []string
	Take       func(rule string, node ir.NodeID) bool
}

// Stats say what a run did: how many operations took the place of how many, and how many definitions nobody used any more.
type Stats struct{ Applied, Made, Removed int }

// Run replaces operations that use definitions until none is left that may be, those among the steps too. Definitions that no operation is left to use are removed.
func Run(g *ir.Graph, o Options) (Stats, error) {
	var s Stats
	nodes := map[string]*ir.Node{}
	for n := range g.Nodes() {
		if d, ok := n.Body.(*definition.Definition); ok && nodes[d.Name] == nil {
			nodes[d.Name] = n
		}
	}
	if err := o.check(g, nodes); err != nil {
		return s, err
	}
	if err := bound(g); err != nil {
		return s, err
	}
	apps, results := application.ByOperation(g), heldOf(g)
	var fault error
	var expand func(id ir.NodeID)
	expand = func(id ir.NodeID) {
		n := g.Node(id)
		name, used := definition.Used(n.Body.(*tensorops.Operation).Kernel)
		if !used || nodes[name] == nil || !o.wants(name) || o.Take != nil && !o.Take(Name, id) {
			return
		}
		cut, err := shardsOf(g, o.Library, n, apps[id])
		if fault = err; err != nil {
			return
		}
		use := composite.Use{Graph: g, Node: n, Definition: nodes[name].Body.(*definition.Definition), From: []ir.Pos{n.Pos, nodes[name].Pos}, Rule: Name, Held: results.has}
		steps := use.Inline()
		made := steps.Made
		for i, step := range made {
			results.read(g, step)
			if apps[step], fault = cut.apply(g, o.Library, i, g.Node(step)); fault != nil {
				return
			}
		}
		for _, c := range steps.Copies {
			if fault = cut.copied(g, o.Library, c.Port, g.Node(c.Op)); fault != nil {
				return
			}
		}
		s.Applied, s.Made = s.Applied+1, s.Made+len(made)
		for _, step := range made {
			if expand(step); fault != nil {
				return
			}
		}
	}
	for _, id := range operations(g) {
		if expand(id); fault != nil {
			return s, fault
		}
	}
	s.Removed = composite.RemoveUnused(g)
	return s, nil
}

// All replaces all operations of a graph that use definitions, if there are any.
func All(g *ir.Graph, lib *kernels.Library) error {
	if !composite.Used(g) {
		return nil
	}
	_, err := Run(g, Options{Library: lib})
	return err
}

// held knows the tensors that are results of the program because no operation reads them.
type held struct {
	stated bool // an export says what the results are
	reads  ir.NodeSet
}

func heldOf(g *ir.Graph) *held {
	_, out := tensorops.Interface(g)
	h := &held{stated: out != ir.NoNode}
	for _, id := range operations(g) {
		h.read(g, id)
	}
	return h
}

func (h *held) read(g *ir.Graph, op ir.NodeID) { h.reads.AddPorts(tensorops.OperationOf(g, op).Inputs) }

func (h *held) has(t ir.NodeID) bool { return !h.stated && !h.reads.Has(t) }

// MaxOperations bounds how many operations a graph may become: definitions that use others twice, these others in turn, grow without bound.
const MaxOperations = 1 << 22

// bound refuses a graph that would become larger than that.
func bound(g *ir.Graph) error {
	all, sizes, total := definition.Of(g), map[string]int{}, 0
	for _, id := range operations(g) {
		if name, ok := definition.Used(tensorops.OperationOf(g, id).Kernel); ok && all[name] != nil {
			if total += size(all, name, sizes); total > MaxOperations {
				return diag.Errorf("TAP0198", Name, g.At(g.Node(id), ""), "the definitions of the graph have too many steps").
					Want(fmt.Sprintf("at most %d operations in the place of those that use definitions", MaxOperations), "more")
			}
		}
	}
	return nil
}

// size is how many operations a use of a definition becomes, MaxOperations+1 for more.
func size(all map[string]*definition.Definition, name string, known map[string]int) int {
	if n, ok := known[name]; ok {
		return n
	}
	n := 0
	for _, s := range all[name].Steps {
		if used, ok := definition.Used(s.Kernel); ok && all[used] != nil {
			n += size(all, used, known)
		} else {
			n++
		}
		n = min(n, MaxOperations+1)
	}
	known[name] = n
	return n
}

func operations(g *ir.Graph) (list []ir.NodeID) {
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.OperationKind {
			list = append(list, n.ID)
		}
	}
	return list
}

func (o *Options) wants(name string) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, name)) && !slices.Contains(o.Keep, name)
}

// check refuses names of definitions that are not there.
func (o *Options) check(g *ir.Graph, nodes map[string]*ir.Node) error {
	for _, name := range slices.Concat(o.Only, o.Keep) {
		if nodes[name] != nil {
			continue
		}
		var all []string
		for there := range nodes {
			all = append(all, there)
		}
		slices.Sort(all)
		if near, ok := diag.Nearest(name, all); ok {
			return diag.NotKnown("inline: the graph has no definition %q: did you mean %q?", name, near)
		}
		return diag.Usage("inline: the graph has no definition %q; it has %s", name, cmp.Or(strings.Join(all, ", "), "none"))
	}
	return nil
}
