// Package page writes docs/vocabularies.md: the operators of ONNX and TensorFlow that are each kernel, or why there are none.
//
// Nothing on the page is written by hand: kernels and their cases come from the library, operators from writing each case in the vocabulary, and
// reasons from the rules back (frontends/mapping/rules/*_back*.map). Only tools and tests import it.
package page

import (
	"context"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

const head = "# Kernels in other vocabularies\n\n" +
	"Made by `go run ./tools/vocabulary docs/vocabularies.md`; `./do docs --check` says whether it is current.\n\n" +
	"`tapc translate --to=onnx`, and `--into VOCABULARY`, write a program in the operators of this table ([mapping.md](mapping.md#back)). Operators behind each\n" +
	"other are the kernel together, in that order; `or` parts what cases of the kernel with other parameters or ranks become. *No equal* says why nothing is equal\n" +
	"to a kernel, *not* why nothing is to some of its calls. A kernel of a type that the vocabulary does not allow there is refused by the dictionary\n" +
	"([namespaces.md](namespaces.md)). Every case that the library declares, and random calls, are written, mapped again and compared by their values (`TestGoesBack`).\n\n"

// Page gives the text of the page.
func Page() (string, error) {
	ctx := context.Background()
	var b strings.Builder
	b.WriteString(head)
	var columns []map[string]*Equal
	for _, v := range Vocabularies {
		e, err := Equals(ctx, v)
		if err != nil {
			return "", err
		}
		columns = append(columns, e)
	}
	for i, v := range Vocabularies {
		n := 0
		for _, e := range columns[i] {
			n += min(1, len(e.Ways))
		}
		fmt.Fprintf(&b, "%d of %d kernels have an equal in %s. ", n, len(columns[i]), v)
	}
	fmt.Fprintf(&b, "\n\n| kernel | %s |\n|---|---|---|\n", strings.Join(Vocabularies, " | "))
	for _, name := range kernels.Builtin().Names() {
		if columns[0][name] == nil {
			continue
		}
		fmt.Fprintf(&b, "| `%s`", name)
		for _, c := range columns {
			fmt.Fprintf(&b, " | %s", cell(c[name]))
		}
		b.WriteString(" |\n")
	}
	return b.String(), nil
}

// cell writes what is equal to a kernel. Of the types that an operator does not take the dictionaries tell.
func cell(e *Equal) string {
	var reasons []string
	for _, r := range e.Reasons {
		if _, behind, ok := strings.Cut(r, ": "); ok && strings.HasPrefix(r, noRule) {
			r = behind
		}
		if len(e.Ways) == 0 || !strings.Contains(r, wrongType) {
			reasons = once(reasons, strings.NewReplacer("|", "\\|", "\n", " ").Replace(r))
		}
	}
	text := strings.Join(e.Ways, " or ")
	switch {
	case text == "":
		return "no equal: " + strings.Join(reasons, "; ")
	case len(reasons) > 0:
		return text + "; not: " + strings.Join(reasons, "; ")
	}
	return text
}
