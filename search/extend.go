package search

import "math"

// Extended is a space with mutators and cost terms of others. Terms are added to costs; as none is negative, what bounds the costs of the space bounds the sums.
type Extended struct {
	Space
	More  []Mutator
	Terms []Term
}

// Term is added to the cost of an objective, by its number. Price gives the cost of each trial.
type Term struct {
	Name      string
	Objective int
	Price     func(trials []Trial) ([]float64, error)
}

// Mutators are those of the space and the others.
func (x *Extended) Mutators() []Mutator { return append(mutatorsOf(x.Space), x.More...) }

// Used is that of the space.
func (x *Extended) Used(t Trial) Trial {
	if s, ok := x.Space.(Shared); ok {
		return s.Used(t)
	}
	return t
}

// Seeds are those of the space.
func (x *Extended) Seeds() []Trial {
	if s, ok := x.Space.(Seeded); ok {
		return s.Seeds()
	}
	return nil
}

// Charge adds the terms to the prices of trials that are plans.
func (x *Extended) Charge(trials []Trial, prices []Price) error {
	var plans []Trial
	var at []int
	for i, p := range prices {
		if !math.IsInf(p.Beyond, 1) {
			plans, at = append(plans, trials[i]), append(at, i)
		}
	}
	for _, t := range x.Terms {
		if len(plans) == 0 {
			return nil
		}
		costs, err := t.Price(plans)
		if err != nil {
			return err
		}
		for i, c := range costs {
			prices[at[i]].Costs[t.Objective] += c
		}
	}
	return nil
}

// charging is a space that adds to prices, many trials at a time.
type charging interface {
	Charge(trials []Trial, prices []Price) error
}
