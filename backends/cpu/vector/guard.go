package vector

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Guard is a number that is at least 0 where an element is read: its text at the first lane, and how much it grows from lane to lane.
type Guard struct {
	Text   string
	Growth int64
}

// Guarded reads live neighbours under guards that lanes differ in, each growing or falling by one at most, and a value elsewhere. The places where
// guards hold have none between them where they do not, so the lanes that are read are neighbours: those from low on, up to high.
func (x Type) Guarded(address string, guards []Guard, other scalar.Value, live string) Value {
	var same []string
	low, high := "0", live
	for _, g := range guards {
		switch g.Growth {
		case 1:
			low = x.v.Extent("most", low, "-("+g.Text+")")
		case -1:
			high = x.v.Extent("least", high, g.Text+" + 1")
		default:
			same = append(same, g.Text+" >= 0")
		}
	}
	all := x.v.Splat(Value{Text: x.v.W.Const(other), Type: x.d, Uniform: true}, x.n).Text
	text := x.Part(address, low, high, all)
	if len(same) > 0 {
		text = fmt.Sprintf("(%s ? %s : %s)", strings.Join(same, " && "), text, all)
	}
	return Value{Text: text, Type: x.d}
}

// LaneByLane gives what is read where lanes are no neighbours: if the guard holds for the first lane and the last it holds for all, which whole reads;
// else lane l is asked, where its element is read or has another value.
func (x Type) LaneByLane(first, last string, whole Value, guard, element string, other scalar.Value, live string) Value {
	text := fmt.Sprintf("((%s & %s) ? %s : ({ %s r = {0}; for (int l = 0; l < %s; l++) r[l] = %s ? %s : %s; r; }))",
		first, last, x.v.Splat(whole, x.n).Text, x.v.Type(x.d, x.n), live, guard, element, x.v.W.Const(other))
	return Value{Text: text, Type: x.d}
}
