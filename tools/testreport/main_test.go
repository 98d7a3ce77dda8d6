package main

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	events := `{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"=== RUN   TestX\n"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"    x_test.go:9: no AMX here: it was not executed\n"}
{"Action":"output","Package":"m/a","Test":"TestX","Output":"--- SKIP: TestX (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestX"}
{"Action":"output","Package":"m/a","Test":"TestY","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestY"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
{"Action":"skip","Package":"m/none"}
`
	var b strings.Builder
	failed, err := show(strings.NewReader(events), &b)
	want := "ok  \tm/a\t0.1s\n\nnot executed:\n  no AMX here: it was not executed: m/a.TestX\n"
	if failed || err != nil || b.String() != want {
		t.Errorf("%v, %v\n got %q\nwant %q", failed, err, b.String(), want)
	}

	events += `{"Action":"output","Package":"m/b","Test":"TestZ","Output":"    z_test.go:1: wrong\n"}
{"Action":"fail","Package":"m/b","Test":"TestZ"}
{"Action":"output","Package":"m/b","Output":"FAIL\n"}
{"Action":"fail","Package":"m/b"}
{"Action":"output","Package":"m/d","Test":"TestHangs","Output":"panic: test timed out after 10m0s\n"}
{"Action":"output","Package":"m/other","Test":"TestRuns","Output":"noise\n"}
{"Action":"output","Package":"m/d","Output":"FAIL\tm/d\t600.1s\n"}
{"Action":"fail","Package":"m/d"}
not an event
{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1: no\n"}
{"ImportPath":"m/c","Action":"build-fail"}`
	b.Reset()
	failed, err = show(strings.NewReader(events), &b)
	if !failed || err != nil {
		t.Errorf("%v, %v", failed, err)
	}
	for _, s := range []string{"z_test.go:1: wrong\nFAIL\n", "panic: test timed out after 10m0s\nFAIL\tm/d\t600.1s\n", "not an event\n", "c.go:1: no\n", "not executed:"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("%q is missing in\n%s", s, b.String())
		}
	}
	if strings.Contains(b.String(), "noise") {
		t.Error("it shows the output of a test that passed")
	}
}
