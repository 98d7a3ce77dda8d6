package modelflags

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Shape gives inputs the shapes of --shape.
func Shape(g *foreign.Graph, shapes []string) error {
	given := map[string]bool{}
	for _, text := range shapes {
		name, sizes, ok := strings.Cut(text, "=")
		if !ok {
			return diag.Usage("--shape %q: expected NAME=SIZExSIZE", text)
		}
		i := slices.IndexFunc(g.Inputs, func(p foreign.Port) bool { return p.Name == name })
		if i < 0 {
			return diag.Unknown("input in --shape", name, inputNames(g))
		}
		if given[name] {
			return diag.Usage("--shape %s is given twice", name)
		}
		given[name] = true
		p := &g.Inputs[i]
		p.Ranked, p.Shape = true, []foreign.Size{}
		for _, size := range strings.Split(sizes, "x") {
			if sizes == "" {
				break
			}
			n, err := strconv.ParseInt(size, 10, 64)
			if err != nil || n < 0 {
				return diag.Usage("--shape %q: expected sizes of at least 0 with x between them", text)
			}
			p.Shape = append(p.Shape, foreign.Size{Value: n})
		}
	}
	return nil
}
