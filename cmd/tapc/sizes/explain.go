package sizes

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/dialects/schedule/padding"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// mostExplained bounds the sizes that are looked at, each of which is imported and lowered.
const mostExplained = 1024

// Explain says for every dimension with several sizes which versions a program has for them, and for which sizes data that is padded to the
// greatest gives the right values. lower schedules the model at one size of each dimension, which it sets flags to; common says what versions have in common
// that have no code of their own, nothing if the target has none such.
func Explain(flags *[]string, lower func() (padding.Schedule, error), common func() ([]backends.Shared, error)) (string, error) {
	one, several, err := dims.Split(*flags)
	if err != nil {
		return "", err
	}
	if len(several) == 0 {
		return "", diag.Usage("explain sizes: expected --dim with several sizes of a dimension, as --dim batch=1..8")
	}
	total := 0
	for _, d := range several {
		if total += len(d.Sizes); total > mostExplained {
			return "", diag.Usage("explain sizes: expected at most %d sizes, each of which is looked at", mostExplained)
		}
	}
	given := *flags
	defer func() { *flags = given }()
	at := func(which dims.Dim, size int64) (padding.Schedule, error) {
		*flags = slices.Clone(one)
		for _, d := range several {
			n := d.Sizes[len(d.Sizes)-1]
			if d.Name == which.Name {
				n = size
			}
			*flags = append(*flags, fmt.Sprintf("%s=%d", d.Name, n))
		}
		return lower()
	}
	var b strings.Builder
	all, err := dims.Combinations(several, backends.MaxSizes)
	switch {
	case err != nil:
		fmt.Fprintf(&b, "build refuses these sizes, which are more than %d together\n", backends.MaxSizes)
	case len(all) <= backends.MaxVersions:
		fmt.Fprintf(&b, "build makes an exact version for each size: %d, of which at most %d have code of their own\n", len(all), backends.MaxVersions)
	default:
		if err := explainShared(&b, len(all), common); err != nil {
			return "", err
		}
	}
	for _, d := range several {
		if err := explainDim(&b, d, func(size int64) (padding.Schedule, error) { return at(d, size) }); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// OneFile refuses arguments that are no model in one file; standard input can not be read for each size.
func OneFile(args []string, stdName string) error {
	if len(args) > 1 {
		return diag.Usage("explain sizes takes one file, not also %q", args[1])
	}
	if args[0] == stdName {
		return diag.Usage("explain sizes needs the model in a file")
	}
	return nil
}

// explainShared says how many versions have code in common, and how much each kernel takes.
func explainShared(b *strings.Builder, versions int, common func() ([]backends.Shared, error)) error {
	list, err := common()
	if err != nil || list == nil {
		return err
	}
	fmt.Fprintf(b, "build makes an exact version for each size: %d, with one C function for all those that differ in numbers alone, which a run reads\n", versions)
	for _, s := range list {
		fmt.Fprintf(b, "  %s: functions %d, of one size alone %d, %d KiB of C\n", s.Kernel, s.Functions, s.Once, (s.Bytes+1023)>>10)
	}
	return nil
}

// reason is what is against some sizes.
type reason struct {
	step, why string
	sizes     []int64
}

func explainDim(b *strings.Builder, d dims.Dim, at func(size int64) (padding.Schedule, error)) error {
	last := len(d.Sizes) - 1
	great, err := at(d.Sizes[last])
	if err != nil {
		return err
	}
	var right []int64
	var reasons []*reason
	for _, n := range d.Sizes[:last] {
		small, err := at(n)
		if err != nil {
			return err
		}
		found, err := padding.Compare(great, small)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			right = append(right, n)
		}
		for _, o := range found {
			step := "the graph"
			if o.Step != ir.NoNode {
				step = great.Graph.Name(o.Step)
			}
			i := slices.IndexFunc(reasons, func(r *reason) bool { return r.step == step })
			if i < 0 {
				i = len(reasons)
				reasons = append(reasons, &reason{step: step, why: o.Why})
			}
			if r := reasons[i]; len(r.sizes) == 0 || r.sizes[len(r.sizes)-1] != n {
				r.sizes = append(r.sizes, n)
			}
		}
	}
	fmt.Fprintf(b, "%s: %s\n", d.Name, dims.Spans(d.Sizes))
	if len(right) > 0 {
		fmt.Fprintf(b, "  padded to %d: proven for sizes of %s: what outputs have at the size is computed as there, and of no padding\n", d.Sizes[last], dims.Spans(right))
	}
	for _, r := range reasons {
		fmt.Fprintf(b, "  padded to %d: not proven for sizes of %s: %s: %s\n", d.Sizes[last], dims.Spans(r.sizes), r.step, r.why)
	}
	return nil
}
