package check

import (
	"math/big"
	"strconv"
	"strings"
)

// format is how a number is written in the input. The zero value is no format: that of a literal.
type format struct {
	verb      byte // 'u', 'd', 'x' or 'X'; 0 for none
	precision int  // least number of digits
	prefixed  bool // 0x comes first
}

// String returns the format as messages name it.
func (f format) String() string {
	if f.verb == 0 {
		return "<none>"
	}
	return "%" + string(f.verb)
}

func (f format) hex() bool { return f.verb == 'x' || f.verb == 'X' }

// wildcard returns the regular expression of all numbers in this format.
func (f format) wildcard() string {
	sign, lead, digit := "", "1-9", "0-9"
	switch f.verb {
	case 'd':
		sign = "-?"
	case 'x':
		lead, digit = "1-9a-f", "0-9a-f"
	case 'X':
		lead, digit = "1-9A-F", "0-9A-F"
	}
	if f.prefixed {
		sign = "0x"
	}
	if f.precision == 0 {
		return sign + "[" + digit + "]+"
	}
	return sign + "([" + lead + "][" + digit + "]*)?[" + digit + "]{" + strconv.Itoa(f.precision) + "}"
}

// write returns v in this format; ok is false for a negative number in an unsigned format.
func (f format) write(v *big.Int) (text string, ok bool) {
	if v.Sign() < 0 && f.verb != 'd' {
		return "", false
	}
	base := 10
	if f.hex() {
		base = 16
	}
	digits := new(big.Int).Abs(v).Text(base)
	if f.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if pad := f.precision - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	if f.prefixed {
		digits = "0x" + digits
	}
	if v.Sign() < 0 {
		digits = "-" + digits
	}
	return digits, true
}

// read returns the value of text that matched wildcard.
func (f format) read(text string) *big.Int {
	text, negative := strings.CutPrefix(text, "-")
	base := 10
	if f.hex() {
		base = 16
		if f.prefixed && len(text) > 2 {
			text = text[2:]
		}
	}
	v, ok := new(big.Int).SetString(text, base)
	if !ok {
		return new(big.Int)
	}
	if negative {
		v.Neg(v)
	}
	return v
}

// number is a numeric variable. Patterns hold pointers to it.
type number struct {
	name   string
	format format
	line   int      // where it was first defined; 0 on the command line or if it was never
	value  *big.Int // nil while undefined
	text   span     // what was captured; its source is nil if nothing was
}

// scope holds the variables of a run.
type scope struct {
	text    map[string]span // values of string variables
	defined map[string]bool // names that are or will be string variables
	numbers map[string]*number
	line    *number // @LINE
}

func newScope() *scope {
	line := &number{name: "@LINE", format: format{verb: 'u'}}
	return &scope{
		text: map[string]span{}, defined: map[string]bool{},
		numbers: map[string]*number{line.name: line}, line: line,
	}
}

// forget removes the variables that are local to a block: those whose names do not start with '$'.
func (s *scope) forget() {
	for name := range s.text {
		if name[0] != '$' {
			delete(s.text, name)
		}
	}
	for name, n := range s.numbers {
		if name[0] != '$' {
			n.value, n.text = nil, span{}
			delete(s.numbers, name)
		}
	}
}
