// Package written_test holds the models that tapc writes to other programs: onnx.checker, and what runs models.
package written_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/into"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/mapping/declared"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/modelfile"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// written gives a case as a model, and what its outputs are; ok is false for one that has no operators.
func written(c declared.Case) (model []byte, want map[string]tensorfile.Tensor, ok bool, err error) {
	load := (&constants.Loader{}).Load
	n, err := namespace.All().Find("onnx/21")
	if err != nil {
		return nil, nil, false, err
	}
	fg, err := into.Graph(context.Background(), c.Graph, n, into.Options{Constants: load, Dictionaries: namespace.All()})
	if err != nil {
		return nil, nil, false, nil
	}
	var b bytes.Buffer
	if err := modelfile.Write(&b, fg, namespace.All()); err != nil {
		return nil, nil, false, err
	}
	e := &reference.Evaluator{Library: kernels.Builtin(), Constants: load}
	want, err = e.Evaluate(context.Background(), c.Graph, c.Inputs)
	return b.Bytes(), want, true, err
}

// TestReadBack reads every model that is written: it maps to the values that the case has, and equal graphs give equal bytes.
func TestReadBack(t *testing.T) {
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, c := range cases {
		model, want, ok, err := written(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if !ok {
			continue
		}
		read++
		if again, _, _, _ := written(c); !bytes.Equal(model, again) {
			t.Errorf("%s: written twice, the model has other bytes", c.Name)
		}
		m, err := onnx.Read(model, "written.onnx")
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		g, _, err := onnx.Import(context.Background(), m, onnx.Options{Unchecked: true})
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		// constants are in the file that was named, which is not there: they are loaded from what was read
		e := &reference.Evaluator{Library: kernels.Builtin(), Constants: func(k tensorops.Const, n *tensorops.Tensor) (tensorfile.Tensor, error) {
			if k.File == "" {
				return (&constants.Loader{}).Load(k, n)
			}
			count, err := n.Range.Size()
			return tensorfile.Tensor{DType: n.Type(), Shape: n.Range.Shape(), Data: model[k.Offset:][:count*int64(n.Type().Size())]}, err
		}}
		got, err := e.Evaluate(context.Background(), g, c.Inputs)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for name, x := range want {
			if y := got[name]; y.DType != x.DType || !bytes.Equal(x.Data, y.Data) {
				t.Errorf("%s: %s: expected %v, found %v", c.Name, name, x, y)
			}
		}
	}
	if read < 180 {
		t.Errorf("%d cases were written, expected 180 or more", read)
	}
}

// known are cases whose values another program gives otherwise, with the reason.
var known = map[string]string{
	"arg_max.1":     "ONNX Runtime passes a NaN by",
	"arg_min.1":     "ONNX Runtime passes a NaN by",
	"cast.0":        "a float outside of the range of an integer becomes any value",
	"log_softmax.0": "the evaluator of the onnx package takes the logarithm of 0",
	"log_sum_exp.1": "the evaluator of the onnx package subtracts an infinity from itself",
}

// TestRuns runs every model that is written in ONNX Runtime or, where it is not installed, in the evaluator of the onnx package.
func TestRuns(t *testing.T) {
	python := ""
	for _, p := range []string{os.Getenv("TAPC_PEERS_PYTHON"), os.Getenv("TAPC_ONNX_PYTHON"), "python3"} {
		if p != "" && exec.Command(p, "-c", "import onnx").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		testkit.Need(t, testkit.ONNX, errors.New("no Python with the package onnx (TAPC_ONNX_PYTHON can name one)"))
	}
	dir := t.TempDir()
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		model, want, ok, err := written(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if ok {
			store(t, filepath.Join(dir, strings.ReplaceAll(c.Name, "/", ".")), c, model, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-W", "ignore", "check.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	judge(t, string(out))
}

func store(t *testing.T, path string, c declared.Case, model []byte, want map[string]tensorfile.Tensor) {
	p, err := tensorops.ProgramOf(c.Graph)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{path + ".onnx": model}
	for i, x := range p.Inputs {
		files[fmt.Sprintf("%s.in.%d.pb", path, i)], err = onnx.WriteTensor(x.Name, c.Inputs[x.Name])
	}
	for i, x := range p.Outputs {
		if err == nil {
			files[fmt.Sprintf("%s.out.%d.pb", path, i)], err = onnx.WriteTensor(x.Name, want[x.Name])
		}
	}
	for name, data := range files {
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judge reads what the script says of each model.
func judge(t *testing.T, report string) {
	lines := strings.Split(strings.TrimSpace(report), "\n")
	count := map[string]int{}
	for _, line := range lines[1:] {
		name, verdict, _ := strings.Cut(line, " ")
		word, reason, _ := strings.Cut(verdict, " ")
		count[word]++
		switch {
		case word == "unrun":
			t.Logf("%s was not run: %s", name, reason)
		case word != "run" && known[name] == "":
			t.Errorf("%s: %s", name, verdict)
		}
	}
	t.Logf("%s: %v", lines[0], count)
	if count["run"] < 150 {
		t.Errorf("%d models were run and have the values of the reference evaluator, expected 150 or more: %v", count["run"], count)
	}
}
