package check

import (
	"fmt"
	"strings"
)

const versionText = "filecheck of tapc, compatible with FileCheck of LLVM 19.1"

// usage returns the text of --help.
func usage(name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "USAGE: %s [options] <check-file>\n\n", name)
	out.WriteString("Checks that a text contains what the CHECK directives of a file ask for.\n\nOPTIONS:\n\n")
	for i := range flags {
		f := &flags[i]
		left := "--" + f.name
		if len(f.name) == 1 {
			left = "-" + f.name
		}
		if f.value != "" {
			left += "=<" + f.value + ">"
		}
		if f.name == "D" {
			left = "-D<VAR=VALUE>"
		}
		fmt.Fprintf(&out, "  %-32s %s\n", left, f.help)
	}
	out.WriteString("\nOptions are read from the environment variable FILECHECK_OPTS and from the command line.\n" +
		"Exit status: 0 match, 1 mismatch, 2 wrong usage or check file.\n")
	return out.String()
}

// dumpHelpText explains the dump (--dump-input=help).
const dumpHelpText = `The following description was requested by -dump-input=help to explain the dump of the input.

Options:

  --dump-input=<value>        whether there is a dump: always, fail or never
  --dump-input-filter=<value> which lines are shown: all, annotation-full, annotation or error
  --dump-input-context=<N>    how many lines are shown around them
  -v, -vv                     more annotations
  --color                     colors

They can also be given in FILECHECK_OPTS, for example: FILECHECK_OPTS='-dump-input-filter=all -vv -color'

Format:

  - L:     line L of the input; a space at its end stands for the newline
  - T:L    the only result of a directive of type T (check, next, same, not, dag, label, empty, count, eof) at line L
           of the check file, or of the I-th --implicit-check-not where L is impI
  - T:L'N  its N-th result
  - ^~~    good match (with -v)
  - !~~    bad match: on the wrong line, of a CHECK-NOT, or (discarded, with -vv) of a CHECK-DAG over an earlier one
  - X~~    range searched without a match: an error, or (with -vv) a CHECK-NOT that is rightly absent
  - ?      what the pattern may have meant
  - ...    lines left out, one dot a line
  - colors are green for success, red for errors, magenta for near misses, cyan for discarded matches and unmatched input
`
