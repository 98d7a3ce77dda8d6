package cpu_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	consts "tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// typed is tensorText for an element type.
func typed(d, name string, shape ...int) string {
	return strings.Replace(tensorText(name, shape...), "float32", d, 1)
}

// stagedGraphs are graphs whose folds have a form.
func stagedGraphs() map[string]string {
	out := map[string]string{}
	for _, d := range []string{"float32", "float64", "int32", "float16", "complex64"} {
		for _, p := range []string{"axis: 0", "axis: 1", "axis: 1, exclusive: true", "axis: 0, reverse: true", "axis: 1, exclusive: true, reverse: true"} {
			out["cumsum "+d+" "+p] = typed(d, "x", 37, 70) + typed(d, "y", 37, 70) + fmt.Sprintf("%%s = operation op:cumsum {%s} (tensor: %%x) -> (result: %%y)\n", p)
		}
	}
	for _, d := range []string{"float32", "float64", "int64", "uint8", "bfloat16"} { // more values side by side than one tile has
		for at, p := range []string{"axis: 1", "axis: 1, exclusive: true", "axis: 1, reverse: true"} {
			kernel := []string{"cumsum", "cumsum", "cumprod"}[at]
			out["wide "+kernel+" "+d+" "+p] = typed(d, "x", 3, 7, 1100) + typed(d, "y", 3, 7, 1100) +
				fmt.Sprintf("%%s = operation op:%s {%s} (tensor: %%x) -> (result: %%y)\n", kernel, p)
		}
	}
	for _, kernel := range []string{"cummax", "cummin"} {
		out[kernel] = tensorText("x", 9, 70) + tensorText("y", 9, 70) + "%s = operation op:" + kernel + " {axis: 1, reverse: true} (tensor: %x) -> (result: %y)\n"
	}
	out["compress"] = tensorText("x", 5, 40) + typed("boolean", "c", 40) + tensorText("y", 5, 13) +
		"%s = operation op:compress {axis: 1, kept: 13} (condition: %c, tensor: %x) -> (result: %y)\n"
	for _, d := range []string{"float32", "int8", "float16"} {
		for _, descending := range []string{"true", "false"} {
			out["sort "+d+" "+descending] = typed(d, "x", 6, 41, 3) + typed(d, "y", 6, 41, 3) + typed("int64", "i", 6, 41, 3) +
				fmt.Sprintf("%%s = operation op:sort {axis: 1, descending: %s} (tensor: %%x) -> (indices: %%i, values: %%y)\n", descending)
		}
		out["top_k "+d] = typed(d, "x", 7, 50) + typed(d, "y", 7, 5) + typed("int64", "i", 7, 5) +
			"%s = operation op:top_k {k: 5} (tensor: %x) -> (indices: %i, values: %y)\n"
	}
	for _, d := range []string{"float32", "float16", "uint8", "int4"} {
		for _, p := range []string{"k: 30", "k: 7", "k: 30, sorted: false", "k: 90, sorted: false"} {
			k := strings.TrimPrefix(strings.TrimSuffix(p, ", sorted: false"), "k: ")
			out["unique "+d+" "+p] = typed(d, "x", 61) + fmt.Sprintf("%%v = tensor %s [0:%s]\n%%n = tensor int64 [0:%s]\n%%c = tensor int64 [0:%s]\n", d, k, k, k) +
				typed("int64", "w", 61) + fmt.Sprintf("%%s = operation op:unique {%s} (tensor: %%x) -> (counts: %%c, indices: %%n, inverse: %%w, values: %%v)\n", p)
		}
	}
	for _, kernel := range []string{"scatter", "scatter_add", "scatter_mul", "scatter_max", "scatter_min"} {
		for _, d := range []string{"float32", "float64", "int16"} {
			out[kernel+" "+d] = typed(d, "x", 4, 11, 6) + typed("int64", "k", 4, 30, 6) + typed(d, "u", 4, 30, 6) + typed(d, "y", 4, 11, 6) +
				fmt.Sprintf("%%s = operation op:%s {axis: 1} (indices: %%k, tensor: %%x, updates: %%u) -> (result: %%y)\n", kernel)
		}
	}
	for _, kernel := range []string{"scatter_nd", "scatter_nd_add", "scatter_nd_mul", "scatter_nd_max"} {
		out[kernel] = tensorText("x", 6, 5, 9) + typed("int32", "k", 40, 2) + tensorText("u", 40, 9) + tensorText("y", 6, 5, 9) +
			fmt.Sprintf("%%s = operation op:%s {depth: 2} (indices: %%k, tensor: %%x, updates: %%u) -> (result: %%y)\n", kernel)
	}
	return out
}

// Folds that have a form are computed in it, and give what the reference gives.
func TestStaged(t *testing.T) {
	cc := cputest.Compiler(t)
	all, runs := stagedGraphs(), testkit.Turns(t, 2) // of programs; what is recognised is looked at each time
	for names := range slices.Chunk(slices.Sorted(maps.Keys(all)), 12) {
		run := runs()
		t.Run(names[0]+" and on", func(t *testing.T) {
			t.Parallel()
			var graphs []string
			for i, name := range names {
				t.Logf("c%d is %s", i, name)
				src, err := cpu.Emit(cputest.Scheduled(t, all[name]), "test", "test")
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(src.C, "//   scan") {
					t.Errorf("%s: a fold was not recognised:\n%s", name, src.C)
				}
				graphs = append(graphs, all[name])
			}
			if !run {
				return
			}
			load := (&consts.Loader{}).Load
			conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, load, cputest.Strictly(cc)(load))
		})
	}
}

// Folds that have no form are left to what else there is.
func TestNotStaged(t *testing.T) {
	for name, graph := range map[string]string{
		"matmul": tensorText("x", 9, 70) + tensorText("w", 70, 8) + tensorText("y", 9, 8) + "%s = operation op:matmul (X: %x, W: %w) -> (Z: %y)\n",
		"reduce": tensorText("x", 9, 70) + tensorText("y", 9) + "%s = operation op:reduce_max {dims: [1]} (tensor: %x) -> (result: %y)\n",
	} {
		src, err := cpu.Emit(cputest.Scheduled(t, graph), "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(src.C, "//   scan") {
			t.Errorf("%s:\n%s", name, src.C)
		}
	}
}

// Long dimensions are possible: a time that grew with the square of their length would be days.
func TestLongDimensions(t *testing.T) {
	cc := cputest.Compiler(t)
	const n = 1 << 18
	graph := tensorText("x", n) + tensorText("y", n) + typed("int64", "i", n) + tensorText("z", n) + typed("int32", "k", n) + typed("float32", "h", 100) +
		tensorText("q", 100) + `%s = operation op:sort (tensor: %x) -> (indices: %i, values: %y)
%c = operation op:cumsum (tensor: %x) -> (result: %z)
%a = operation op:scatter_add (indices: %k, tensor: %h, updates: %x) -> (result: %q)
`
	rnd := rand.New(rand.NewPCG(1, 2))
	x, k := make([]byte, 4*n), make([]byte, 4*n)
	sums, values := make([]float64, n), make([]float32, n)
	var buckets [100]float64
	total := 0.0
	for i := range n {
		v, b := float32(rnd.NormFloat64()), rnd.IntN(100)
		binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(v))
		binary.LittleEndian.PutUint32(k[4*i:], uint32(b))
		total += float64(v)
		sums[i], values[i] = total, v
		buckets[b] += float64(v)
	}
	slices.Sort(values)
	got := cputest.Executes(cc, "native", nil)(nil)(t, cputest.Scheduled(t, graph), map[string]tensorfile.Tensor{
		"x": {DType: scalar.Float32, Shape: []int64{n}, Data: x}, "k": {DType: scalar.Int32, Shape: []int64{n}, Data: k},
		"h": {DType: scalar.Float32, Shape: []int64{100}, Data: make([]byte, 400)}})
	at := func(name string, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(got[name].Data[4*i:]))
	}
	for i := range n {
		if at("y", i) != values[i] || at("z", i) != float32(sums[i]) {
			t.Fatalf("%d: expected %v and %v, found %v and %v", i, values[i], float32(sums[i]), at("y", i), at("z", i))
		}
	}
	for i, b := range buckets {
		if at("q", i) != float32(b) {
			t.Errorf("%d: expected %v, found %v", i, float32(b), at("q", i))
		}
	}
}

