package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/tools/digits/glyph"
	"tensortapestry.org/tapc/tools/digits/mlp"
)

// names of the test images, by digit.
var names = [classes]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// samples adds one neat image a digit as name.npy, float32 of shape [1, 784], and
// all ten as digits.png. It fails if the net gets one wrong or is unsure.
func samples(files map[string][]byte, net *mlp.Net, seed uint64) error {
	var images []*glyph.Image
	for digit, name := range names {
		img := glyph.Neat(seed+streamSamples, uint64(digit))
		p := mlp.Softmax(net.Logits(img[:]))
		if p[digit] < 0.8 {
			return fmt.Errorf("the test image of %s gets probability %.3f, want at least 0.8", name, p[digit])
		}
		data, err := tensorfile.NPY(tensor(img[:], 1, glyph.Pixels))
		if err != nil {
			return err
		}
		files[name+".npy"] = data
		images = append(images, img)
	}
	var err error
	files["digits.png"], err = picture(images, 5)
	return err
}

// tensor makes a float32 tensor of values.
func tensor(values []float32, shape ...int64) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: shape}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}
