package expand

import (
	"context"
	"embed"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
)

//go:embed rules/*.rules
var ruleFiles embed.FS

// builtin gives the rules of the files and the ones written in Go. A fault in a file is an error of tapc itself and panics here; a test reads them all.
var builtin = sync.OnceValue(func() (rules []rewrite.Rule) {
	files, err := fs.Glob(ruleFiles, "rules/*.rules")
	for _, f := range files {
		text, e := ruleFiles.ReadFile(f)
		more, e2 := language.Parse(f, string(text), kernels.Builtin())
		if rules = append(rules, more...); e != nil || e2 != nil {
			err = e2
		}
	}
	if err != nil {
		panic(err)
	}
	return append(rules, goRules()...)
})

// Rules gives the rules of the pass in the order in which their branches come.
func Rules() []rewrite.Rule { return slices.Clone(builtin()) }

// maxDepth and maxChoices bound what one use of the pass makes.
const (
	maxDepth   = 8
	maxChoices = 100000
	maxFile    = 1 << 20
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "expand", Doc: "Hold open, as choices, what rules offer beside operations: their steps, blocks of them, and products.", Opens: true,
		Rules: func() (names []string) {
			for _, r := range Rules() {
				names = append(names, r.Name)
			}
			return names
		},
		Options: []pipeline.Option{
			pipeline.FuelOption,
			{Name: "at", Doc: "kernels and labels of the operations that are expanded, with commas between; all if empty", Type: pipeline.String},
			{Name: "depth", Doc: "rounds: in each further one, what the last one made is expanded; 8 at most", Type: pipeline.Int, Default: "1"},
			{Name: "limit", Doc: "choices that are made at most, 100000 or fewer", Type: pipeline.Int, Default: "1000"},
			{Name: "rules", Doc: "a file with more rules, whose branches come behind those of the built-in ones", Type: pipeline.Path},
			{Name: pipeline.AllowOption.Name, Doc: pipeline.AllowOption.Doc, Type: pipeline.String},
		},
		Run: func(ctx context.Context, p *pipeline.Context) error { return run(ctx, p, lib) },
	}
}

func run(ctx context.Context, p *pipeline.Context, lib *kernels.Library) error {
	set := Settings{Depth: int(p.Int("depth")), Limit: int(p.Int("limit"))}
	if set.Depth < 1 || set.Depth > maxDepth || set.Limit < 0 || set.Limit > maxChoices {
		return diag.Usage("expand{depth=%d,limit=%d}: expected a depth of 1 to %d and a limit of 0 to %d", set.Depth, set.Limit, maxDepth, maxChoices)
	}
	if at := p.Text("at"); at != "" {
		set.At = strings.Split(at, ",")
	}
	o := p.Rewrites()
	o.Library = lib
	var err error
	if o.Allow, err = p.Allow(); err != nil {
		return err
	}
	rules := Rules()
	if file := p.Text("rules"); file != "" {
		text, err := inputfile.ReadText(file, maxFile)
		if err != nil {
			return err
		}
		more, err := language.Parse(filepath.ToSlash(file), string(text), lib)
		if err == nil {
			err = language.Distinct(more, rules)
		}
		if err != nil {
			return err
		}
		if len(set.At) == 0 { // those that are asked for elsewhere are at some operations alone
			p.Must(more, o)
		}
		rules = append(rules, more...)
	}
	set.Offered = p.Offered
	n, err := Run(ctx, p.Graph, rules, set, o)
	p.Count("choices", n)
	return err
}
