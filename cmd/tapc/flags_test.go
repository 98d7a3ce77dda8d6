package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/testkit"
)

// eachFlag visits every flag of every command, with the words of the command.
func eachFlag(visit func(command []string, f *pflag.Flag)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.DisableFlagParsing {
			c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { visit(strings.Fields(c.CommandPath())[1:], f) })
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root(app.New(nil, nil, nil)))
}

// refused runs a command line, which has to be one that is refused in some words.
func refused(t *testing.T, args []string, says ...string) {
	t.Helper()
	status, _, stderr := tapc(t, "", args...)
	if status != 1 && status != 2 {
		t.Errorf("%q: status %d: %s", args, status, stderr)
	}
	for _, word := range says {
		if !strings.Contains(stderr, word) {
			t.Errorf("%q: expected %q in: %s", args, word, stderr)
		}
	}
}

// meaningful are flags of which the empty value means something.
var meaningful = []string{"reproducer-dir"}

// TestFlagsOfAllCommands gives every flag of every command an unknown, a doubled and a misspelt name, and no value. Flags are found where cobra has them, so that
// a new one is among them; one whose values are names and that says nothing of them is an error.
func TestFlagsOfAllCommands(t *testing.T) {
	example := map[string]string{"bool": "true", "int": "1", "int64": "1", "uint64": "1", "float64": "1", "duration": "1s"}
	visited := 0
	eachFlag(func(command []string, f *pflag.Flag) {
		visited++
		flag := func(text string) []string { return slices.Concat(command, []string{"--" + f.Name + "=" + text}) }
		kind, some := flagnames.Of(f)
		value, number := example[f.Value.Type()]
		switch {
		case number && kind == flagnames.Undeclared:
			refused(t, flag("zzqq"), "zzqq", "--"+f.Name)
		case kind == flagnames.Undeclared:
			t.Errorf("--%s of %q: its definition does not say what its values are: see cmd/tapc/flagnames", f.Name, command)
			return
		case kind == flagnames.Known:
			if value = "all"; f.Name != "tuned" {
				word := slices.MaxFunc(some, func(a, b string) int { return len(a) - len(b) })
				refused(t, flag(word+word[len(word)-1:]), "did you mean", word)
				value = word
			}
			if f.Name == "collective" {
				value += "=1 GB"
			}
			refused(t, flag("zzqq"), "zzqq", f.Name)
		default:
			value = "x=1"
		}
		refused(t, append(flag(value), "--"+f.Name+"="+value), "--"+f.Name, "is given twice")
		if !slices.Contains(meaningful, f.Name) {
			refused(t, flag(""), "--"+f.Name)
		}
		if kind == flagnames.Open && strings.HasSuffix(f.Value.Type(), "Array") {
			refused(t, append(flag(value), "--"+f.Name+"=x=2"), "--"+f.Name+" x is given twice")
		}
		if misspelt := f.Name + f.Name[len(f.Name)-1:]; len(f.Name) > 4 {
			refused(t, slices.Concat(command, []string{"--" + misspelt}), "unknown flag --"+misspelt+": did you mean --"+f.Name+"?")
		}
		refused(t, slices.Concat(command, []string{"--zzqqzzqqzzqq"}), "unknown flag --zzqqzzqqzzqq")
	})
	if visited < 400 {
		t.Errorf("found %d flags", visited)
	}
}

// open are values of flags whose names are checked when what has them is read: of each an unknown name and, where there are names to be near to, a
// misspelt one with what it is near to.
var open = map[string]struct {
	unknown        string
	misspelt, near string
}{
	"against":               {"zzqq", "onnxruntimee", "onnxruntime"},
	"alias":                 {"zzqq=logits", "tokenss=logits", "tokens"},
	"backend":               {"zzqq", "cpuu", "cpu"},
	"cc":                    {"zzqq-gcc", "", ""},
	"cpu":                   {"zzqq", "x86-64-v33", "x86-64-v3"},
	"device":                {"zzqq", "cpuu", "cpu"},
	"dim":                   {"zzqq=2", "lengthh=2", "length"},
	"disable":               {"zzqq", "simplifyy", "simplify"},
	"emit":                  {"zzqq", "schedulee", "schedule"},
	"input":                 {"zzqq=none.npy", "tokenss=none.npy", "tokens"},
	"known":                 {"zzqq=1", "tokenss=1", "tokens"},
	"name":                  {"zz qq", "", ""}, // no name of C
	"output":                {"zzqq=none.npy", "logitss=none.npy", "logits"},
	"passes":                {"zzqq", "simplifyy", "simplify"},
	"pick":                  {"zzqq", "kneee", "knee"},
	"print-ir-after":        {"zzqq", "simplifyy", "simplify"},
	"print-ir-after-change": {"zzqq", "simplifyy", "simplify"},
	"print-ir-before":       {"zzqq", "simplifyy", "simplify"},
	"shape":                 {"zzqq=2", "tokenss=2", "tokens"},
	"fuel":                  {"zzqq=1", "keeep=1", "keep"},
	"shard":                 {"zzqq=2x2", "op:matmull=2x2", "op:matmul"},
	"space":                 {"zzqq", "reducedd", "reduced"},
}

// TestNamesInFlagsOfAllCommands gives flags names that what is read does not have, of a model and of a graph of tapc's kernels.
func TestNamesInFlagsOfAllCommands(t *testing.T) {
	_, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	dir := t.TempDir()
	model, graph, out := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "graph.tap"), filepath.Join(dir, "out")
	text := onnxtest.Must(`<ir_version: 8, opset_import: ["": 17]>
net (float[length, 4] tokens, float[4, 2] weights) => (float[length, 2] logits) { logits = MatMul(tokens, weights) }`)
	if err := os.WriteFile(model, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := tapc(t, "", "translate", model, "--dim=length=2", "-o", graph); status != 0 {
		t.Fatal(stderr)
	}
	lines := map[string][]string{"build": {"-o", out}, "run": {"--random=1"}, "compare": {"--against=reference"}, "cost": {"--machine=laptop"}, "opt": {"--passes=simplify", "-o", out},
		"plan": {"--machine=laptop"}, "translate": {"--to=tap"}, "view": {"-o", out}, "explain": nil, "info": nil, "tune": nil, "unshard": nil, "verify": nil}
	ofModels := []string{"dim", "known", "shape"}
	eachFlag(func(command []string, f *pflag.Flag) {
		if kind, _ := flagnames.Of(f); kind != flagnames.Open {
			return
		}
		values, ok := open[f.Name]
		more, known := lines[command[0]]
		if !ok || !known {
			t.Errorf("--%s of %q: this test has no name for it, or no command line", f.Name, command)
			return
		}
		for _, file := range []string{model, graph} {
			args := []string{command[0], file}
			if command[0] == "explain" {
				args = []string{"explain", "kernel", file}
			}
			if file == model && f.Name != "dim" {
				args = append(args, "--dim=length=2")
			}
			for _, word := range more {
				if !strings.HasPrefix(word, "--"+f.Name+"=") {
					args = append(args, word)
				}
			}
			if file == graph && slices.Contains(ofModels, f.Name) {
				refused(t, append(args, "--"+f.Name+"="+values.unknown), "--"+f.Name, "is for models")
				continue
			}
			refused(t, append(args, "--"+f.Name+"="+values.unknown), "zz")
			if values.misspelt != "" {
				refused(t, append(args, "--"+f.Name+"="+values.misspelt), "did you mean", values.near)
			}
		}
	})
}
