// Package portfiles is how files of inputs and outputs are given to a program: names are those that programs have, and tensors as ONNX
// has them, which programs do not read, become files that they do.
package portfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Suffix is how files end that hold a tensor as ONNX has it. Programs do not read or write them: tapc does.
const Suffix = ".pb"

// Files are the files of a run's inputs and outputs as a program takes them.
type Files struct {
	Inputs, Outputs []string
	written         []protoOutput
}

// protoOutput is an output that the program writes to one file, and tapc to another.
type protoOutput struct{ name, from, to string }

// Convert makes files in dir for inputs that stand in ONNX tensors, and names files there for outputs that shall. Names of
// inputs and outputs are turned into those that programs have.
func Convert(dir string, inputs, outputs []string) (*Files, error) {
	f := &Files{}
	for i, text := range inputs {
		name, path, named := strings.Cut(text, "=")
		if !named {
			name, path = "", text
		}
		name = Name(name)
		if strings.HasSuffix(path, Suffix) {
			own, t, err := Read(path)
			if err != nil {
				return nil, err
			}
			if name == "" {
				name = Name(own)
			}
			if name == "" {
				return nil, diag.Usage("--input %s: the tensor has no name: use --input NAME=%s", text, text)
			}
			path = filepath.Join(dir, fmt.Sprintf("input%d.safetensors", i))
			if err := tensorfile.WriteSafetensors(path, map[string]tensorfile.Tensor{name: t}); err != nil {
				return nil, err
			}
		}
		f.Inputs = append(f.Inputs, joined(name, path))
	}
	for i, text := range outputs {
		name, path, named := strings.Cut(text, "=")
		if !named {
			name, path = "", text
		}
		name = Name(name)
		if strings.HasSuffix(path, Suffix) {
			if name == "" {
				return nil, diag.Usage("--output %s: expected NAME=FILE.pb, which holds one tensor", text)
			}
			from := filepath.Join(dir, fmt.Sprintf("output%d.safetensors", i))
			f.written = append(f.written, protoOutput{name, from, path})
			path = from
		}
		f.Outputs = append(f.Outputs, joined(name, path))
	}
	return f, nil
}

func joined(name, path string) string {
	if name == "" {
		return path
	}
	return name + "=" + path
}

// Name gives the name that a program has for an input or output of a graph: odd characters are replaced.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
}

// Finish writes the outputs that stand in ONNX tensors.
func (f *Files) Finish() error {
	for _, o := range f.written {
		file, err := tensorfile.Open(o.from)
		if err != nil {
			return err
		}
		t, err := file.Load(file.Tensors()[0].Name)
		file.Close()
		if err != nil {
			return err
		}
		data, err := onnx.WriteTensor(o.name, t)
		if err != nil {
			return err
		}
		if err := outputfile.Replace(o.to, 0o666, func(f *os.File) error { _, err := f.Write(data); return err }); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a tensor as ONNX has it, with its name.
func Read(path string) (string, tensorfile.Tensor, error) {
	data, err := inputfile.ReadText(path, inputfile.Any)
	if err != nil {
		return "", tensorfile.Tensor{}, err
	}
	name, t, err := onnx.ReadTensor(data)
	if err != nil {
		err = diag.Errorf(onnx.CodeFile, "parse", diag.Location{File: path}, "not a tensor as ONNX has it: %v", err)
	}
	return name, t, err
}
