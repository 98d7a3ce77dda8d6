package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/constants"
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
	complete(c, "to", formNames(false))
	complete(c, "with", wordsOf(textWords))
	complete(c, "dot", wordsOf(dotWords))
	return f
}

func wordsOf(list []word) []string {
	var words []string
	for _, x := range list {
		words = append(words, x.word)
	}
	return words
}

// shown gives what the flags say, or what is wrong with them.
func (f *outputFlags) shown() (shown, error) {
	var o shown
	if err := formFlag("--to", f.to, false); err != nil {
		return o, err
	}
	err := setAll(&o, "--with", f.with, textWords)
	if err == nil {
		err = setAll(&o, "--dot", f.dot, dotWords)
	}
	return o, err
}

func setAll(o *shown, flag string, given []string, words []word) error {
	for _, w := range given {
		i := slices.IndexFunc(words, func(x word) bool { return x.word == w })
		if i < 0 {
			return oneOf(flag, w, wordsOf(words))
		}
		words[i].set(o)
	}
	return nil
}

// check finds what is wrong with the flags, before any work.
func (f *outputFlags) check() error {
	_, err := f.shown()
	return err
}

// write stores a graph, whose data files from finds, as the flags say.
func (f *outputFlags) write(ctx context.Context, a *app, g *ir.Graph, from *constants.Loader) error {
	o, err := f.shown()
	if err != nil {
		return err
	}
	return a.store(ctx, f.file, f.to, g, from, o)
}

// addFromFlag adds the flag for the form of input files.
func addFromFlag(c *cobra.Command) *string {
	from := c.Flags().String("from", "", "form of the input, if neither name nor content tell: "+guide.WordList(formNames(true)))
	complete(c, "from", formNames(true))
	return from
}

// formFlag checks the name of a form; "" stands for the one that is found out.
func formFlag(flag, name string, read bool) error {
	if name == "" {
		return nil
	}
	return oneOf(flag, name, formNames(read))
}
