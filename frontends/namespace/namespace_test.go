package namespace

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
)

func find(t *testing.T, name string) Namespace {
	t.Helper()
	n, err := All().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Names find a dictionary and a version, or say what there is.
func TestFind(t *testing.T) {
	for name, want := range map[string]string{"onnx/7": "onnx/7", "onnx/ai.onnx.ml/3": "onnx/ai.onnx.ml/3", "amanda/tensorflow/1.13.1": "tensorflow/1.13.1",
		"loom": "loom/2024-01", "loom/2024-01": "loom/2024-01", "tapc/tensorops": Own, "onnx/ai.onnx.ml": "onnx/ai.onnx.ml/5"} {
		if n := find(t, name); n.String() != want {
			t.Errorf("%s: expected %s, found %v", name, want, n)
		}
	}
	for name, want := range map[string]string{"onnx/0": "has 1 to ", "onnx/x": "has no version x", "tensorflow/2.0": "has 1.13.1", "torch": "expected one of loom, onnx, ", "": "no dictionary"} {
		if _, err := All().Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: expected an error with %q, found %v", name, want, err)
		}
	}
}

// TestNames: the names that are known without reading dictionaries are those of all.
func TestNames(t *testing.T) {
	var want []string
	for _, d := range All() {
		want = append(want, d.Name)
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

// An operator is as the newest version up to the namespace's has it.
func TestVersions(t *testing.T) {
	for name, since := range map[string]int64{"onnx/8": 7, "onnx/9": 9, "onnx/12": 11, "onnx/13": 13, "onnx/28": 13} {
		if o := find(t, name).Op("Gemm"); o == nil || o.Since != since {
			t.Errorf("%s: expected Gemm since %d, found %v", name, since, o)
		}
	}
	if c := find(t, "onnx/10").Op("Gemm").In[2]; c.Optional {
		t.Error("Gemm's C is required before opset 11")
	}
	if c := find(t, "onnx/11").Op("Gemm").In[2]; !c.Optional {
		t.Error("Gemm's C is optional since opset 11")
	}
	if find(t, "onnx/19").Op("Gelu") != nil || find(t, "onnx/20").Op("Gelu") == nil {
		t.Error("Gelu is there since opset 20")
	}
	if find(t, "onnx/9").Op("Upsample") == nil || find(t, "onnx/10").Op("Upsample") != nil {
		t.Error("Upsample is gone since opset 10")
	}
}

// Every dictionary is written as it was read, operator by operator.
func TestPrintedAsRead(t *testing.T) {
	files := map[string]string{"onnx": "onnx", "onnx/ai.onnx.ml": "onnx_ml", "tensorflow": "tensorflow", "loom": "loom"}
	for name, file := range files {
		data, err := os.ReadFile("dict/" + file + ".ns")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		d := All().dictionary(name)
		for _, op := range sortedKeys(d.ops) {
			for _, o := range d.ops[op] {
				b.WriteString(o.String() + "\n")
			}
		}
		var want []string
		for _, line := range strings.Split(string(data), "\n") {
			head, _, _ := strings.Cut(line, " ")
			if line != "" && line[0] != '#' && !slices.Contains([]string{"namespace", "source", "versions", "releases", "prefixed"}, head) {
				want = append(want, line)
			}
		}
		got := strings.Split(strings.TrimSpace(b.String()), "\n")
		for i := range want {
			if name == "loom" {
				want[i] = strings.Replace(want[i], " (", " 0 (", 1)
			}
			if i >= len(got) || loose(got[i]) != loose(want[i]) {
				t.Fatalf("%s: expected\n%s\nfound\n%s", name, want[i], got[min(i, len(got)-1)])
			}
		}
	}
}

var number = regexp.MustCompile(`\b\d+(\.\d+)?(e[-+]?\d+)?\b`)

// loose leaves out what has several spellings: numbers, and characters of strings.
func loose(s string) string {
	s = number.ReplaceAllStringFunc(s, func(x string) string {
		f, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return x
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	})
	return strings.NewReplacer(`\u9`, `\t`, `\u0009`, `\t`).Replace(s)
}

// tapc's own dictionary is that of the kernels.
func TestKernels(t *testing.T) {
	n := find(t, Own)
	for _, name := range kernels.Builtin().Names() {
		o := n.Op("op:" + name)
		if o == nil || len(o.Out) == 0 {
			t.Errorf("%s is not in %v", name, n)
		}
	}
	if o := n.Op("matmul"); o.In[1].Name != "Y" || !slices.Contains(o.In[1].Aliases, "W") || len(o.Allowed("T")) < 10 {
		t.Errorf("matmul is %v", o)
	}
}

// Diff says what came, went and changed.
func TestDiff(t *testing.T) {
	list := Diff(find(t, "onnx/12"), find(t, "onnx/13"))
	i := slices.IndexFunc(list, func(c Change) bool { return c.Op == "Unsqueeze" })
	if i < 0 || !slices.Contains(list[i].How, "inputs (data: T) → (data: T, axes: int64)") || !slices.Contains(list[i].How, "attribute axes removed") {
		t.Errorf("Unsqueeze changed in opset 13, found %v", list)
	}
	if list := Diff(find(t, "onnx/13"), find(t, "onnx/13")); len(list) > 0 {
		t.Errorf("nothing changes from a version to itself, found %v", list)
	}
	list = Diff(find(t, "onnx/19"), find(t, "onnx/20"))
	if i := slices.IndexFunc(list, func(c Change) bool { return c.Op == "Gelu" }); i < 0 || list[i].What != "added" {
		t.Errorf("Gelu came with opset 20, found %v", list)
	}
}

// A body is a graph of operators that its namespace has.
func TestBodies(t *testing.T) {
	n := 0
	for _, d := range All() {
		for _, name := range sortedKeys(d.ops) {
			for _, o := range d.ops[name] {
				if o.Body == nil || o.Body.ByTypes {
					continue
				}
				n++
				g := *o.Body.Graph
				if list := All().Check(&g, nil); len(list) > 0 {
					t.Errorf("%s %d: %v", o.Name, o.Since, list)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("%d bodies, expected at least 30", n)
	}
}

func graphOf(ops ...*foreign.Op) *foreign.Graph {
	float := func(name string) foreign.Port { return foreign.Port{Name: name, DType: scalar.Float32} }
	return &foreign.Graph{File: "m", Namespace: "onnx", Versions: map[string]int64{"": 13}, Inputs: []foreign.Port{float("x"), float("y"),
		{Name: "i", DType: scalar.Int64}}, Consts: map[string]*foreign.Data{}, Ops: ops}
}

func op(typ string, in []string, attrs ...foreign.Attr) *foreign.Op {
	return &foreign.Op{Name: "n", Type: typ, In: in, Out: []string{"out"}, Attrs: attrs}
}

func list(values ...int64) foreign.Value { return foreign.IntsValue(values) }

// Each way in which an operator can not be as it is in the dictionary, and one nearby that is.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, code string
		bad, good  *foreign.Op
	}{
		{"an operator that comes later", CodeOp, op("Gelu", []string{"x"}), op("Relu", []string{"x"})},
		{"another case", CodeOp, op("relu", []string{"x"}), op("Relu", []string{"x"})},
		{"an operator that is gone", CodeOp, op("Upsample", []string{"x", "y"}), op("Resize", []string{"x", "y", "y"})},
		{"too few inputs", CodePorts, op("Add", []string{"x"}), op("Add", []string{"x", "y"})},
		{"too many inputs", CodePorts, op("Relu", []string{"x", "y"}), op("Relu", []string{"x"})},
		{"a required input left out", CodePorts, op("Gemm", []string{"x", "", "y"}), op("Gemm", []string{"x", "y", ""})},
		{"none of a variadic input", CodePorts, op("Max", nil), op("Max", []string{"x", "y", "x"})},
		{"an attribute that is none", CodeAttribute, op("Relu", []string{"x"}, foreign.Attr{Name: "alpha", Value: foreign.IntValue(1)}), op("Elu", []string{"x"}, foreign.Attr{Name: "alpha", Value: foreign.FloatValue(1)})},
		{"an attribute of another type", CodeAttribute, op("Transpose", []string{"x"}, foreign.Attr{Name: "perm", Value: foreign.StringValue("01")}), op("Transpose", []string{"x"}, foreign.Attr{Name: "perm", Value: list(1, 0)})},
		{"a missing attribute", CodeAttribute, op("Concat", []string{"x"}), op("Concat", []string{"x"}, foreign.Attr{Name: "axis", Value: foreign.IntValue(0)})},
		{"an element type", CodeTypes, op("Exp", []string{"i"}), op("Exp", []string{"x"})},
		{"two element types", CodeTypes, op("Add", []string{"x", "i"}), op("Gather", []string{"x", "i"})},
	} {
		found := All().Check(graphOf(c.bad), nil)
		if len(found) != 1 || found[0].Code != c.code || found[0].Expected == "" || found[0].Found == "" || found[0].Location.Node != "n" {
			t.Errorf("%s: expected one %s, found %v", c.name, c.code, found)
		}
		if found := All().Check(graphOf(c.good), nil); len(found) > 0 {
			t.Errorf("%s: the near one is as it should be, found %v", c.name, found)
		}
	}
}

// Element types go through the graph as far as the dictionaries tell them.
func TestTypesFlow(t *testing.T) {
	a := &foreign.Op{Name: "a", Type: "Shape", In: []string{"x"}, Out: []string{"s"}}
	b := &foreign.Op{Name: "b", Type: "Exp", In: []string{"s"}, Out: []string{"e"}}
	found := All().Check(graphOf(b, a), nil)
	if len(found) != 1 || found[0].Location.Node != "b" || found[0].Found != "int64" {
		t.Errorf("Shape gives int64, which Exp does not take, found %v", found)
	}
	inner := &foreign.Graph{Ops: []*foreign.Op{{Name: "c", Type: "Exp", In: []string{"i"}, Out: []string{"o"}}}, Outputs: []foreign.Port{{Name: "o"}}}
	branch := foreign.Value{Kind: foreign.GraphKind, Graph: inner}
	c := op("If", []string{"y"}, foreign.Attr{Name: "then_branch", Value: branch}, foreign.Attr{Name: "else_branch", Value: branch})
	if found := All().Check(graphOf(c), nil); len(found) != 3 {
		t.Errorf("the condition is not a boolean, and the branches take the exponential of an integer: found %v", found)
	}
	d := op("Relu", []string{"x"})
	d.Domain = "mine"
	if found := All().Check(graphOf(d), nil); len(found) != 1 || found.HasErrors() {
		t.Errorf("a domain without a dictionary is a warning, found %v", found)
	}
	if found := All().Check(graphOf(d), func(domain, _ string) bool { return domain == "mine" }); len(found) > 0 {
		t.Errorf("an operator of the file is not looked up, found %v", found)
	}
}

// Dictionaries that are not well formed are refused with their line.
func TestParseFaults(t *testing.T) {
	const head = "namespace n\nversions 1..9\n"
	for text, want := range map[string]string{
		"": "expected lines with namespace", "namespace n\nversions 3..1\n": "f:2", head + "A 1 (x: T) -> (y: T) T: @none;\n": "f:3", head + "A 1 (x T) -> ()\n": `expected ":"`,
		head + "A 1 () -> ()\nA 1 () -> ()\n": "there twice", head + "A 10 () -> ()\n": "after the last", head + "A -1 () -> ()\n": "expected \"(\"", "namespace n m\nversions 1..9\n": "expected a name",
		"namespace n\nreleases\n": "one or more releases", "namespace n\nreleases a b a\n": "each once", head + "A 1 () -> () {a: number}\n": "type of an attribute",
		head + "A 1 () -> () body 1\n  x = B(\n": "f:4", head + "A 1 () -> () {a: int = }\n": "expected a value", head + "  x = A()\n": "f:3",
		head + "A 1 () -> () T: " + strings.Repeat("seq(", 20) + ";\n": "nested deeper than 8", head + "A 1 () -> () {a: any = tensor(float32, [2], [1])}\n": "with 1 values",
	} {
		if _, err := Parse("f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: expected an error with %q, found %v", text, want, err)
		}
	}
}

// FuzzParse reads anything without a panic; what is read is printed and read as the same.
func FuzzParse(f *testing.F) {
	f.Add("namespace n/m\nreleases a b\nprefixed\nA (x: T) -> (y: T) T: @float;\nA 1 deprecated\n")
	f.Add("namespace n\nversions 1..9\nA 1 (x?: T, y*0 mixed: T) -> (z: int8) {a!: ints = [1, 2] of \"b\"} T: @int seq(string); is source body 3\n  z = B(x, _) {c: @a, d: graph(i) -> (o) [o = C(i)]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f", text)
		if err != nil {
			return
		}
		for _, name := range sortedKeys(d.ops) {
			for _, o := range d.ops[name] {
				if o.String() == "" {
					t.Fatal("an operator without text")
				}
			}
		}
		known, err := All().With(d)
		if err != nil {
			return
		}
		n, err := known.Find(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range n.Ops() {
			known.Check(&foreign.Graph{Namespace: d.Name, Versions: map[string]int64{"": d.Last}, Ops: []*foreign.Op{{Type: o.Name, In: []string{"x"}, Out: []string{"y"}}, {Type: "none" + o.Name}}}, nil)
		}
	})
}

// Ops in any order are sorted, producers first, and none is lost.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		ops := make([]*foreign.Op, n)
		for i := range ops {
			ops[i] = &foreign.Op{Out: []string{string(rune('a' + i))}}
			if i > 0 && rapid.Bool().Draw(t, "takes") {
				ops[i].In = []string{string(rune('a' + rapid.IntRange(0, i-1).Draw(t, "from")))}
			}
		}
		mixed := rapid.Permutation(ops).Draw(t, "mixed")
		there := map[string]bool{}
		for _, op := range Order(mixed) {
			for _, in := range op.In {
				if !there[in] {
					t.Fatalf("%s is used before it is there", in)
				}
			}
			there[op.Out[0]] = true
		}
		if len(there) != n {
			t.Fatalf("%d of %d operations are left", len(there), n)
		}
	})
}

// The dictionaries of ONNX are what the tool writes from the onnx package; without that package, or with another version of it, that can not be
// told.
func TestCurrent(t *testing.T) {
	python := os.Getenv("TAPC_ONNX_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", "import onnx; print(onnx.__version__)").Output()
	if err != nil {
		testkit.Need(t, testkit.ONNX, fmt.Errorf("no Python with the package onnx (TAPC_ONNX_PYTHON can name one): %w", err))
	}
	data, err := os.ReadFile("dict/onnx.ns")
	if err != nil {
		t.Fatal(err)
	}
	if version := strings.TrimSpace(string(out)); !strings.Contains(string(data), "onnx package "+version+";") && os.Getenv("TAPC_ONNX_PYTHON") == "" {
		testkit.Need(t, testkit.ONNX, fmt.Errorf("the onnx package that is there is of version %s, another than that of the dictionaries", version))
	}
	if out, err := exec.Command(python, "../../tools/onnx/namespace.py", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
