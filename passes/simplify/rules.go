package simplify

import (
	"embed"
	"io/fs"
	"slices"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
	"tensortapestry.org/tapc/passes/simplify/views"
)

//go:generate go test -run TestPage -update .

//go:embed rules/*.rules
var ruleFiles embed.FS

// builtin gives the rules of the files, read with tapc's own kernels, and the ones written in Go. A fault in a file is an
// error of tapc itself and panics here; a test reads them all.
var builtin = sync.OnceValue(func() []rewrite.Rule {
	rules, err := rulesOf(kernels.Builtin())
	if err != nil {
		panic(err)
	}
	return rules
})

func rulesOf(lib *kernels.Library) ([]rewrite.Rule, error) {
	rules := []rewrite.Rule{constantFold, constantView, constantDequantized, transposedPhases, batchNormWeights, batchNormFactor}
	files, err := fs.Glob(ruleFiles, "rules/*.rules")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := ruleFiles.ReadFile(f)
		if err != nil {
			return nil, err
		}
		more, err := language.Parse(f, string(text), lib)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return append(rules, views.Rules()...), nil
}

// Rules gives the rules of the pass simplify in the order in which they are tried.
func Rules() []rewrite.Rule { return slices.Clone(builtin()) }
