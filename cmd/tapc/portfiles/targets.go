package portfiles

import (
	"slices"
	"strings"

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
