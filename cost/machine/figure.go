package machine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Figure is a number with a unit, between which numbers it is thought to be, and where it is from. The zero Figure is not known.
type Figure struct {
	Value, Low, High float64
	Source           string
}

// Known says whether there is a number.
func (f Figure) Known() bool { return f.Value > 0 }

// Exactly is a figure of which nothing else is known.
func Exactly(v float64) Figure { return Figure{Value: v, Low: v, High: v} }

// Times multiplies two figures, and their bounds.
func (f Figure) Times(g Figure) Figure {
	return Figure{f.Value * g.Value, f.Low * g.Low, f.High * g.High, f.Source}
}

// Unit is what a figure counts. Suffixes of numbers are powers of 1000 before it, or of 1024 where there is an i behind them.
type Unit string

// The units.
const (
	PerSecond     Unit = "op/s" // operations, of which a multiply-add is two
	BytesASecond  Unit = "B/s"
	Seconds       Unit = "s"
	Bytes         Unit = "B"
	Watts         Unit = "W"
	Part          Unit = "" // of a whole, 0 to 1
	largestFigure      = 1e30
)

var powers = map[string]float64{"": 1, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

// Parse reads a number of a unit: "312 Top/s", "2039 GB/s", "5 us". It is not negative.
func (u Unit) Parse(text string) (float64, error) {
	number, prefix, ok := strings.Cut(text, " ")
	if !ok && u != Part {
		return 0, fmt.Errorf("expected a number, a space and a unit, such as %q", u.example())
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "xX_") || !(v >= 0) || v > largestFigure {
		return 0, fmt.Errorf("%q is no number of at least 0", number)
	}
	prefix, ok = strings.CutSuffix(prefix, string(u))
	power, known := powers[prefix]
	if !ok || !known {
		return 0, fmt.Errorf("expected the unit %s, as in %q", u, u.example())
	}
	return v * power, nil
}

func (u Unit) example() string {
	return map[Unit]string{PerSecond: "312 Top/s", BytesASecond: "2039 GB/s", Seconds: "5 us", Bytes: "80 GB", Watts: "400 W", Part: "0.8"}[u]
}

// Format writes a number of a unit, with four digits and the greatest power of 1000 that leaves at least 1 of it.
func (u Unit) Format(v float64) string {
	if u == Part {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	scale := []string{"n", "u", "m", "", "k", "M", "G", "T", "P"}
	at := 3
	if v > 0 {
		at = 3 + int(math.Floor(math.Log10(v*(1+1e-12))/3))
	}
	at = min(max(at, 0), len(scale)-1)
	n := strconv.FormatFloat(v/math.Pow(1000, float64(at-3)), 'g', 4, 64)
	if strings.Contains(n, "e") { // 999.96 rounds to it
		n = strconv.FormatFloat(v/math.Pow(1000, float64(at-3)), 'f', 0, 64)
	}
	return n + " " + scale[at] + string(u)
}

// formatBytes writes a size exactly: in the greatest unit of 1024 that divides it.
func formatBytes(n int64) string {
	for _, p := range []string{"Ti", "Gi", "Mi", "Ki"} {
		if size := int64(powers[p]); n > 0 && n%size == 0 {
			return fmt.Sprintf("%d %sB", n/size, p)
		}
	}
	return fmt.Sprintf("%d B", n)
}
