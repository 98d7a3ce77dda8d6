package npy

import (
	"bytes"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	got, err := Render([]int{2, 1}, []int32{1, -2})
	if err != nil {
		t.Fatal(err)
	}
	dict := "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }"
	want := "\x93NUMPY\x01\x00\x76\x00" + dict + strings.Repeat(" ", 118-len(dict)-1) + "\n" +
		"\x01\x00\x00\x00\xfe\xff\xff\xff"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRenderTypesAndTuples(t *testing.T) {
	check := func(data []byte, err error, header string, body []byte) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte(header)) || len(data)%64 != len(body)%64 || !bytes.HasSuffix(data, body) {
			t.Errorf("got %q, want header %q and data %q", data, header, body)
		}
	}
	data, err := Render([]int{}, []float32{1})
	check(data, err, "'descr': '<f4', 'fortran_order': False, 'shape': (), ", []byte{0, 0, 0x80, 0x3f})
	data, err = Render([]int{3}, []bool{true, false, true})
	check(data, err, "'descr': '|b1', 'fortran_order': False, 'shape': (3,), ", []byte{1, 0, 1})
	data, err = Render([]int{0, 4}, []int32{})
	check(data, err, "'shape': (0, 4), ", nil)
}

func TestRenderRefusesAWrongCount(t *testing.T) {
	if _, err := Render([]int{2, 2}, []bool{true}); err == nil || !strings.Contains(err.Error(), "holds 4 cells, got 1") {
		t.Errorf("error %v, want a count mismatch", err)
	}
}
