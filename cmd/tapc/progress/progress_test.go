package progress

import (
	"bytes"
	"testing"
	"time"
)

// The line comes when work has taken a while, gives way to what is written, and is gone at the end.
func TestTerminal(t *testing.T) {
	var b bytes.Buffer
	clock := time.Time{}
	m := &Meter{to: &b, form: Terminal, now: func() time.Time { return clock }, at: -1, stop: make(chan struct{})}
	m.Plan("simplify", "cse", "lower", "exe")
	m.Begin("simplify")
	m.show()
	if b.Len() != 0 {
		t.Errorf("at once: %q", b.String())
	}
	clock = clock.Add(2 * time.Second)
	m.Begin("cse")
	m.Begin("simplify") // again, in a group
	m.Begin("lower")
	m.show()
	m.Write([]byte("a warning\n"))
	m.Begin("exe")
	m.show()
	m.End(true)
	m.End(true)
	const clear = "\r\x1b[K"
	want := "[2 of 4 done, 2 s] lower" + clear + "a warning\n" + "[3 of 4 done, 2 s] exe" + clear
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// What is left is not planned again, as at each of several sizes, and what is unknown of is null.
func TestLeft(t *testing.T) {
	var b bytes.Buffer
	m := New(&b, JSON)
	m.Plan("a", "b", "a", "b", "exe")
	m.Begin("a")
	m.Begin("b")
	m.Plan("a", "b", "exe")
	m.Begin("a")
	m.Plan("more")
	m.Begin("more")
	Line(&b, 3, -1, "searching")
	want := `{"progress":{"done":0,"left":5,"now":"a"}}
{"progress":{"done":1,"left":4,"now":"b"}}
{"progress":{"done":2,"left":3,"now":"a"}}
{"progress":{"done":5,"left":1,"now":"more"}}
{"progress":{"done":3,"left":null,"now":"searching"}}
`
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

func TestNone(t *testing.T) {
	var b bytes.Buffer
	m := New(&b, None)
	m.Plan("a")
	m.Begin("a")
	m.End(true)
	if b.Len() != 0 {
		t.Errorf("got %q", b.String())
	}
}

func TestJSON(t *testing.T) {
	for done, last := range map[bool]string{true: `{"progress":{"done":2,"left":0,"now":""}}` + "\n", false: ""} {
		var b bytes.Buffer
		m := New(&b, JSON)
		m.Plan("a", "b")
		m.Begin("a")
		m.Begin("b")
		if m.End(done) != &b {
			t.Error("the stream under it is another")
		}
		want := `{"progress":{"done":0,"left":2,"now":"a"}}` + "\n" + `{"progress":{"done":1,"left":1,"now":"b"}}` + "\n" + last
		if b.String() != want {
			t.Errorf("got %s, want %s", b.String(), want)
		}
	}
}
