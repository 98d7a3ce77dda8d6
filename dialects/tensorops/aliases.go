package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Alias says that an output has the memory of an input: both lie in a buffer of the caller's with the shape Room, row-major, each from the
// start on, so that an element with the same coordinates is at the same address. Neither shape is larger than Room in any dimension.
type Alias struct {
	Input, Output string
	Room          []int64
}

// ChangeInterface changes which tensors an operation that states the interface lists.
func ChangeInterface(g *ir.Graph, id ir.NodeID, change func([]Named) []Named) error {
	list, bad := faces(g, id)
	if bad != nil {
		return bad.Err()
	}
	list = change(list)
	OperationOf(g, id).setFaces(g, list)
	aliases, _ := AliasesOf(g)
	if kept := slices.DeleteFunc(slices.Clone(aliases), func(a Alias) bool { return named(list, a.Output) < 0 }); OperationOf(g, id).IsExport() && len(kept) < len(aliases) {
		StateAliases(g, kept)
	}
	return nil
}

// AliasesOf gives those that a graph states, in order; the diagnostics say what is wrong with them.
func AliasesOf(g *ir.Graph) ([]Alias, diag.List) {
	_, id := Interface(g)
	if id == ir.NoNode {
		return nil, nil
	}
	param, _ := OperationOf(g, id).Params.Get(aliasesParam)
	var list []Alias
	var bad diag.List
	for i, v := range param.List {
		a, ok := aliasOf(v)
		if !ok {
			bad = append(bad, diag.Errorf("TAP0166", InterfaceConstraint, g.At(g.Node(id), fmt.Sprintf("/body/params/%s/%d", aliasesParam, i)), "%s does not say what shares memory", g.Name(id)).
				Want("the name of an input, the name of an output, and a shape", fmt.Sprintf("a list of %d", len(v.List))))
			continue
		}
		list = append(list, a)
	}
	return list, bad
}

func aliasOf(v ir.AttrValue) (a Alias, ok bool) {
	if len(v.List) != 3 || v.List[0].Kind != ir.AttrString || v.List[1].Kind != ir.AttrString {
		return a, false
	}
	a.Input, a.Output = v.List[0].Str, v.List[1].Str
	for _, n := range v.List[2].List {
		if n.Kind != ir.AttrInt || n.Int < 0 {
			return a, false
		}
		a.Room = append(a.Room, n.Int)
	}
	return a, v.List[2].Kind == ir.AttrList
}

// StateAliases lets the operation that states a graph's outputs say which of them have the memory of inputs. The graph must state its outputs.
func StateAliases(g *ir.Graph, list []Alias) {
	_, id := Interface(g)
	op, all := OperationOf(g, id), ir.AttrValue{Kind: ir.AttrList}
	for _, a := range list {
		room := ir.AttrValue{Kind: ir.AttrList}
		for _, n := range a.Room {
			room.List = append(room.List, ir.IntAttr(n))
		}
		all.List = append(all.List, ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{ir.StringAttr(a.Input), ir.StringAttr(a.Output), room}})
	}
	op.Params = op.Params.With(aliasesParam, all)
}

func named(list []Named, name string) int {
	return slices.IndexFunc(list, func(x Named) bool { return x.Name == name })
}
