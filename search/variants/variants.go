// Package variants is the space of plans of a graph: decisions about it, of the kinds that a table lists, and how what comes of them is laid out.
//
// A variant is what becomes of the graph by some decisions, made by the passes that carry plans out, with its plans on a mesh (search/layouts). What variants have
// in common, operations and tensors of one name that can be cut alike, is one gene. The package prices nothing itself. Read next: table.go, new.go, then mutators.go.
package variants

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/walk"
)

// Most is how many variants are searched at most.
const Most = 64

// Space is the plans of all variants. Its first genes are decisions, which are followed by the genes of variants.
type Space struct {
	kinds     []Kind
	decisions []decision
	variants  []variant // by the values of decisions, the last of which runs fastest
	genes     []int
	at        [][]int // of each variant, the genes of this space that are its own
	left      []int   // of each kind, points that are not searched
	mutators  [][]search.Mutator
}

// variant is the plans of one, and what they all say of the decisions.
type variant struct {
	*layouts.Space
	plan planfile.Plan
}

// Genes are the numbers of values.
func (x *Space) Genes() []int { return x.genes }

// variant gives the number of the variant that a trial is of.
func (x *Space) variant(t search.Trial) (n int) {
	for i, d := range x.decisions {
		n = n*len(d.Values) + int(t[i])
	}
	return n
}

// inner gives the variant of a trial, and the trial as that has it.
func (x *Space) inner(t search.Trial) (*layouts.Space, search.Trial) {
	n := x.variant(t)
	if len(x.variants) == 1 {
		return x.variants[0].Space, t[len(x.decisions):]
	}
	out := make(search.Trial, len(x.at[n]))
	for i, g := range x.at[n] {
		out[i] = t[g]
	}
	return x.variants[n].Space, out
}

// outer gives a trial of a variant as this space has it.
func (x *Space) outer(n int, inner search.Trial) search.Trial {
	t := make(search.Trial, len(x.genes))
	for i, g := range x.at[n] {
		t[g] = inner[i]
	}
	for i := len(x.decisions) - 1; i >= 0; i-- {
		values := len(x.decisions[i].Values)
		t[i], n = uint16(n%values), n/values
	}
	return t
}

// Used gives what of a trial has an effect: its decisions, and the genes of its variant.
func (x *Space) Used(t search.Trial) search.Trial {
	if len(x.variants) == 1 {
		return t
	}
	_, own := x.inner(t)
	return slices.Concat(t[:len(x.decisions)], own)
}

// Price is what a plan costs.
func (x *Space) Price(t search.Trial) search.Price {
	v, own := x.inner(t)
	return v.Price(own)
}

// Enumerate prices all plans, as search.Enumerate does, unless there are more than a limit.
func (x *Space) Enumerate(limit int) (f search.Frontier, worst []float64, tried int, ok bool) {
	for _, v := range x.variants {
		if tried += search.Size(v.Space, limit); tried > limit {
			return f, nil, tried, false
		}
	}
	for n, v := range x.variants {
		all, most, _ := search.Enumerate(v.Space, limit)
		if worst == nil {
			worst = most
		}
		for k, c := range most {
			worst[k] = max(worst[k], c)
		}
		for _, p := range all.Points {
			p.Trial = x.outer(n, p.Trial)
			f.Add(p)
		}
	}
	return f, worst, tried, true
}

// Walk says what a plan takes as it is simulated.
func (x *Space) Walk(t search.Trial) (walk.Result, error) {
	v, own := x.inner(t)
	return layouts.Walk(v, own)
}

// Prove proves what it can of each variant (layouts.Proof), and of all together.
func (x *Space) Prove(workers int) *layouts.Proof {
	all := &layouts.Proof{Exact: true}
	for n, v := range x.variants {
		p := v.Prove(workers)
		all.Exact = all.Exact && p.Exact
		for _, t := range p.Trials {
			all.Trials = append(all.Trials, x.outer(n, t))
		}
		if n == 0 {
			all.Bounds = p.Bounds
		}
		for k, b := range p.Bounds {
			all.Bounds[k] = min(all.Bounds[k], b)
		}
	}
	return all
}

// Plan writes a trial as a plan file has it.
func (x *Space) Plan(t search.Trial, lib *kernels.Library) (*planfile.Plan, error) {
	v, own := x.inner(t)
	p, err := v.Plan(own, lib)
	if err != nil {
		return nil, err
	}
	said := &x.variants[x.variant(t)].plan
	p.Choices, p.Recompute = slices.Clone(said.Choices), slices.Clone(said.Recompute)
	return p, nil
}

// Mesh gives the mesh of a trial.
func (x *Space) Mesh(t search.Trial) []int64 {
	v, own := x.inner(t)
	return v.Mesh(own)
}

// Decided says what a trial decides about the graph, in words; "" if there is nothing to be decided.
func (x *Space) Decided(t search.Trial) string {
	var words []string
	for i, d := range x.decisions {
		if t[i] > 0 || !d.Silent {
			words = append(words, d.Labels[0]+": "+d.Values[t[i]])
		}
	}
	return strings.Join(words, ", ")
}

// Gene says in words what a gene is of, and what its values are.
func (x *Space) Gene(gene int) (name string, values []string) {
	if gene < len(x.decisions) {
		return strings.Join(x.decisions[gene].Labels, ", "), x.decisions[gene].Values
	}
	for n, at := range x.at {
		if i := slices.Index(at, gene); i >= 0 {
			name, values := layouts.Gene(x.variants[n].Space, i)
			return name, values()
		}
	}
	return "", nil
}

// Devices is how many devices are planned for.
func (x *Space) Devices() int { return x.variants[0].Devices() }

// MaxMemory is the bytes that a plan may take on each device.
func (x *Space) MaxMemory() float64 { return x.variants[0].MaxMemory() }

// Digest tells spaces apart whose trials do not mean the same.
func (x *Space) Digest() string {
	if len(x.decisions) == 0 {
		return x.variants[0].Digest()
	}
	h := sha256.New()
	fmt.Fprintln(h, x.decisions, x.genes, x.at)
	for _, v := range x.variants {
		fmt.Fprintln(h, v.Digest())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Describe says how large the space is, in words.
func (x *Space) Describe() string {
	if len(x.variants) == 1 {
		return x.variants[0].Describe() + x.rest()
	}
	size := 0.0
	for _, v := range x.variants {
		size += layouts.Size(v.Space)
	}
	return fmt.Sprintf("%s; %d variants of the graph, by %s: 10^%.1f plans%s", x.variants[0].Describe(), len(x.variants), counted(len(x.decisions), "decision"), math.Log10(size), x.rest())
}

// rest says what is not searched.
func (x *Space) rest() (words string) {
	for i, n := range x.left {
		if n > 0 && x.kinds[i].Rest != nil {
			words += "; " + x.kinds[i].Rest(n)
		}
	}
	return words
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
