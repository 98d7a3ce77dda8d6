package portfiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Write writes tensors in the form that a file's name tells.
func Write(path string, tensors map[string]tensorfile.Tensor) error {
	switch {
	case strings.HasSuffix(path, ".npz"):
		return tensorfile.WriteNPZ(path, tensors)
	case strings.HasSuffix(path, ".safetensors"):
		return tensorfile.WriteSafetensors(path, tensors)
	case !strings.HasSuffix(path, ".npy") || len(tensors) != 1:
		return diag.Usage("--output %s: expected a file that ends in .npz or .safetensors, or with one output .npy", path)
	}
	for _, t := range tensors {
		return tensorfile.WriteNPY(path, t)
	}
	return nil
}

// Targets reads the values of --output, NAME=FILE or FILE: the files of single outputs by name, and those of all outputs. An output that the
// program does not have, or one that is given twice, is an error of usage.
func Targets(outputs, flags []string) (targets map[string]string, all []string, err error) {
	targets = map[string]string{}
	for _, text := range flags {
		name, path, ok := strings.Cut(text, "=")
		if !ok {
			all = append(all, text)
			continue
		}
		if path == "" {
			return nil, nil, diag.Usage("--output %q: expected NAME=FILE", text)
		}
		if !slices.Contains(outputs, name) {
			return nil, nil, diag.Unknown("output", name, outputs)
		}
		if targets[name] != "" {
			return nil, nil, diag.Usage("--output %s is given twice", name)
		}
		targets[name] = path
	}
	return targets, all, nil
}

// CutKey splits FILE.npz:KEY and FILE.safetensors:KEY; ok is false for a file without a key.
func CutKey(path string) (file, key string, ok bool) {
	for _, suffix := range []string{".npz:", ".safetensors:"} {
		if i := strings.LastIndex(path, suffix); i >= 0 {
			return path[:i+len(suffix)-1], path[i+len(suffix):], true
		}
	}
	return path, "", false
}

// Target gives the file that an output goes to and the key that it has there: the one that the command line names for it or else the one that the
// graph does; "" for none.
func Target(p *tensorops.Program, output int, targets map[string]string, l *constants.Loader) (path, key string, err error) {
	name := p.Outputs[output].Name
	if path = targets[name]; path != "" {
		return path, name, nil
	}
	r, ok := p.Sinks[output]
	if !ok {
		return "", "", nil
	}
	path, err = l.Path(r.File)
	return path, cmp.Or(r.Key, name), err
}

// Source reads an input that the graph names a file for.
func Source(in map[string]tensorfile.Tensor, p *tensorops.Program, input int, g *ir.Graph, l *constants.Loader) error {
	r, ok := p.Sources[input]
	if !ok {
		return nil
	}
	x := p.Inputs[input]
	t, err := l.Source(r, x.Name, tensorops.TensorOf(g, x.Tensor))
	if err != nil {
		return fmt.Errorf("input %q: %w", x.Name, err)
	}
	in[x.Name] = t
	return nil
}

// Named gives what a program is told of the files that its graph names, and where those lie that a run writes because of that, in order.
func Named(g *ir.Graph, l *constants.Loader) (args, written []string, err error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Sources)+len(p.Sinks) > 0 && l.Dir != "" {
		args = []string{"--data-dir", l.Dir}
	}
	for i := range p.Outputs {
		path, _, err := Target(p, i, nil, l)
		if err != nil {
			return nil, nil, err
		}
		if path != "" {
			written = append(written, path)
		}
	}
	return args, written, nil
}
