package memory

import (
	"context"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "memory", Doc: "Place the buffers of each device in as little memory as their lives allow.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After:    []pipeline.Order{{Name: "fuse", Reason: "fusion removes buffers"}},
		Options: []pipeline.Option{
			{Name: "limits", Doc: "bytes of memory of the devices where kernels run, by number, with commas between; 0 if that is not known", Type: pipeline.String, Fact: pipeline.Memories}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			limits, err := limitsOf(p.Text("limits"))
			if err != nil {
				return err
			}
			peaks, err := Run(p.Graph)
			if err == nil {
				err = limit(p.Graph, limits)
			}
			for _, bytes := range peaks {
				p.Count("bytes", int(bytes))
			}
			return err
		},
	}
}

// limitsOf reads numbers of bytes.
func limitsOf(text string) (list []int64, err error) {
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return nil, diag.Usage("memory: limits=%q: expected numbers of bytes with commas between", text)
		}
		list = append(list, n)
	}
	return list, nil
}

// limit writes down what memory devices have, and says which hold more.
func limit(g *ir.Graph, memory []int64) error {
	var faults diag.List
	held := schedule.Held(g)
	for n := range g.Nodes() {
		d, ok := n.Body.(*schedule.Device)
		if !ok || d.Number >= int64(len(memory)) || memory[d.Number] == 0 {
			continue
		}
		if d.Memory = memory[d.Number]; held[n.ID] != nil && held[n.ID].Total() > d.Memory {
			fault := diag.Errorf("TAP0809", "memory", g.At(n, ""), "%s has not enough memory for its part of the program", g.Name(n.ID))
			faults = append(faults, held[n.ID].Beyond(g, d.Memory, fault))
		}
	}
	return faults.Err()
}
