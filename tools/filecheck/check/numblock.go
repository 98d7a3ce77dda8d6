package check

import (
	"math/big"
	"strings"
)

// numBlock is a parsed [[#...]]: an optional expression, the format of the number, and the variable that it defines.
type numBlock struct {
	expr   *expression
	format format
	def    *number
}

// numParser reads numeric blocks. Its methods advance rest.
type numParser struct {
	vars   *scope
	line   int  // of the directive; 0 on the command line
	legacy bool // [[@LINE+n]], the old form without '#'
	rest   span
	depth  int
}

// Limits on what a block may ask for.
const (
	maxPrecision = 1000
	maxDigits    = 1000
	maxNesting   = 200
)

// parseNumBlock parses the text between "[[#" and "]]".
func parseNumBlock(vars *scope, line int, legacy bool, text span) (numBlock, []*problem) {
	p := &numParser{vars: vars, line: line, legacy: legacy, rest: text}
	explicit, bad := p.formatSpec()
	if bad != nil {
		return numBlock{}, []*problem{bad}
	}
	var def *span
	if i := p.rest.index(":"); i >= 0 {
		name := p.rest.to(i)
		def, p.rest = &name, p.rest.from(i+1)
	}
	expr, bad := p.constraint()
	if bad != nil {
		return numBlock{}, []*problem{bad}
	}
	block := numBlock{expr: expr, format: explicit}
	if expr != nil && explicit.verb == 0 {
		implied, bads := expr.implied()
		if bads != nil {
			return numBlock{}, bads
		}
		block.format = implied
	}
	if block.format.verb == 0 {
		block.format = format{verb: 'u', precision: explicit.precision}
	}
	if def != nil {
		if block.def, bad = p.definition(*def, block.format); bad != nil {
			return numBlock{}, []*problem{bad}
		}
	}
	return block, nil
}

// formatSpec parses "%#.8x," where a comma comes before any parenthesis. Verb 0 in the result is no specifier.
func (p *numParser) formatSpec() (format, *problem) {
	var f format
	end, call := p.rest.index(","), p.rest.index("(")
	if end < 0 || call >= 0 && call < end {
		return f, nil
	}
	spec := p.rest.to(end).trimLeft().trimRight()
	p.rest = p.rest.from(end + 1)
	spec, ok := spec.cut("%")
	if !ok {
		return f, problemf(spec, "invalid matching format specification in expression")
	}
	flag := spec
	spec, f.prefixed = spec.cut("#")
	if after, ok := spec.cut("."); ok {
		if f.precision, spec, ok = digits(after); !ok {
			return f, problemf(after, "invalid precision in format specifier")
		}
	}
	if !spec.empty() {
		f.verb = spec.String()[0]
		if strings.IndexByte("udxX", f.verb) < 0 {
			return f, problemf(spec, "invalid format specifier in expression")
		}
		spec = spec.from(1)
	}
	if f.prefixed && !f.hex() {
		return f, problemf(flag, "alternate form only supported for hex values")
	}
	if spec = spec.trimLeft(); !spec.empty() {
		return f, problemf(spec, "invalid matching format specification in expression")
	}
	return f, nil
}

// digits reads a decimal number of at most maxPrecision.
func digits(s span) (n int, rest span, ok bool) {
	text := s.String()
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9' && n <= maxPrecision; i++ {
		n = 10*n + int(text[i]-'0')
	}
	return n, s.from(i), i > 0 && n <= maxPrecision
}

// constraint parses an optional "==" and the expression, nil if there is none.
func (p *numParser) constraint() (*expression, *problem) {
	var constrained bool
	p.rest, constrained = p.rest.trimLeft().cut("==")
	p.rest = p.rest.trimLeft()
	if p.rest.empty() {
		if constrained {
			return nil, problemf(p.rest, "empty numeric expression should not have a constraint")
		}
		return nil, nil
	}
	p.rest = p.rest.trimRight()
	outer := p.rest
	e, bad := p.operand(false, !constrained)
	for bad == nil && !p.rest.empty() {
		e, bad = p.binary(outer, e)
		if bad == nil && p.legacy && !p.rest.empty() {
			return nil, problemf(p.rest, "unexpected characters at end of expression '%s'", p.rest)
		}
	}
	return e, bad
}

