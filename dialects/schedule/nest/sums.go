package nest

const (
	// SumBlock is how many products a float sum adds before it starts a new partial sum, so that its error grows with the
	// block and not with the whole length (N. Higham, "The Accuracy of Floating Point Summation", 1993).
	SumBlock = 64
	wholeSum = 256 // products that are one sum: short ones would be mostly beginnings
)

// PartialSum is how many values of the innermost reduction are added before a new partial sum starts: a fact of the whole operation
// for floats (docs/numerics.md), and all of them for integers, whose sums have no order.
func PartialSum(c *Contraction) int64 {
	n := c.InnerReduction()
	if c.Sum.Type.IsFloat() {
		return PartialSumOf(n)
	}
	return n
}

// PartialSumOf is how many of n products of floats are a partial sum.
func PartialSumOf(n int64) int64 {
	if n > wholeSum {
		return SumBlock
	}
	return n
}
