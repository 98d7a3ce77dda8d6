package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/ir/diag"
)

// Words are a command of tapc, taken apart.
type Words struct {
	Command []string        // its name
	Args    []string        // what is behind no flag
	Flags   []recorded.Flag // that were given
	Passes  recorded.Renamer
}

// kind is what becomes of the value of a flag.
type kind uint8

const (
	setting        kind = iota // it stays
	output                     // the command writes it
	oneFile                    // it is packed
	fileBehindName             // NAME=FILE, or a file
	fileOrName                 // it is packed if it is a file
	pipelineFiles              // in options of passes
	dictionary                 // a file if it ends in dictionaries.Suffix, else a name
	script                     // a shell command, of which files are packed
	program                    // it is not packed
	dataFolder                 // where data files of graphs are
)

// flags says of every flag with a text for a value what it is; that all are here is tested.
var flags = map[string]kind{
	"output": output, "trace": output, "dump-dir": output, "reproducer-dir": output, "picture": output, "frontier": output, "write-plan": output,
	"kernels": oneFile, "rules": oneFile, "expect-rules": oneFile, "bind": oneFile, "plan": oneFile, "beside-plan": oneFile, "profile": oneFile, "resume": oneFile, "known": fileBehindName, "input": fileBehindName,
	"machine": fileOrName, "cost-model": fileOrName, "passes": pipelineFiles, "namespace": dictionary, "bisect": script, "test": script, "data-dir": dataFolder,
	"plugin": program, "cc": program, "python": program, "runner": program, "against": program,
	"alias": setting, "allow": setting, "device": setting, "max-memory": setting, "pick": setting, "space": setting, "backend": setting, "collective": setting, "cpu": setting, "diagnostics": setting, "dialect": setting, "dim": setting, "disable": setting, "dot": setting, "emit": setting,
	"environment": setting, "format": setting, "from": setting, "into": setting, "name": setting, "precision": setting, "print-ir-after": setting,
	"print-ir-after-change": setting, "print-ir-before": setting, "progress": setting, "shape": setting, "shard": setting, "target": setting, "tuned": setting, "tensors": setting,
	"timing": setting, "to": setting, "weights": setting, "with": setting, "write": setting,
}

// read are flags that another command writes, with the command that reads them: they are packed for it.
var read = map[string]string{"frontier": "view"}

// kind says what the value of a flag is for the command.
func (w *Words) kind(flag string) kind {
	if c := w.Command; len(c) > 0 && c[len(c)-1] == read[flag] {
		return oneFile
	}
	return flags[flag]
}

// Known says whether it is decided what a flag is.
func Known(flag string) bool {
	_, ok := flags[flag]
	return ok
}

// place packs the files that a command takes, and gives its arguments in the report's folder.
func (w *Words) place(f *filing) ([]string, error) {
	out := append([]string(nil), w.Command...)
	for _, x := range w.Flags {
		if flags[x.Name] == dataFolder {
			f.data = x.Value
		}
	}
	for _, arg := range w.Args {
		if arg == "-" {
			return nil, diag.Usage("a report is on files: name one instead of standard input")
		}
		name, err := f.graph(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	for _, x := range w.Flags {
		value, err := w.value(f, x)
		if err != nil {
			return nil, err
		}
		if value == "true" {
			out = append(out, "--"+x.Name)
		} else {
			out = append(out, "--"+x.Name+"="+value)
		}
	}
	return out, nil
}

// value packs the files that a flag names, and gives its value in the report's folder.
func (w *Words) value(f *filing, x recorded.Flag) (string, error) {
	switch name, path, named := strings.Cut(x.Value, "="); w.kind(x.Name) {
	case output:
		return outputIn(x), nil
	case oneFile:
		return f.file(x.Value)
	case fileBehindName:
		if !named {
			return f.file(x.Value)
		}
		placed, err := f.file(path)
		return name + "=" + placed, err
	case pipelineFiles:
		text, err := w.Passes(x.Value, f.file)
		if diag.ExitStatus(err) == diag.ExitUsage { // the command will say so, or a plugin knows its passes
			return x.Value, nil
		}
		return text, err
	case dictionary:
		if strings.HasSuffix(x.Value, dictionaries.Suffix) {
			return f.file(x.Value)
		}
	case script, fileOrName:
		return f.script(x.Value)
	case program:
		return f.program(x.Value), nil
	case dataFolder:
		return "graph", nil
	}
	return x.Value, nil
}

// outputIn gives a name in the report for what a flag writes. Reproducers are written where they are packed.
func outputIn(x recorded.Flag) string {
	name, path, named := strings.Cut(x.Value, "=")
	switch {
	case x.Value == "-" || x.Name == "reproducer-dir" && x.Value == "":
		return x.Value
	case x.Name == "reproducer-dir":
		return "."
	case named:
		return name + "=" + made + "/" + filepath.Base(path)
	}
	return made + "/" + filepath.Base(x.Value)
}

var wordsOfShell = regexp.MustCompile(`[^\s'"|&;<>()$` + "`" + `]+`)

// script packs the files that the words of a shell command name.
func (f *filing) script(command string) (string, error) {
	var failed error
	return wordsOfShell.ReplaceAllStringFunc(command, func(word string) string {
		if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() || filepath.IsAbs(word) && !f.job.hide.private(word) {
			return word
		}
		placed, err := f.file(word)
		if err != nil {
			failed = err
		}
		if strings.HasPrefix(word, "./") {
			return "./" + placed
		}
		return placed
	}), failed
}

// program gives the value of a flag that starts a program for another folder, and notes that the program is not packed.
func (f *filing) program(value string) string {
	command, arguments, more := strings.Cut(value, " ")
	info, err := os.Stat(command)
	if err != nil || !info.Mode().IsRegular() {
		return value
	}
	f.left = append(f.left, f.job.hide.text(command)+": a program")
	if abs, err := filepath.Abs(command); err == nil {
		command = abs
	}
	if more {
		command += " " + arguments
	}
	return command
}