// binary parses an operator and its right operand.
func (p *numParser) binary(outer span, left *expression) (*expression, *problem) {
	if p.rest = p.rest.trimLeft(); p.rest.empty() {
		return left, nil
	}
	at := p.rest
	name := map[byte]string{'+': "add", '-': "sub"}[at.String()[0]]
	if name == "" {
		return nil, problemf(at, "unsupported operation '%c'", at.String()[0])
	}
	if p.rest = at.from(1).trimLeft(); p.rest.empty() {
		return nil, problemf(p.rest, "missing operand in expression")
	}
	right, bad := p.operand(true, false)
	if bad != nil {
		return nil, bad
	}
	whole := outer.to(p.rest.lo - outer.lo)
	return &expression{at: whole, op: operations[name], args: [2]*expression{left, right}}, nil
}

// operand parses a parenthesized expression, a call, a variable or a literal. In the legacy form the left operand is
// a variable and the right one a literal.
func (p *numParser) operand(right, maybeConstraint bool) (*expression, *problem) {
	if p.depth++; p.depth > maxNesting {
		return nil, problemf(p.rest, "expression nested too deeply")
	}
	defer func() { p.depth-- }()
	if p.rest.has("(") {
		if p.legacy {
			return nil, problemf(p.rest, "parenthesized expression not permitted here")
		}
		return p.parens()
	}
	if !p.legacy || !right {
		name, rest, bad := parseName(p.rest)
		if bad == nil {
			p.rest = rest
			return p.named(name)
		}
		if p.legacy {
			return nil, bad
		}
	}
	return p.number(maybeConstraint)
}

// named parses what a name starts: a call or the use of a variable.
func (p *numParser) named(name span) (*expression, *problem) {
	if p.rest.trimLeft().has("(") {
		if p.legacy {
			return nil, problemf(name, "unexpected function call")
		}
		return p.call(name)
	}
	text := name.String()
	if text[0] == '@' && text != "@LINE" {
		return nil, problemf(name, "invalid pseudo numeric variable '%s'", text)
	}
	n := p.vars.numbers[text]
	if n == nil {
		n = &number{name: text, format: format{verb: 'u'}}
		p.vars.numbers[text] = n
	}
	if n.line != 0 && n.line == p.line {
		return nil, problemf(name, "numeric variable '%s' defined earlier in the same CHECK directive", text)
	}
	return &expression{at: name, use: n}, nil
}

func (p *numParser) number(maybeConstraint bool) (*expression, *problem) {
	start := p.rest
	text, negative := strings.CutPrefix(start.String(), "-")
	base, skip := 10, 0
	if !p.legacy {
		base, skip = radix(text)
	}
	end := skip
	for end < len(text) && digitValue(text[end]) < base {
		end++
	}
	v, ok := new(big.Int).SetString(text[skip:end], base)
	if !ok || end > maxDigits {
		what := ""
		if maybeConstraint {
			what = "matching constraint or "
		}
		return nil, problemf(start, "invalid %soperand format", what)
	}
	if negative {
		v.Neg(v)
		end++
	}
	p.rest = start.from(end)
	return &expression{at: start.to(end), literal: v}, nil
}

// radix returns the base that a literal's prefix says and the length of the prefix.
func radix(text string) (base, skip int) {
	if len(text) < 2 || text[0] != '0' {
		return 10, 0
	}
	switch text[1] {
	case 'x', 'X':
		return 16, 2
	case 'b', 'B':
		return 2, 2
	case 'o':
		return 8, 2
	}
	if '0' <= text[1] && text[1] <= '9' {
		return 8, 0
	}
	return 10, 0
}

func digitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	}
	return 99
}

