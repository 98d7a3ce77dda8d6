package variants

import (
	"context"
	"fmt"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search/layouts"
)

// Stages is the row of pipelines: operations that follow each other are on groups of devices of their own.
const Stages = "stages"

// mostStages is how many numbers of stages are offered beside one.
const mostStages = 4

func pipelines() Kind {
	return Kind{Name: Stages, Doc: "into how many stages operations are divided, each on devices of its own", On: "the graph", Fuel: "stage",
		Priced: "as the stages take one after the other, with what is sent between, and each holds its own", Field: "place", Else: "one", Most: mostStages + 1, Open: openStages, Make: staging}
}

// openStages offers the least numbers of stages that divide the devices.
func openStages(g *ir.Graph, _ *kernels.Library, s *layouts.Settings) ([]Point, error) {
	devices, operations := layouts.CountDevices(s), 0
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() && !op.IsSink() && !tensorops.IsPrecomputed(n) {
			operations++
		}
	}
	values := []string{"1"}
	for n := 2; n <= min(int(devices), operations, layouts.MaxStages) && len(values) <= mostStages && s.Mesh == nil; n++ {
		if devices%int64(n) == 0 {
			values = append(values, fmt.Sprint(n))
		}
	}
	if len(values) == 1 {
		return nil, nil
	}
	return []Point{{Labels: []string{"stages"}, Values: values, Silent: true}}, nil
}

// staging divides the devices of a variant.
func staging(_ context.Context, v *Variant, taken []Taken) (err error) {
	for _, t := range taken {
		v.Settings.Stages, err = strconv.Atoi(t.Values[t.Value])
	}
	return err
}
