package tensorops

import (
	"fmt"
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
)

var programInterface = check.Constraint{
	ID: InterfaceConstraint,
	Doc: "What a program takes and gives is a fact of its graph: one import with the parameter names lists its inputs, one export with it " +
		"its outputs, whole tensors with as many names, in order; on each side no name is there twice. Beside such an import there is no " +
		"other, and every tensor that is read has a producer; beside such an export there is no other. A graph may leave out either: " +
		"then what nobody produces is an input, and what nobody consumes, an export takes or a sequence point observes is an output. Imports and exports without names name a file that runs read or write in uri, with the key of an entry or the offset of raw bytes, or have no parameters; those with a file may stand beside others, and no two write one file. A check says of which indices, with which limits. " +
		"A constant says once what its one result is: a value; an entry of a data file, by file and key; bytes from an offset of a file on; or bytes; with a view of all but a value, and no other parameter. " +
		"An export may say in aliases which outputs have the memory of which inputs: each is there once, element types and ranks are equal, ranges begin at one point and fit into the room.",
	Requires: []string{"TensorOperationAgreementConstraint"},
	Codes: []check.Code{
		{ID: "TAP0161", Meaning: "an import or export with names does not say what the program takes or gives"},
		{ID: "TAP0162", Meaning: "there is another import or export beside the one that says everything"},
		{ID: "TAP0163", Meaning: "two inputs or two outputs have the same name"},
		{ID: "TAP0164", Meaning: "a tensor is read that nobody produces, and that is not among the inputs"},
		{ID: "TAP0165", Meaning: "a check does not say what it checks"},
		{ID: "TAP0166", Meaning: "an output can not have the memory of an input: names, element types, shapes or room do not fit"},
		{ID: "TAP0167", Meaning: "an import or export has a parameter that means nothing"},
		{ID: "TAP0168", Meaning: "an import or export names a file that runs can not read or write"},
		{ID: "TAP0169", Meaning: "two exports write one file"},
		{ID: "TAP0701", Meaning: "a constant does not say what it is, says it twice, or has a parameter that means nothing"},
	},
	Check: checkInterface,
}

func checkInterface(c *check.Context) {
	g := c.Graph()
	var sides [2][]*ir.Node // imports and exports
	for n := range g.Nodes() {
		switch op, _ := n.Body.(*Operation); {
		case op == nil:
		case op.IsImport():
			sides[0] = append(sides[0], n)
		case op.IsExport():
			sides[1] = append(sides[1], n)
		case op.IsCheck(), op.IsSource():
			_, bad := checkOf(g, n.ID)
			if op.IsSource() {
				_, bad = ConstOf(g, n.ID)
			}
			for _, d := range bad {
				c.Report(d)
			}
		}
	}
	for _, side := range sides {
		checkStated(c, side)
	}
	if list, bad := AliasesOf(g); len(list) > 0 || len(bad) > 0 {
		checkShared(c)
	}
	for _, n := range sides[0] {
		if n.Body.(*Operation).StatesInterface() {
			checkInputsComplete(c, n)
			break
		}
	}
}

// checkShared checks what an export says of memory.
func checkShared(c *check.Context) {
	_, err := ProgramOf(c.Graph())
	for _, d := range diag.FromError(err) {
		if d.Code == "TAP0166" {
			c.Report(d)
		}
	}
}

// checkStated checks the imports of a graph, or its exports.
func checkStated(c *check.Context, side []*ir.Node) {
	var first *ir.Node
	written := map[string]*ir.Node{}
	for _, n := range side {
		if !n.Body.(*Operation).StatesInterface() {
			checkParams(c, n)
			checkWritten(c, n, written)
			continue
		}
		list, bad := faces(c.Graph(), n.ID)
		for _, d := range bad {
			c.Report(d)
		}
		checkNames(c, n, list)
		if first == nil {
			first = n
		}
	}
	for _, n := range side {
		if first != nil && n != first && !n.Body.(*Operation).HasResource() && c.Go() {
			c.Report(c.Error("TAP0162", n, "", "%s is beside %s, which says all", c.Graph().Name(n.ID), c.Graph().Name(first.ID)).
				Want("one", strconv.Itoa(len(side))).WithNote(c.At(first, ""), "this one has the parameter names"))
		}
	}
}

// checkParams checks an import or an export that lists no names: it names a file, or has no parameters, which nothing would look at.
func checkParams(c *check.Context, n *ir.Node) {
	op := n.Body.(*Operation)
	if !op.HasResource() {
		for _, p := range op.Params {
			c.Report(meaningless(c.Graph(), n, p.Name))
		}
		return
	}
	_, _, bad := ResourceOf(c.Graph(), n.ID)
	for _, d := range bad {
		c.Report(d)
	}
}

// checkWritten checks that no two exports write one file, of which one would be lost.
func checkWritten(c *check.Context, n *ir.Node, written map[string]*ir.Node) {
	op := n.Body.(*Operation)
	_, r, bad := ResourceOf(c.Graph(), n.ID)
	if !op.IsExport() || !op.HasResource() || bad != nil {
		return
	}
	if other := written[r.File]; other != nil {
		c.Report(c.Error("TAP0169", n, "/body/params/"+uriParam, "%s and %s write one file", c.Graph().Name(other.ID), c.Graph().Name(n.ID)).
			Want("a file for each export", strconv.Quote(r.File)).WithNote(c.At(other, ""), "the other export"))
	}
	written[r.File] = n
}

func checkNames(c *check.Context, n *ir.Node, list []Named) {
	at := map[string]int{}
	for i, x := range list {
		if j, ok := at[x.Name]; ok && c.Go() {
			c.Report(c.Error("TAP0163", n, fmt.Sprint("/body/params/names/", i), "%s gives a name twice", c.Graph().Name(n.ID)).
				Want("a name that no other has", fmt.Sprintf("%q, as number %d", x.Name, j)))
		}
		at[x.Name] = i
	}
}

// checkInputsComplete checks that the graph reads nothing but what it takes and makes.
func checkInputsComplete(c *check.Context, stated *ir.Node) {
	g, flow := c.Graph(), c.Flow(OperationKind)
	for n := range g.Nodes() {
		if !c.Go() {
			return
		}
		if n.Body.Kind() != TensorKind || len(flow.Producers(n.ID)) > 0 || len(flow.Consumers(n.ID)) == 0 {
			continue
		}
		reader := flow.Consumers(n.ID)[0]
		c.Report(c.Error("TAP0164", n, "", "%s is read, but nobody produces it, and it is not an input", g.Name(n.ID)).
			Want("a producer", "none").WithNote(c.At(g.Node(reader), ""), "%s reads it", g.Name(reader)).
			WithNote(c.At(stated, ""), "the inputs are listed here"))
	}
}
