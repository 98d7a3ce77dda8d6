package cpu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/cpu/winograd"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/tile"
)

// times multiplies matrices.
func times(a, b [][]float64) [][]float64 {
	out := make([][]float64, len(a))
	for i := range a {
		out[i] = make([]float64, len(b[0]))
		for j := range out[i] {
			for k := range b {
				out[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return out
}

// sides multiplies a matrix with another from the left, and with that one transposed from the right.
func sides(m, x [][]float64) [][]float64 { return times(m, transposed(times(m, transposed(x)))) }

func transposed(a [][]float64) [][]float64 {
	out := make([][]float64, len(a[0]))
	for i := range out {
		for j := range a {
			out[i] = append(out[i], a[j][i])
		}
	}
	return out
}

// elementwise computes with the elements of two matrices.
func elementwise(a, b [][]float64, f func(x, y float64) float64) [][]float64 {
	out := make([][]float64, len(a))
	for i := range a {
		for j := range a[i] {
			out[i] = append(out[i], f(a[i][j], b[i][j]))
		}
	}
	return out
}

// squares gives the squares of a matrix's elements.
func squares(a [][]float64) [][]float64 {
	return elementwise(a, a, func(x, y float64) float64 { return x * y })
}

// TestWinogradForms: the transformed product is the convolution, for every tile and filter of small integers, up to what the
// fractions in the filters' matrix round.
func TestWinogradForms(t *testing.T) {
	for size, form := range panels.WinogradForms {
		rapid.Check(t, func(t *rapid.T) {
			draw := func(n int64, name string) [][]float64 {
				out := make([][]float64, n)
				for i := range out {
					for range n {
						out[i] = append(out[i], float64(rapid.IntRange(-9, 9).Draw(t, name)))
					}
				}
				return out
			}
			d, g := draw(size+2, "element"), draw(3, "tap")
			y := sides(form.Result, elementwise(sides(form.Image, d), sides(form.Filter, g), func(x, y float64) float64 { return x * y }))
			for i := range size {
				for j := range size {
					want := 0.0
					for a := range int64(3) {
						for b := range int64(3) {
							want += d[i+a][j+b] * g[a][b]
						}
					}
					if math.Abs(y[i][j]-want) > 1e-9 {
						t.Fatalf("result %d, %d of tiles of %d is %v, expected %v", i, j, size, y[i][j], want)
					}
				}
			}
		})
	}
}

// transformsHarness prints what the transformations of tiles of some results make of an image of distinct numbers, and of sums that are that.
const transformsHarness = `
int main(void) {
  _Alignas(64) float image[%[1]d * %[1]d * TAPC_LANES], points[%[1]d * %[1]d * TAPC_LANES];
  _Alignas(64) tapc_singles results[%[2]d * %[2]d];
  for (int i = 0; i < %[1]d * %[1]d; i++)
    for (int x = 0; x < TAPC_LANES; x++) image[i * TAPC_LANES + x] = (float)(i * 7 %% 11 - 5 + x);
  tapc_image_%[2]d(image, %[1]d * TAPC_LANES, TAPC_LANES, points, TAPC_LANES, TAPC_LANES - 1);
  tapc_results_%[2]d(image, TAPC_LANES, results, %[2]d);
  for (int x = 0; x < TAPC_LANES - 1; x++) {
    for (int i = 0; i < %[1]d * %[1]d; i++) printf("%%.9g ", (double)points[i * TAPC_LANES + x]);
    for (int i = 0; i < %[2]d * %[2]d; i++) printf("%%.9g ", (double)results[i][x]);
  }
}
`

// TestTransforms compiles the C of the transformations for each size of vectors, and holds it to the matrices: all numbers are small, and few are rounded.
func TestTransforms(t *testing.T) {
	cc := cputest.Compiler(t)
	for _, target := range cc.Machine.Levels {
		if target.Has != "" && !cputest.Runs(t, cc, target) {
			continue
		}
		for size, form := range panels.WinogradForms {
			v, lanes := vector.New(cexpr.NewWriter()), target.Lanes(4)
			winograd.Define(v, lanes)
			text := "#include <stdint.h>\n#include <stdio.h>\n" + cpu.Header[strings.Index(cpu.Header, "#define TAPC_FN"):] + v.Prelude() + fmt.Sprintf(transformsHarness, size+2, size)
			flags := slices.Concat(cc.Args, toolchain.UsualFlags(), target.Flags, []string{"-Wall", "-Wextra", "-Werror", "-Wno-unused-function"})
			out, err := exec.Command(cputest.CompileC(t, cc, text, flags...)).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", target.Name, err, out)
			}
			got := strings.Fields(string(out))
			for x := range lanes - 1 {
				image := make([][]float64, size+2)
				for i := range image {
					for j := range size + 2 {
						image[i] = append(image[i], float64((int64(i)*(size+2)+j)*7%11-5+int64(x)))
					}
				}
				for i, want := range slices.Concat(slices.Concat(sides(form.Image, image)...), slices.Concat(sides(form.Result, image)...)) {
					if y, err := strconv.ParseFloat(got[0], 64); err != nil || math.Abs(y-want) > 1e-5*(1+math.Abs(want)) {
						t.Errorf("%s, tiles of %d: number %d of lane %d is %s, expected %v", target.Name, size, i, x, got[0], want)
					}
					got = got[1:]
				}
			}
		}
	}
}

// fastConvolution takes a convolution to a schedule on tiles of a size for a target; across is how many tiles of a row a task has, if not as many as usual.
func fastConvolution(t *testing.T, graph string, target tile.Target, size int64, across ...int64) *ir.Graph {
	t.Helper()
	g := cputest.Allowing(t, graph, permission.TransformedTiles)
	found := 0
	for x := range g.Nodes() {
		if k, ok := x.Body.(*schedule.Kernel); ok {
			k.Allow = permission.TransformedTiles // also where it does not pay
			if w, ok := nest.FindWinograd(k, whole.Buffers(g)); ok {
				processor := isa.Scheduled
				processor.Target = target
				c := schedule.Config{Target: target.Name(), Stages: []schedule.Stage{target.WinogradStage(k, w.Of(size))}}
				for i := range c.Stages[0].Tiles {
					if x := &c.Stages[0].Tiles[i]; x.Role == schedule.RoleAcross && len(across) > 0 {
						x.Sizes[0] = across[0] * size
					}
				}
				if err := (configs.Chooser{For: processor}).State(nest.Analyze(k, whole.Buffers(g)), &c); err != nil {
					t.Fatal(err)
				}
				k.Configs = []schedule.Config{c}
				found++
			}
		}
	}
	if found == 0 {
		t.Fatal("no convolution may be carried out on transformed tiles")
	}
	return g
}

// winogradCase is a graph with convolutions of images x with constant filters w.
type winogradCase struct {
	name string
	convolution
	behind string // what comes behind the convolution: from %y to %z
	last   bool   // images and results have their channels last
}

// text gives the graph.
func (c winogradCase) text() string {
	c.fixed = true
	text := c.graph()
	if c.behind == "" {
		return text
	}
	n := strings.Index(text, "operation op:relu")
	m := n + strings.Index(text[n:], "\n") + 1
	return text[:n] + c.behind + text[m:]
}

// channelsLast wraps the graph of a convolution so that it reads %u and gives %v, whose channels are last.
func (c winogradCase) channelsLast() string {
	text := c.text()
	if !c.last {
		return text
	}
	in, out := c.image, c.results()
	return fmt.Sprintf("%%u = tensor float32 %s\n%%v = tensor float32 %s\noperation op:permute {perm: [0, 3, 1, 2]} (tensor: %%u) -> (result: %%x)\n"+
		"operation op:permute {perm: [0, 2, 3, 1]} (tensor: %%z) -> (result: %%v)\n", cputest.Box(in[0], in[2], in[3], in[1]), cputest.Box(out[0], out[2], out[3], out[1])) + text
}

// results is the shape of the results.
func (c winogradCase) results() []int64 {
	return []int64{c.image[0], c.filters[0], c.image[2] + 2*c.pads - 2, c.image[3] + 2*c.pads - 2}
}

// channelsFirst gives the values of an array of some shape whose channels are last in the order in which they are first.
func channelsFirst(values []float64, shape []int64) []float64 {
	out := make([]float64, len(values))
	pixels := shape[2] * shape[3]
	for i := range out {
		image, channel, pixel := int64(i)/(shape[1]*pixels), int64(i)/pixels%shape[1], int64(i)%pixels
		out[i] = values[(image*pixels+pixel)*shape[1]+channel]
	}
	return out
}

const residual = `%r = tensor float32 SHAPE
%s = tensor float32 SHAPE
operation op:add (tensors: [%y, %r]) -> (result: %s)
operation op:relu (tensor: %s) -> (result: %z)
`

// winogradCases are convolutions of odd sizes.
func winogradCases() []winogradCase {
	shaped := func(dims ...int64) string { return strings.ReplaceAll(residual, "SHAPE", cputest.Box(dims...)) }
	return []winogradCase{
		{"odd sizes", convolution{[]int64{1, 19, 11, 13}, []int64{37, 19, 3, 3}, 1, 1, 1, 1, true}, "", false},
		{"no pads", convolution{[]int64{1, 16, 9, 23}, []int64{20, 16, 3, 3}, 1, 0, 1, 1, true}, "", false},
		{"wide pads", convolution{[]int64{1, 17, 5, 6}, []int64{16, 17, 3, 3}, 1, 4, 1, 1, true}, "", false},
		{"batch", convolution{[]int64{3, 16, 7, 7}, []int64{24, 16, 3, 3}, 1, 1, 1, 1, true}, "", false},
		{"groups", convolution{[]int64{2, 34, 8, 9}, []int64{40, 17, 3, 3}, 1, 1, 1, 2, true}, "", false},
		{"long rows", convolution{[]int64{1, 90, 4, 150}, []int64{18, 90, 3, 3}, 1, 1, 1, 1, true}, "", false},
		{"residual", convolution{[]int64{1, 16, 10, 17}, []int64{33, 16, 3, 3}, 1, 1, 1, 1, true}, shaped(1, 33, 10, 17), false},
		{"channels last", convolution{[]int64{2, 19, 11, 14}, []int64{37, 19, 3, 3}, 1, 1, 1, 1, true}, "", true},
		{"channels last, no pads", convolution{[]int64{1, 32, 9, 8}, []int64{32, 32, 3, 3}, 1, 0, 1, 1, true}, "", true},
	}
}

// readInPlace is in the C of convolutions that copy only the edges of images.
var readInPlace = regexp.MustCompile(`tapc_image_[24]\(p[0-9]`)

// floats reads float32 values.
func floats(x tensorfile.Tensor) []float64 {
	out := make([]float64, len(x.Data)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(x.Data[4*i:])))
	}
	return out
}

// tolerances gives how far each result of a convolution on transformed tiles may be from the exact one. Every product in the transformed
// space is rounded at most n = channels + 22 times on its way: 8 times when the image is transformed, once with the filters, once itself, 8 times when
// it is transformed back, up to 4 by what comes behind, and at most channels times in the sum. Roundings of sums with random terms add up as independent ones do
// (N. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019), so the error of a result has a variance of at most
// 2^-48·n·S, where S is the sum of the squares of everything that is added up on the way to it: what the transformations give with
// the squares of all numbers. Six standard deviations are allowed.
func (c winogradCase) tolerances(size int64, x, w []float64) []float64 {
	form := panels.WinogradForms[size]
	images, filters, channels := c.image[0], c.filters[0], c.filters[1]
	height, width := c.image[2], c.image[3]
	down, across := c.results()[2], c.results()[3]
	image, filter, result := squares(form.Image), squares(form.Filter), squares(form.Result)
	square := func(n int64, at func(i, j int64) float64) [][]float64 {
		out := make([][]float64, n)
		for i := range n {
			for j := range n {
				out[i] = append(out[i], at(i, j)*at(i, j))
			}
		}
		return out
	}
	out := make([]float64, images*filters*down*across)
	for n := range images {
		for f := range filters {
			first := f / (filters / c.groups) * channels
			for y := int64(0); y < down; y += size {
				for z := int64(0); z < across; z += size {
					var sum [][]float64
					for ch := range channels {
						d := sides(image, square(size+2, func(i, j int64) float64 {
							r, s := y+i-c.pads, z+j-c.pads
							if r < 0 || r >= height || s < 0 || s >= width {
								return 0
							}
							return x[((n*c.image[1]+first+ch)*height+r)*width+s]
						}))
						g := sides(filter, square(3, func(i, j int64) float64 { return w[((f*channels+ch)*3+i)*3+j] }))
						products := elementwise(d, g, func(x, y float64) float64 { return x * y })
						if sum == nil {
							sum = products
						} else {
							sum = elementwise(sum, products, func(x, y float64) float64 { return x + y })
						}
					}
					for i, row := range sides(result, sum) {
						for j, s := range row {
							if r, q := y+int64(i), z+int64(j); r < down && q < across {
								out[((n*filters+f)*down+r)*across+q] = 6 * math.Sqrt(float64(channels+22)*s) / (1 << 24)
							}
						}
					}
				}
			}
		}
	}
	return out
}

// TestWinograd runs convolutions on transformed tiles of both sizes, with vectors of each width, and compares them with the reference
// evaluator. Sizes take turns on the widest vectors, and on the others.
func TestWinograd(t *testing.T) {
	cc := cputest.Compiler(t)
	widest, narrower := testkit.Turns(t, 3), testkit.Turns(t, 6)
	for _, c := range winogradCases() {
		var run [2][]bool // by size and level
		for range len(cc.Machine.Levels) {
			for i := range run {
				run[i] = append(run[i], len(run[i]) == 0 && widest() || len(run[i]) > 0 && narrower())
			}
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			graph := c.channelsLast()
			in := cputest.RandomInputs(t, cputest.Operations(t, graph))
			image, result := floats(in["x"]), "z"
			if c.last {
				image, result = channelsFirst(floats(in["u"]), c.image), "v"
			}
			want := floats(cputest.Evaluate(t, cputest.Operations(t, graph), in)[result])
			if c.last {
				want = channelsFirst(want, c.results())
			}
			filters := tensorfile.Tensor{Data: rt.Random(scalar.Float32, 3, "constant", nest.SaturatingProduct(c.filters...))} // as randomConstant gives them
			for index, size := range []int64{2, 4} {
				allowed := c.tolerances(size, image, floats(filters))
				for i, level := range cc.Machine.Levels {
					if !run[index][i] {
						continue
					}
					g := fastConvolution(t, graph, level.Target, size)
					src, err := cpu.EmitFor(g, "test", "test", level)
					if err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(src.C, "tapc_image_") || readInPlace.MatchString(src.C) != c.last {
						t.Fatalf("%s, tiles of %d: it is not carried out on transformed tiles, or not in the order of its channels", level.Name, size)
					}
					got := floats(cputest.Executes(cc, level.Name, cputest.Strict)(cputest.RandomConstant)(t, g, in)[result])
					if c.last {
						got = channelsFirst(got, c.results())
					}
					worst := 0.0
					for i := range want {
						limit := allowed[i] + math.Abs(want[i])/(1<<23) // both are rounded once more
						if e := math.Abs(got[i] - want[i]); !(e <= limit) {
							t.Fatalf("%s, tiles of %d: result %d is %v, expected %v within %v", level.Name, size, i, got[i], want[i], limit)
						} else if e > 0 {
							worst = max(worst, e/limit)
						}
					}
					t.Logf("%s, tiles of %d: at most %.2f of what is allowed", level.Name, size, worst)
				}
			}
		})
	}
}

