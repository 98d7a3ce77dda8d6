package report

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
)

// hidden replaces what a report does not say: folders, and the names of the user and the machine.
type hidden struct {
	folders []folder
	names   *regexp.Regexp
	other   map[string]string // what names become
}

// folder is a folder's name, with what is behind it, and what becomes of it.
type folder struct {
	pattern *regexp.Regexp
	as      string
}

var temporary = regexp.MustCompile(`(?:[^\s"'=:,]*/)?\.?tapc-[0-9]{5,}\b`)

// newHidden finds out the names. The report is in a folder.
func newHidden(folder string) *hidden {
	h := &hidden{other: map[string]string{}}
	home, _ := os.UserHomeDir() // where there is none, there is nothing to hide
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, _ := os.Hostname()
	return h.set(folder, home, name, machine)
}

func (h *hidden) set(report, home, name, machine string) *hidden {
	for _, x := range []struct{ path, as string }{{report, ""}, {home, "~"}} {
		for _, p := range []string{x.path, real(x.path)} {
			if len(p) > 1 && filepath.IsAbs(p) {
				h.folders = append(h.folders, folder{regexp.MustCompile(regexp.QuoteMeta(p) + `(/|[^A-Za-z0-9._-]|$)`), x.as})
			}
		}
	}
	var list []string
	for name, as := range map[string]string{name: "USER", machine: "MACHINE"} {
		if len(name) >= 3 && name != "root" && name != "localhost" {
			list = append(list, regexp.QuoteMeta(name))
			h.other[name] = as
		}
	}
	if len(list) > 0 {
		h.names = regexp.MustCompile(`\b(?:` + strings.Join(list, "|") + `)\b`)
	}
	return h
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// text gives a text without the names.
func (h *hidden) text(s string) string {
	for _, f := range h.folders {
		s = f.pattern.ReplaceAllStringFunc(s, func(found string) string {
			behind := f.pattern.FindStringSubmatch(found)[1]
			if behind == "/" && f.as == "" {
				return ""
			}
			return f.as + behind
		})
	}
	s = temporary.ReplaceAllString(s, "TEMPORARY")
	if h.names == nil {
		return s
	}
	return h.names.ReplaceAllStringFunc(s, func(name string) string { return h.other[name] })
}

// private says whether a text has one of the names.
func (h *hidden) private(s string) bool {
	for _, f := range h.folders {
		if f.pattern.MatchString(s) {
			return true
		}
	}
	return h.names != nil && h.names.MatchString(s)
}
