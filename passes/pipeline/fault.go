package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
)

// passFault is what a pass did that no pass may do.
type passFault struct {
	by    string // name of the pass
	what  string
	found diag.List
	stack []byte
	// rewrite is the first that did it, if that is known.
	rewrite *Application
}

// Error says what the pass did.
func (f *passFault) Error() string { return f.what }

// blame gives the error for a fault that shows at a step. The graph before the step repeats it only if the step is guilty.
func (r *run) blame(ctx context.Context, s *Step, before *ir.Graph, fuelLeft int, f *passFault) error {
	if f.by == s.Pass.Name {
		if before == nil && r.reproduces() {
			before = r.again(ctx)
		}
		r.result.Graph = before
		return r.reproduce(s, before, fuelLeft, f)
	}
	head := diag.Errorf("", "", diag.Location{}, "pass %s or one before it %s; this is a fault of tapc or a plugin, not of the graph", f.by, f.what).
		WithHint("verification after each pass finds the guilty one and writes a file that repeats it")
	return &diag.StatusError{Status: diag.ExitInternal, Err: append(diag.List{head}, f.found...)}
}

// errReached ends a run before a certain pass.
var errReached = errors.New("reached")

// again gives the graph before the present pass by running those before it once more on the input, which costs nothing as
// long as nothing fails. It is nil if the passes do not do the same again.
func (r *run) again(ctx context.Context) *ir.Graph {
	input, err := r.input()
	if err != nil {
		return nil
	}
	quiet := &Runner{NoVerify: true, Disable: r.Disable, Fuel: r.Fuel, Dir: r.Dir}
	x := newRun(quiet, Pipeline{r.steps}, input)
	x.until = r.count
	if err := x.each(ctx, r.steps); !errors.Is(err, errReached) {
		return nil
	}
	return x.result.Graph
}

// reproduce writes a file that repeats the fault, and gives the error that tells of both.
func (r *run) reproduce(s *Step, before *ir.Graph, fuelLeft int, f *passFault) error {
	owner := "tapc"
	if s.Pass.Plugin != "" {
		owner = "plugin " + s.Pass.Plugin
	}
	status := diag.ExitInternal
	if f.rewrite != nil && s.Supplied(*f.rewrite) {
		owner, status = "your rule "+f.rewrite.Rule, diag.ExitInput
	}
	head := diag.Errorf("", "", diag.Location{}, "pass %s %s; this is a fault of %s, not of the graph", s.Pass.Name, f.what, owner)
	if f.rewrite != nil {
		head = head.WithNote(diag.Location{}, "the first rewrite that does: %v", f.rewrite)
	}
	switch name, err := r.writeReproducer(s, before, fuelLeft, f); {
	case err != nil:
		head = head.WithNote(diag.Location{}, "no reproducer could be written: %v", err)
	case name != "":
		head = head.WithNote(diag.Location{File: name}, "the graph before the pass and the command that repeats this").
			WithHint("tapc replay %s", quote(name))
	case f.stack != nil:
		head = head.WithNote(diag.Location{}, "%s", f.stack)
	}
	return &diag.StatusError{Status: status, Err: append(diag.List{head}, f.found...)}
}

// blamePlugin adds the file that repeats it to a plugin's fault, which says itself what happened. The graph is as it was before
// the pass: a plugin has a copy.
func (r *run) blamePlugin(s *Step, fuelLeft int, err error) error {
	list := diag.FromError(err)
	switch name, failed := r.writeReproducer(s, r.result.Graph, fuelLeft, &passFault{what: "failed", found: list}); {
	case failed != nil:
		list[0] = list[0].WithNote(diag.Location{}, "no reproducer could be written: %v", failed)
	case name != "":
		list[0] = list[0].WithNote(diag.Location{File: name}, "the graph before the pass and the command that repeats this")
		if list[0].Hint == "" {
			list[0] = list[0].WithHint("tapc replay %s", quote(name))
		}
	}
	return &diag.StatusError{Status: diag.ExitInternal, Err: list}
}

