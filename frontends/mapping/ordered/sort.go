package ordered

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
)

// Sort sorts the operations of a graph, producers and what happens before others first, in the order of the file where there is a choice. Two producers of a
// value and a cycle are errors.
func Sort(g *foreign.Graph) ([]*foreign.Op, error) {
	ops := g.Ops
	producer := make(map[string]int, len(ops))
	for i, op := range ops {
		for _, o := range op.Out {
			if o == "" {
				continue
			}
			if _, dup := producer[o]; dup {
				return nil, fmt.Errorf("value %q has two producers", o)
			}
			producer[o] = i
		}
	}
	for _, p := range g.Inputs {
		if _, dup := producer[p.Name]; dup {
			return nil, fmt.Errorf("input %q is also the result of an operation", p.Name)
		}
	}
	users := make([][]int, len(ops))
	wait := make([]int, len(ops))
	sorted := true
	number := numbers(ops)
	for i, op := range ops {
		for _, name := range Needs(op) {
			p, ok := producer[name]
			if sorted = sorted && (!ok || p < i); ok && (len(users[p]) == 0 || users[p][len(users[p])-1] != i) {
				users[p] = append(users[p], i)
				wait[i]++
			}
		}
	}
	for i, op := range ops {
		for _, x := range op.After {
			p := number[x]
			users[p], wait[i], sorted = append(users[p], i), wait[i]+1, sorted && p < i
		}
	}
	if sorted {
		return ops, nil
	}
	var ready intHeap
	for i := range ops {
		if wait[i] == 0 {
			heap.Push(&ready, i)
		}
	}
	out := make([]*foreign.Op, 0, len(ops))
	for len(ready) > 0 {
		i := heap.Pop(&ready).(int)
		out = append(out, ops[i])
		for _, u := range users[i] {
			if wait[u]--; wait[u] == 0 {
				heap.Push(&ready, u)
			}
		}
	}
	if len(out) < len(ops) {
		return nil, fmt.Errorf("operations wait for each other in a cycle: %s", strings.Join(cycle(ops, wait, producer), " → "))
	}
	return out, nil
}

// numbers gives the places of operations, where some happen before others.
func numbers(ops []*foreign.Op) map[*foreign.Op]int {
	if Asked(ops) == nil {
		return nil
	}
	at := make(map[*foreign.Op]int, len(ops))
	for i, op := range ops {
		at[op] = i
	}
	return at
}

// Needs lists the values that an operation takes, those that graphs in its attributes take from outside included.
func Needs(o *foreign.Op) []string {
	list := slices.Clip(o.In) // what is appended to it is a copy
	for _, a := range o.Attrs {
		if a.Value.Graph != nil {
			list = append(list, captures(a.Value.Graph)...)
		}
		for _, v := range a.Value.List {
			if v.Graph != nil {
				list = append(list, captures(v.Graph)...)
			}
		}
	}
	return list
}

// captures lists the values that a graph takes from outside, sorted.
func captures(g *foreign.Graph) []string {
	own := map[string]bool{"": true}
	for _, p := range g.Inputs {
		own[p.Name] = true
	}
	for name := range g.Consts {
		own[name] = true
	}
	for _, op := range g.Ops {
		for _, o := range op.Out {
			own[o] = true
		}
	}
	free := map[string]bool{}
	note := func(name string) {
		if !own[name] {
			free[name] = true
		}
	}
	for _, op := range g.Ops {
		for _, name := range Needs(op) {
			note(name)
		}
	}
	for _, p := range g.Outputs {
		note(p.Name)
	}
	var out []string
	for name := range free {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// cycle names the operations of one cycle among those that still wait.
func cycle(ops []*foreign.Op, wait []int, producer map[string]int) []string {
	at := 0
	for wait[at] == 0 {
		at++
	}
	place := map[int]int{}
	var path []int
	for {
		if start, ok := place[at]; ok {
			path = path[start:]
			break
		}
		place[at] = len(path)
		path = append(path, at)
		for _, name := range Needs(ops[at]) {
			if p, ok := producer[name]; ok && wait[p] > 0 {
				at = p
				break
			}
		}
	}
	var names []string
	for i := len(path) - 1; i >= 0; i-- {
		names = append(names, ops[path[i]].Title())
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return append(names, names[0])
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
