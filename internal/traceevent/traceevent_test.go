package traceevent

import (
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	for want, events := range map[string][]Event{
		`{"traceEvents":[],"displayTimeUnit":"ms"}`: nil,
		`{"traceEvents":[{"name":"a","cat":"pass","ph":"X","ts":1.5,"dur":2,"pid":1,"tid":3,"args":{"bytes":4}},{"name":"b","cat":"link","ph":"X","ts":0,"dur":1,"pid":2,"tid":1}],"displayTimeUnit":"ms"}`: {
			{Name: "a", Kind: "pass", Start: 1.5, Time: 2, Process: 1, Row: 3, Args: map[string]float64{"bytes": 4}}, {Name: "b", Kind: "link", Time: 1, Process: 2, Row: 1}},
	} {
		var b strings.Builder
		if err := Write(&b, events); err != nil || b.String() != want+"\n" {
			t.Errorf("%s (%v), expected %s", b.String(), err, want)
		}
	}
}

// TestNames: processes and their rows have names, before the events.
func TestNames(t *testing.T) {
	var b strings.Builder
	err := Write(&b, []Event{{Name: "a", Kind: "k", Process: 1, Row: 2}}, Name{1, 0, "devices"}, Name{1, 2, `cpu "1"`})
	want := `{"traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"devices"}},{"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"cpu \"1\""}},` +
		`{"name":"a","cat":"k","ph":"X","ts":0,"dur":0,"pid":1,"tid":2}],"displayTimeUnit":"ms"}` + "\n"
	if err != nil || b.String() != want {
		t.Errorf("%s (%v), expected %s", b.String(), err, want)
	}
}
