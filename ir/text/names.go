package text

import (
	"strconv"

	"tensortapestry.org/tapc/ir"
)

// nameNodes gives each node the name it is written with, "" for none, in the order of writing. A label that is a word and no
// other node's is the name; another label is made a word, with a number if that is taken; a node without a label that others
// refer to has a number; one that nobody refers to has no name.
func nameNodes(g *ir.Graph, order []*ir.Node) []string {
	names := make([]string, g.Bound())
	used := make([]bool, g.Bound())
	taken := make(map[string]int, len(order)) // labels by how many nodes have them, then every name
	note := ir.ReferenceFields(func(ref *ir.NodeID) {
		if *ref >= 0 && int(*ref) < len(used) {
			used[*ref] = true
		}
	})
	for _, n := range order {
		if n.Label != "" {
			taken[n.Label]++
		}
		visit(n, note)
	}
	number := 0
	for _, n := range order {
		switch {
		case n.Label == "" && used[n.ID]:
			names[n.ID] = strconv.Itoa(number)
			number++
		case n.Label != "" && taken[n.Label] == 1 && isWord(n.Label):
			names[n.ID] = n.Label
		}
	}
	for _, n := range order {
		if n.Label != "" && names[n.ID] == "" {
			names[n.ID] = freeName(wordFrom(n.Label), taken)
		}
	}
	return names
}

// visit visits a node's body and tags.
func visit(n *ir.Node, f ir.Fields) {
	n.Body.Fields(f)
	for _, t := range n.Tags {
		t.Fields(f)
	}
}

// freeName gives the word, or the word with the lowest number behind it that makes it nobody's.
func freeName(word string, taken map[string]int) string {
	name := word
	for taken[name] > 0 {
		k := taken["\x00"+word] + 2
		taken["\x00"+word]++
		name = word + "_" + strconv.Itoa(k)
	}
	taken[name] = 1
	return name
}
