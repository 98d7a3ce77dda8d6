// Package cost says what carrying out a kernel takes, without running it: coarse rooflines of a device's facts, and what passes ask that has better ones (Model).
//
// Passes and back ends compare candidates by it. An estimate is a vector with an interval of time; what is not known is an error, never 0.
// It counts nothing itself. Read next: passes/tile, which chooses by it, and cost/price, which is a Model of machine files.
package cost

import "fmt"

// Estimate is what something takes: seconds, of which the true number is thought to be between Low and High, scalar operations, and bytes
// that travel between a device's memory and its units.
type Estimate struct {
	Seconds, Low, High float64
	Operations, Bytes  float64
}

// Less says whether an estimate is better than another: by time, then by bytes.
func (e Estimate) Less(f Estimate) bool {
	if e.Seconds != f.Seconds {
		return e.Seconds < f.Seconds
	}
	return e.Bytes < f.Bytes
}

// Device is the facts of a device. Rates of one unit, which is a core of a CPU or a multiprocessor of a GPU, are in operations a cycle.
type Device struct {
	Name      string
	Units     float64
	Hertz     float64
	Rate      float64 // scalar operations of a unit in a cycle, a multiply-add is one
	Bandwidth float64 // bytes a second of the device's memory
	Start     float64 // seconds until work begins
	Error     float64 // the factor by which times are off, from above and below
	Waits     bool    // units do not compute while bytes travel: the times add up
}

// Share is work that is handed out to units in equal parts, each of which takes so many cycles where it has one unit for itself, and moves
// so many bytes.
type Share struct {
	Parts      float64
	Resident   float64 // parts that share a unit at once
	Cycles     float64 // of a part, with as many beside it
	Operations float64
	Bytes      float64
}

// Estimate is the time of shares on a device: units run as many rounds as parts ask for, and all bytes travel through one memory.
func (d Device) Estimate(s Share) (Estimate, error) {
	if d.Units <= 0 || d.Hertz <= 0 || d.Bandwidth <= 0 || d.Error < 1 {
		return Estimate{}, fmt.Errorf("cost: the facts of %q are not known", d.Name)
	}
	if s.Parts < 0 || s.Resident < 1 || s.Cycles <= 0 || s.Bytes < 0 {
		return Estimate{}, fmt.Errorf("cost: %v parts of %v cycles and %v bytes, %v at once", s.Parts, s.Cycles, s.Bytes, s.Resident)
	}
	rounds := ceil(s.Parts / (d.Units * s.Resident))
	compute, travel := rounds*s.Cycles/d.Hertz, s.Parts*s.Bytes/d.Bandwidth
	t := d.Start + max(compute, travel)
	if d.Waits {
		t = d.Start + compute + travel
	}
	return Estimate{Seconds: t, Low: t / d.Error, High: t * d.Error, Operations: s.Parts * s.Operations, Bytes: s.Parts * s.Bytes}, nil
}

func ceil(x float64) float64 {
	n := float64(int64(x))
	if n < x {
		n++
	}
	return max(n, 1)
}
