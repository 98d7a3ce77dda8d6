package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// flag is an option of the command. A switch takes no value unless "=true" or the like is attached.
type flag struct {
	name   string
	value  string // what the value is called; empty for a switch
	help   string
	set    func(inv *invocation, value string) error
	toggle func(inv *invocation) *bool
}

// flags lists the options, in the order of --help.
var flags = []flag{
	{name: "D", value: "VAR=VALUE", help: "define a variable: -DNAME=TEXT, or -D#FORMAT,NAME=EXPRESSION",
		set: func(inv *invocation, v string) error { return add(&inv.opts.Defines, v) }},
	{name: "allow-deprecated-dag-overlap", help: "let the matches of consecutive CHECK-DAGs overlap",
		toggle: func(inv *invocation) *bool { return &inv.opts.Rules.DagOverlap }},
	{name: "allow-empty", help: "accept an empty input",
		toggle: func(inv *invocation) *bool { return &inv.opts.AllowEmpty }},
	{name: "allow-unused-prefixes", help: "accept prefixes that the check file does not use",
		toggle: func(inv *invocation) *bool { return &inv.opts.AllowUnused }},
	{name: "check-prefix", value: "prefix", help: "prefix of check directives (default CHECK); may be repeated",
		set: func(inv *invocation, v string) error { return add(&inv.opts.Prefixes, v) }},
	{name: "check-prefixes", value: "p,q,...", help: "the same, several separated by commas",
		set: func(inv *invocation, v string) error { return add(&inv.opts.Prefixes, strings.Split(v, ",")...) }},
	{name: "color", help: "color messages (default: if stderr is a terminal)",
		toggle: func(inv *invocation) *bool { return &inv.opts.Color }},
	{name: "comment-prefixes", value: "p,q,...", help: "prefixes of comments (default COM,RUN)",
		set: func(inv *invocation, v string) error { return add(&inv.opts.Comments, strings.Split(v, ",")...) }},
	{name: "dump-input", value: "mode", help: "show the input with marks: help, always, fail (default) or never",
		set: setDumpMode},
	{name: "dump-input-context", value: "N", help: "lines shown around each line that the filter selects (default 5)",
		set: setDumpContext},
	{name: "dump-input-filter", value: "kind", help: "lines to show: all, annotation-full, annotation or error",
		set: setDumpFilter},
	{name: "enable-var-scope", help: "forget variables not named $... at each CHECK-LABEL",
		toggle: func(inv *invocation) *bool { return &inv.opts.Rules.VarScope }},
	{name: "help", help: "show this text",
		toggle: func(inv *invocation) *bool { return &inv.help }},
	{name: "ignore-case", help: "match letters in both cases",
		toggle: func(inv *invocation) *bool { return &inv.opts.Rules.IgnoreCase }},
	{name: "implicit-check-not", value: "pattern", help: "a pattern that may not occur between positive matches",
		set: func(inv *invocation, v string) error { return add(&inv.opts.ImplicitNots, v) }},
	{name: "input-file", value: "filename", help: "file to check (default: stdin)",
		set: func(inv *invocation, v string) error { inv.inputFile = v; return nil }},
	{name: "match-full-lines", help: "positive patterns must match whole lines",
		toggle: func(inv *invocation) *bool { return &inv.opts.Rules.FullLines }},
	{name: "strict", help: "refuse lines that look like mistyped directives (not in LLVM)",
		toggle: func(inv *invocation) *bool { return &inv.opts.Strict }},
	{name: "strict-whitespace", help: "do not treat all horizontal white space as equal",
		toggle: func(inv *invocation) *bool { return &inv.opts.Rules.StrictSpace }},
	{name: "v", help: "report good matches, in the dump if there is one", set: verbose(1)},
	{name: "version", help: "show the version",
		toggle: func(inv *invocation) *bool { return &inv.version }},
	{name: "vv", help: "report also discarded matches and absent CHECK-NOTs", set: verbose(2)},
}

func add(list *[]string, values ...string) error {
	*list = append(*list, values...)
	return nil
}

// verbose returns the setter of -v or -vv, which are switches that only raise the level.
func verbose(level int) func(*invocation, string) error {
	return func(inv *invocation, v string) error {
		if on, err := truth(v); err != nil || !on {
			return err
		}
		inv.opts.Verbosity = max(inv.opts.Verbosity, level)
		return nil
	}
}

func truth(value string) (bool, error) {
	switch value {
	case "", "true", "TRUE", "True", "1":
		return true, nil
	case "false", "FALSE", "False", "0":
		return false, nil
	}
	return false, fmt.Errorf("'%s' is invalid value for boolean argument! Try 0 or 1", value)
}

