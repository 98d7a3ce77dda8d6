package masked

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// File writes a tensor file again with masked tensors: .npy, .npz, .safetensors, or .pb with one tensor as ONNX has it.
func File(from, to string) error {
	if strings.HasSuffix(from, ".pb") {
		return proto(from, to)
	}
	f, err := tensorfile.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	tensors := map[string]tensorfile.Tensor{}
	for _, x := range f.Tensors() {
		t, err := f.Load(x.Name)
		if err != nil {
			return err
		}
		tensors[x.Name] = Tensor(t)
	}
	if one, ok := tensors[""]; ok && len(tensors) == 1 {
		return tensorfile.WriteNPY(to, one)
	}
	if filepath.Ext(from) == ".npz" {
		return tensorfile.WriteNPZ(to, tensors)
	}
	return tensorfile.WriteSafetensors(to, tensors)
}

func proto(from, to string) error {
	data, err := inputfile.ReadText(from, 1<<31)
	if err != nil {
		return err
	}
	name, t, err := onnx.ReadTensor(data)
	if err == nil {
		data, err = onnx.WriteTensor(name, Tensor(t))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, data, 0o666)
}

// bytes is how many bytes a part has; false for a type or shape that is none, or one that is beyond a size.
func (p Part) bytes(most int64) (int64, bool) {
	n := int64(p.DType.Size())
	for _, d := range p.Shape {
		if d < 0 || n > 0 && d > most/n {
			return 0, false
		}
		n *= d
	}
	return n, p.DType != scalar.Invalid && n <= most
}

// mask gives other bytes for those of a part; zeros where they do not make a tensor.
func (p Part) mask(data []byte) []byte {
	if n, ok := p.bytes(int64(len(data))); !ok || n != int64(len(data)) {
		return make([]byte, len(data))
	}
	return Tensor(tensorfile.Tensor{DType: p.DType, Shape: p.Shape, Data: data}).Data
}

// Parts writes a file again of which the parts are known: these are masked, and all else is 0.
func Parts(from, to string, parts []Part) error {
	in, err := inputfile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return diag.Fault("%w", err)
	}
	out, err := os.Create(to)
	if err != nil {
		return diag.Fault("%w", err)
	}
	defer out.Close()
	if err := out.Truncate(info.Size()); err != nil {
		return diag.Fault("%w", err)
	}
	for _, p := range slices.Backward(parts) { // the first of two that are the same place is the last word
		if p.Offset < 0 || p.Offset > info.Size() {
			continue
		}
		n, ok := p.bytes(info.Size() - p.Offset)
		if !ok {
			continue
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(io.NewSectionReader(in, p.Offset, n), data); err != nil {
			return diag.Fault("%s: %w", from, err)
		}
		if _, err := out.WriteAt(p.mask(data), p.Offset); err != nil {
			return diag.Fault("%w", err)
		}
	}
	return out.Close()
}