// parens parses "(" expression ")".
func (p *numParser) parens() (*expression, *problem) {
	if p.rest = p.rest.from(1).trimLeft(); p.rest.empty() {
		return nil, problemf(p.rest, "missing operand in expression")
	}
	e, bad := p.operand(false, false)
	p.rest = p.rest.trimLeft()
	for bad == nil && !p.rest.empty() && !p.rest.has(")") {
		e, bad = p.binary(p.rest, e)
		p.rest = p.rest.trimLeft()
	}
	if bad != nil {
		return nil, bad
	}
	rest, ok := p.rest.cut(")")
	if !ok {
		return nil, problemf(p.rest, "missing ')' at end of nested expression")
	}
	p.rest = rest
	return e, nil
}

// call parses the arguments of function name.
func (p *numParser) call(name span) (*expression, *problem) {
	op, ok := operations[name.String()]
	if !ok {
		return nil, problemf(name, "call to undefined function '%s'", name)
	}
	p.rest = p.rest.trimLeft().from(1).trimLeft()
	args, bad := p.arguments()
	if bad != nil {
		return nil, bad
	}
	if len(args) != 2 {
		return nil, problemf(name, "function '%s' takes 2 arguments but %d given", name, len(args))
	}
	return &expression{at: p.rest, op: op, args: [2]*expression{args[0], args[1]}}, nil
}

func (p *numParser) arguments() ([]*expression, *problem) {
	var args []*expression
	for !p.rest.empty() && !p.rest.has(")") {
		if p.rest.has(",") {
			return nil, problemf(p.rest, "missing argument")
		}
		arg, bad := p.argument()
		if bad != nil {
			return nil, bad
		}
		args = append(args, arg)
		after, more := p.rest.trimLeft().cut(",")
		if p.rest = after; !more {
			break
		}
		if p.rest = p.rest.trimLeft(); p.rest.has(")") {
			return nil, problemf(p.rest, "missing argument")
		}
	}
	rest, ok := p.rest.cut(")")
	if !ok {
		return nil, problemf(p.rest, "missing ')' at end of call expression")
	}
	p.rest = rest
	return args, nil
}

func (p *numParser) argument() (*expression, *problem) {
	outer := p.rest
	e, bad := p.operand(false, false)
	for bad == nil && !p.rest.empty() {
		if p.rest = p.rest.trimLeft(); p.rest.has(",") || p.rest.has(")") {
			break
		}
		e, bad = p.binary(outer, e)
	}
	return e, bad
}

// definition parses the name before ':' and returns its variable.
func (p *numParser) definition(text span, f format) (*number, *problem) {
	name, rest, bad := parseName(text.trimLeft())
	if bad != nil {
		return nil, bad
	}
	id := name.String()
	if id[0] == '@' {
		return nil, problemf(name, "definition of pseudo numeric variable unsupported")
	}
	if p.vars.defined[id] {
		return nil, problemf(name, "string variable with name '%s' already exists", id)
	}
	if rest = rest.trimLeft(); !rest.empty() {
		return nil, problemf(rest, "unexpected characters after numeric variable name")
	}
	n := p.vars.numbers[id]
	if n == nil {
		return &number{name: id, format: f, line: p.line}, nil
	}
	if n.format != f {
		return nil, problemf(rest, "format different from previous variable definition")
	}
	return n, nil
}

// parseName reads a variable's name: a letter or '_' and then letters, digits and '_', after an optional '$' (global)
// or '@' (pseudo variable), which belong to it.
func parseName(s span) (name, rest span, bad *problem) {
	text := s.String()
	if text == "" {
		return s, s, problemf(s, "empty variable name")
	}
	i := 0
	if text[0] == '$' || text[0] == '@' {
		i = 1
	}
	if i == len(text) {
		kind := map[byte]string{'$': "global", '@': "pseudo"}[text[0]]
		return s, s, problemf(s.from(i), "empty %s variable name", kind)
	}
	if !nameByte(text[i]) || '0' <= text[i] && text[i] <= '9' {
		return s, s, problemf(s, "invalid variable name")
	}
	for i < len(text) && nameByte(text[i]) {
		i++
	}
	return s.to(i), s.from(i), nil
}

func nameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