// dumpModes are the values of --dump-input; of several, the first listed wins.
var dumpModes = []struct {
	name string
	mode DumpMode
}{{"help", dumpHelp}, {"always", DumpAlways}, {"fail", DumpFail}, {"never", DumpNever}}

// modeRank counts how many modes m wins over, plus one; an unset mode is 0.
func modeRank(m DumpMode) int {
	for i, d := range dumpModes {
		if d.mode == m {
			return len(dumpModes) - i
		}
	}
	return 0
}

func setDumpMode(inv *invocation, value string) error {
	for _, d := range dumpModes {
		if d.name == value {
			if modeRank(d.mode) > inv.modeRank {
				inv.modeRank, inv.opts.Dump.Mode = modeRank(d.mode), d.mode
			}
			return nil
		}
	}
	return noSuchValue(value)
}

func setDumpFilter(inv *invocation, value string) error {
	filters := map[string]DumpFilter{
		"all": FilterAll, "annotation-full": FilterAnnotationFull, "annotation": FilterAnnotation, "error": FilterError,
	}
	f, ok := filters[value]
	if !ok {
		return noSuchValue(value)
	}
	inv.opts.Dump.Filter = max(inv.opts.Dump.Filter, f)
	return nil
}

func noSuchValue(value string) error { return fmt.Errorf("Cannot find option named '%s'!", value) }

func setDumpContext(inv *invocation, value string) error {
	n, err := strconv.ParseUint(value, 0, 31)
	if err != nil {
		return fmt.Errorf("'%s' value invalid for uint argument!", value)
	}
	inv.context = max(inv.context, int(n))
	if inv.opts.Dump.Context = inv.context; n == 0 && inv.context == 0 {
		inv.opts.Dump.Context = -1
	}
	return nil
}

// parseArgs reads FILECHECK_OPTS and the arguments.
func parseArgs(c Command) (*invocation, error) {
	inv := &invocation{inputFile: "-"}
	inv.opts.Color = terminal(c.Stderr)
	args := c.Args
	if c.Getenv != nil {
		args = append(splitWords(c.Getenv("FILECHECK_OPTS")), args...)
	}
	optionsOver := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--" && !optionsOver:
			optionsOver = true
		case optionsOver || arg == "-" || !strings.HasPrefix(arg, "-"):
			if inv.checkFile != "" {
				return nil, fmt.Errorf("Too many positional arguments specified!\n"+
					"Can specify at most 1 positional arguments: See: %s --help", c.Name)
			}
			inv.checkFile = arg
		default:
			used, err := inv.option(arg, args[i+1:], c.Name)
			if err != nil {
				return nil, err
			}
			i += used
		}
	}
	return inv, nil
}

// option applies one option and returns how many of the following arguments it used.
func (inv *invocation) option(arg string, rest []string, program string) (used int, err error) {
	bare := strings.TrimPrefix(arg[1:], "-")
	name, value, attached := strings.Cut(bare, "=")
	f := findFlag(name)
	if define, ok := strings.CutPrefix(bare, "D"); ok {
		f, value, attached = findFlag("D"), define, define != ""
	}
	if f == nil {
		near := nearestFlag(name)
		if attached {
			near += "=" + value
		}
		return 0, fmt.Errorf("Unknown command line argument '%s'.  Try: '%s --help'\n%s: Did you mean '%s'?", arg, program, program, dashed(near))
	}
	if f.value != "" && !attached {
		if len(rest) == 0 || f.name == "D" {
			return 0, f.wrap(errors.New("requires a value!"))
		}
		value, used = rest[0], 1
	}
	if f.toggle == nil {
		return used, f.wrap(f.set(inv, value))
	}
	on, err := truth(value)
	if err == nil {
		*f.toggle(inv) = on
	}
	return used, f.wrap(err)
}

func (f *flag) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("for the %s option: %w", dashed(f.name), err)
}

// dashed writes an option as it is given: one letter behind one dash, a word behind two.
func dashed(option string) string {
	if len(option) == 1 {
		return "-" + option
	}
	return "--" + option
}

// nearestFlag gives the option that fewest changes turn a name into; of several, -v or else the first of the table.
func nearestFlag(name string) string {
	best := "v"
	limit := editDistance(name, best, len(name)+len(best))
	for i := range flags {
		if d := editDistance(name, flags[i].name, limit); d < limit {
			best, limit = flags[i].name, d
		}
	}
	return best
}

func findFlag(name string) *flag {
	for i := range flags {
		if flags[i].name == name {
			return &flags[i]
		}
	}
	return nil
}

// splitWords splits a string as a shell would, with quotes and backslashes.
func splitWords(text string) []string {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// terminal tells whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
