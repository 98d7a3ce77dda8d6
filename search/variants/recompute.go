package variants

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/recompute"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/search/layouts"
)

// Recompute is the row of tensors that are computed again for each of their readers.
const Recompute = "recompute"

func recomputation() Kind {
	return Kind{Name: Recompute, Doc: "whether a tensor that several operations read is kept, or computed again for each", On: "each tensor whose copies would spare memory where most is held; those that are alike, as in layers that repeat, together",
		Fuel: "again", Priced: "by the graph that comes of it", Field: "recompute", Else: "it is kept", Most: 8, Open: openShared, Make: recomputing,
		Rest: func(n int) string { return counted(n, "shared tensor") + " kept" }}
}

// The bounds of what is offered: how many offers there are, how many tensors are computed again together, one from the other, the least part of the memory of one device that
// has to be spared, and how much is held, of the most, where it is.
const (
	mostOffers   = 16
	mostTogether = 6
	leastSpared  = 0.005
	nearPeak     = 0.5
)

// openShared finds the tensors that are worth to be computed again, by what whole tensors take: of most bytes first. Tensors that are alike, as those of layers that repeat, are one
// point, so that what repeats does so in all variants.
func openShared(g *ir.Graph, lib *kernels.Library, _ *layouts.Settings) ([]Point, error) {
	if tensorops.HasChoices(g) {
		g = g.Clone()
		first := map[ir.NodeID]int{}
		choose.First(g, first)
		if _, err := choose.Run(context.Background(), g, first, rewrite.Options{Library: lib}); err != nil {
			return nil, err
		}
	}
	l := lifetimesOf(g)
	groups := map[string]int{}
	var list []offer
	for _, op := range l.made.Order() {
		tensor, ok := l.result(op)
		if !ok {
			continue
		}
		labels, alike, spared := l.offer(tensor)
		if i, known := groups[alike]; known && labels != nil {
			list[i].Labels = append(list[i].Labels, labels...)
		} else if labels != nil {
			groups[alike] = len(list)
			list = append(list, offer{Point{Labels: labels, Values: []string{"kept", "recomputed"}, Silent: true}, spared})
		}
	}
	slices.SortStableFunc(list, func(a, b offer) int { return cmp.Compare(b.spared, a.spared) })
	return l.worth(list[:min(len(list), mostOffers)])
}

// offer is a point, and the bytes that each of its tensors spares while it is not kept.
type offer struct {
	Point
	spared float64
}

// worth leaves offers out, those that spare least first, without which the most that is held is as little: what one layer computes again is of no use where the next one
// holds as much.
func (l *lifetimes) worth(list []offer) (points []Point, err error) {
	most := func(list []offer) float64 {
		if err != nil {
			return 0
		}
		g := l.g.Clone()
		var requests []recompute.Request
		for _, o := range list {
			requests = again(requests, recompute.Of(g), o.Labels)
		}
		if _, err = recompute.Shared(g, requests); err != nil {
			return 0
		}
		return lifetimesOf(g).most
	}
	least := most(list)
	for i := len(list) - 1; i >= 0; i-- {
		without := slices.Delete(slices.Clone(list), i, i+1)
		if m := most(without); m <= least+leastSpared*l.all {
			list, least = without, m
		}
	}
	for _, o := range list {
		points = append(points, o.Point)
	}
	return points, err
}

// lifetimes are those of the tensors of a graph, in the order of its operations.
type lifetimes struct {
	g    *ir.Graph
	made *recompute.Made
	at   map[ir.NodeID]int // places of operations
	last map[ir.NodeID]int // by tensor, the place of its last reader; behind all others for outputs
	held []float64         // bytes between inputs and outputs while each operation runs
	most float64           // of these
	all  float64           // with inputs and constants
}

func lifetimesOf(g *ir.Graph) *lifetimes {
	l := &lifetimes{g: g, made: recompute.Of(g), at: map[ir.NodeID]int{}, last: map[ir.NodeID]int{}}
	order := l.made.Order()
	for i, op := range order {
		l.at[op] = i
	}
	change := make([]float64, len(order)+1)
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); !ok {
			continue
		}
		from := l.from(n.ID)
		if from < 0 {
			l.all += l.bytes(n.ID)
			continue
		}
		l.last[n.ID] = len(order) - 1
		if readers := l.made.Readers(n.ID); len(readers) > 0 && !l.made.Observed(n.ID) {
			l.last[n.ID] = l.at[readers[len(readers)-1]]
		}
		change[from] += l.bytes(n.ID)
		change[l.last[n.ID]+1] -= l.bytes(n.ID)
	}
	now := 0.0
	for _, c := range change[:len(order)] {
		now += c
		l.held, l.most = append(l.held, now), max(l.most, now)
	}
	l.all += l.most
	return l
}

