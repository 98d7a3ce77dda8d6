package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/diag"
)

// sized is a program for several sizes of dimensions: one for each, with one block of constants.
type sized struct {
	dims     []cabi.Dim
	at       [][]int64
	versions []*program // as at
}

// newSized prepares the versions of a program.
func newSized(s *backends.Sizes, name, version string, made *cabi.Made, loads []panels.LoadConst) (*sized, *panels.Store, error) {
	all := &sized{}
	for _, d := range s.Dims {
		all.dims = append(all.dims, cabi.Dim{Name: d.Name, Sizes: d.Sizes})
	}
	common, same := &panels.Store{}, constants.Same{}
	for i, v := range s.Versions {
		p, err := newProgram(v.Graph, name, version)
		if err != nil {
			return nil, nil, err
		}
		p.made, p.Block = made, common.Block()
		for _, c := range p.Constants {
			n, err := same.Number(c, tensorops.TensorOf(v.Graph, c.Tensor), loads[i])
			if err != nil {
				return nil, nil, err
			}
			p.Block.Name(c, n, loads[i])
		}
		if i > 0 {
			if err := all.agree(p); err != nil {
				return nil, nil, err
			}
		}
		all.at, all.versions = append(all.at, v.At), append(all.versions, p)
	}
	return all, common, nil
}

// agree holds a program to the names and types of the first one.
func (s *sized) agree(p *program) error {
	faces := func(p *program) (out []string) {
		for _, list := range [][]tensorops.Named{p.Inputs, p.Outputs} {
			for _, x := range list {
				t := tensorops.TensorOf(p.g, x.Tensor)
				out = append(out, fmt.Sprintf("%q %s of rank %d", x.Name, t.DType, t.Range.Rank()))
			}
			out = append(out, "and")
		}
		out = append(out, p.sharedNames())
		return out
	}
	if a, b := faces(s.versions[0]), faces(p); !slices.Equal(a, b) {
		return diag.Errorf("TAP0904", "cpu", diag.Location{File: p.g.File}, "the inputs and outputs depend on the sizes by more than their extents: %s; for others %s",
			strings.Join(a, ", "), strings.Join(b, ", "))
	}
	return nil
}

// prefix is what the names of a version begin with.
func prefix(version int) string { return fmt.Sprintf("s%d_", version) }

// code is as a form has it.
func (s *sized) code(first int, targets []isa.Target) (written, error) {
	return codeOf(s.versions, first, targets, prefix)
}

// main is as a form has it.
func (s *sized) main(out *strings.Builder, separate bool) error {
	for i, p := range s.versions {
		tables(out, p, named(prefix(i)))
	}
	return s.record(out, separate, func(version int) (names, string) { return named(prefix(version)), "" })
}

// record writes the tables of versions, and the program. of gives the names of what a version has, and further fields of it.
func (s *sized) record(main *strings.Builder, separate bool, of func(version int) (n names, more string)) error {
	greatest := s.versions[len(s.versions)-1]
	d := s.description()
	err := texts(main, d)
	weights := mapped(main, greatest, separate)
	main.WriteString("static const tapc_program versions[] = {\n")
	for i, p := range s.versions {
		n, more := of(i)
		fmt.Fprintf(main, "{\n%s%s  .at = (const int64_t[]){%s},\n},\n", fields(p, p.description().Memory, n), weights+more, cexpr.Numbers(s.at[i]))
	}
	main.WriteString("};\n\nstatic const char *const dims[] = {")
	for _, d := range s.dims {
		main.WriteString(cexpr.String(d.Name) + ", ")
	}
	main.WriteString("};\n\n")
	n, more := of(len(s.versions) - 1)
	record(main, fields(greatest, d.Memory, n),
		weights+more+fmt.Sprintf("  .n_dims = %d,\n  .dims = dims,\n  .n_versions = %d,\n  .versions = versions,\n", len(s.dims), len(s.versions)))
	return err
}

// madeBy gives what is said of how the versions were made.
func (s *sized) madeBy() *cabi.Made { return s.versions[len(s.versions)-1].made }

// description is that of the greatest version, with the memory of all, what they are, and which constants they have in common.
func (s *sized) description() *cabi.Description {
	d := s.versions[len(s.versions)-1].description()
	d.Sizes = s.describe()
	for _, p := range s.versions {
		m := p.description().Memory
		d.Memory = d.Memory.Max(m)
	}
	return d
}

// describe says what the versions are, and which constants they have in common.
func (s *sized) describe() *cabi.Sizes {
	out := &cabi.Sizes{Dims: s.dims}
	readers := map[int64]int{}
	for _, p := range s.versions {
		for at, n := range p.Block.Uses {
			if readers[at]++; readers[at] == 2 {
				out.Shared += n
			}
		}
	}
	for i, p := range s.versions {
		d := p.description()
		v := cabi.Sized{At: s.at[i], Inputs: cabi.Shapes(d.Inputs), Outputs: cabi.Shapes(d.Outputs), Arena: d.Arena}
		for at, n := range p.Block.Uses {
			v.Constants += n
			if readers[at] == 1 {
				v.Own += n
			}
		}
		out.Versions = append(out.Versions, v)
	}
	return out
}
