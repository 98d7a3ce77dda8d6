package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// evaluate computes the outputs with the reference evaluator.
func evaluate(ctx context.Context, a *app.App, c *compiling.Compilation, r *runFlags) error {
	if r.given("bench") {
		return diag.Usage("--bench needs a C compiler: the reference evaluator's speed means nothing")
	}
	p, err := tensorops.ProgramOf(c.Graph)
	if err != nil {
		return err
	}
	targets, all, err := portfiles.Targets(names(p.Outputs), r.outputs)
	if err != nil {
		return err
	}
	if err := reference.CheckMemory(c.Graph); err != nil {
		return err
	}
	in, err := inputs(c, p, r)
	if err != nil {
		return err
	}
	ev := reference.Evaluator{Library: a.Plugins.Library(), Constants: func(x tensorops.Const, _ *tensorops.Tensor) (tensorfile.Tensor, error) { return c.LoadConst(ctx, x) }}
	out, err := ev.Evaluate(ctx, c.Graph, in)
	if err != nil {
		return err
	}
	for i, o := range p.Outputs {
		path, key, err := portfiles.Target(p, i, targets, c.Loader)
		if err != nil {
			return err
		}
		if path != "" {
			if err := portfiles.Write(path, map[string]tensorfile.Tensor{key: out[o.Name]}); err != nil {
				return err
			}
		} else if len(targets) == 0 && len(all) == 0 {
			portfiles.Show(a.Stdout, o.Name, out[o.Name])
		}
	}
	for _, path := range all {
		if err := portfiles.Write(path, out); err != nil {
			return err
		}
	}
	return nil
}

func names(list []tensorops.Named) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.Name
	}
	return out
}

// inputs reads the inputs from the files of the command line, and makes the others at random where that is asked for.
func inputs(c *compiling.Compilation, p *tensorops.Program, r *runFlags) (map[string]tensorfile.Tensor, error) {
	in, limits := map[string]tensorfile.Tensor{}, p.Limits(c.Graph)
	given := map[string]bool{}
	for _, text := range r.inputs {
		name, path, ok := strings.Cut(text, "=")
		if !ok {
			name, path = "", text
		}
		if name != "" && !slices.ContainsFunc(p.Inputs, func(x tensorops.Named) bool { return x.Name == name }) {
			return nil, diag.Unknown("input", name, names(p.Inputs))
		}
		if given[name] {
			return nil, diag.Usage("--input %s is given twice", name)
		}
		given[name] = ok
		if err := readInputs(in, p, name, path); err != nil {
			return nil, err
		}
	}
	for i, x := range p.Inputs {
		if _, given := in[x.Name]; !given {
			if err := portfiles.Source(in, p, i, c.Graph, c.Loader); err != nil {
				return nil, err
			}
		}
		if given, ok := in[x.Name]; ok {
			given, err := given.As(tensorops.TensorOf(c.Graph, x.Tensor).Type())
			if err != nil {
				return nil, fmt.Errorf("input %q: %w", x.Name, err)
			}
			in[x.Name] = given
			continue
		}
		if !r.given("random") {
			return nil, diag.Usage("input %q is not given: use --input %s=FILE.npy or --random SEED", x.Name, x.Name)
		}
		t := tensorops.TensorOf(c.Graph, x.Tensor)
		n, err := t.Range.Size()
		if err != nil {
			return nil, err
		}
		in[x.Name] = tensorfile.Tensor{DType: t.Type(), Shape: t.Range.Shape(), Data: rt.RandomBelow(limits[x.Tensor], t.Type(), uint64(r.random), x.Name, n)}
	}
	return in, nil
}

// readInputs reads one named input from a file or, with no name, every input that the file has.
func readInputs(in map[string]tensorfile.Tensor, p *tensorops.Program, name, path string) error {
	path, key, hasKey := portfiles.CutKey(path)
	f, err := tensorfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if name == "" && len(p.Inputs) == 1 && len(f.Tensors()) == 1 {
		name, key, hasKey = p.Inputs[0].Name, f.Tensors()[0].Name, true
	}
	for _, x := range p.Inputs {
		if name != "" && x.Name != name {
			continue
		}
		from := x.Name
		if hasKey {
			from = key
		} else if name != "" && len(f.Tensors()) == 1 {
			from = f.Tensors()[0].Name
		}
		if name == "" {
			if _, err := f.Info(from); err != nil {
				continue
			}
		}
		if in[x.Name], err = f.Load(from); err != nil {
			return err
		}
	}
	return nil
}
