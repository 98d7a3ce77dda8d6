package foreign

import (
	"fmt"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Sizes gives the shape of an input whose element type is known, with values for the names of sizes.
func (p Port) Sizes(dims map[string]int64) ([]int64, error) {
	switch {
	case p.Reason != "":
		return nil, fmt.Errorf("%s", p.Reason)
	case p.DType == scalar.Invalid:
		return nil, fmt.Errorf("has no element type")
	case !p.Ranked:
		return nil, fmt.Errorf("has no shape, which tapc must know when compiling: --shape %s=SIZExSIZE", p.Name)
	}
	shape := make([]int64, len(p.Shape))
	var missing []string
	for i, s := range p.Shape {
		shape[i] = s.Value
		if n, ok := dims[s.Name]; ok && s.Name != "" {
			shape[i] = n
		} else if n, ok := dims[Place(p.Name, i)]; ok {
			shape[i] = n
		} else if n, ok := SumOf(s.Name, dims); ok {
			shape[i] = n
		} else if s.Name != "" {
			missing = append(missing, "--dim "+s.Name+"=N")
			continue
		} else if s.Value < 0 {
			missing = append(missing, "--dim "+Place(p.Name, i)+"=N")
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("has sizes that must be given: %s", strings.Join(missing, " "))
	}
	if Elements(shape) < 0 {
		return nil, fmt.Errorf("of shape %s is larger than any memory", ShapeText(shape))
	}
	return shape, nil
}

// Place names a dimension of an input.
func Place(input string, i int) string { return fmt.Sprintf("%s:%d", input, i) }

// SumOf gives the value of a name that is a sum, as exporters write them, "past + 1", of numbers and of names with values.
func SumOf(name string, values map[string]int64) (int64, bool) {
	terms := strings.Split(name, "+")
	total := int64(0)
	for _, t := range terms {
		t = strings.TrimSpace(t)
		n, err := strconv.ParseInt(t, 10, 64)
		if v, ok := values[t]; ok {
			n, err = v, nil
		}
		if err != nil || n < 0 || total > 1<<40 {
			return 0, false
		}
		total += n
	}
	return total, len(terms) > 1
}
