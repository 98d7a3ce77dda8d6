package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/rewrite"
)

// corpusCase is what case.json in a folder of a corpus says: how its graph.tap is built, and the files that a run reads and writes.
type corpusCase struct {
	Build   []string          `json:"build"`
	Inputs  map[string]string `json:"inputs"`
	Outputs map[string]string `json:"outputs"`
	Kernels []string          `json:"kernels"`
}

// writeCorpus writes a folder for every case that a kernel declares, and for every random graph of the seeds.
func (s *settings) writeCorpus(dir string) error {
	for _, name := range kernels.Builtin().Names() {
		d, _ := kernels.Builtin().Find(name)
		for i, c := range d.Cases {
			g, err := declared(d, c)
			if err == nil {
				err = g.write(filepath.Join(dir, fmt.Sprintf("%s-%d", name, i)))
			}
			if err != nil {
				return fmt.Errorf("%s, case %d: %w", name, i, err)
			}
		}
	}
	for n := range s.count {
		g, err := generate(s.seed+n, s.ops)
		if err == nil {
			err = g.write(filepath.Join(dir, fmt.Sprint(s.seed+n)))
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", s.seed+n, err)
		}
	}
	return nil
}

// declared is the graph of one case of a kernel's declaration.
func declared(d *declaration.Kernel, c declaration.Case) (*graph, error) {
	x, err := example.Of(d, c)
	if err != nil {
		return nil, err
	}
	g := &graph{}
	place := func(ports []infer.Port, values [][]byte) {
		for _, p := range ports {
			for i, sel := range p.Sel {
				box := sel.Sel.Range()
				t := tensor{box, tensorfile.Tensor{DType: sel.Type, Shape: box.Shape()}}
				if len(values) > 0 {
					t.data.Data, values = values[0], values[1:]
				}
				p.Sel[i].Sel = ir.Select(ir.NodeID(len(g.tensors)), box)
				g.tensors = append(g.tensors, t)
			}
		}
	}
	place(x.Call.Inputs, x.Inputs)
	place(x.Call.Outputs, nil)
	g.steps = []step{{decl: d, call: x.Call}}
	return g, nil
}

// write writes the graph, its inputs and case.json.
func (g *graph) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	x, in := g.build()
	chosen, picks := x.Clone(), map[ir.NodeID]int{}
	choose.First(chosen, picks)
	if _, err := choose.Run(context.Background(), chosen, picks, rewrite.Options{}); err != nil {
		return err
	}
	program, err := tensorops.ProgramOf(chosen) // which has no inputs that other branches alone read
	if err != nil {
		return err
	}
	c := corpusCase{Build: []string{}, Inputs: map[string]string{}, Outputs: map[string]string{}}
	if !g.simplify {
		c.Build = append(c.Build, "-O0")
	}
	for i, s := range g.steps {
		if s.shards != "" {
			c.Build = append(c.Build, fmt.Sprintf("--shard=op%d=%s", i, s.shards))
		}
		c.Kernels = append(c.Kernels, s.decl.Name)
	}
	slices.Sort(c.Kernels)
	c.Kernels = slices.Compact(c.Kernels)
	for _, i := range program.Inputs {
		path, err := writeTensor(dir, i.Name, in[i.Name])
		if err != nil {
			return err
		}
		c.Inputs[i.Name] = filepath.Base(path)
	}
	for _, o := range program.Outputs {
		c.Outputs[o.Name] = "out-" + o.Name + suffix(tensorops.TensorOf(x, o.Tensor).Type())
	}
	var graphText bytes.Buffer
	if err := text.Write(&graphText, x, text.Options{}); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "graph.tap"), graphText.Bytes(), 0o644); err != nil {
		return err
	}
	says, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "case.json"), append(says, '\n'), 0o644)
}
