// Package explore lets plugins take part in searches for plans: it asks their mutators and cost terms for whole rounds of trials, and holds what they answer to what a
// trial and a cost may be.
//
// It must not search or price itself. Read next: search, whose mutators and terms these become, and plugins/host, which runs plugins.
package explore

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/search"
)

// Source is a plugin: what it says of itself, and how it is started.
type Source struct {
	About *host.Description
	Open  host.Opener
}

// objectives are the words for what terms are added to.
var objectives = []string{"time", "memory", "sent"}

// Space is a space that plugins see.
type Space struct {
	search.Space
	Genes      []*proto.Space_Gene
	Devices    int64
	Machine    string
	Objectives []string // in the order of costs
}

// Extend adds what plugins provide to a space. Said tells what it was, so that searches with other plugins can be told apart; "" if they provide nothing. An error of a
// plugin is a *host.Fault, also of what the mutators and terms give.
func Extend(ctx context.Context, sources []Source, s *Space) (out search.Space, said string, err error) {
	x := &search.Extended{Space: s.Space}
	for _, source := range sources {
		if len(source.About.Mutators)+len(source.About.Terms) == 0 {
			continue
		}
		p, err := source.Open(ctx)
		if err != nil {
			return nil, "", err
		}
		e := &extension{ctx: ctx, plugin: p, name: source.About.Name, values: s.Space.Genes()}
		if err := e.open(s); err != nil {
			return nil, "", err
		}
		if err := e.add(x, source.About, s.Objectives); err != nil {
			return nil, "", err
		}
		said += fmt.Sprintln(source.About.Name, source.About.Version)
	}
	if said == "" {
		return s.Space, "", nil
	}
	return x, said, nil
}

// extension is one plugin in one search.
type extension struct {
	ctx    context.Context
	plugin *host.Plugin
	name   string
	values []int // of each gene
}

func (e *extension) open(s *Space) error {
	return e.plugin.Call(e.ctx, "search", func(ctx context.Context, c proto.PluginClient) error {
		_, err := c.OpenSpace(ctx, &proto.Space{Genes: s.Genes, Devices: s.Devices, Machine: s.Machine})
		return err
	}, fine)
}

func fine() string { return "" }

// add adds the plugin's rows. A term of an objective that is not asked for is left out.
func (e *extension) add(x *search.Extended, m *host.Description, asked []string) error {
	for _, r := range m.Mutators {
		x.More = append(x.More, search.Mutator{Name: e.name + "/" + r.Name, Doc: r.Doc, On: r.Text,
			Batch: func(trials []search.Trial, seeds []uint64) ([]bool, error) { return e.mutate(r.Name, trials, seeds) }})
	}
	for _, r := range m.Terms {
		if !slices.Contains(objectives, r.Text) {
			return diag.Errorf("TAP0966", "plugin", diag.Location{}, "plugin %s: the cost term %s is added to %q, which is no cost of plans", e.name, r.Name, r.Text).
				Want("time, memory or sent", fmt.Sprintf("%.40q", r.Text))
		}
		if k := slices.Index(asked, r.Text); k >= 0 {
			x.Terms = append(x.Terms, search.Term{Name: e.name + "/" + r.Name, Objective: k,
				Price: func(trials []search.Trial) ([]float64, error) { return e.price(r.Name, trials) }})
		}
	}
	return nil
}

func messages(trials []search.Trial) (out []*proto.Trial) {
	for _, t := range trials {
		m := &proto.Trial{}
		for _, v := range t {
			m.Values = append(m.Values, uint32(v))
		}
		out = append(out, m)
	}
	return out
}

// mutate lets the plugin change trials.
func (e *extension) mutate(mutator string, trials []search.Trial, seeds []uint64) ([]bool, error) {
	var reply *proto.MutateReply
	err := e.plugin.Call(e.ctx, "mutator "+mutator, func(ctx context.Context, c proto.PluginClient) (err error) {
		reply, err = c.Mutate(ctx, &proto.MutateRequest{Mutator: mutator, Trials: messages(trials), Seeds: seeds})
		return err
	}, func() string { return e.checkTrials(reply.Trials, len(trials)) })
	if err != nil {
		return nil, err
	}
	applied := make([]bool, len(trials))
	for i, m := range reply.Trials {
		for k, v := range m.Values {
			trials[i][k] = uint16(v)
		}
		applied[i] = len(m.Values) > 0
	}
	return applied, nil
}

// checkTrials says what is wrong with trials, if anything is.
func (e *extension) checkTrials(list []*proto.Trial, sent int) string {
	if len(list) != sent {
		return fmt.Sprintf("it gave %d trials for %d", len(list), sent)
	}
	for i, m := range list {
		if n := len(m.Values); n != 0 && n != len(e.values) {
			return fmt.Sprintf("trial %d has %d values, and there are %d genes", i, n, len(e.values))
		}
		for k, v := range m.Values {
			if v >= uint32(e.values[k]) {
				return fmt.Sprintf("trial %d has the value %d of gene %d, which has %d values", i, v, k, e.values[k])
			}
		}
	}
	return ""
}

// price gives what a term costs.
func (e *extension) price(term string, trials []search.Trial) ([]float64, error) {
	var reply *proto.ChargeReply
	err := e.plugin.Call(e.ctx, "cost term "+term, func(ctx context.Context, c proto.PluginClient) (err error) {
		reply, err = c.Charge(ctx, &proto.ChargeRequest{Term: term, Trials: messages(trials)})
		return err
	}, func() string { return checkCosts(reply.Costs, len(trials)) })
	if err != nil {
		return nil, err
	}
	return reply.Costs, nil
}

// checkCosts says what is wrong with costs, if anything is.
func checkCosts(list []float64, sent int) string {
	if len(list) != sent {
		return fmt.Sprintf("it gave %d costs for %d trials", len(list), sent)
	}
	for i, c := range list {
		if c < 0 || math.IsNaN(c) || math.IsInf(c, 0) {
			return fmt.Sprintf("trial %d costs %v, which is no cost", i, c)
		}
	}
	return ""
}
