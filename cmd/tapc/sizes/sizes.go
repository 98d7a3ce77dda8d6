// Package sizes compiles a model at every size that --dim asks for. Read next: internal/dims.
package sizes

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/aliases"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Compile calls compile with flags set to one size of each dimension, for all that flags, the values of --dim, say; once, where these say one
// size of each, and then it gives nil. It says for how many sizes that will be, this one with them. The output must take several, and the model be a file, which is read for each.
func Compile(flags *[]string, output *backends.Output, file bool, compile func(left int) (backends.Version, error)) (*backends.Sizes, error) {
	one, several, err := dims.Split(*flags)
	switch {
	case err != nil:
		return nil, err
	case len(several) == 0:
		_, err = compile(1)
		return nil, err
	case output == nil || !output.Sizes:
		return nil, diag.Usage("--dim %s: several sizes go with --emit=exe, lib and obj, and --emit=c to a folder, of --target=cpu only", several[0].Name)
	case !file:
		return nil, diag.Usage("--dim %s: several sizes need the model in a file", several[0].Name)
	}
	all, err := dims.Combinations(several, backends.MaxSizes)
	if err != nil {
		return nil, err
	}
	s := &backends.Sizes{Dims: several}
	given := *flags
	defer func() { *flags = given }()
	for k, at := range all {
		*flags = slices.Clone(one)
		for i, d := range several {
			*flags = append(*flags, fmt.Sprintf("%s=%d", d.Name, at[i]))
		}
		v, err := compile(len(all) - k)
		if err != nil {
			return nil, err
		}
		v.At = at
		s.Versions = append(s.Versions, v)
	}
	return s, nil
}

// Rooms finds what aliases need at the greatest size, for which flags are set while load reads the model; nothing for a program of one size.
func Rooms(flags *[]string, given []string, file bool, load func() (*ir.Graph, error)) (aliases.Rooms, error) {
	one, several, err := dims.Split(*flags)
	if err != nil || len(several) == 0 || len(given) == 0 || !file {
		return nil, err
	}
	defer func(before []string) { *flags = before }(*flags)
	*flags = dims.Greatest(one, several)
	g, err := load()
	if err != nil {
		return nil, err
	}
	return aliases.State(g, given, nil)
}
