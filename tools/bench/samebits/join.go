package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

// groups puts cases that are built alike together, at most so many in a group. Models stay alone.
func groups(cases []testCase, most int) [][]int {
	var all [][]int
	open := map[string]int{} // group by how its cases are built
	for i, c := range cases {
		if c.Inputs == nil || most < 2 {
			all = append(all, []int{i})
			continue
		}
		key := strings.Join(slices.DeleteFunc(slices.Clone(c.Build), isShard), " ")
		at, ok := open[key]
		if !ok || len(all[at]) == most {
			at, open[key] = len(all), len(all)
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

const shardFlag = "--shard="

func isShard(flag string) bool { return strings.HasPrefix(flag, shardFlag) }

// joined is what names of a case begin with in a graph that several have been joined to.
func joined(i int, name string) string { return fmt.Sprintf("g%d.%s", i, name) }

// join writes the disjoint union of cases that are built alike, as one case in dir, which is beside theirs.
func join(dir string, list []testCase) (testCase, error) {
	one := testCase{name: "joined", dir: dir, file: filepath.Join(dir, "graph.tap"), Inputs: map[string]string{}, Outputs: map[string]string{}}
	all := ir.New()
	for i, c := range list {
		g, err := readGraph(c.file)
		if err != nil {
			return one, err
		}
		ids := map[ir.NodeID]ir.NodeID{}
		for n := range g.Nodes() {
			ids[n.ID] = all.Add(ir.CloneBody(n.Body), joined(i, n.Label)).ID
		}
		for _, id := range ids {
			ir.EachReference(all.Node(id).Own(), func(ref *ir.NodeID) { *ref = ids[*ref] })
		}
		for _, flag := range c.Build {
			switch label, ok := strings.CutPrefix(flag, shardFlag); {
			case ok:
				one.Build = append(one.Build, shardFlag+joined(i, label))
			case i == 0:
				one.Build = append(one.Build, flag)
			}
		}
		for name, file := range c.Inputs {
			one.Inputs[joined(i, name)] = filepath.Join("..", filepath.Base(c.dir), file)
		}
		for name, file := range c.Outputs {
			one.Outputs[joined(i, name)] = joined(i, file)
		}
	}
	var says bytes.Buffer
	if err := text.Write(&says, all, text.Options{GraphOrder: true}); err != nil {
		return one, err
	}
	return one, os.WriteFile(one.file, says.Bytes(), 0o644)
}

func readGraph(file string) (*ir.Graph, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return text.Read(data, file, dialects.Registry())
}

// above gives the kernels that an output of a case is computed by, sorted: all of the case where its graph is no text.
func (c *testCase) above(output string) []string {
	g, err := readGraph(c.file)
	if err != nil {
		return c.Kernels
	}
	makers := map[ir.NodeID][]*tensorops.Operation{}
	var next []ir.NodeID
	for n := range g.Nodes() {
		if n.Label == output {
			next = append(next, n.ID)
		}
		if op := tensorops.OperationOf(g, n.ID); op != nil {
			op.Outputs.All(func(_, _ int, s *ir.Selection) { makers[s.Tensor] = append(makers[s.Tensor], op) })
		}
	}
	found := map[string]bool{}
	for seen := map[ir.NodeID]bool{}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, op := range makers[at] {
			found[strings.TrimPrefix(op.Kernel, "op:")] = true
			op.Inputs.All(func(_, _ int, s *ir.Selection) { next = append(next, s.Tensor) })
		}
	}
	return slices.Sorted(maps.Keys(found))
}
