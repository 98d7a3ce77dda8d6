// Package written_test holds what tapc writes in TensorFlow's vocabulary to TensorFlow itself.
package written_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/into"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/declared"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// tensor is a tensor as check.py reads it.
type tensor struct {
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Data  []byte  `json:"data"`
}

func tensorOf(t tensorfile.Tensor) tensor { return tensor{t.DType.String(), t.Shape, t.Data} }

// operator is an operator as check.py reads it; Value is that of a constant.
type operator struct {
	Type  string         `json:"type"`
	In    []string       `json:"in"`
	Out   []string       `json:"out"`
	Attrs map[string]any `json:"attrs"`
	Value *tensor        `json:"value,omitempty"`
}

// file is a case as check.py reads it.
type file struct {
	Ops     []operator        `json:"ops"`
	Inputs  map[string]tensor `json:"inputs"`
	Outputs map[string]tensor `json:"outputs"`
}

// written gives a case in TensorFlow's operators; nil for one that has none.
func written(t *testing.T, c *declared.Case) *file {
	t.Helper()
	n, err := namespace.All().Find("tensorflow/1.13.1")
	if err != nil {
		t.Fatal(err)
	}
	load := (&constants.Loader{}).Load
	fg, err := into.Graph(context.Background(), c.Graph, n, into.Options{Constants: load, Dictionaries: namespace.All()})
	if err != nil {
		return nil
	}
	want, err := (&reference.Evaluator{Library: kernels.Builtin(), Constants: load}).Evaluate(context.Background(), c.Graph, c.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	out := &file{Inputs: map[string]tensor{}, Outputs: map[string]tensor{}}
	for name, x := range c.Inputs {
		out.Inputs[name] = tensorOf(x)
	}
	for name, x := range want {
		out.Outputs[name] = tensorOf(x)
	}
	var later []operator
	for _, op := range fg.Ops {
		o := operator{Type: op.Type, In: op.In, Out: op.Out, Attrs: map[string]any{}}
		for _, a := range op.Attrs {
			if a.Value.Kind == foreign.DataKind {
				bytes, err := a.Value.Data.Read()
				if err != nil {
					t.Fatal(err)
				}
				o.Value = &tensor{a.Value.Data.DType.String(), a.Value.Data.Shape, bytes}
				continue
			}
			o.Attrs[a.Name] = plain(a.Value)
		}
		if op.Type == "Const" {
			out.Ops = append(out.Ops, o)
		} else {
			later = append(later, o)
		}
	}
	out.Ops = append(out.Ops, later...)
	return out
}

func plain(v foreign.Value) any {
	switch v.Kind {
	case foreign.Int:
		return v.Int
	case foreign.Float:
		return v.Float
	case foreign.String:
		return v.Str
	case foreign.Bool:
		return v.Int != 0
	case foreign.List:
		out := []any{}
		for _, x := range v.List {
			out = append(out, plain(x))
		}
		return out
	}
	return nil
}

// known are kernels whose values TensorFlow gives otherwise, with the reason.
var known = map[string]string{
	"arg_max":             "TensorFlow passes a NaN by",
	"arg_min":             "TensorFlow passes a NaN by",
	"cast":                "a float outside of the range of an integer becomes any value",
	"local_response_norm": "TensorFlow makes each sum of the last one, so that a NaN stays in it",
	"shift_left":          "TensorFlow does not say what a shift by all bits gives",
	"shift_right":         "TensorFlow does not say what a shift by all bits gives",
	"sort":                "TensorFlow does not say where a NaN belongs",
	"top_k":               "TensorFlow does not say where a NaN belongs",
}

// TestRuns runs every declared case, and random calls of each kernel, in TensorFlow where it is installed (TAPC_TENSORFLOW_PYTHON names a Python that has it).
func TestRuns(t *testing.T) {
	python := os.Getenv("TAPC_TENSORFLOW_PYTHON")
	if python == "" {
		t.Skip("no Python with TensorFlow (TAPC_TENSORFLOW_PYTHON can name one)")
	}
	dir := t.TempDir()
	cases, err := declared.Cases(kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kernels.Builtin().Names() {
		d, _ := kernels.Builtin().Find(name)
		h := fnv.New64a()
		fmt.Fprint(h, name)
		rnd := rand.New(rand.NewPCG(h.Sum64(), 17))
		for i, typ := range []scalar.DType{scalar.Float32, scalar.Float32, scalar.Int32, scalar.Bool} {
			if len(d.Types) > 0 && !d.Types[0].Allows(typ) {
				continue
			}
			c, err := declared.Random(rnd, name, d, typ)
			if err != nil {
				t.Fatal(err)
			}
			if c != nil {
				c.Name = fmt.Sprintf("%s/random%d", name, i)
				cases = append(cases, *c)
			}
		}
	}
	for _, c := range cases {
		f := written(t, &c)
		if f == nil {
			continue
		}
		text, err := json.Marshal(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(c.Name, "/", ".")+".json"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-W", "ignore", "check.py", dir).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	judge(t, string(out))
}

// judge reads what the script says of each case.
func judge(t *testing.T, report string) {
	lines := strings.Split(strings.TrimSpace(report), "\n")
	count := map[string]int{}
	for _, line := range lines[1:] {
		name, verdict, _ := strings.Cut(line, " ")
		word, reason, _ := strings.Cut(verdict, " ")
		count[word]++
		kernel, _, _ := strings.Cut(name, ".")
		switch {
		case word == "unrun":
			t.Logf("%s was not run: %s", name, reason)
		case word != "run" && known[kernel] == "":
			t.Errorf("%s: %s", name, verdict)
		}
	}
	t.Logf("%s: %v", lines[0], count)
	if count["run"] < 300 {
		t.Errorf("%d cases were run and have the values of the reference evaluator, expected 300 or more: %v", count["run"], count)
	}
}
