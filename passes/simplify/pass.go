package simplify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
)

// Passes gives the rows of the pass table for simplify, cse and dce, with the kernels that graphs may use.
func Passes(lib *kernels.Library) []pipeline.Pass {
	row := func(p pipeline.Pass, run func(ctx context.Context, p *pipeline.Context, o rewrite.Options) (rewrite.Stats, error)) pipeline.Pass {
		p.Upto = pipeline.ApplicationExpression
		p.Standard = pipeline.Standard{Phase: pipeline.Simplifying, Fix: true}
		p.Options = append([]pipeline.Option{pipeline.FuelOption}, p.Options...)
		p.Run = func(ctx context.Context, c *pipeline.Context) error {
			o := c.Rewrites()
			o.Library = lib
			return report(c)(run(ctx, c, o))
		}
		return p
	}
	return []pipeline.Pass{
		row(pipeline.Pass{Name: "simplify", Doc: "Simplify by algebra, composition of selectors and constant folding.", Rules: ruleNames,
			Options: []pipeline.Option{{Name: "rules", Doc: "a file with more rules, tried after the built-in ones", Type: pipeline.Path},
				pipeline.AllowOption, targetOption}},
			func(ctx context.Context, p *pipeline.Context, o rewrite.Options) (rewrite.Stats, error) {
				more, err := Load(p.Text("rules"), lib)
				if err != nil {
					return rewrite.Stats{}, err
				}
				if o.Allow, err = p.Allow(); err != nil {
					return rewrite.Stats{}, err
				}
				if p.Text(targetOption.Name) == schedule.Host.String() {
					if _, err := RunEarly(ctx, p.Graph, true, o); err != nil {
						return rewrite.Stats{}, err
					}
				}
				p.Must(append(Rules(), more...), o)
				return Run(ctx, p.Graph, more, o)
			}),
		row(pipeline.Pass{Name: "cse", Doc: "Make equal operations one.", Rules: func() []string { return []string{"cse"} }},
			func(ctx context.Context, p *pipeline.Context, o rewrite.Options) (rewrite.Stats, error) {
				return CSE(ctx, p.Graph, o)
			}),
		row(pipeline.Pass{Name: "dce", Doc: "Remove what no observed value needs.", Rules: func() []string { return []string{"dce"} },
			Options: []pipeline.Option{{Name: "outputs", Doc: "labels of the only tensors that are observed, with commas; every unused result if empty", Type: pipeline.String}}},
			func(ctx context.Context, p *pipeline.Context, o rewrite.Options) (rewrite.Stats, error) {
				if text := p.Text("outputs"); text != "" {
					o.Outputs = strings.Split(text, ",")
				}
				return DCE(ctx, p.Graph, o)
			}),
	}
}

// targetOption is for rules that pay on some targets alone: on a CPU, of a choice only the side that is chosen is computed.
var targetOption = pipeline.Option{Name: "target", Type: pipeline.String, Default: anyTarget, Words: append(schedule.DeviceWords(), anyTarget), Fact: pipeline.Target,
	Doc: "what the program runs on, for rules that pay there: " + strings.Join(append(schedule.DeviceWords(), anyTarget), " or ")}

const anyTarget = "any"

func ruleNames() []string {
	var names []string
	for _, r := range append(EarlyRules(), Rules()...) {
		names = append(names, r.Name)
	}
	return names
}

// report counts what a run did. Rules that do not come to an end are a fault of the rules, not of the graph: of the user's, if one of them is among those.
func report(p *pipeline.Context) func(rewrite.Stats, error) error {
	return func(s rewrite.Stats, err error) error {
		p.Count("operations removed", s.Removed)
		p.Count("matches refused", s.Refused)
		var cycle *rewrite.CycleError
		if errors.As(err, &cycle) {
			own := ruleNames()
			if yours := slices.IndexFunc(cycle.Rules, func(name string) bool { return !slices.Contains(own, name) }); yours >= 0 {
				return fmt.Errorf("%w; this is a fault of your rule %s (%s), not of the graph", err, cycle.Rules[yours], cycle.Sources[yours])
			}
			return diag.Fault("%w", err)
		}
		return err
	}
}

// maxRuleFile bounds a file of rules.
const maxRuleFile = 1 << 20

// Load reads a file of rules; "" is none. A rule with the name of a built-in one is an error.
func Load(file string, lib *kernels.Library) ([]rewrite.Rule, error) {
	rules, err := read(file, lib)
	if err != nil {
		return nil, err
	}
	return rules, language.Distinct(rules, append(EarlyRules(), Rules()...))
}

func read(file string, lib *kernels.Library) ([]rewrite.Rule, error) {
	if file == "" {
		return nil, nil
	}
	text, err := inputfile.ReadText(file, maxRuleFile)
	if err != nil {
		return nil, err
	}
	return language.Parse(filepath.ToSlash(file), string(text), lib)
}

// Named gives the names of the rules in files, those that the options "rules" of passes name.
func Named(files []string, lib *kernels.Library) ([]string, error) {
	var names []string
	for _, file := range files {
		rules, err := read(file, lib)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			names = append(names, r.Name)
		}
	}
	return names, nil
}
