package planfile

import (
	"bytes"
	"testing"
)

// FuzzParse reads texts as plans: a fault is an error, and a plan that is written and read again is written as before.
func FuzzParse(f *testing.F) {
	for _, text := range []string{good, placed(`{"target": "op:relu", "devices": [0, [0, 1]]}`), `{"version": 1, "devices": [{"memory": 4}, {}], "recompute": [{"tensor": "a"}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p.json", data)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := Write(&first, p); err != nil {
			t.Fatal(err)
		}
		again, err := Parse("p.json", first.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, &first)
		}
		if err := Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%v: %s\nbecomes\n%s", err, &first, &second)
		}
	})
}
