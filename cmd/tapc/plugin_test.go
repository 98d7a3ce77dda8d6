package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/tools/blocks"
)

// misbehaving builds the program of plugins/host that does the wrong thing which its name says, once, and links it.
var buildMisbehave = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tapc-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "misbehave")
	return path, exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "../../plugins/host/testdata/misbehave").Run()
})

func misbehaving(t *testing.T, name string) string {
	t.Helper()
	program, err := buildMisbehave()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(filepath.Join(filepath.Dir(program), name)) })
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFaultsOfPlugins runs passes of plugins that fail, as a user would.
func TestFaultsOfPlugins(t *testing.T) {
	t.Cleanup(func() {
		if program, err := buildMisbehave(); err == nil {
			os.RemoveAll(filepath.Dir(program))
		}
	})
	for _, x := range []struct{ name, flags, says string }{
		{"panics", "", "index out of tapestry"},
		{"exits", "", "it exited with status 4"},
		{"deaf", "--plugin-timeout=500ms", "it was stopped after 500ms"},
		{"allocates", "--plugin-memory=128", "of 128 MiB"},
		{"garbage", "", "can not be decoded"},
		{"bad-dtype", "", "the plugin's graph breaks a constraint of its dialect"},
		{"other-values", "--check-values", "pass pass: the plugin's graph computes other values"},
	} {
		t.Run(x.name, func(t *testing.T) {
			path, dir := misbehaving(t, x.name), t.TempDir()
			args := append([]string{"opt", "--plugin=" + path, "--passes=pass", "--reproducer-dir=" + dir, "-o", "-"}, strings.Fields(x.flags)...)
			status, out, errs := tapc(t, "", append(args, example)...)
			if status != 3 || out != "" || !strings.Contains(errs, x.says) || !strings.Contains(errs, "plugin misbehave") {
				t.Errorf("status %d, output %q, standard error\n%s", status, out, errs)
			}
			if n := strings.Count("\n"+errs, "\ntapc: error: "); n != 1 {
				t.Errorf("%d errors and not one:\n%s", n, errs)
			}
			text, err := os.ReadFile(filepath.Join(dir, "tapc-reproducer-pass.tap"))
			if err != nil || !strings.Contains(string(text), `"--plugin=`+path+`"`) || !strings.Contains(string(text), "op:relu") {
				t.Errorf("the reproducer: %v\n%.600s", err, text)
			}
		})
	}
}

