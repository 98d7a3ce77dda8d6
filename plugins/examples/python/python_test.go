// Package python_test builds the plugin that is written in Python and holds it to the same kit as those in Go.
package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/installed"
	"tensortapestry.org/tapc/plugins/plugintest"
	"tensortapestry.org/tapc/tools/blocks"
)

func TestMain(m *testing.M) { plugintest.Main(m) }

// environment gives a virtual environment with the packages, from the cache of this machine or made now.
func environment(t *testing.T) string {
	t.Helper()
	python := testkit.Program(t, testkit.Python, "python3")
	cache, err := os.UserCacheDir()
	testkit.Need(t, testkit.Python, err)
	venv := filepath.Join(cache, "tapc", "plugin-python-1")
	if _, err := os.Stat(filepath.Join(venv, "ready")); err == nil {
		return venv
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{python, "-m", "venv", "--clear", venv},
		{filepath.Join(venv, "bin", "pip"), "-q", "--disable-pip-version-check", "install", "-r", "requirements.txt"},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			testkit.Need(t, testkit.Python, fmt.Errorf("Python's packages can not be installed: %w\n%s", err, out))
		}
	}
	if err := os.WriteFile(filepath.Join(venv, "ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return venv
}

// readme gives the lines of the README's commands.
func readme(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks.Find(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, b := range list {
		if b.Language != "sh" {
			t.Fatalf("%s:%d: nothing runs a block of %s", path, b.Line, b.Language)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(b.Text), "\n")...)
	}
	return lines
}

// build makes the plugin as README.md says, in a copy of what it names: the messages of the protocol, a script that runs under the environment's Python, and its
// manifest.
func build(t *testing.T) (string, host.Access) {
	t.Helper()
	venv := environment(t)
	top := t.TempDir()
	dir := filepath.Join(top, "plugins", "examples", "python")
	for _, pattern := range []string{"*.py", "../../proto/*.proto", "../../../ir/wire/*.proto"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := readme(t, "README.md")
	packages, err := os.ReadFile("requirements.txt")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%v, %q: expected a line that makes an environment and one that makes the messages", err, lines)
	}
	for _, name := range strings.Fields(lines[0][strings.LastIndex(lines[0], " install ")+len(" install "):]) {
		if !strings.Contains(string(packages), name+"==") {
			t.Errorf("README.md installs %s, which requirements.txt does not have", name)
		}
	}
	if err := os.Symlink(venv, filepath.Join(dir, "venv")); err != nil { // which the first line makes
		t.Fatal(err)
	}
	messages := exec.Command("sh", "-c", lines[1])
	messages.Dir = dir
	if out, err := messages.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python := filepath.Join(venv, "bin", "python")
	script := fmt.Sprintf("#!%s -B\nimport os, runpy, sys\ndirectory = os.path.dirname(os.environ['TAPC_PLUGIN_PATH'])\n"+
		"sys.path.insert(0, directory)\nrunpy.run_path(os.path.join(directory, 'linear_relu.py'), run_name='__main__')\n", python)
	path := filepath.Join(dir, "python-linear-relu")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	base, err := exec.Command(python, "-c", "import sys; print(sys.base_prefix, end='')").Output()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal(host.Access{Read: []string{dir, venv, string(base)}}) // where this Python keeps its library
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+installed.ManifestSuffix, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := installed.ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, access
}

func TestPython(t *testing.T) {
	path, access := build(t)
	t.Run("conformance", func(t *testing.T) {
		plugintest.RunProgram(t, conformance.Subject{Path: path, Access: access, Large: 3000})
	})
	t.Run("as in Go", func(t *testing.T) { compare(t, path, access) })
}

// compare holds the plugin's graphs against those of the same pass in Go, but for provenance, which the Go one adds.
func compare(t *testing.T, path string, access host.Access) {
	ctx := context.Background()
	python, err := host.Start(ctx, path, host.Options{Access: access})
	if err != nil {
		t.Fatal(err)
	}
	defer python.Close()
	inGo, err := host.Start(ctx, plugintest.Build(t, "../linear-relu"), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer inGo.Close()
	all, err := conformance.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	merged := 0
	for _, g := range append(all, conformance.Large(300)) {
		want, err := inGo.RunPass(ctx, "linear-relu", nil, g)
		if err != nil {
			t.Fatal(err)
		}
		got, err := python.RunPass(ctx, "python-linear-relu", nil, g)
		if err != nil {
			t.Fatal(err)
		}
		if diff := irtest.Diff(want.Graph, got.Graph); diff != "" {
			t.Errorf("%s (-Go +Python):\n%s", g.File, diff)
		}
		if !got.Unchanged {
			merged++
		}
		sane(t, got.Graph)
	}
	if merged < 2 {
		t.Errorf("only %d graphs were changed: nothing is compared", merged)
	}
}

// TestTemplate makes, builds and tries the plugin of "tapc plugin new --lang=python" by its README: the conformance kit, and its lit test.
func TestTemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds tapc")
	}
	python := filepath.Join(environment(t), "bin", "python")
	dir := t.TempDir()
	tapc, plugin := filepath.Join(dir, "tapc"), filepath.Join(dir, "my-pass")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	create := []string{tapc, "plugin", "new", "--lang=python", plugin}
	if strings.Contains(os.Getenv("GOFLAGS"), "-trimpath") { // such a program does not know where its source is
		create = append(create, "--tapc=../../..")
	}
	for _, args := range [][]string{{"go", "build", "-o", tapc, "../../../cmd/tapc"}, create} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	printed := ""
	for _, line := range readme(t, filepath.Join(plugin, "README.md")) {
		if command, rest, _ := strings.Cut(line, "#"); strings.TrimSpace(command) == "python3 build.py" {
			line = python + " build.py " + python + " #" + rest // with the environment that is there
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = plugin, append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		printed += string(out)
	}
	for _, part := range []string{"PASS: rename.lit", "operation op:relu"} {
		if !strings.Contains(printed, part) {
			t.Errorf("what the README says prints no %q:\n%s", part, printed)
		}
	}
	text, err := os.ReadFile(filepath.Join(plugin, "my_pass.py"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`{"builtins:relu": "op:relu"}`), []byte(`{"op:relu": "builtins:relu"}`), 1)
	if err := os.WriteFile(filepath.Join(plugin, "my_pass.py"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, tapc, "lit", plugin).CombinedOutput(); err == nil {
		t.Errorf("a pass that does something else passes its test:\n%s", out)
	}
}

func sane(t *testing.T, g *ir.Graph) {
	t.Helper()
	if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
		var b bytes.Buffer
		fmt.Fprintln(&b, found)
		t.Error(b.String())
	}
}
