package timing

import (
	"testing"
	"time"
)

// Stages of what comes behind the passes follow each other without a gap, within the whole.
func TestAppendedStages(t *testing.T) {
	s := &Span{Name: "pipeline", Start: time.Second, Time: time.Second, Nodes: [2]int{3, 5}}
	w := s.Append("exe")
	for _, name := range []string{"emit", "compile"} {
		time.Sleep(time.Millisecond)
		w.Stage(name)
	}
	time.Sleep(time.Millisecond)
	w.End()
	exe := s.Children[0]
	emit, compile := exe.Children[0], exe.Children[1]
	if exe.Start != 2*time.Second || emit.Start <= exe.Start || emit.Start+emit.Time > compile.Start || compile.Time <= 0 || compile.Start+compile.Time > exe.Start+exe.Time {
		t.Errorf("exe %+v, emit %+v, compile %+v", exe, emit, compile)
	}
	if s.Time != time.Second+exe.Time || exe.Nodes != [2]int{5, 5} {
		t.Errorf("the whole takes %v, with exe's %v", s.Time, exe.Time)
	}
	// Near miss: work without stages.
	if w := s.Append("c"); true {
		w.End()
	}
	if c := s.Children[1]; len(c.Children) != 0 || c.Start != exe.Start+exe.Time {
		t.Errorf("%+v", c)
	}
}
