package blocks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/tools/blocks"
)

// leftOut are examples of docs/cli.md that are not run, by how they begin, and why.
var leftOut = map[string]string{
	"tapc calibrate": "it measures for a minute; lit-tests/cmd/tapc/machine.lit has what it checks",
	"tapc run model.tap --cc=aarch64-linux-gnu-gcc --runner": "it needs an emulator; lit-tests/cmd/aarch64.lit runs it where there is one",
	"tapc plugin new --lang=python":                          "cmd/tapc has its test",
	"cd my-pass && go test ./... && go build":                "plugins are built for a test of cmd/tapc, in minutes",
	"tapc plugin install":                                    "lit-tests/plugins/install.lit",
	"tapc plugin test":                                       "lit-tests/plugins/install.lit",
	"tapc plugin remove":                                     "lit-tests/plugins/install.lit",
}

// before are the commands that make what an example starts from, by a part of it.
var before = []struct{ part, commands string }{
	{"", `tapc translate --to=tap model.loom.json > model.tap
		echo '{"version": 1, "cuts": [{"target": "op:linear", "cut": "2x2"}]}' > plan.json && cp plan.json other.json && cp plan.json a.json && cp plan.json b.json
		tapc opt --passes=apply model.tap -o a.tap && cp a.tap b.tap`},
	{"/mine.yaml", "tapc machine laptop > mine.yaml"},
	{"filecheck", "echo '// CHECK: op:linear' >> model.tap"},
	{"--against=./older", "tapc build model.onnx -o older"},
	{"8xh100", `echo '{"version": 1, "mesh": [{"axis": "t", "size": 8}], "tensors": [{"tensor": "w", "dims": ["-", "-"]}]}' > plan.json && cp plan.json other.json`},
	{"inspect", "tapc build model.onnx -o model && tapc build model.onnx --emit=lib -o libmodel.so"},
	{"rebuild", "mkdir -p models && cp model.onnx models/ && tapc build model.onnx -o model"},
	{"mine.kernel", `printf 'kernel mine:cube\n  doc   The third power of each cell.\n  in    x: T [*s]\n  out   y: T [*s]\n  types T: float\n  let   y = x * x * x\n  case  x = [2] -> y = [8]\n' > mine.kernel`},
	{"tapc lit", "mkdir -p tests && printf 'RUN: tapc version\\n' > tests/fuse.lit"},
	{"tapc-reproducer-simplify.tap", `printf '// replay: ["opt","--passes=simplify"]\n' | cat - model.tap > tapc-reproducer-simplify.tap`},
	{"x=x.npy", `printf 'tapc 1\n%%x = tensor float32 [0:3]\n%%y = tensor float32 [0:3]\noperation op:neg (tensor: %%x) -> (result: %%y)\n' > neg.tap
		tapc translate neg.tap --to=loom > model.loom.json && tapc run neg.tap --random 1 --output y=x.npy`},
	{"profile.txt", "tapc build model.tap -o model && ./model --random 1 --bench 3 --profile > profile.txt"},
	{"frontier.json", "tapc plan model.tap --machine=laptop --rounds=1 --frontier=frontier.json"},
	{"cut.tap", "tapc opt --plan plan.json model.tap -o cut.tap"},
	{"--tuned", "tapc tune model.onnx --time-budget=1ms"},
}

// ends are what examples that may fail say: nothing fails in the graphs here, and there may be no GPU, or nothing to measure on it.
var ends = map[string]string{"--bisect": "nothing to find", "tapc reduce": "nothing to reduce", "tapc tune model.onnx --target=cuda": "[TAP092"}

// TestExamples runs the examples of docs/cli.md, which are those of --help, in a folder with files of the names that they have. Each starts from files of its own.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs every example")
	}
	testkit.Program(t, testkit.Compilers, "cc")
	ran = true
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks.Find(string(text))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := os.ReadFile("../../examples/linear-relu.loom.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TAPC_CACHE", t.TempDir())
	run := 0
	for _, b := range list {
		for line := range strings.Lines(b.Text) {
			if line = strings.TrimSpace(line); b.Language != "sh" || left(line) {
				continue
			}
			run++
			t.Run(line, func(t *testing.T) {
				if strings.Contains(line, "aarch64") {
					testkit.Program(t, testkit.AArch64, "aarch64-linux-gnu-gcc")
				}
				if _, err := calibrate.Caches(); err != nil && strings.Contains(line, "tune") { // tuned too
					t.Skip("the system does not say what caches it has")
				}
				p := &page{T: t, name: "docs/cli.md", dir: t.TempDir()}
				p.write(filepath.Join(p.dir, "model.loom.json"), graph)
				for _, name := range []string{"model.onnx", "old.onnx", "new.onnx"} {
					p.write(filepath.Join(p.dir, name), model(t, line))
				}
				p.example(line)
			})
		}
	}
	if run < 60 {
		t.Errorf("found %d examples", run)
	}
}

func left(line string) bool {
	for begin := range leftOut {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.Contains(line, "--against=onnxruntime") && os.Getenv("TAPC_PEERS_PYTHON") == ""
}

// model gives a model that an example can be of: with sizes that it names, or a convolution.
func model(t *testing.T, line string) []byte {
	text := `g (float[2, 8] x, float[8, 4] w, float[4] b) => (float[2, 4] y) { m = MatMul(x, w) y = Add(m, b) }`
	switch {
	case strings.Contains(line, "batch"):
		text = strings.ReplaceAll(text, "[2,", "[batch,")
	case strings.Contains(line, "op:conv"):
		text = `g (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[1, 4, 6, 6] y) { y = Conv(x, w) }`
	}
	m, err := onnxtest.Model("<ir_version: 8, opset_import: [\"\": 17]>\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// example runs a line behind what it starts from.
func (p *page) example(line string) {
	for _, x := range before {
		if strings.Contains(line, x.part) {
			if out, err := p.shell("set -e\n" + x.commands); err != nil {
				p.Fatalf("before %s: %v\n%s", line, err, out)
			}
		}
	}
	out, err := p.shell(line)
	for part, says := range ends {
		if strings.Contains(line, part) && strings.Contains(out, says) {
			err = nil
		}
	}
	if err != nil {
		p.Errorf("%s: %v\n%s", line, err, out)
	}
}