// from gives the place of the operation that computes a tensor, -1 if it is there from the beginning.
func (l *lifetimes) from(tensor ir.NodeID) int {
	op, _ := l.made.Maker(tensor)
	if op == ir.NoNode || tensorops.OperationOf(l.g, op).IsSource() || tensorops.IsPrecomputed(l.g.Node(op)) {
		return -1
	}
	return l.at[op]
}

func (l *lifetimes) bytes(tensor ir.NodeID) float64 {
	b := tensorops.TensorOf(l.g, tensor)
	n := float64(max(b.Type().Size(), 1))
	for d := range b.Range.Start {
		n *= float64(b.Range.End[d] - b.Range.Start[d])
	}
	return n
}

// result gives the tensor that an operation computes, if it can be computed again and a plan can name it.
func (l *lifetimes) result(op ir.NodeID) (tensor ir.NodeID, ok bool) {
	tensorops.OperationOf(l.g, op).Outputs.All(func(_, _ int, s *ir.Selection) { tensor = s.Tensor })
	if tensor == ir.NoNode {
		return tensor, false
	}
	_, why := l.made.Maker(tensor)
	named, found := l.made.Named(l.g.Node(tensor).Label)
	return tensor, why == "" && found && named == tensor
}

// offer gives the labels of a tensor and of those that it is computed from again, if that spares memory: what would have to be kept for it instead is less than it is.
// Alike says what makes it alike others.
func (l *lifetimes) offer(tensor ir.NodeID) (labels []string, alike string, spared float64) {
	readers := l.made.Readers(tensor)
	if len(readers) < 2 || l.made.Observed(tensor) || !l.nearPeak(readers) {
		return nil, "", 0
	}
	again, end := []ir.NodeID{tensor}, l.at[readers[len(readers)-1]]
	for {
		kept := l.kept(again, end)
		spared = l.bytes(tensor)
		for _, k := range kept {
			spared -= l.bytes(k)
		}
		if spared >= leastSpared*l.all {
			break
		}
		slices.SortStableFunc(kept, func(a, b ir.NodeID) int { return cmp.Compare(l.bytes(b), l.bytes(a)) })
		if len(kept) == 0 || len(again) == mostTogether {
			return nil, "", 0
		}
		op, _ := l.made.Maker(kept[0])
		if same, ok := l.result(op); !ok || same != kept[0] || l.made.Observed(kept[0]) {
			return nil, "", 0
		}
		again = append(again, kept[0])
	}
	for _, t := range again {
		op, _ := l.made.Maker(t)
		labels = append(labels, l.g.Node(t).Label)
		alike += fmt.Sprint(tensorops.OperationOf(l.g, op).Kernel, tensorops.TensorOf(l.g, t).Range, len(l.made.Readers(t)), end-l.at[op], ";")
	}
	return labels, alike, spared
}

// kept gives the tensors that some are computed from and that would have to be kept up to an operation for that, and are not without it.
func (l *lifetimes) kept(again []ir.NodeID, end int) (list []ir.NodeID) {
	for _, t := range again {
		op, _ := l.made.Maker(t)
		tensorops.OperationOf(l.g, op).Inputs.All(func(_, _ int, s *ir.Selection) {
			if last, ok := l.last[s.Tensor]; ok && last < end && !slices.Contains(again, s.Tensor) && !slices.Contains(list, s.Tensor) {
				list = append(list, s.Tensor)
			}
		})
	}
	return list
}

// nearPeak says whether much is held between two readers.
func (l *lifetimes) nearPeak(readers []ir.NodeID) bool {
	for i, r := range readers[1:] {
		for _, held := range l.held[l.at[readers[i]]+1 : l.at[r]] {
			if held >= nearPeak*l.most {
				return true
			}
		}
	}
	return false
}

// recomputing copies operations in a variant. What another branch of a choice does not have is left out.
func recomputing(_ context.Context, v *Variant, taken []Taken) error {
	made := recompute.Of(v.Graph)
	var requests []recompute.Request
	for _, t := range taken {
		if t.Value > 0 {
			requests = again(requests, made, t.Labels)
		}
	}
	done, err := recompute.Shared(v.Graph, requests)
	for _, r := range done {
		v.Plan.Recompute = append(v.Plan.Recompute, planfile.Recompute{Tensor: r.Tensor})
	}
	return err
}

// again adds requests for what of some labels can be computed again in a graph.
func again(requests []recompute.Request, made *recompute.Made, labels []string) []recompute.Request {
	for _, label := range labels {
		tensor, ok := made.Named(label)
		r := recompute.Request{Tensor: label}
		if !ok || slices.Contains(requests, r) {
			continue
		}
		if _, why := made.Maker(tensor); why == "" {
			requests = append(requests, r)
		}
	}
	return requests
}
