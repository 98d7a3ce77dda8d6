package plandiff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

// Cost is what a program with a plan takes: seconds, the bytes of the device that needs most, and those that devices send to each other.
type Cost struct{ Time, Memory, Sent float64 }

func (c Cost) minus(d Cost) Cost { return Cost{c.Time - d.Time, c.Memory - d.Memory, c.Sent - d.Sent} }

// row writes a cost, or with a sign what one is more than another.
func (c Cost) row(words string, signed bool) string {
	sign := func(x float64) string {
		switch {
		case !signed:
			return ""
		case x < 0:
			return "-"
		}
		return "+"
	}
	amount := func(x float64) string { return sign(x) + machine.Bytes.Format(max(x, -x)) }
	return fmt.Sprintf("%s%s\t%s\t%s\t  %s\n", sign(c.Time), machine.Seconds.Format(max(c.Time, -c.Time)), amount(c.Memory), amount(c.Sent), words)
}

// Price says what each difference of two plans costs and gives: the first plan's cost, then the differences one after the other, each with what it adds
// to the plan with those above it, so that all together make the second plan's cost. A difference without which the next gives no plan, as propagation
// or memory refuse it, is priced with that. Price is given files of plans. The error is that of a plan's price, of a file, or of ctx.
func Price(ctx context.Context, a, b *planfile.Plan, first, second string, price func(ctx context.Context, file string) (Cost, error)) (string, error) {
	dir, err := os.MkdirTemp("", "tapc-plans")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	before, err := price(ctx, first)
	if err != nil {
		return "", err
	}
	after, err := price(ctx, second)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "time\tmemory\tsent\t  \n%s", before.row(first, false))
	list, _ := differences(a, b)
	now, at, waiting := *a, before, []string(nil)
	for i, d := range list {
		d.apply(&now)
		waiting = append(waiting, d.words)
		cost := after
		if i+1 < len(list) {
			file := filepath.Join(dir, "plan.json")
			if err := write(file, &now); err != nil {
				return "", err
			}
			if cost, err = price(ctx, file); ctx.Err() != nil {
				return "", ctx.Err()
			} else if err != nil {
				continue // with the next
			}
		}
		fmt.Fprint(w, cost.minus(at).row(strings.Join(waiting, "; and "), true))
		at, waiting = cost, nil
	}
	fmt.Fprint(w, after.row(second, false))
	err = w.Flush()
	return text.String(), err
}

// write writes a plan to a file.
func write(file string, p *planfile.Plan) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(planfile.Write(f, p), f.Close())
}
