package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// substitutions is the list that is applied to RUN lines, first to last.
type substitutions struct {
	list     []Substitution
	features map[string]bool
	passes   int
}

// hiddenPercent stands for "%%" while other substitutions are made.
const hiddenPercent = "\x00"

// standard returns the built-in substitutions for a test whose temporary name is tmp.
func standard(source, tmp string) []Substitution {
	list := []Substitution{
		{"%{pathsep}", string(os.PathListSeparator)},
		{"%{fs-src-root}", filepath.VolumeName(source) + string(os.PathSeparator)},
		{"%{fs-tmp-root}", filepath.VolumeName(tmp) + string(os.PathSeparator)},
		{"%{fs-sep}", string(os.PathSeparator)},
		{"%basename_t", strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))},
		{"%errc_ENOENT", errnoText(syscall.ENOENT)},
		{"%errc_EISDIR", errnoText(syscall.EISDIR)},
		{"%errc_EINVAL", errnoText(syscall.EINVAL)},
		{"%errc_EACCES", errnoText(syscall.EACCES)},
		{"%exeext", map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]},
	}
	for _, path := range []struct{ name, value string }{
		{"s", source}, {"S", filepath.Dir(source)}, {"p", filepath.Dir(source)}, {"t", tmp}, {"T", filepath.Dir(tmp)},
	} {
		slashed, real := filepath.ToSlash(path.value), realPath(path.value)
		list = append(list,
			Substitution{"%{" + path.name + ":real}", real},
			Substitution{"%{/" + path.name + ":real}", filepath.ToSlash(real)},
			Substitution{"%/" + path.name, slashed},
			Substitution{"%{/" + path.name + "}", slashed},
			Substitution{"%:" + path.name, strings.ReplaceAll(slashed, ":", "")},
			Substitution{"%" + path.name, path.value})
	}
	return list
}

// errnoText is the platform's message, capitalized as C programs print it.
func errnoText(e syscall.Errno) string {
	text := e.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// realPath resolves symbolic links in the part of path that exists.
func realPath(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

var substitutionName = regexp.MustCompile(`^%\{[_a-zA-Z][-_:0-9a-zA-Z]*\}$`)

// define executes a DEFINE or REDEFINE line: "%{name} = value".
func (s *substitutions) define(l scriptLine) error {
	name, value, ok := strings.Cut(l.text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !substitutionName.MatchString(name) {
		return fmt.Errorf("line %d: %s needs %%{name} = value, found %q", l.line, l.keyword, l.text)
	}
	at, count := -1, 0
	for i, sub := range s.list {
		if strings.Contains(sub.From, name) {
			at = i
			count++
		}
	}
	switch {
	case l.keyword == "DEFINE:" && count > 0:
		return fmt.Errorf("line %d: %s is already defined; use REDEFINE to change it", l.line, name)
	case l.keyword == "DEFINE:":
		s.list = append([]Substitution{{name, value}}, s.list...)
	case count == 0:
		return fmt.Errorf("line %d: REDEFINE of %s, which is not defined", l.line, name)
	case count > 1 || s.list[at].From != name:
		return fmt.Errorf("line %d: REDEFINE of %s, which is part of another substitution", l.line, name)
	default:
		s.list[at].To = value
	}
	return nil
}

// maxExpanded bounds the length of a line after substitution.
const maxExpanded = 1 << 20

// apply expands a RUN line.
func (s *substitutions) apply(line string) (string, error) {
	out, err := s.once(line)
	for pass := 1; err == nil && s.passes > 0; pass++ {
		var again string
		if again, err = s.once(out); err != nil || again == out {
			break
		}
		if pass >= s.passes {
			return "", fmt.Errorf("substitutions in %q still change after %d passes", line, s.passes)
		}
		out = again
	}
	return strings.ReplaceAll(out, hiddenPercent, "%"), err
}

// once makes one pass over the substitutions.
func (s *substitutions) once(line string) (string, error) {
	hide := func(text string) string { return strings.ReplaceAll(text, "%%", hiddenPercent) }
	out, err := s.conditionals(hide(line))
	if err != nil {
		return "", err
	}
	for _, sub := range s.list {
		if out = strings.ReplaceAll(hide(out), sub.From, sub.To); len(out) > maxExpanded {
			return "", errors.New("line too long after substitution")
		}
	}
	return strings.TrimSpace(out), nil
}

// conditionals replaces "%if cond %{...%} %else %{...%}", which may be nested, by the branch that applies.
func (s *substitutions) conditionals(line string) (string, error) {
	if !strings.Contains(line, "%if ") {
		return line, nil
	}
	p := &ifParser{rest: line, features: s.features}
	return p.text(false)
}

type ifParser struct {
	rest     string
	features map[string]bool
	depth    int
}

// text expands up to the end, or up to "%}" if nested.
func (p *ifParser) text(nested bool) (string, error) {
	var out strings.Builder
	for p.rest != "" && !(nested && strings.HasPrefix(p.rest, "%}")) {
		if strings.HasPrefix(p.rest, "%if ") {
			branch, err := p.conditional()
			if err != nil {
				return "", err
			}
			out.WriteString(branch)
			continue
		}
		end := len(p.rest)
		for _, stop := range []string{"%if ", "%}"} {
			if i := strings.Index(p.rest[1:], stop); i >= 0 && (stop != "%}" || nested) {
				end = min(end, i+1)
			}
		}
		out.WriteString(p.rest[:end])
		p.rest = p.rest[end:]
	}
	return out.String(), nil
}

func (p *ifParser) conditional() (string, error) {
	if p.depth++; p.depth > 100 {
		return "", errors.New("%if nested too deeply")
	}
	defer func() { p.depth-- }()
	cond, rest, ok := strings.Cut(p.rest[len("%if "):], "%{")
	if !ok {
		return "", errors.New("'%{' is missing for %if substitution")
	}
	p.rest = rest
	value, err := evaluate(strings.TrimSpace(cond), p.features)
	if err != nil {
		return "", err
	}
	yes, err := p.branch("%if")
	if err != nil {
		return "", err
	}
	no := ""
	if after, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t"), "%else"); ok {
		if p.rest, ok = strings.CutPrefix(strings.TrimLeft(after, " \t"), "%{"); !ok {
			return "", errors.New("'%{' is missing for %else substitution")
		}
		if no, err = p.branch("%else"); err != nil {
			return "", err
		}
	}
	if value {
		return yes, nil
	}
	return no, nil
}

// branch expands the text up to the "%}" that it consumes.
func (p *ifParser) branch(of string) (string, error) {
	text, err := p.text(true)
	if err != nil {
		return "", err
	}
	var ok bool
	if p.rest, ok = strings.CutPrefix(p.rest, "%}"); !ok {
		return "", fmt.Errorf("'%%}' is missing for %s substitution", of)
	}
	return text, nil
}