// TestWinogradParts: results are the same wherever rows are cut, also within vectors of results that are neighbours along them.
func TestWinogradParts(t *testing.T) {
	cc := cputest.Compiler(t)
	level := cc.Machine.Levels[0]
	graph := winogradCase{convolution: convolution{[]int64{2, 20, 9, 61}, []int64{40, 20, 3, 3}, 1, 1, 1, 1, true}}.text()
	in := cputest.RandomInputs(t, cputest.Operations(t, graph))
	var first []byte
	for _, across := range []int64{16, 3, 1} {
		g := fastConvolution(t, graph, level.Target, 4, across)
		got := cputest.Executes(cc, level.Name, cputest.Strict)(cputest.RandomConstant)(t, g, in)["z"].Data
		if first == nil {
			first = got
		}
		if !bytes.Equal(first, got) {
			t.Errorf("%d tiles of a row: other results than %d", across, 16)
		}
	}
}

// TestWinogradThreads: results are the same for any number of threads, that is for any way in which pieces are shared out.
func TestWinogradThreads(t *testing.T) {
	cc := cputest.Compiler(t)
	for _, c := range []convolution{
		{[]int64{1, 40, 33, 30}, []int64{72, 40, 3, 3}, 1, 1, 1, 1, true},
		{[]int64{5, 64, 9, 7}, []int64{96, 64, 3, 3}, 1, 1, 1, 1, true},
	} {
		g := fastConvolution(t, c.graph(), tile.Default, 4)
		src, err := cpu.Prepare(g, "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		exe := filepath.Join(dir, "program")
		load := func(c tensorops.Const) (tensorfile.Tensor, error) {
			return cputest.RandomConstant(c, tensorops.TensorOf(g, c.Tensor))
		}
		if err := cpu.Build(context.Background(), cc, src, load, exe, cpu.Options{Version: "test", CPU: "native"}); err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, threads := range []string{"1", "2", "3", "7"} {
			path := filepath.Join(dir, threads+".npy")
			if out, err := exec.Command(exe, "--random", "1", "--threads", threads, "--output", "z="+path).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			if !bytes.Equal(first, got) {
				t.Errorf("%v: %s threads give other results than one", c.image, threads)
			}
		}
	}
}

// TestTransformedTrees verifies the trees of random convolutions, as they are cut for processors of each kind and as configs may say otherwise.
func TestTransformedTrees(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(name string, from, to int64) int64 { return rapid.Int64Range(from, to).Draw(r, name) }
		groups, pads := draw("groups", 1, 2), draw("pads", 0, 4)
		c := winogradCase{convolution: convolution{[]int64{draw("images", 1, 9), draw("in", 1, 140) * groups, draw("height", 3, 70), draw("width", 3, 70)}, nil, 1, pads, 1, groups, true}, last: rapid.Bool().Draw(r, "last")}
		c.filters = []int64{draw("out", 1, 150) * groups, c.image[1] / groups, 3, 3}
		g := cputest.Allowing(t, c.channelsLast(), permission.TransformedTiles)
		buffers := whole.Buffers(g)
		for x := range g.Nodes() {
			k, ok := x.Body.(*schedule.Kernel)
			if !ok {
				continue
			}
			k.Allow = permission.TransformedTiles // also where it does not pay
			w, ok := nest.FindWinograd(k, buffers)
			if !ok {
				continue
			}
			level := rapid.SampledFrom(isa.MachineOf(rapid.SampledFrom([]string{"x86_64-linux-gnu", "aarch64-linux-gnu"}).Draw(r, "machine")).Levels).Draw(r, "level")
			size := rapid.SampledFrom([]int64{2, 4}).Draw(r, "size")
			s := level.Target.WinogradStage(k, w.Of(size))
			if rapid.Bool().Draw(r, "otherwise") {
				for i := range s.Tiles {
					switch x := &s.Tiles[i]; x.Role {
					case schedule.RoleDown, schedule.RoleAcross:
						x.Sizes[0] = draw("tiles", 1, 12) * size
					case schedule.RoleN:
						x.Sizes[0] = draw("parts", 1, 6) * x.Sizes[1]
					}
				}
			}
			f, err := (configs.Chooser{For: level}).Read(nest.Analyze(k, buffers), &schedule.Config{Target: level.Target.Name(), Stages: []schedule.Stage{s}})
			if err != nil {
				r.Logf("refused: %v", err) // images of which a task would have parts
				continue
			}
			if _, err := f.Tree(); err != nil {
				r.Fatal(err)
			}
		}
	})
}
