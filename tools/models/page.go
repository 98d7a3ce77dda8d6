package main

import (
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/cmd/tapc/compare"
)

const pageHead = `# Models

Models out of packages of registries, compiled and held beside ONNX Runtime. ` + "`go run ./tools/models -o docs/models.md`" + ` fetches, builds and compares
them and writes this page; ` + "`tools/models/pins.json`" + ` names the packages with their digests, and nothing of them is in the repository. Classical models are
trained by ` + "`tools/models/classical/train.py`" + ` on numbers that a seed gives, with the packages of ` + "`requirements.txt`" + ` beside it; the digest is that of both.

- **error** is that of the worst element of all outputs, divided by the greatest magnitude of its tensor; beyond 1e-4 the values part.
- **ms** are of one run, the median; **ratio** is tapc's time divided by ONNX Runtime's, of rounds that take turns, and what it lies between with a
  confidence of 95 %, or as much as there are rounds for. Below 1, tapc is faster.
- **start** is the time of a process that runs once; **MiB** is the greatest resident set of such a process. ONNX Runtime is loaded by Python, whose
  time and memory are counted: a server has them once.
- **program** is the size of the executable, in which the weights are.
- Sizes are flags of ` + "`tapc build`" + `. Inputs are random but for those of networks that find or read text, which are lines of digits: on noise they
  answer with numbers near 0. A length that a model takes is that of its input: ONNX Runtime ends recurrences there, and a program does not.

`

// page writes docs/models.md.
func page(rows []row) []byte {
	var b strings.Builder
	b.WriteString(pageHead)
	summary(&b, rows)
	b.WriteString("\n## Values and speed\n\n| model | what it does | error | tapc ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Name, r.Does, verdict(&r))
	}
	for _, r := range rows {
		if r.Refused != "" {
			fmt.Fprintf(&b, "\n%s is refused: %s\n", r.Name, r.Refused)
		}
		if r.Parts && r.Report.Values.Parting != nil {
			a := r.Report.Values.Parting
			fmt.Fprintf(&b, "\n%s parts first at `%s` (%s): element %v is %s, expected %s.", r.Name, a.Name, a.Operation, a.At, a.Got, a.Want)
			if r.Own > 0 {
				fmt.Fprintf(&b, " ONNX Runtime's own results move by %.1e when the input moves by a millionth of itself.", r.Own)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("\n## Sizes, start and memory\n\n| model | flags | weights MiB | program MiB | start ms, ONNX Runtime's | MiB, ONNX Runtime's |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %.1f | %s |\n", r.Name, flags(r.Flags), mebibytes(r.Parameters), taken(&r))
	}
	b.WriteString("\n## Where they come from\n\n| model | package | SHA-256 of the package | file |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s %s (%s) | `%s…` | `%s` |\n", r.Name, r.of.Name, r.of.Version, map[string]string{"pypi": "Python", "npm": "JavaScript", trained: "trained here"}[r.of.Registry], r.of.SHA256[:16], r.Path)
	}
	return []byte(b.String())
}

// summary says how many agree, and how the times compare.
func summary(b *strings.Builder, rows []row) {
	agree, parts, refused, timed, logs := 0, 0, 0, 0, 0.0
	for _, r := range rows {
		switch {
		case r.Refused != "":
			refused++
		case r.Parts:
			parts++
		default:
			agree++
			if r.Report.Speed != nil {
				timed++
				logs += math.Log(r.Report.Speed.Ratio.Median)
			}
		}
	}
	fmt.Fprintf(b, "Of %d models, %d agree, %d part and %d are refused.", len(rows), agree, parts, refused)
	if timed > 0 {
		fmt.Fprintf(b, " tapc takes %.2f of ONNX Runtime's time, the geometric mean of %d ratios, on two cores.", math.Exp(logs/float64(timed)), timed)
	}
	for _, r := range rows {
		if r.Report != nil {
			fmt.Fprintf(b, " Both: %s and %s.\n", r.Report.Ours, r.Report.Against)
			return
		}
	}
	b.WriteString("\n")
}

// verdict gives the columns of values and speed.
func verdict(r *row) string {
	switch {
	case r.Refused != "":
		return "refused | | |"
	case r.Report.Speed == nil:
		return fmt.Sprintf("%s | | |", failure(r.Report))
	}
	s := r.Report.Speed
	return fmt.Sprintf("%s | %.3g | %.3g | %.2f [%.2f, %.2f]", failure(r.Report), s.Ours.Median, s.Against.Median, s.Ratio.Median, s.Ratio.Low, s.Ratio.High)
}

func failure(r *compare.Report) string {
	w := worst(r)
	if w.Fault != "" {
		return "**" + w.Name + ": " + w.Fault + "**"
	}
	if w.Parts {
		return fmt.Sprintf("**%.1e**", w.Scaled)
	}
	return fmt.Sprintf("%.1e", w.Scaled)
}

// taken gives the columns of sizes, start and memory.
func taken(r *row) string {
	if r.Report == nil {
		return "| |"
	}
	text := fmt.Sprintf("%.1f", mebibytes(r.Program))
	if s, m := r.Report.Startup, r.Report.Memory; s != nil && m != nil {
		return fmt.Sprintf("%s | %.0f, %.0f | %.0f, %.0f", text, s.Ours.Median, s.Against.Median, mebibytes(m.Ours), mebibytes(m.Against))
	}
	return text + " | |"
}

func flags(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.Join(list, " ") + "`"
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
