package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The sizes of examples/parallel: a layer of a transformer on rows of sequences, and two convolutions.
const (
	batch, length, width, inner = 2, 8, 16, 64
	images, rowCells            = 2, 8 // rowCells is the width of an image
	float                       = 4    // bytes
)

// literature has what the papers that docs/plans.md names say that each way to divide work sends in a forward pass, in bytes that arrive at all devices together: of each
// transfer, in the order in which the plan needs them. Of a collective on a tensor of b bytes among n devices a ring brings each device b(n−1)/n, and twice that of an all-reduce.
var literature = []struct {
	plan, graph, what string
	devices           string // that carry it out
	allow             bool   // partial sums
	expected          []float64
}{
	{"tensor", "layer", "all-reduce", "4", true, slices.Repeat([]float64{2 * 3 * batch * length * width * float}, 2)},
	{"sequence", "layer", "all-gather reduce-scatter", "4", true, slices.Repeat([]float64{3 * batch * length * width * float}, 4)},
	{"weights", "layer", "all-gather", "2", false, func() []float64 { // N−1 times Ψ, of a layer 12 width²
		square, large := float64(width*width*float), float64(width*inner*float)
		return []float64{square, square, square, square, large, large}
	}()},
	{"context", "layer", "all-gather", "4", false, slices.Repeat([]float64{3 * batch * length * width * float}, 2)},
	{"stages", "layer", "copy", "2", false, slices.Repeat([]float64{batch / 2 * length * width * float}, 2)},
	{"halo", "images", "exchange", "4", false, []float64{2 * 3 * 1 * images * 3 * rowCells * float, 2 * 3 * 2 * images * 4 * rowCells * float}},
}

// TestLiterature: plans that divide work as papers do need the transfers that these count, no others, and values are those of the graph without them.
func TestLiterature(t *testing.T) {
	docs, err := os.ReadFile("../../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string][]float32{}
	for _, c := range literature {
		t.Run(c.plan, func(t *testing.T) {
			plan, graph := "../../examples/parallel/"+c.plan+".json", "../../examples/parallel/"+c.graph+".tap"
			moved, links := movedBy(t, c.what, graph, c.allow, "--plan="+plan)
			if !slices.Equal(moved, c.expected) {
				t.Errorf("%v bytes arrive, the formulas say %v", moved, c.expected)
			}
			sum := 0.0
			for _, n := range c.expected {
				sum += n
			}
			// of the fastest algorithms of a few bytes only that of an all-reduce sends more than a ring does
			if c.plan != "tensor" && links != sum {
				t.Errorf("%v bytes pass links between devices, the formulas say %v", links, sum)
			}
			if row := regexp.MustCompile("(?m)^\\| `" + c.plan + "\\.json` .*\\| ([0-9,]+) \\|$").FindSubmatch(docs); row == nil || strings.ReplaceAll(string(row[1]), ",", "") != strconv.Itoa(int(sum)) {
				t.Errorf("docs/plans.md has %q, the formulas say %v", row, sum)
			}
			if whole[graph] == nil {
				whole[graph] = evaluated(t, graph, false)
			}
			for i, v := range evaluated(t, graph, c.allow, "--plan="+plan, "--devices="+c.devices) {
				if w := whole[graph][i]; c.allow && math.Abs(float64(v-w)) > 1e-5 || !c.allow && v != w {
					t.Fatalf("value %d is %v, expected %v", i, v, w)
				}
			}
		})
	}
}

// movedBy gives the bytes of the transfers between GPUs that a plan needs, and those that pass the links between them. Each transfer is one of some kinds.
func movedBy(t *testing.T, kinds, graph string, allow bool, args ...string) (moved []float64, links float64) {
	t.Helper()
	args = append([]string{"cost", graph, "--machine=8xh100", "--target=cuda", "--json"}, args...)
	if allow {
		args = append(args, "--allow=reassociate")
	}
	status, out, errs := tapc(t, "", args...)
	var said struct {
		Links     map[string]float64 `json:"link_bytes"`
		Transfers []struct {
			From, To, Bytes string
			Ways            []struct{ Way string }
		}
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, errs)
	}
	for _, x := range said.Transfers {
		if strings.Contains(x.From+x.To, "cpu") { // inputs and outputs, which are the host's
			continue
		}
		n, err := strconv.ParseFloat(x.Bytes, 64)
		word := strings.TrimPrefix(x.Ways[0].Way, "a ")
		if word, _, _ = strings.Cut(word, " along "); err != nil || !strings.Contains(kinds, word) {
			t.Errorf("%s of %s bytes, expected %s", x.Ways[0].Way, x.Bytes, kinds)
		}
		moved = append(moved, n)
	}
	return moved, said.Links["nvlink"]
}

// evaluated gives the values of the result y, on random inputs.
func evaluated(t *testing.T, graph string, allow bool, args ...string) []float32 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "y.npy")
	args = append([]string{"run", graph, "--reference", "--random=1", "--output=y=" + file}, args...)
	if allow {
		args = append(args, "--allow=reassociate")
	}
	if status, _, errs := tapc(t, "", args...); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	list := make([]float32, (len(data)-head)/float)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[head+float*i:]))
	}
	return list
}
