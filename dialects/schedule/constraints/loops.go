package constraints

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var kernelLoops = check.Constraint{
	ID: "KernelLoopConstraint",
	Doc: "Every loop of a kernel ends at or after its start and has at least one level. Tiles are positive, none is larger than the one " +
		"around it, and the last is 1, so that the levels visit every value of the loop once. Loops are bound to what the kernel's " +
		"device has: threads of a CPU; blocks, warps and lanes of a GPU. A loop bound to threads or blocks is one that every stored " +
		"statement runs along, or else they would all write the same cell. What a loop is of has a start and an end, and the loop lies " +
		"between; partial sums have no negative number of values.",
	Requires: []string{"ScheduleReferenceConstraint"},
	Codes: []check.Code{
		{ID: "TAP0341", Meaning: "a loop ends before its start, or its extent is beyond 64 bits"},
		{ID: "TAP0342", Meaning: "a loop has no levels, or its last tile is not 1"},
		{ID: "TAP0343", Meaning: "a tile is not positive, or larger than the one around it"},
		{ID: "TAP0344", Meaning: "a loop is bound to something that the device does not have"},
		{ID: "TAP0345", Meaning: "a loop bound to threads or blocks is not one of a stored statement"},
		{ID: "TAP0336", Meaning: "a loop is no part of the dimension that it is of"},
		{ID: "TAP0337", Meaning: "a kernel's partial sums have less than one value"},
	},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			for i := range k.Loops {
				checkLoop(c, n, k, i)
				checkOf(c, n, k, i)
			}
			if k.Sums < 0 {
				c.Report(c.Error("TAP0337", n, "/body/sums", "the partial sums of %s are empty", c.Graph().Name(n.ID)).
					Want("a number of values, or 0 for no products", fmt.Sprint(k.Sums)))
			}
		}
	},
}

// mostOf bounds the places of a dimension that a loop is part of.
const mostOf = 1 << 40

// checkOf checks that a loop is part of the dimension that it says it is of.
func checkOf(c *check.Context, n *ir.Node, k *schedule.Kernel, i int) {
	l := &k.Loops[i]
	if len(l.Of) == 0 || len(l.Of) == 2 && -mostOf <= l.Of[0] && l.Of[0] <= l.Start && l.End <= l.Of[1] && l.Of[1] <= mostOf {
		return
	}
	c.Report(c.Error("TAP0336", n, fmt.Sprint("/body/loops/", i, "/of"), "loop %s of %s is no part of its dimension", l.Name, c.Graph().Name(n.ID)).
		Want(fmt.Sprintf("a start and an end around %d to %d", l.Start, l.End), fmt.Sprint(l.Of)))
}

func checkLoop(c *check.Context, n *ir.Node, k *schedule.Kernel, i int) {
	l := &k.Loops[i]
	field, name := fmt.Sprint("/body/loops/", i), c.Graph().Name(n.ID)
	if l.End < l.Start || l.Extent() < 0 {
		c.Report(c.Error("TAP0341", n, field, "loop %s of %s is no range", l.Name, name).
			Want("a start not beyond its end, and an extent of at most 64 bits", fmt.Sprintf("%d to %d", l.Start, l.End)))
	}
	if len(l.Levels) == 0 || l.Levels[len(l.Levels)-1].Tile != 1 {
		c.Report(c.Error("TAP0342", n, field+"/levels", "the levels of loop %s of %s do not visit every value", l.Name, name).
			Want("levels whose last tile is 1", tilesText(l)))
	}
	for j, level := range l.Levels {
		if level.Tile < 1 || j > 0 && level.Tile > l.Levels[j-1].Tile {
			c.Report(c.Error("TAP0343", n, fmt.Sprint(field, "/levels/", j), "tile %d of loop %s of %s is out of order", j, l.Name, name).
				Want("positive tiles, none larger than the one around it", tilesText(l)))
			break
		}
	}
	checkBindings(c, n, k, i)
}

func tilesText(l *schedule.Loop) string {
	tiles := make([]int64, len(l.Levels))
	for i, level := range l.Levels {
		tiles[i] = level.Tile
	}
	return fmt.Sprintf("tiles %v", tiles)
}

func checkBindings(c *check.Context, n *ir.Node, k *schedule.Kernel, i int) {
	l, device := &k.Loops[i], schedule.DeviceOf(c.Graph(), k.Device)
	for j, level := range l.Levels {
		field := fmt.Sprintf("/body/loops/%d/levels/%d", i, j)
		if !device.Type.Has(level.Bind) {
			c.Report(c.Error("TAP0344", n, field, "loop %s of %s is bound to what its device does not have", l.Name, c.Graph().Name(n.ID)).
				Want(fmt.Sprintf("a binding of a %s device", device.Type), level.Bind.String()).
				WithNote(c.At(c.Graph().Node(k.Device), ""), "the device"))
		}
		if level.Bind == schedule.Thread || level.Bind == schedule.Block {
			checkParallel(c, n, k, i, field)
		}
	}
}

// checkParallel checks that every stored statement runs along a loop that many threads share.
func checkParallel(c *check.Context, n *ir.Node, k *schedule.Kernel, i int, field string) {
	for s := range k.Statements {
		st := &k.Statements[s]
		if st.Store < 0 || slices.Contains(st.Over, int64(i)) || k.Loops[i].Extent() <= 1 {
			continue
		}
		c.Report(c.Error("TAP0345", n, field, "loop %s of %s is shared out, but a stored statement does not run along it", k.Loops[i].Name, c.Graph().Name(n.ID)).
			Want("stored statements over "+k.Loops[i].Name, fmt.Sprintf("statement %s over %s", st.Name, loopNames(k, st.Over))))
	}
}

// loopNames lists loops by name for messages.
func loopNames(k *schedule.Kernel, loops []int64) string {
	names := make([]string, len(loops))
	for i, l := range loops {
		names[i] = k.LoopName(int(l))
	}
	return fmt.Sprint(names)
}
