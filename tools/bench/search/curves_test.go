package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// Curves rise, none is above what all found together, programming's plans put the search ahead from the beginning, and the same races draw the same bytes.
func TestCurves(t *testing.T) {
	x, err := space(graphs.Smalls[4])
	if err != nil {
		t.Fatal(err)
	}
	p := race("MLP, 2 devices", x, 2)
	for i, list := range p.curves {
		for _, curve := range list {
			for k, part := range curve {
				if part < 0 || part > 1 || k > 0 && part < curve[k-1] {
					t.Errorf("%s: %v", methods[i].name, curve)
					break
				}
			}
		}
	}
	if first, random := p.curves[0][0][0], p.curves[4][0][0]; first <= random {
		t.Errorf("after 100 trials the search has %.3f, random trials %.3f", first, random)
	}
	drawing := plot([]panel{p})
	if again := plot([]panel{race("MLP, 2 devices", x, 2)}); !bytes.Equal(drawing, again) {
		t.Error("another drawing of the same")
	}
	d, lines := xml.NewDecoder(bytes.NewReader(drawing)), 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != len(methods) || strings.Count(string(drawing), "NaN") > 0 {
		t.Errorf("%d lines", lines)
	}
}