// TestPluginNew makes a plugin, runs what its README says, changes the one line that it names, and uses the plugin.
func TestPluginNew(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	dir := filepath.Join(t.TempDir(), "my-pass")
	if status, out, errs := tapc(t, "", "plugin", "new", "--tapc=../..", dir); status != 0 || !strings.Contains(out, "go build") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	program := filepath.Join(t.TempDir(), "tapc")
	if out, err := command(t, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	readme(t, dir, program)
	main := filepath.Join(dir, "main.go")
	text, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), `map[string]string{"builtins:relu": "op:relu"}`, `map[string]string{"op:relu": "tapc:relu"}`, 1)
	if edited == string(text) {
		t.Fatal("the line to edit is not there")
	}
	if err := os.WriteFile(main, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"build"}} {
		cmd := command(t, "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	status, out, errs := tapc(t, "", "opt", "--plugin="+filepath.Join(dir, "my-pass"), "--passes=my-pass", example)
	if status != 0 || !strings.Contains(out, "operation tapc:relu") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if status, _, errs := tapc(t, "", "plugin", "new", "--lang=rust", filepath.Join(t.TempDir(), "my-pass")); status != 2 || !strings.Contains(errs, "python") {
		t.Errorf("an unknown language gives status %d: %s", status, errs)
	}
	if status, _, _ := tapc(t, "", "plugin", "new", dir); status != 2 {
		t.Errorf("a directory that is there gives status %d", status)
	}
	if status, _, _ := tapc(t, "", "plugin", "new", filepath.Join(t.TempDir(), "My_Pass")); status != 2 {
		t.Errorf("a malformed name gives status %d", status)
	}
}

// readme does what the README of a plugin says.
func readme(t *testing.T, dir, program string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks.Find(string(text))
	if err != nil {
		t.Fatal(err)
	}
	printed := ""
	for _, b := range list {
		if b.File != "" {
			if err := os.WriteFile(filepath.Join(dir, b.File), []byte(b.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		cmd := command(t, "sh", "-ec", b.Text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("README.md:%d: %v\n%s", b.Line, err, out)
		}
		printed += string(out)
	}
	for _, part := range []string{"ok", "PASS: rename.lit", "operation op:relu"} {
		if !strings.Contains(printed, part) {
			t.Errorf("what the README says prints no %q:\n%s", part, printed)
		}
	}
}

// The kernels of a plugin are in the namespace of its name.
func TestPluginNamespace(t *testing.T) {
	text := func(name string) string {
		return "kernel " + name + "\n  doc   Itself.\n  in    tensor: T [*s]\n  out   result: T [*s]\n  types T: numeric\n  let   result = tensor\n"
	}
	for name, want := range map[string]string{
		"my-texts:relu": "",
		"relu2":         `expected the name my-texts:relu2, found "relu2"`,
		"texts:relu2":   `expected the name my-texts:relu2, found "texts:relu2"`,
		"tapc:relu2":    `expected the name my-texts:relu2, found "tapc:relu2"`,
	} {
		about := &host.Description{Name: "my-texts", Version: "1.0.0", Texts: host.Texts{Kernels: []plugins.Text{{Name: "powers", Doc: "Powers.", Text: text(name)}}}}
		lib, err := host.Library(about, kernels.Builtin())
		var fault *host.Fault
		switch {
		case want != "":
			if !errors.As(err, &fault) || fault.Kind != host.BadDescription || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if d, ok := lib.Find(name); !ok || d.Name != name {
				t.Errorf("%s is not there", name)
			}
		}
	}
}

// TestWhatPluginsDeclare uses rules and kernels of a plugin, which need no process.
func TestWhatPluginsDeclare(t *testing.T) {
	about := &host.Description{Name: "texts", Version: "1.0.0",
		Texts: host.Texts{Kernels: []plugins.Text{{Name: "cubes", Doc: "Powers.", Text: "kernel texts:cube\n  doc   The third power of each cell.\n  in    tensor: T [*s]\n" +
			"  out   result: T [*s]\n  types T: numeric\n  let   result = tensor * tensor * tensor\n"}},
			Rules: []plugins.Text{{Name: "cube-up", Doc: "Find cubes.", Text: "rule to-cube: mul(x, x, x) => \"texts:cube\"(x) because \"x * x * x is the cube\"\n"}}}}
	a := app.New(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	open := func(context.Context) (*host.Plugin, error) {
		t.Error("a process was wanted")
		return nil, os.ErrInvalid
	}
	if err := a.Plugins.Provide([]app.Usable{{About: about, Open: open}}, a.Report); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Plugins.Library().Find("texts:cube"); !ok {
		t.Error("the kernel is not in the library")
	}
	if _, ok := kernels.Builtin().Find("texts:cube"); ok {
		t.Error("tapc's own library was changed")
	}
	p, err := compiling.ParsePasses(a, "cube-up")
	if err != nil {
		t.Fatal(err)
	}
	g, err := graphfiles.Load(t.Context(), a, write(t, "cubes.tap", "tapc 1\n%x = tensor int32 [0:4]\n%z = tensor int32 [0:4]\n%m = operation op:mul (tensors: [%x, %x, %x]) -> (result: %z)\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := &compiling.PassFlags{App: a, Values: true, Fuel: -1}
	result, err := f.Runner(context.Background(), p, g).Run(context.Background(), p, g)
	if err != nil {
		t.Fatal(err)
	}
	if result.Applied != 1 {
		t.Errorf("%d rewrites and not one", result.Applied)
	}
}
