package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// page is a page of the site.
type page struct {
	source string // its file in the repository
	file   string // its name in the site
	group  string // in the menu
	title  string // its first heading
	parsed
}

// groups is the menu. Pages of docs that it does not list come last, under rest.
var groups = []struct {
	name  string
	pages []string
}{
	{"Begin", []string{"README.md", "docs/tutorial-models.md", "docs/tutorial-passes.md", "docs/tutorial-tests.md"}},
	{"Compile models", []string{"docs/onnx.md", "docs/sizes.md", "docs/plans.md", "docs/libraries.md", "docs/programs.md", "docs/errors.md", "docs/numerics.md", "docs/cpu.md", "docs/machines.md", "docs/search.md", "docs/models.md", "docs/performance.md", "docs/cli.md"}},
	{"Extend tapc", []string{"docs/plugins.md", "docs/passes.md", "docs/rewrites.md", "docs/kernels.md", "docs/mapping.md", "docs/vocabularies.md", "docs/namespaces.md", "docs/amanda.md", "docs/backends.md", "docs/configs.md"}},
	{"Write tests", []string{"docs/lit.md", "docs/filecheck.md"}},
	{"Graphs", []string{"docs/text-form.md", "docs/loom-json.md", "docs/wire-form.md", "docs/constraints.md"}},
	{"The project", []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md", "examples/README.md", "CHANGELOG.md"}},
}

const rest = "More"

// menu lists the pages in their order.
func menu(root string) ([]*page, error) {
	var list []*page
	listed := map[string]bool{}
	for _, g := range groups {
		for _, source := range g.pages {
			list = append(list, &page{source: source, file: fileOf(source), group: g.name})
			listed[source] = true
		}
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	slices.Sort(docs)
	for _, d := range docs {
		if source := "docs/" + filepath.Base(d); !listed[source] {
			list = append(list, &page{source: source, file: fileOf(source), group: rest})
		}
	}
	return list, nil
}

// fileOf names the page of a file: that of a folder's README.md is the folder's.
func fileOf(source string) string {
	if source == "README.md" {
		return "index.html"
	}
	source = strings.TrimSuffix(source, "/README.md")
	return strings.ToLower(strings.TrimSuffix(path.Base(source), ".md")) + ".html"
}

func (p *page) text(root string) ([]byte, error) {
	return os.ReadFile(filepath.Join(root, filepath.FromSlash(p.source)))
}
