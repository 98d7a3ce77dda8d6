package machine

import "slices"

// Traffic is how many bytes pass links, by the links' names. What passes several links on its way counts on the outermost of them alone, so that the sum is what is sent.
type Traffic []Load

// Load is the bytes on the links of a name.
type Load struct {
	Link  string
	Bytes float64
}

// Add counts bytes on a link.
func (t *Traffic) Add(link string, bytes float64) {
	i := slices.IndexFunc(*t, func(l Load) bool { return l.Link == link })
	if i < 0 {
		i, *t = len(*t), append(*t, Load{Link: link})
	}
	(*t)[i].Bytes += bytes
}

// With adds what else is sent.
func (t Traffic) With(more Traffic) Traffic {
	sum := slices.Clone(t)
	for _, l := range more {
		sum.Add(l.Link, l.Bytes)
	}
	return sum
}

// Times is the traffic of so many that send alike.
func (t Traffic) Times(n float64) Traffic {
	out := slices.Clone(t)
	for i := range out {
		out[i].Bytes *= n
	}
	return out
}

// Bytes is what is sent on all links together.
func (t Traffic) Bytes() (sum float64) {
	for _, l := range t {
		sum += l.Bytes
	}
	return sum
}
