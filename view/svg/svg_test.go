package svg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/svg"
)

var update = flag.Bool("update", false, "write the expected drawings anew")

func draw(t interface{ Fatal(...any) }, g *ir.Graph) string {
	var b bytes.Buffer
	if err := svg.Write(&b, figure.Of(g)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExamples(t *testing.T) {
	for _, name := range []string{"operation-expression", "application-expression", "linear-relu-4"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("../../examples/" + name + ".loom.json")
			if err != nil {
				t.Fatal(err)
			}
			g, err := loomjson.Read(data, name, dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, draw(t, g))
		})
	}
}

// What is observed, what is pruned, what only moves cells, and what brings constants in.
func TestKinds(t *testing.T) {
	data, err := os.ReadFile("testdata/kinds.tap")
	if err != nil {
		t.Fatal(err)
	}
	g, err := text.Read(data, "kinds.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "kinds", draw(t, g))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".svg")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wellFormed(t, got)
}

// wellFormed reads a drawing as XML does.
func wellFormed(t interface{ Fatal(...any) }, drawing string) {
	d := xml.NewDecoder(bytes.NewReader([]byte(drawing)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Any graph can be drawn, whatever its labels and however its references dangle, and always in the same way.
func TestAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := irtest.Random(t, irtest.Schedule)
		drawing := draw(t, g)
		wellFormed(t, drawing)
		if diff := cmp.Diff(drawing, draw(t, g.Clone())); diff != "" {
			t.Fatal(diff)
		}
		var b bytes.Buffer
		if err := svg.Write(&b, figure.Operations(g, "", true)); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, b.String())
	})
}
