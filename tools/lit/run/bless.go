package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"tensortapestry.org/tapc/tools/filecheck/check"
	"tensortapestry.org/tapc/tools/lit/shell"
)

// A line "BLESS: PREFIX" asks that the CHECK lines with that prefix right below it be written by lit -rewrite, from
// what filecheck was given. All other lines of the test, CHECK lines among them, stay as their author wrote them. On
// the rest of the line,
//
//	/start/ or /start/,/end/  take only the output's lines from the first that matches to the first behind it that
//	                          matches end, or to the last
//	label /start/             the first line becomes a LABEL
//	{{regex}}                 text that matches is written as {{regex}}, for what differs from run to run

// blessMark is a BLESS line: where it stands (from 0), what comes before the keyword and what behind.
type blessMark struct {
	line   int
	leader string
	text   string
}

// blessSpec is what a BLESS line says.
type blessSpec struct {
	prefix     string
	label      bool
	start, end *regexp.Regexp
	volatile   []volatile
}

// volatile is text to be replaced by a pattern.
type volatile struct {
	find    *regexp.Regexp
	written string
}

var blessLine = regexp.MustCompile(
	`^\s*([a-zA-Z][-\w]*)\s*(label\b)?\s*(?:/((?:[^/\\]|\\.)*)/(?:,/((?:[^/\\]|\\.)*)/)?)?\s*((?:\{\{.*?\}\}\s*)*)$`)

var blessRegex = regexp.MustCompile(`\{\{(.*?)\}\}`)

func (m blessMark) spec() (blessSpec, error) {
	g := blessLine.FindStringSubmatch(m.text)
	if g == nil {
		return blessSpec{}, fmt.Errorf("line %d: BLESS needs PREFIX [label] [/start/[,/end/]] [{{regex}}...], found %q",
			m.line+1, strings.TrimSpace(m.text))
	}
	s := blessSpec{prefix: g[1], label: g[2] != ""}
	var err error
	compile := func(expr string) *regexp.Regexp {
		if expr == "" || err != nil {
			return nil
		}
		var re *regexp.Regexp
		re, err = regexp.Compile(expr)
		return re
	}
	s.start, s.end = compile(g[3]), compile(g[4])
	for _, v := range blessRegex.FindAllStringSubmatch(g[5], -1) {
		s.volatile = append(s.volatile, volatile{compile(v[1]), v[0]})
	}
	if err != nil {
		return s, fmt.Errorf("line %d: BLESS: %w", m.line+1, err)
	}
	return s, nil
}

// blessing is the output that filecheck was given for a prefix.
type blessing struct {
	text   string
	strict bool // white space counts and lines are whole
	clash  bool // several outputs that differ
}

// tools returns the commands of the test. While blessing, filecheck only records its input.
func (e *execution) tools() map[string]shell.Tool {
	if e.captured == nil {
		return e.test.cfg.Tools
	}
	tools := maps.Clone(e.test.cfg.Tools)
	if tools == nil {
		tools = map[string]shell.Tool{}
	}
	for _, name := range []string{"filecheck", "FileCheck"} {
		tools[name] = shell.Tool{Run: e.record}
	}
	return tools
}

// record stands in for filecheck: it keeps the input of checks against the test itself and succeeds.
func (e *execution) record(_ context.Context, p *shell.Process) int {
	inv, err := check.Inspect(check.Command{Args: p.Args, Getenv: p.Getenv, Stderr: p.Stderr})
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 2
	}
	var input []byte
	if inv.InputFile == "-" {
		input, err = io.ReadAll(p.Stdin)
	} else {
		input, err = os.ReadFile(join(p.Dir, inv.InputFile))
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 2
	}
	if join(p.Dir, inv.CheckFile) != e.test.Path {
		return shell.FileCheck(withInput(p, input))
	}
	prefixes := inv.Options.Prefixes
	if len(prefixes) == 0 {
		prefixes = []string{"CHECK"}
	}
	text := strings.ReplaceAll(string(input), "\r\n", "\n")
	for _, prefix := range prefixes {
		old, again := e.captured[prefix]
		e.captured[prefix] = blessing{
			text:   text,
			strict: inv.Options.Rules.FullLines && inv.Options.Rules.StrictSpace,
			clash:  old.clash || again && old.text != text,
		}
	}
	return 0
}

