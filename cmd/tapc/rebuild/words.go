package rebuild

import (
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/ir/diag"
)

// words gives the command of a record, which ends with the graph's file, with the flags that the user gave again, and the name of the program if files beside it depend
// on that. What no record has is refused.
func (j *Job) words(m *cabi.Made) (words []string, beside string, err error) {
	if len(m.Command) < 2 || m.Command[0] != "build" || len(m.Inputs) == 0 || m.Command[1] != m.Inputs[0].Name || strings.HasPrefix(m.Command[1], "-") {
		return nil, "", j.damaged("it is not one of build on the first of its files")
	}
	if i := slices.IndexFunc(m.Inputs, func(x backends.Input) bool { return !filepath.IsLocal(filepath.FromSlash(x.Name)) || x.Name == "-" }); i >= 0 {
		return nil, "", j.unfit("one of the files that it was made from is %q, which is none in a folder", m.Inputs[i].Name)
	}
	words = []string{"build"}
	var started []string
	for _, word := range m.Command[2:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case !strings.HasPrefix(word, "--"):
			return nil, "", j.damaged("%q is no flag", word)
		case name == "output":
			if value == "" || value != filepath.Base(value) || slices.Contains([]string{".", "..", "/"}, value) {
				return nil, "", j.damaged("%q is no name of a program", value)
			}
			beside = value
		case recorded.Starts(name):
			started = append(started, word)
		case recorded.Outside(name, value):
			return nil, "", j.unfit("%q names a file outside the folder of its files", word)
		case recorded.Setting(name):
			words = append(words, word)
		default:
			return nil, "", j.damaged("--%s is no flag that records have", name)
		}
	}
	if err := j.again(started); err != nil {
		return nil, "", err
	}
	return append(slices.Concat(words, j.Own), m.Command[1]), beside, nil
}

func (j *Job) damaged(format string, args ...any) error {
	return diag.Errorf("TAP2705", "program", diag.Location{File: j.Program}, "the command in its record is damaged: "+format, args...)
}

// again asks for flags that start programs: nobody starts what a file names unless the user says so too.
func (j *Job) again(started []string) error {
	for _, word := range started {
		name, _, _ := strings.Cut(word, "=")
		if !slices.ContainsFunc(j.Own, func(own string) bool { return strings.HasPrefix(own, name+"=") }) {
			return diag.Usage("%s was built with %q, which starts a program: if you trust it, give %s too", j.Program, word, name)
		}
	}
	return nil
}
