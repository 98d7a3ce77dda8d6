// Package report packs what somebody needs to look into a fault: the command, the files that it takes with their weights replaced, what the command says
// then, and where that was. All of it is text but models and data, so whoever sends it can read it first.
//
// The command runs in the report's folder, on the files there, so what it says names no folder of the machine, and a reproducer that it
// writes is a part of the report. Read next: words.go, which takes the command apart; cmd/tapc/masked, which replaces weights.
package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Help is the text of --help.
const Help = `Pack a bug report about a command into a folder or, with -o NAME.zip, an archive:

  REPORT.md   what to read first: the command, what it said, what is packed and what
              is not, versions and the machine
  graph/      the graph, and the data that it names
  files/      other files that the command takes: inputs, rules, kernels, scripts
  said.txt    what the command said on these files
  tapc-reproducer-PASS.tap and .files   if a pass was at fault, the graph before it

Weights are random numbers of the same shapes and types, between the least and the
greatest of each tensor; tensors of up to 16 floats or 64 integers, such as scales and
shapes, stay. Texts for people and metadata of models are left out. The names of the home
folder, the user and the machine are replaced everywhere. Plugins and programs are not
packed. --weights=kept packs graphs and data as they are.

The command runs on the packed files (--no-run leaves that out), so the report shows
whether the fault is there without your weights; what it builds is dropped. A report on
tapc replay FILE is one on the command in the reproducer.`

// Weights are the values of --weights.
var Weights = []string{"random", "kept"}

// Job is one report.
type Job struct {
	Output  string
	Keep    bool // graphs and data as they are
	NoRun   bool
	Version string
	Words   *Words
	Graph   func(path string) (*Graph, error) // reads a graph file, without what it names
	hide    *hidden
}

// Said is how a command ended, and what it wrote.
type Said struct {
	Status   int
	Out, Err string
}

// Made is a report that was written.
type Made struct {
	Said  *Said  // nil if the command was not run
	Why   string // it was not
	Names int    // files with names that are hidden elsewhere
}

// Make writes the report.
func (j *Job) Make(ctx context.Context) (*Made, error) {
	j.Output = filepath.Clean(j.Output)
	zipped := strings.HasSuffix(j.Output, ".zip")
	if err := j.free(zipped); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(j.Output), ".tapc-")
	if err != nil {
		return nil, outputfile.Unfit(j.Output, err)
	}
	defer os.RemoveAll(dir)
	name := cmp.Or(strings.TrimSuffix(filepath.Base(j.Output), ".zip"), "report")
	folder := filepath.Join(dir, name)
	if err := os.Mkdir(folder, 0o777); err != nil {
		return nil, diag.Fault("%w", err)
	}
	m, err := j.fill(ctx, folder)
	switch {
	case err != nil:
		return nil, err
	case zipped:
		return m, outputfile.Replace(j.Output, 0o666, func(f *os.File) error { return pack(f, folder, name) })
	}
	if err := os.Rename(folder, j.Output); err != nil {
		return nil, outputfile.Unfit(j.Output, err)
	}
	return m, nil
}

// free is an error of the command line if the report can not have its name.
func (j *Job) free(zipped bool) error {
	if zipped {
		return outputfile.Check(j.Output)
	}
	if suffix := filepath.Ext(j.Output); slices.Contains([]string{".tar", ".gz", ".tgz", ".xz", ".7z"}, suffix) {
		return diag.Usage("-o %s: expected a new folder, or an archive NAME.zip, found one of another kind, %s", j.Output, suffix)
	}
	if _, err := os.Lstat(j.Output); err == nil {
		return diag.Usage("-o %s: it is there already, and a report is a new folder, or an archive NAME.zip", j.Output)
	}
	return nil
}

// fill makes the files of the report in a folder.
func (j *Job) fill(ctx context.Context, folder string) (*Made, error) {
	j.hide = newHidden(folder)
	f := &filing{job: j, folder: folder, placed: map[string]string{}}
	args, err := j.Words.place(f)
	if err != nil {
		return nil, err
	}
	m := &Made{Why: f.missing}
	if j.NoRun {
		m.Why = "--no-run was given"
	}
	if m.Why == "" {
		if m.Said, err = j.run(ctx, folder, args); err != nil {
			return nil, err
		}
	}
	if err := f.written(); err != nil {
		return nil, err
	}
	m.Names = len(f.named)
	return m, os.WriteFile(filepath.Join(folder, "REPORT.md"), []byte(j.hide.text(j.page(ctx, f, m, args))), 0o666)
}

// made is the folder of what the command makes, which is not packed.
const made = "made"

// run runs the command in the report's folder.
func (j *Job) run(ctx context.Context, folder string, args []string) (*Said, error) {
	out := filepath.Join(folder, made)
	if err := os.Mkdir(out, 0o777); err != nil {
		return nil, diag.Fault("%w", err)
	}
	defer os.RemoveAll(out)
	said, err := runSelf(ctx, folder, args)
	if err != nil {
		return nil, err
	}
	said.Out, said.Err = j.hide.text(cut(said.Out)), j.hide.text(cut(said.Err))
	text := "standard error:\n" + said.Err + "\nstandard output:\n" + said.Out
	return said, os.WriteFile(filepath.Join(folder, "said.txt"), []byte(text), 0o666)
}

// most is how much is kept of what a command says.
const most = 256 << 10

func cut(s string) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "\n(more was said)\n"
	}
	return s
}

// runSelf runs this program in a folder.
func runSelf(ctx context.Context, folder string, args []string) (*Said, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	var out, said bytes.Buffer
	cmd := childproc.Command(ctx, self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &said
	err = childproc.Run(ctx, cmd)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, diag.Fault("%w", err)
	}
	return &Said{Status: cmd.ProcessState.ExitCode(), Out: out.String(), Err: said.String()}, nil
}
