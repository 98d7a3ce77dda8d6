package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/ir"
)

// word is a word of a flag that says what a form for people shows.
type word struct {
	word string
	set  func(*shown)
}

// textWords are the words of --with.
var textWords = []word{
	{"ids", func(o *shown) { o.Text.IDs = true }},
	{"places", func(o *shown) { o.Text.Positions = true }},
	{"origins", func(o *shown) { o.Text.Provenance = true }},
	{"order", func(o *shown) { o.Text.GraphOrder = true }},
}

// dotWords are the words of --dot.
var dotWords = []word{
	{"no-ids", func(o *shown) { o.Dot.NoIDs = true }},
	{"no-tags", func(o *shown) { o.Dot.NoTags = true }},
	{"no-operations", func(o *shown) { o.Dot.HideOperations = true }},
	{"no-shards", func(o *shown) { o.Dot.HideShards = true }},
	{"curves", func(o *shown) { o.Dot.Curves = true }},
}

// outputFlags are the flags of commands that write a graph.
type outputFlags struct {
	file, to  string
	with, dot []string
}

func addOutputFlags(c *cobra.Command) *outputFlags {
	f := &outputFlags{}
	c.Flags().StringVarP(&f.file, "output", "o", stdName, `file to write; "-" is standard output`)
	c.Flags().StringVar(&f.to, "to", "", "form of the output: "+guide.WordList(formNames(false))+"; default: that of the output's name, else "+defaultForm)
	c.Flags().StringSliceVar(&f.with, "with", nil, "what text also shows: "+guide.WordList(wordsOf(textWords)))
	c.Flags().StringSliceVar(&f.dot, "dot", nil, "how a drawing is made: "+guide.WordList(wordsOf(dotWords)))
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	words(c, "to", formNames(false))
	words(c, "with", wordsOf(textWords))
	words(c, "dot", wordsOf(dotWords))
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
func (f *outputFlags) shown() (o shown) {
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

// write stores a graph, whose data files from finds, as the flags say.
func (f *outputFlags) write(ctx context.Context, a *app, g *ir.Graph, from *constants.Loader) error {
	return a.store(ctx, f.file, f.to, g, from, f.shown())
}

// addFromFlag adds the flag for the form of input files.
func addFromFlag(c *cobra.Command) *string {
	from := c.Flags().String("from", "", "form of the input, if neither name nor content tell: "+guide.WordList(formNames(true)))
	words(c, "from", formNames(true))
	return from
}
