package cnest

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// About says what a kernel carries out, where that stands in the user's file, and what its loops are.
func About(g *ir.Graph, k *schedule.Kernel) []string {
	lines := Origin(g, k)
	for _, l := range k.Loops {
		words := ""
		for _, level := range l.Levels {
			words += fmt.Sprintf(" %s:%d", level.Bind, level.Tile)
		}
		lines = append(lines, fmt.Sprintf("  loop %s %d..%d%s", l.Name, l.Start, l.End, words))
	}
	return lines
}

// Origin says what a kernel carries out and where that stands in the user's file.
func Origin(g *ir.Graph, k *schedule.Kernel) []string {
	lines := []string{Clip(k.Name)}
	for _, a := range k.Applications {
		n := g.Node(a)
		if n == nil {
			continue
		}
		at := g.At(n, "")
		at.File = BaseName(at.File)
		if s := at.String(); s != "" {
			lines = append(lines, "  for "+Clip(g.Name(a))+" at "+s)
		}
	}
	return lines
}

// BaseName is a path's last element.
func BaseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }
