package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	models "tensortapestry.org/tapc/tools/bench/search/graphs"
)

var updatePictures = flag.Bool("update-pictures", false, "write testdata/view/*.png anew")

// TestViewPictures compares what a browser shows with pictures that were looked at: in cells of ten by ten pixels, so that fonts and the smoothing of
// edges, which other machines have others of, do not count.
func TestViewPictures(t *testing.T) {
	plan := func(tensors ...string) string {
		var list []string
		for i := 0; i+1 < len(tensors); i += 2 {
			list = append(list, fmt.Sprintf(`{"tensor": %q, "dims": [%s]}`, tensors[i], tensors[i+1]))
		}
		return write(t, "plan.json", `{"version": 1, "mesh": [{"axis": "t", "size": 8}], "tensors": [`+strings.Join(list, ", ")+`]}`)
	}
	transformer := write(t, "transformer.tap", models.Transformer{Type: "float32", Layers: 2, Batch: 1, Tokens: 32, Width: 64, Inner: 128, Heads: 8, KeyHeads: 8, Depth: 8}.Text())
	for _, c := range []struct {
		name string
		show string // an expression
		args []string
	}{
		{"classifier", "showTab(1)", []string{"../../examples/classifier/classifier.loom.json"}},
		{"classifier-memory", `showTab(tabs.findIndex(t => t.chart === "memory"))`, []string{"../../examples/classifier/classifier.loom.json"}},
		{"resnet50", "showTab(0)", []string{write(t, "resnet50.tap", resnet50())}},
		{"resnet50-near", "showTab(0); setFold(false); zoom(6)", []string{write(t, "resnet50.tap", resnet50())}},
		{"transformer", "showTab(2)", []string{transformer, "--allow=reassociate", "--plan=" + plan("wq_0", `"-", "t", "-"`, "wk_0", `"-", "t", "-"`, "wv_0", `"-", "t", "-"`, "wo_0", `"t", "-", "-"`, "w1_0", `"-", "t"`, "w2_0", `"t", "-"`)}},
		{"frontier", `showTab(tabs.findIndex(t => t.chart === "plans")); next(1); next(1)`, []string{"../../examples/mlp/mlp.tap", "--frontier=testdata/view/frontier.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := browser(t)
			page(t, p, c.args...)
			expect(t, p, c.show+"; true", "true")
			expect(t, p, drawn, "true")
			picture(t, p, "golden-"+c.name)
			data, err := p.Picture()
			if err != nil {
				t.Fatal(err)
			}
			got := coarse(t, data)
			file := filepath.Join("testdata", "view", c.name+".png")
			if *updatePictures {
				var b bytes.Buffer
				if err := png.Encode(&b, got); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			data, err = os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if far := apart(got, want); far > 0.02 {
				t.Errorf("%.1f %% of the cells differ from %s; TAPC_PICTURES=FOLDER keeps what is shown, and -update-pictures writes the file once that was looked at", 100*far, file)
			}
			quietPage(t, p)
		})
	}
}

// cell is how many pixels of a picture, across and down, are one of the picture that it is compared as.
const cell = 10

// coarse makes a small picture of a PNG file: the mean of each cell.
func coarse(t *testing.T, data []byte) *image.RGBA {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b := from.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()/cell, b.Dy()/cell))
	for y := range b.Dy() / cell {
		for x := range b.Dx() / cell {
			var sum [3]uint32
			for i := range cell * cell {
				red, green, blue, _ := from.At(b.Min.X+x*cell+i%cell, b.Min.Y+y*cell+i/cell).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+red>>8, sum[1]+green>>8, sum[2]+blue>>8
			}
			out.Set(x, y, color.RGBA{uint8(sum[0] / cell / cell), uint8(sum[1] / cell / cell), uint8(sum[2] / cell / cell), 255})
		}
	}
	return out
}

// apart is the part of the cells of two pictures whose colours are far from those of the other's, and from those of all cells around it there; 1 for
// pictures of other sizes.
func apart(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	w, h, far := a.Bounds().Dx(), a.Bounds().Dy(), 0
	near := func(p, q color.Color) bool {
		x, y := color.RGBAModel.Convert(p).(color.RGBA), color.RGBAModel.Convert(q).(color.RGBA)
		d := func(m, n uint8) int { return max(int(m)-int(n), int(n)-int(m)) }
		return max(d(x.R, y.R), d(x.G, y.G), d(x.B, y.B)) <= 24
	}
	for y := range h {
		for x := range w {
			found := false
			for i := range 9 {
				u, v := x+i%3-1, y+i/3-1
				found = found || u >= 0 && v >= 0 && u < w && v < h && near(a.At(x, y), b.At(u, v))
			}
			if !found {
				far++
			}
		}
	}
	return float64(far) / float64(w*h)
}

// resnet50 is the graph of ResNet-50 for one image, with its normalizations folded into the convolutions.
func resnet50() string {
	var b strings.Builder
	n := 0
	tensor := func(name string, shape ...int) string {
		var list []string
		for _, x := range shape {
			list = append(list, fmt.Sprintf("0:%d", x))
		}
		fmt.Fprintf(&b, "%%%s = tensor float32 [%s]\n", name, strings.Join(list, ", "))
		return name
	}
	conv := func(x string, in, out, size, kernel, stride int, relu bool) string {
		n++
		w, c := tensor(fmt.Sprintf("w%d", n), out, in, kernel, kernel), tensor(fmt.Sprintf("b%d", n), out)
		y := tensor(fmt.Sprintf("c%d", n), 1, out, size, size)
		fmt.Fprintf(&b, "operation op:conv {pads: [%d, %d], strides: [%d, %d]} (X: %%%s, W: %%%s, B: %%%s) -> (Y: %%%s)\n", kernel/2, kernel/2, stride, stride, x, w, c, y)
		if !relu {
			return y
		}
		r := tensor(fmt.Sprintf("r%d", n), 1, out, size, size)
		fmt.Fprintf(&b, "operation op:relu (tensor: %%%s) -> (result: %%%s)\n", y, r)
		return r
	}
	b.WriteString("tapc 1\n")
	x := conv(tensor("image", 1, 3, 224, 224), 3, 64, 112, 7, 2, true)
	pooled := tensor("pooled", 1, 64, 56, 56)
	fmt.Fprintf(&b, "operation op:max_pool {kernel: [3, 3], strides: [2, 2], pads: [1, 1]} (X: %%%s) -> (Y: %%%s)\n", x, pooled)
	x = pooled
	in, size := 64, 56
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for block := range blocks {
			stride := 1
			if stage > 0 && block == 0 {
				stride, size = 2, size/2
			}
			beside := x
			if block == 0 {
				beside = conv(x, in, 4*width, size, 1, stride, false)
			}
			y := conv(conv(conv(x, in, width, size*stride, 1, 1, true), width, width, size, 3, stride, true), width, 4*width, size, 1, 1, false)
			sum, out := tensor(fmt.Sprintf("s%d", n), 1, 4*width, size, size), tensor(fmt.Sprintf("o%d", n), 1, 4*width, size, size)
			fmt.Fprintf(&b, "operation op:add (tensors: [%%%s, %%%s]) -> (result: %%%s)\noperation op:relu (tensor: %%%[3]s) -> (result: %%%[4]s)\n", y, beside, sum, out)
			x, in = out, 4*width
		}
	}
	mean, w, y := tensor("mean", 1, in), tensor("w", in, 1000), tensor("y", 1, 1000)
	fmt.Fprintf(&b, "operation op:mean {dims: [2, 3]} (tensor: %%%s) -> (result: %%%s)\noperation op:linear (x: %%%[2]s, W: %%%[3]s) -> (y: %%%[4]s)\n", x, mean, w, y)
	return b.String()
}
