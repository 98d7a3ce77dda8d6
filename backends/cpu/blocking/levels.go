package blocking

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// Rows gives a copy of a kernel whose loops are cut as a stage of rows says: where results lie along lanes, these are cut.
func Rows(k *schedule.Kernel, r *nest.Rows, s *schedule.Stage) (*schedule.Kernel, error) {
	out, dims := whole(k), r.Outer
	if !r.Free {
		if s.Tile(schedule.RoleElement) != nil {
			return nil, fmt.Errorf("what is reduced along lanes is not cut: expected no element")
		}
	} else {
		part, err := sizes(s, schedule.RoleElement, r.Lane, min(max(1, len(s.Tile(schedule.RoleElement))), 2)) // a task's, and that of vectors that are jammed
		if err != nil {
			return nil, err
		}
		dims = append(slices.Clone(dims), r.Lane)
		out.Loops[r.Lane.Inner()].Levels = levels(part, schedule.Vector)
	}
	for _, d := range dims {
		for _, l := range d.Loops {
			if s.Threads {
				out.Loops[l].Levels[0].Bind = schedule.Thread
			}
		}
	}
	return out, nil
}

// Loops gives a copy of a kernel whose loops are cut as a stage of loops says. Threads run the loop with the most tiles, the outermost of equals.
func Loops(a *nest.Analysis, s *schedule.Stage) (*schedule.Kernel, error) {
	k, out := a.Kernel, whole(a.Kernel)
	line, element := tile.LoopRoles(a)
	for _, x := range []struct {
		schedule.Role
		loop   int
		inside schedule.Binding
	}{{schedule.RoleElement, element, schedule.Vector}, {schedule.RoleLine, line, schedule.Unrolled}} {
		switch tiles := s.Tile(x.Role); {
		case tiles == nil:
		case x.loop < 0:
			return nil, fmt.Errorf("it has no %s to cut", x.Role)
		case len(tiles) != 1 || tiles[0] < 1 || tiles[0] > max(1, k.Loops[x.loop].Extent()):
			return nil, fmt.Errorf("%s is cut into %v: expected one size, of %d at most", x.Role, tiles, k.Loops[x.loop].Extent())
		default:
			out.Loops[x.loop].Levels = levels(tiles, x.inside)
		}
	}
	if free := k.Free(); s.Threads && len(free) > 0 {
		out.Loops[widest(out, free)].Levels[0].Bind = schedule.Thread
	}
	return out, nil
}

// whole gives a copy of a kernel whose loops are not cut.
func whole(k *schedule.Kernel) *schedule.Kernel {
	out := *k
	out.Loops = make([]schedule.Loop, len(k.Loops))
	for i, l := range k.Loops {
		l.Levels = []schedule.Level{{Tile: 1}}
		out.Loops[i] = l
	}
	return &out
}

// levels are those of tiles of some sizes, and of what carries out a value of the innermost.
func levels(sizes []int64, inside schedule.Binding) []schedule.Level {
	var out []schedule.Level
	for _, n := range sizes {
		out = append(out, schedule.Level{Tile: n})
	}
	return append(out, schedule.Level{Tile: 1, Bind: inside})
}

// widest gives the loop whose outermost level has the most steps; the outermost of equals.
func widest(k *schedule.Kernel, loops []int) int {
	best, steps := loops[0], int64(0)
	for _, l := range loops {
		tile := k.Loops[l].Levels[0].Tile
		if n := (k.Loops[l].Extent() + tile - 1) / tile; n > steps {
			best, steps = l, n
		}
	}
	return best
}
