package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
)

// Printing says when the graph is written as text on its way through the passes.
type Printing struct {
	Before, After, Changes Choice            // before or after a pass; after it, as a diff, if the text has changed
	To                     io.Writer         // nil prints nothing
	Begin                  func(pass string) // told of each pass before it runs; nil is not
}

// Choice is a choice of passes.
type Choice struct {
	All   bool
	Names []string
}

// Has says whether a pass is chosen.
func (c Choice) Has(name string) bool { return c.All || slices.Contains(c.Names, name) }

func (p *Printing) shows(c Choice, pass string) bool { return p.To != nil && c.Has(pass) }

func writeGraph(w io.Writer, g *ir.Graph) error { return text.Write(w, g, text.Options{}) }

func graphText(g *ir.Graph) (string, error) {
	var b bytes.Buffer
	err := writeGraph(&b, g)
	return b.String(), err
}

func (r *run) printBefore(s *Step) error {
	if !r.Print.shows(r.Print.Before, s.Pass.Name) {
		return nil
	}
	return r.print("before", s, r.result.Graph)
}

func (r *run) print(when string, s *Step, g *ir.Graph) error {
	body, err := graphText(g)
	if err != nil {
		return r.unprintable(err)
	}
	_, err = fmt.Fprintf(r.Print.To, "// ----- %s %s (step %d) -----\n%s", when, s, r.count, body)
	return err
}

// unprintable wraps an error of a writer: a graph that passed its constraints has a text.
func (r *run) unprintable(err error) error { return diag.Fault("writing the graph: %w", err) }

func (r *run) printAfter(s *Step, before *ir.Graph) error {
	if r.Print.shows(r.Print.Changes, s.Pass.Name) {
		if err := r.printChange(s, before); err != nil {
			return err
		}
	}
	if !r.Print.shows(r.Print.After, s.Pass.Name) {
		return nil
	}
	return r.print("after", s, r.result.Graph)
}

func (r *run) printChange(s *Step, before *ir.Graph) error {
	old, err := graphText(before)
	if err != nil {
		return r.unprintable(err)
	}
	now, err := graphText(r.result.Graph)
	if err != nil {
		return r.unprintable(err)
	}
	if old == now {
		_, err = fmt.Fprintf(r.Print.To, "// ----- %s (step %d) changed nothing -----\n", s, r.count)
		return err
	}
	_, err = fmt.Fprintf(r.Print.To, "// ----- change by %s (step %d) -----\n%s", s, r.count, unifiedDiff(old, now))
	return err
}

// dump writes the graph to the next file of the dump directory.
func (r *run) dump(name string) error {
	if r.DumpDir == "" || r.Files == nil {
		return nil
	}
	body, err := graphText(r.result.Graph)
	if err != nil {
		return r.unprintable(err)
	}
	return r.Files(filepath.Join(r.DumpDir, fmt.Sprintf("%03d-%s.tap", r.count, name)), []byte(body))
}

// fingerprint gives equal bytes for equal graphs, and different ones for graphs that differ in anything that is written down. At the end
// of the context nobody waits for it.
func (r *run) fingerprint(ctx context.Context, g *ir.Graph) ([sha256.Size]byte, error) {
	return interruptible.Value(ctx, func() (sum [sha256.Size]byte, err error) {
		h := sha256.New()
		if err := loomjson.Write(h, g); err != nil {
			return sum, r.unprintable(err)
		}
		return [sha256.Size]byte(h.Sum(nil)), nil
	})
}