// replayLead begins the line of a reproducer that says which arguments of tapc repeat it, as a JSON list.
const replayLead = "// replay: "

// writeReproducer gives the name of the file, or "" if none is wanted.
func (r *run) writeReproducer(s *Step, before *ir.Graph, fuelLeft int, f *passFault) (string, error) {
	if !r.reproduces() {
		return "", nil
	}
	if before == nil {
		return "", errors.New("the passes before it did not give the same graph again")
	}
	name := filepath.Join(r.Reproducers.Dir, "tapc-reproducer-"+s.Pass.Name+".tap")
	carried, left := r.Reproducers.carry(s, name, &before)
	args := r.arguments(s, fuelLeft, carried)
	line, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// pass %s %s\n", s.Pass.Name, strings.ReplaceAll(f.what, "\n", " "))
	fmt.Fprintf(&b, "// command: tapc")
	for _, arg := range args {
		b.WriteString(" " + quote(arg))
	}
	shown := name
	if len(carried) > 0 { // the command is one for the folder of the reproducer
		shown = filepath.Base(name)
	}
	fmt.Fprintf(&b, " %s\n%s%s\n", quote(shown), replayLead, line)
	if left != nil {
		b.WriteString(comment("its files are not beside it: " + left.Error()))
	}
	for _, d := range f.found {
		b.WriteString(comment(d.Error()))
	}
	b.WriteString(comment(string(f.stack)))
	if err := text.Write(&b, before, text.Options{IDs: true, Provenance: true, GraphOrder: true}); err != nil {
		return "", err
	}
	return name, r.Files(name, b.Bytes())
}

// comment writes a text as lines of comment.
func comment(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "// " + strings.ReplaceAll(text, "\n", "\n// ") + "\n"
}

// carry puts the files that a step and a graph need beside a reproducer, and gives the names that they have there; nil if they stay where they are.
func (r *Reproducers) carry(s *Step, name string, g **ir.Graph) (map[string]string, error) {
	if r.Carry == nil {
		return nil, nil
	}
	paths := slices.Concat(Pipeline{Steps: []Step{*s}}.Paths(), r.Paths)
	changed := (*g).Clone()
	carried, err := r.Carry(name, changed, paths)
	if err == nil {
		*g = changed
	}
	return carried, err
}

// arguments gives the arguments of tapc that run one step as this run does, with the names of files that were carried.
func (r *run) arguments(s *Step, fuelLeft int, carried map[string]string) []string {
	own := *s
	own.Settings = slices.Clone(s.Settings)
	for i, x := range own.Settings {
		if to, ok := carried[x.Value]; ok {
			own.Settings[i].Value = to
		}
	}
	args := []string{"opt", "--passes=" + own.String()}
	if fuelLeft >= 0 {
		args = append(args, "--fuel="+strconv.Itoa(fuelLeft))
	}
	for _, name := range r.Disable {
		args = append(args, "--disable="+name)
	}
	if r.NoVerify {
		args = append(args, "--no-verify")
	}
	if r.Values != nil {
		args = append(args, "--check-values", "--seed="+strconv.FormatUint(r.Values.Seed, 10))
	}
	if r.Dir != "" && r.Dir != "." && carried == nil {
		args = append(args, "--data-dir="+r.Dir)
	}
	for _, flag := range r.Reproducers.Flags {
		name, path, _ := strings.Cut(flag, "=")
		if to, ok := carried[path]; ok {
			flag = name + "=" + to
		}
		args = append(args, flag)
	}
	return args
}

// ReplayArguments gives the arguments of tapc that a reproducer's head names; ok is false if the text has none.
func ReplayArguments(text []byte) (args []string, ok bool) {
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("//")) {
			return nil, false
		}
		if list, found := bytes.CutPrefix(line, []byte(replayLead)); found {
			return args, json.Unmarshal(list, &args) == nil && len(args) > 0
		}
	}
	return nil, false
}

// quote writes a word for a shell.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !isSafe(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isSafe(r rune) bool {
	return r < 128 && isAlnum(byte(r)) || strings.ContainsRune("-_./=,:@%+", r)
}