// The distinct cells of a long vector, each with one of few values or of many.
func TestLongUnique(t *testing.T) {
	cc := cputest.Compiler(t)
	const n, k = 1<<17 + 3, 1 << 17
	rnd := rand.New(rand.NewPCG(3, 4))
	x, data := make([]float32, n), make([]byte, 4*n)
	for i := range x {
		switch rnd.IntN(10) {
		case 0:
			x[i] = float32(math.NaN())
		case 1, 2, 3:
			x[i] = float32(rnd.IntN(50) - 25)
		case 4:
			x[i] = float32(math.Copysign(0, float64(rnd.IntN(2)*2-1)))
		default:
			x[i] = float32(rnd.IntN(n)) / 8
		}
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(x[i]))
	}
	for _, sorted := range []bool{true, false} {
		graph := tensorText("x", n) + tensorText("v", k) + typed("int64", "f", k) + typed("int64", "c", k) + typed("int64", "w", n) +
			fmt.Sprintf("%%s = operation op:unique {k: %d, sorted: %v} (tensor: %%x) -> (counts: %%c, indices: %%f, inverse: %%w, values: %%v)\n", k, sorted)
		src, err := cpu.Emit(cputest.Scheduled(t, graph), "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if line := nestedOver(src.C, n); line != "" {
			t.Errorf("sorted %v: a loop over all cells stands in another: %s", sorted, line)
		}
		got := cputest.Executes(cc, "native", nil)(nil)(t, cputest.Scheduled(t, graph), map[string]tensorfile.Tensor{"x": {DType: scalar.Float32, Shape: []int64{n}, Data: data}})
		number := func(name string, i int) int {
			return int(int64(binary.LittleEndian.Uint64(got[name].Data[8*i:])))
		}
		first, counts, inverse := distinct(x, sorted)
		for i := range k {
			at, count, value := -1, 0, float32(0)
			if i < len(first) {
				at, count, value = first[i], counts[i], x[first[i]]
			}
			v := math.Float32frombits(binary.LittleEndian.Uint32(got["v"].Data[4*i:]))
			if number("f", i) != at || number("c", i) != count || v != value && value == value || (v != v) != (value != value) {
				t.Fatalf("sorted %v, %d: expected %v, %d times, first at %d; found %v, %d, %d", sorted, i, value, count, at, v, number("c", i), number("f", i))
			}
		}
		for i := range n {
			if number("w", i) != inverse[i] {
				t.Fatalf("sorted %v: expected cell %d to be number %d, found %d", sorted, i, inverse[i], number("w", i))
			}
		}
	}
}

// distinct gives where each distinct value comes first, how often it is there and, of every cell, its number. All NaNs are one.
func distinct(x []float32, sorted bool) (first, counts, inverse []int) {
	number := map[float32]int{}
	nan := -1
	inverse = make([]int, len(x))
	for i, v := range x {
		k, ok := number[v]
		if v != v {
			k, ok = nan, nan >= 0
		}
		if !ok {
			k = len(first)
			first, counts = append(first, i), append(counts, 0)
			if number[v] = k; v != v {
				nan = k
			}
		}
		counts[k]++
		inverse[i] = k
	}
	if !sorted {
		return first, counts, inverse
	}
	order := make([]int, len(first))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch x, y := x[first[a]], x[first[b]]; {
		case x < y, y != y:
			return -1
		default:
			return 1
		}
	})
	place := make([]int, len(order))
	f, c := make([]int, len(order)), make([]int, len(order))
	for i, k := range order {
		place[k], f[i], c[i] = i, first[k], counts[k]
	}
	for i, k := range inverse {
		inverse[i] = place[k]
	}
	return f, c, inverse
}

// nestedOver gives a line of a C text where a loop of a nest with n steps stands in another one with n steps, or "".
func nestedOver(c string, n int) string {
	loop := regexp.MustCompile(fmt.Sprintf(`^( *)for \(int64_t i\d+ = 0; i\d+ < %d;`, n))
	outer := -1 // the indentation of the loop around
	for _, line := range strings.Split(c, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if outer >= 0 && strings.TrimSpace(line) != "" && indent <= outer {
			outer = -1
		}
		if loop.MatchString(line) {
			if outer >= 0 {
				return line
			}
			outer = indent
		}
	}
	return ""
}
