package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// How many trials each search of a curve has, and after how many the hypervolume is looked at.
const (
	curveTrials = 10_000
	curvePoints = 33
)

// layer is one of a transformer, whose plans on 8 devices are too many to go through.
var layer = graphs.Transformer{Type: "bfloat16", Layers: 1, Batch: 1, Tokens: 2048, Width: 4096, Inner: 16384, Heads: 32, KeyHeads: 32, Depth: 128}

// traced is a space that notes the hypervolume of what was priced, after so many trials.
type traced struct {
	*variants.Space
	reference []float64
	seen      search.Frontier
	trials    int
	volumes   []float64
}

// Price prices a trial. It is called by one worker.
func (x *traced) Price(t search.Trial) search.Price {
	p := x.Space.Price(t)
	x.seen.Add(search.Point{Trial: slices.Clone(t), Price: p})
	for x.trials++; len(x.volumes) < curvePoints && x.trials >= trialsAt(len(x.volumes)); {
		x.volumes = append(x.volumes, x.seen.Volume(x.reference))
	}
	return p
}

// trialsAt gives how many trials a point of a curve is behind, on a logarithmic scale from 100.
func trialsAt(point int) int {
	return int(math.Round(100 * math.Pow(curveTrials/100, float64(point)/(curvePoints-1))))
}

// method is a way to search with as many trials as a curve has.
type method struct {
	name, colour string
	search       func(x *traced, seed uint64, known []search.Point)
}

var methods = []method{
	{"search", "#c2410c", func(x *traced, seed uint64, known []search.Point) {
		search.Run(context.Background(), x, search.Options{Seed: seed, Rounds: curveTrials/search.DefaultTrials + 8, Resume: known})
	}},
	{"without programming", "#1d4ed8", func(x *traced, seed uint64, _ []search.Point) {
		search.Run(context.Background(), x, search.Options{Seed: seed, Rounds: curveTrials/search.DefaultTrials + 8, Bare: true})
	}},
	{"annealing", "#047857", func(x *traced, seed uint64, _ []search.Point) { search.Anneal(x, seed, curveTrials) }},
	{"climbing", "#a16207", func(x *traced, seed uint64, _ []search.Point) { search.Climb(x, seed, curveTrials) }},
	{"random", "#6b7280", func(x *traced, seed uint64, _ []search.Point) { search.Random(x, seed, curveTrials) }},
}

// panel is a graph with the curves of each method: of each seed, the volumes as parts of the largest that is known.
type panel struct {
	title  string
	curves [][][]float64
}

// curves draws hypervolumes over trials into a file.
func curves(seeds uint64, name string) error {
	var panels []panel
	for _, c := range graphs.Smalls {
		if c.Name != "MLP, 4 devices" && c.Name != "attention head, 4 devices" {
			continue
		}
		x, err := space(c)
		if err != nil {
			return err
		}
		panels = append(panels, race(c.Name, x, seeds))
	}
	x, err := spaceOf(layer.Text(), "layer", 8, 3, layouts.Words)
	if err != nil {
		return err
	}
	panels = append(panels, race("transformer layer, 8 devices", x, seeds))
	return outputfile.Replace(name, 0o666, func(f *os.File) error {
		_, err := f.Write(plot(panels))
		return err
	})
}

// race searches a space with each method and seed. The reference is 1.1 times the worst of 2,000 random plans, and the whole is what all found together.
func race(title string, x *variants.Space, seeds uint64) panel {
	var reference []float64
	r := rand.New(rand.NewPCG(1, 19))
	for range 2000 {
		t := make(search.Trial, len(x.Genes()))
		for i, n := range x.Genes() {
			t[i] = uint16(r.IntN(n))
		}
		for k, c := range x.Price(t).Costs {
			if len(reference) <= k {
				reference = append(reference, 0)
			}
			if !math.IsInf(c, 1) {
				reference[k] = max(reference[k], 1.1*c)
			}
		}
	}
	var known []search.Point
	for _, t := range x.Prove(2).Trials {
		known = append(known, search.Point{Trial: t, From: "dynamic programming"})
	}
	p := panel{title: title}
	var all search.Frontier
	for _, m := range methods {
		var list [][]float64
		for seed := range seeds {
			s := &traced{Space: x, reference: reference}
			m.search(s, seed, known)
			for len(s.volumes) < curvePoints { // it had tried everything that it would
				s.volumes = append(s.volumes, s.seen.Volume(reference))
			}
			list = append(list, s.volumes)
			for _, q := range s.seen.Points {
				all.Add(q)
			}
		}
		p.curves = append(p.curves, list)
		fmt.Fprintf(os.Stderr, "%s, %s\n", title, m.name)
	}
	whole := all.Volume(reference)
	for _, list := range p.curves {
		for _, curve := range list {
			for i := range curve {
				curve[i] /= whole
			}
		}
	}
	return p
}

// The sizes of a plot.
const (
	wide, high      = 270.0, 200.0
	left, top, gaps = 44.0, 30.0, 60.0
)

// plot draws panels beside each other: the median of all seeds, and behind it what is between the least and the greatest.
func plot(panels []panel) []byte {
	var b bytes.Buffer
	width := left + float64(len(panels))*(wide+gaps)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11" fill="#16202c">`+"\n", width, top+high+70)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for i, p := range panels {
		p.draw(&b, left+float64(i)*(wide+gaps))
	}
	for i, m := range methods {
		at := left + float64(i)*170
		fmt.Fprintf(&b, `<line x1="%.0f" y1="%.0f" x2="%.0f" y2="%.0f" stroke="%s" stroke-width="2.5"/><text x="%.0f" y="%.0f">%s</text>`+"\n", at, top+high+54, at+22, top+high+54, m.colour,
			at+28, top+high+58, m.name)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (p *panel) draw(b *bytes.Buffer, from float64) {
	x := func(point int) float64 { return from + wide*float64(point)/(curvePoints-1) }
	y := func(part float64) float64 { return top + high*(1-part) }
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", from, top-12, p.title)
	for percent := 0; percent <= 100; percent += 25 {
		at := y(float64(percent) / 100)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dfe4ea"/><text x="%.1f" y="%.1f" text-anchor="end">%d %%</text>`+"\n", from, at, from+wide, at, from-5, at+4, percent)
	}
	for _, point := range []int{0, (curvePoints - 1) / 2, curvePoints - 1} {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x(point), top+high+16, trialsAt(point))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">trials</text>`+"\n", from+wide/2, top+high+32)
	for i, list := range p.curves {
		var low, middle, up []string
		for point := range curvePoints {
			var parts []float64
			for _, curve := range list {
				parts = append(parts, curve[point])
			}
			slices.Sort(parts)
			at := func(part float64) string { return fmt.Sprintf("%.1f,%.1f", x(point), y(part)) }
			low, middle, up = append(low, at(parts[0])), append(middle, at(parts[len(parts)/2])), append(up, at(parts[len(parts)-1]))
		}
		slices.Reverse(up)
		fmt.Fprintf(b, `<polygon points="%s" fill="%s" opacity="0.13"/><polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", strings.Join(slices.Concat(low, up), " "), methods[i].colour,
			strings.Join(middle, " "), methods[i].colour)
	}
}
