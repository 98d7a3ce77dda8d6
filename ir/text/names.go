package text

import (
	"iter"
	"strconv"

	"tensortapestry.org/tapc/ir"
)

// nodeNames are the names that nodes are written with. Most of a large graph are numbers or labels, so that few need a string here.
type nodeNames struct {
	graph *ir.Graph
	of    []int32 // by node: a number; or noName, itsLabel, or from firstMade down a place in made
	made  []string
}

const (
	noName    int32 = -1
	itsLabel  int32 = -2
	firstMade int32 = -3
)

// has says whether a node has a name.
func (t *nodeNames) has(id ir.NodeID) bool { return t.of[id] != noName }

// append writes a node's name, which is nothing if it has none.
func (t *nodeNames) append(b []byte, id ir.NodeID) []byte {
	switch k := t.of[id]; {
	case k >= 0:
		return strconv.AppendInt(b, int64(k), 10)
	case k == itsLabel:
		return append(b, t.graph.Node(id).Label...)
	case k <= firstMade:
		return append(b, t.made[firstMade-k]...)
	}
	return b
}

// nameNodes gives each node the name it is written with, in the order of writing. A label that is a word and no
// other node's is the name; another label is made a word, with a number if that is taken; a node without a label that others
// refer to has a number; one that nobody refers to has no name.
func nameNodes(g *ir.Graph, order iter.Seq[*ir.Node]) *nodeNames {
	t := &nodeNames{graph: g, of: make([]int32, g.Bound())}
	var used ir.NodeSet
	labelled := 0
	for n := range order {
		t.of[n.ID] = noName
		if n.Label != "" {
			labelled++
		}
	}
	labels := make(map[string]int, labelled) // how many nodes have each
	note := ir.ReferenceFields(func(ref *ir.NodeID) {
		if g.Node(*ref) != nil {
			used.Add(*ref)
		}
	})
	for n := range order {
		if n.Label != "" {
			labels[n.Label]++
		}
		visit(n, note)
	}
	number := int32(0)
	for n := range order {
		switch {
		case n.Label == "" && used.Has(n.ID):
			t.of[n.ID] = number
			number++
		case n.Label != "" && labels[n.Label] == 1 && isWord(n.Label):
			t.of[n.ID] = itsLabel
		}
	}
	free := &namer{labels: labels, taken: map[string]bool{}, next: map[string]int{}}
	for n := range order {
		if n.Label != "" && t.of[n.ID] == noName {
			t.of[n.ID] = firstMade - int32(len(t.made))
			t.made = append(t.made, free.name(wordFrom(n.Label)))
		}
	}
	return t
}

// visit visits a node's body and tags.
func visit(n *ir.Node, f ir.Fields) {
	n.Body.Fields(f)
	for _, t := range n.Tags() {
		t.Fields(f)
	}
}

// namer makes names that are nobody's.
type namer struct {
	labels map[string]int // a label of one node is its name
	taken  map[string]bool
	next   map[string]int // number to try next behind a word
}

// name gives the word, or the word with the lowest number behind it that is free.
func (f *namer) name(word string) string {
	name := word
	for f.taken[name] || f.labels[name] == 1 {
		f.next[word] = max(f.next[word], 1) + 1
		name = word + "_" + strconv.Itoa(f.next[word])
	}
	f.taken[name] = true
	return name
}
