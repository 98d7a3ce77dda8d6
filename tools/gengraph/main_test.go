package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out, errs bytes.Buffer
	if err := run([]string{"-shape", "sharded", "-ops", "3", "-shards", "2"}, &out, &errs); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "tapc 1\n%a = tensor float32 [0:16, 0:16]\n") || strings.Count(got, "application ") != 8 {
		t.Error(got)
	}
	out.Reset()
	if err := run([]string{"-shape", "split", "-ops", "3"}, &out, &errs); err != nil || strings.Count(out.String(), "operation op:tanh") != 3 {
		t.Error(err, out.String())
	}
	for _, args := range [][]string{{"-shape", "split", "-format", "loom"}, {"-shape", "split", "-ops", "0"}, {"-ops", "0"}, {"-format", "yaml"}, {"-shape", "ring"}, {"x"}, {"-nonsense"}} {
		if err := run(args, &out, &errs); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