func withInput(p *shell.Process, input []byte) *shell.Process {
	q := *p
	q.Stdin = bytes.NewReader(input)
	return &q
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// bless rewrites the test and runs it. It returns done false where nothing has to be changed.
func (e *execution) bless(text string) (r Result, done bool) {
	e.captured = map[string]blessing{}
	code := e.attempts()
	captured := e.captured
	e.captured = nil
	if code != Pass && code != FlakyPass {
		return Result{Code: code, Output: e.out.String()}, true
	}
	e.out.Reset()
	now, err := e.rewrite(text, captured)
	if err != nil {
		return Result{Code: Unresolved, Output: err.Error()}, true
	}
	if now == text {
		return Result{}, false
	}
	return e.install(text, now), true
}

// install writes the new text, runs the test and puts the old text back if it fails.
func (e *execution) install(old, now string) Result {
	info, err := os.Stat(e.test.Path)
	if err == nil {
		err = writeFile(e.test.Path, []byte(now), info.Mode().Perm())
	}
	if err != nil {
		return Result{Code: Unresolved, Output: err.Error()}
	}
	if e.script, err = parseScript(now); err != nil {
		return Result{Code: Unresolved, Output: err.Error()}
	}
	code := e.attempts()
	if code == Pass || code == FlakyPass {
		return Result{Code: code, Output: "CHECK lines were rewritten", Blessed: true}
	}
	e.out.WriteString("the test fails with its new CHECK lines, so the file was left as it was\n")
	if err := writeFile(e.test.Path, []byte(old), info.Mode().Perm()); err != nil {
		fmt.Fprintln(&e.out, err)
	}
	return Result{Code: code, Output: e.out.String()}
}

// rewrite returns text with its blessed blocks regenerated.
func (e *execution) rewrite(text string, captured map[string]blessing) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	for _, mark := range slices.Backward(e.script.bless) {
		spec, err := mark.spec()
		if err != nil {
			return "", err
		}
		output, ok := captured[spec.prefix]
		switch {
		case !ok:
			return "", fmt.Errorf("line %d: no RUN line checks this file with prefix %s", mark.line+1, spec.prefix)
		case output.clash:
			return "", fmt.Errorf("line %d: prefix %s is checked against outputs that differ", mark.line+1, spec.prefix)
		}
		spec.volatile = append(e.places(), spec.volatile...)
		block, err := spec.generate(mark, output)
		if err != nil {
			return "", err
		}
		end := mark.line + 1
		for end < len(lines) && mark.owns(spec.prefix, lines[end]) {
			end++
		}
		if !strings.HasSuffix(lines[mark.line], "\n") {
			lines[mark.line] += "\n"
		}
		lines = slices.Concat(lines[:mark.line+1], block, lines[end:])
	}
	return strings.Join(lines, ""), nil
}

// places returns the directories that are different on every machine.
func (e *execution) places() []volatile {
	tmp, dir := e.test.paths()
	paths := []string{tmp, dir, e.test.cfg.OutDir, filepath.Dir(e.test.Path)}
	sort.SliceStable(paths, func(i, j int) bool { return len(paths[i]) > len(paths[j]) })
	var out []volatile
	for _, p := range paths {
		if len(p) > 1 {
			out = append(out, volatile{regexp.MustCompile(regexp.QuoteMeta(p)), "{{.*}}"})
		}
	}
	return out
}

// owns tells whether a line is a directive of the block below the mark.
func (m blessMark) owns(prefix, line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), strings.TrimSpace(m.leader))
	if !ok {
		return false
	}
	if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), prefix); !ok {
		return false
	}
	return regexp.MustCompile(`^(-[A-Z]+(-\d+)?)?(\{LITERAL\})?:`).MatchString(rest)
}

// generate returns the directives for the part of the output that the specification selects.
func (s blessSpec) generate(m blessMark, output blessing) ([]string, error) {
	lines := strings.Split(strings.TrimSuffix(output.text, "\n"), "\n")
	if s.start != nil {
		at := slices.IndexFunc(lines, s.start.MatchString)
		if at < 0 {
			return nil, fmt.Errorf("line %d: no line of the output matches /%s/", m.line+1, s.start)
		}
		lines = lines[at:]
	}
	if s.end != nil {
		if at := slices.IndexFunc(lines[1:], s.end.MatchString); at >= 0 {
			lines = lines[:at+2]
		}
	}
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:] // no directive can ask for an empty line before the first match
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("line %d: there is no output to write CHECK lines for", m.line+1)
	}
	var out []string
	for i, line := range lines {
		directive := s.prefix
		switch {
		case i == 0 && s.label:
			directive += "-LABEL"
		case i > 0 && line == "":
			directive += "-EMPTY"
		case i > 0:
			directive += "-NEXT"
		}
		out = append(out, m.leader+directive+s.pattern(line, output.strict)+"\n")
	}
	return out, nil
}

// pattern returns what follows the name of the directive for a line.
func (s blessSpec) pattern(line string, strict bool) string {
	gap := " "
	if strict {
		gap = ""
	}
	if line == "" {
		return ":"
	}
	if !strict {
		line = strings.TrimRight(line, " \t\r")
	}
	if line == "" {
		return ": {{^[[:blank:]]*$}}"
	}
	parts := []string{line} // even ones are fixed text, odd ones patterns
	for _, v := range s.volatile {
		parts = v.split(parts)
	}
	if len(parts) == 1 {
		if strings.Contains(line, "{{") || strings.Contains(line, "[[") {
			return "{LITERAL}:" + gap + line
		}
		return ":" + gap + line
	}
	var out strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			part = escapeFixed(part, i+1 < len(parts))
		}
		out.WriteString(part)
	}
	return ":" + gap + out.String()
}

// split divides the fixed parts where v occurs in them.
func (v volatile) split(parts []string) []string {
	var out []string
	for i, part := range parts {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		from := 0
		for _, at := range v.find.FindAllStringIndex(part, -1) {
			if at[0] < at[1] {
				out = append(out, part[from:at[0]], v.written)
				from = at[1]
			}
		}
		out = append(out, part[from:])
	}
	return out
}

// escapeFixed writes text so that filecheck takes it literally beside patterns.
func escapeFixed(text string, beforePattern bool) string {
	text = strings.NewReplacer("{{", "{{[{][{]}}", "[[", "{{[[][[]}}").Replace(text)
	if head, ok := strings.CutSuffix(text, "{"); ok && beforePattern {
		text = head + "{{[{]}}"
	}
	return text
}
