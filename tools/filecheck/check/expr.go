package check

import "math/big"

// maxBits bounds the values of expressions; more is an overflow.
const maxBits = 4096

// expression is a node of a numeric expression: a literal, a variable, or an operation on two others.
type expression struct {
	at      span
	literal *big.Int
	use     *number
	op      func(a, b *big.Int) *big.Int // nil result is an overflow
	args    [2]*expression
}

// operations are the functions of expressions; '+' and '-' stand for add and sub.
var operations = map[string]func(a, b *big.Int) *big.Int{
	"add": func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
	"sub": func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
	"mul": func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
	"div": divide,
	"max": func(a, b *big.Int) *big.Int { return pick(a, b, a.Cmp(b) >= 0) },
	"min": func(a, b *big.Int) *big.Int { return pick(a, b, a.Cmp(b) < 0) },
}

func divide(a, b *big.Int) *big.Int {
	if b.Sign() == 0 {
		return nil
	}
	return new(big.Int).Quo(a, b)
}

func pick(a, b *big.Int, first bool) *big.Int {
	if first {
		return a
	}
	return b
}

// failure is why an expression or a variable has no value: an undefined variable (named by at) or an overflow.
type failure struct {
	undefined bool
	at        span
}

// eval returns the value of e, or every reason why it has none.
func (e *expression) eval() (*big.Int, []failure) {
	switch {
	case e.literal != nil:
		return e.literal, nil
	case e.use != nil && e.use.value != nil:
		return e.use.value, nil
	case e.use != nil:
		return nil, []failure{{undefined: true, at: e.at}}
	}
	a, failed := e.args[0].eval()
	b, more := e.args[1].eval()
	if failed = append(failed, more...); len(failed) > 0 {
		return nil, failed
	}
	v := e.op(a, b)
	if v == nil || v.BitLen() > maxBits {
		return nil, []failure{{at: e.at}}
	}
	return v, nil
}

// implied returns the format that the variables in e agree on.
func (e *expression) implied() (format, []*problem) {
	if e.literal != nil {
		return format{}, nil
	}
	if e.use != nil {
		return e.use.format, nil
	}
	a, failed := e.args[0].implied()
	b, more := e.args[1].implied()
	if failed = append(failed, more...); len(failed) > 0 {
		return format{}, failed
	}
	if a.verb != 0 && b.verb != 0 && a != b {
		return format{}, []*problem{problemf(e.at,
			"implicit format conflict between '%s' (%s) and '%s' (%s), need an explicit format specifier",
			e.args[0].at, a, e.args[1].at, b)}
	}
	if a.verb != 0 {
		return a, nil
	}
	return b, nil
}
