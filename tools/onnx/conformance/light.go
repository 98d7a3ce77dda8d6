package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// storedSuffix is how the files with the outputs of a light model end.
const storedSuffix = "_output_0.pb"

// FindLight lists the models in a folder that have their output beside them, NAME.onnx with NAME_output_0.pb.
func FindLight(dir string) ([]string, error) {
	stored, err := filepath.Glob(filepath.Join(dir, "*"+storedSuffix))
	for i, path := range stored {
		stored[i] = strings.TrimSuffix(path, storedSuffix) + ".onnx"
	}
	return stored, err
}

// lightTest runs a light model on the suite's input, n numbers from 0 to 1 - 1/n, and compares its first output.
func (r *Result) lightTest(ctx context.Context, file string, o Options) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return err
	}
	stored, err := os.ReadFile(strings.TrimSuffix(file, ".onnx") + storedSuffix)
	if err != nil {
		return err
	}
	_, want, err := onnx.ReadTensor(stored)
	if err != nil {
		return err
	}
	in := map[string]tensorfile.Tensor{}
	for _, p := range m.Graph.Inputs {
		if m.Graph.Consts[p.Name] != nil {
			continue
		}
		if p.DType != scalar.Float32 {
			return fmt.Errorf("input %q is %v, expected float32", p.Name, p.DType)
		}
		t := tensorfile.Tensor{DType: p.DType}
		n := 1
		for _, s := range p.Shape {
			t.Shape = append(t.Shape, max(s.Value, 1))
			n *= int(max(s.Value, 1))
		}
		for i := range n {
			t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(float64(i)/float64(n))))
		}
		in[p.Name] = t
	}
	g, status, err := importWith(ctx, o.Library, m, in, true)
	if err != nil {
		r.refuse(err)
		return nil
	}
	loader := &constants.Loader{Dir: filepath.Dir(file)}
	defer loader.Close()
	got, err := o.Run(ctx, g, loader, in)
	if err != nil {
		return err
	}
	if len(m.Graph.Outputs) == 0 {
		return errors.New("the model has no output")
	}
	return r.judge(filepath.Dir(file), m, status, map[string]tensorfile.Tensor{m.Graph.Outputs[0].Name: want}, got)
}
