package safetensors

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	got, err := Render(map[string]Tensor{
		"b": {Shape: []int{1}, Data: []float32{1}},
		"a": {Shape: []int{2, 1}, Data: []float32{0, -2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := `{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`
	header += strings.Repeat(" ", 112-len(header))
	want := "\x70\x00\x00\x00\x00\x00\x00\x00" + header + "\x00\x00\x00\x00\x00\x00\x00\xc0\x00\x00\x80\x3f"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRenderRefusesAWrongCount(t *testing.T) {
	_, err := Render(map[string]Tensor{"w": {Shape: []int{2, 2}, Data: []float32{1}}})
	if err == nil || !strings.Contains(err.Error(), "w has shape [2 2], 4 cells, and 1 values") {
		t.Errorf("error %v", err)
	}
}
