package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
)

// textExtras are what text can hold beside the nodes' meaning, by the words of --with.
var textExtras = []struct {
	word string
	set  func(*text.Options)
}{
	{"ids", func(o *text.Options) { o.IDs = true }},
	{"places", func(o *text.Options) { o.Positions = true }},
	{"origins", func(o *text.Options) { o.Provenance = true }},
	{"order", func(o *text.Options) { o.GraphOrder = true }},
}

const withHelp = `The text form leaves out what people seldom need; --with=WORD,… adds it:
  ids      the ids of the graph and its nodes
  places   where each node stands in the file that it was read from
  origins  which rewrite made a node, and from which places
  order    nodes in the graph's own order, not in reading order`

// outputFlags are the flags of commands that write a graph.
type outputFlags struct {
	file, to string
	with     []string
}

func addOutputFlags(c *cobra.Command) *outputFlags {
	f := &outputFlags{}
	c.Flags().StringVarP(&f.file, "output", "o", stdName, `file to write; "-" is standard output`)
	c.Flags().StringVar(&f.to, "to", "", "form of the output: "+wordList(formNames(false))+"; default: that of the output's name, else "+defaultForm)
	c.Flags().StringSliceVar(&f.with, "with", nil, "what text also shows: "+wordList(extraWords()))
	complete(c, "to", formNames(false))
	complete(c, "with", extraWords())
	return f
}

func extraWords() []string {
	var words []string
	for _, x := range textExtras {
		words = append(words, x.word)
	}
	return words
}

// check finds what is wrong with the flags, before any work.
func (f *outputFlags) check() error {
	if err := formFlag("--to", f.to, false); err != nil {
		return err
	}
	for _, w := range f.with {
		if err := oneOf("--with", w, extraWords()); err != nil {
			return err
		}
	}
	return nil
}

// write stores a graph as the flags say.
func (f *outputFlags) write(ctx context.Context, a *app, g *ir.Graph) error {
	var o text.Options
	for _, w := range f.with {
		for _, x := range textExtras {
			if x.word == w {
				x.set(&o)
			}
		}
	}
	return a.storeWith(ctx, f.file, f.to, g, o)
}

// addFromFlag adds the flag for the form of input files.
func addFromFlag(c *cobra.Command) *string {
	from := c.Flags().String("from", "", "form of the input, if neither name nor content tell: "+wordList(formNames(true)))
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
