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
	labelled := 0
	for _, n := range order {
		if n.Label != "" {
			labelled++
		}
	}
	labels := make(map[string]int, labelled) // how many nodes have each
	note := ir.ReferenceFields(func(ref *ir.NodeID) {
		if *ref >= 0 && int(*ref) < len(used) {
			used[*ref] = true
		}
	})
	for _, n := range order {
		if n.Label != "" {
			labels[n.Label]++
		}
		visit(n, note)
	}
	number := 0
	for _, n := range order {
		switch {
		case n.Label == "" && used[n.ID]:
			names[n.ID] = strconv.Itoa(number)
			number++
		case n.Label != "" && labels[n.Label] == 1 && isWord(n.Label):
			names[n.ID] = n.Label
		}
	}
	free := &namer{labels: labels, taken: map[string]bool{}, next: map[string]int{}}
	for _, n := range order {
		if n.Label != "" && names[n.ID] == "" {
			names[n.ID] = free.name(wordFrom(n.Label))
		}
	}
	return names
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
