package backends

import (
	"context"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

func text(context.Context, *Job) (string, error) { return "", nil }

func file(context.Context, *Job, string) error { return nil }

func TestValidate(t *testing.T) {
	row := func(change func(*Backend)) Backend {
		b := Backend{Name: "b", Doc: "d", Devices: []schedule.DeviceType{schedule.CPU}, Outputs: []Output{{Name: "o", Doc: "d", Text: text}}}
		change(&b)
		return b
	}
	same := row(func(*Backend) {})
	for _, c := range []struct {
		name string
		list List
		want string
	}{
		{"fine", List{same, row(func(b *Backend) { b.Name = "c" })}, ""},
		{"a plugin's for any device, without a text", List{row(func(b *Backend) { b.Plugin, b.Devices, b.Doc = "p", nil, "" })}, ""},
		{"tapc's own for none", List{row(func(b *Backend) { b.Devices = nil })}, "says no device"},
		{"twice", List{same, same}, "the name is taken"},
		{"malformed", List{row(func(b *Backend) { b.Name = "B b" })}, "malformed"},
		{"no text", List{row(func(b *Backend) { b.Doc = "" })}, "malformed"},
		{"no outputs", List{row(func(b *Backend) { b.Outputs = nil })}, "malformed"},
		{"an output twice", List{row(func(b *Backend) { b.Outputs = append(b.Outputs, b.Outputs...) })}, `output "o"`},
		{"an output of nothing", List{row(func(b *Backend) { b.Outputs[0].Text = nil })}, "not one of"},
		{"an output of two kinds", List{row(func(b *Backend) { b.Outputs[0].File = file })}, "not one of"},
	} {
		err := c.list.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestForGivesTapcsOwn(t *testing.T) {
	l := List{{Name: "p", Plugin: "p"}, {Name: "a", Devices: []schedule.DeviceType{schedule.CPU}}, {Name: "b", Devices: []schedule.DeviceType{schedule.CUDA}}}
	if b := l.For(schedule.CUDA); b != &l[2] {
		t.Errorf("%v", b)
	}
	if b := l[:2].For(schedule.CUDA); b != nil {
		t.Errorf("%v", b)
	}
	if !l[0].Takes(schedule.CUDA) || l[1].Takes(schedule.CUDA) {
		t.Error("a back end takes other devices than it says")
	}
}

func TestScheduled(t *testing.T) {
	const host, own, other = 0, 1, 2
	for _, c := range []struct {
		name    string
		devices []schedule.DeviceType // host, own, other
		kernel  int
		buffer  int
		target  schedule.DeviceType
		want    string
	}{
		{"on the host", []schedule.DeviceType{schedule.CPU}, host, host, schedule.CPU, ""},
		{"on a GPU, with buffers at the host", []schedule.DeviceType{schedule.CPU, schedule.CUDA}, own, host, schedule.CUDA, ""},
		{"on a GPU", []schedule.DeviceType{schedule.CPU, schedule.CUDA}, own, own, schedule.CUDA, ""},
		{"a kernel at the host of a GPU", []schedule.DeviceType{schedule.CPU, schedule.CUDA}, host, own, schedule.CUDA, CodeForeign},
		{"a kernel elsewhere", []schedule.DeviceType{schedule.CPU, schedule.CUDA}, own, host, schedule.CPU, CodeForeign},
		{"a buffer elsewhere", []schedule.DeviceType{schedule.CPU, schedule.CUDA}, host, own, schedule.CPU, CodeForeign},
		{"two GPUs", []schedule.DeviceType{schedule.CPU, schedule.CUDA, schedule.CUDA}, own, other, schedule.CUDA, codeSecond},
		{"two hosts", []schedule.DeviceType{schedule.CPU, schedule.CPU}, host, own, schedule.CPU, codeSecond},
	} {
		g := ir.New()
		var ids []ir.NodeID
		for _, d := range c.devices {
			ids = append(ids, g.Add(&schedule.Device{Type: d, Number: int64(len(ids))}, "").ID)
		}
		for range 2 { // a device is told of once
			g.Add(&schedule.Kernel{Name: "k", Device: ids[c.kernel]}, "")
			g.Add(&schedule.Buffer{Device: ids[c.buffer], Tensor: ir.NoNode, Over: ir.NoNode}, "")
		}
		list := diag.FromError(Scheduled(g, "b", c.target))
		switch {
		case c.want == "" && len(list) == 0:
		case c.want == "" || len(list) != 1 || list[0].Code != c.want || list[0].Location == (diag.Location{}) || len(list[0].Notes) != 1:
			t.Errorf("%s: %v, want %q", c.name, list, c.want)
		}
	}
}
