package graphfiles

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/ir"
)

// word is a word of a flag that says what a form for people shows.
type word struct {
	word string
	set  func(*Shown)
}

// textWords are the words of --with.
var textWords = []word{
	{"ids", func(o *Shown) { o.Text.IDs = true }},
	{"places", func(o *Shown) { o.Text.Positions = true }},
	{"origins", func(o *Shown) { o.Text.Provenance = true }},
	{"order", func(o *Shown) { o.Text.GraphOrder = true }},
}

// dotWords are the words of --dot.
var dotWords = []word{
	{"no-ids", func(o *Shown) { o.Dot.NoIDs = true }},
	{"no-tags", func(o *Shown) { o.Dot.NoTags = true }},
	{"no-operations", func(o *Shown) { o.Dot.HideOperations = true }},
	{"no-shards", func(o *Shown) { o.Dot.HideShards = true }},
	{"curves", func(o *Shown) { o.Dot.Curves = true }},
}

// outputFlags are the flags of commands that write a graph.
type outputFlags struct {
	File, To  string
	with, dot []string
}

func AddOutputFlags(c *cobra.Command) *outputFlags {
	f := &outputFlags{}
	c.Flags().StringVarP(&f.File, "output", "o", app.Standard, `file to write; "-" is standard output`)
	c.Flags().StringVar(&f.To, "to", "", "form of the output: "+guide.WordList(formNames(false))+"; default: that of the output's name, else "+defaultForm)
	c.Flags().StringSliceVar(&f.with, "with", nil, "what text also shows: "+guide.WordList(wordsOf(textWords)))
	c.Flags().StringSliceVar(&f.dot, "dot", nil, "how a drawing is made: "+guide.WordList(wordsOf(dotWords)))
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	app.Words(c, "to", formNames(false))
	app.Words(c, "with", wordsOf(textWords))
	app.Words(c, "dot", wordsOf(dotWords))
	return f
}

func wordsOf(list []word) []string {
	var words []string
	for _, x := range list {
		words = append(words, x.word)
	}
	return words
}

// shown gives what the flags say.
func (f *outputFlags) shown() (o Shown) {
	for _, x := range textWords {
		if slices.Contains(f.with, x.word) {
			x.set(&o)
		}
	}
	for _, x := range dotWords {
		if slices.Contains(f.dot, x.word) {
			x.set(&o)
		}
	}
	return o
}

// Write stores a graph, whose data files from finds, as the flags say.
func (f *outputFlags) Write(ctx context.Context, a *app.App, g *ir.Graph, from *constants.Loader) error {
	return Store(ctx, a, f.File, f.To, g, from, f.shown())
}

// AddFromFlag adds the flag for the form of input files.
func AddFromFlag(c *cobra.Command) *string {
	from := c.Flags().String("from", "", "form of the input, if neither name nor content tell: "+guide.WordList(formNames(true)))
	app.Words(c, "from", formNames(true))
	return from
}
