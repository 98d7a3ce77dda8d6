package scalar

// Op is an operator of scalar expressions.
type Op uint8

// The operators. Leaves first, then unary, binary, comparison, logic, and the forms with a meaning of their own.
const (
	NoOp Op = iota
	Const
	Load  // element of operand Ref, at the access of that operand
	Local // value of an earlier statement of the kernel, number Ref
	Loop  // value of loop variable Ref, int64
	Attr  // attribute of the kernel's declaration, by Name; gone after instantiation
	Neg
	Abs
	Sign
	Exp
	Exp2
	Expm1 // e^x - 1, also near 0
	Log
	Log2
	Log10
	Log1p // log(1 + x), also near 0
	Sqrt
	Rsqrt // 1 / sqrt
	Cbrt
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Asinh
	Acosh
	Atanh
	Erf
	Erfc
	Floor
	Ceil
	Round // to nearest, ties to even
	Trunc
	Not      // logical on booleans, bitwise on integers
	Popcount // number of one bits of the type's width
	Clz      // number of zero bits above the highest one bit: the width for 0
	IsNaN    // of complex numbers, either part
	IsInf    // of complex numbers, either part
	Conj
	Real
	Imag
	Add   //
	Sub   //
	Mul   //
	Div   // IEEE on floats; integers truncate, x/0 = 0, MIN/-1 = MIN
	Rem   // sign of the dividend; x rem 0 = 0
	Mod   // sign of the divisor; x mod 0 = 0
	Pow   // integers wrap; a negative exponent gives 0 but for 1 and -1
	Atan2 // angle of the point (second, first)
	Copysign
	Complex // from the real and the imaginary part
	Min     // NaN if either is NaN; of two equal values the second
	Max     // NaN if either is NaN; of two equal values the second
	And     // logical on booleans, bitwise on integers
	Or      //
	Xor     //
	Shl     // shifts of the width or more give 0
	Shr     // arithmetic on signed
	Eq      //
	Ne      //
	Lt      //
	Le      //
	Gt      //
	Ge      //
	Where   // condition, then, else
	Cast    // to Type; float to integer truncates and saturates, NaN gives 0
	Bitcast // the same bits as a number of Type, which is as wide
	Reduce  // Monoid over the loops Over of Args[0]
	At      // as a Monoid only: Args[0] where the one loop in Over equals Args[1], an int64; zero where that is outside the loop
	numOps
)

// opInfo describes an operator: its name in text, how many arguments it takes, its infix symbol and its binding strength.
type opInfo struct {
	name  string
	arity int
	infix string
	prec  int
	rule  typeRule
	class Class
}

// Class says what carries an operator out on floats, in the order of what it takes.
type Class uint8

// The classes of operators.
const (
	Exact          Class = iota // it moves, chooses, compares or converts: a real result is not rounded, or as its type asks
	Arithmetic                  // an instruction whose result is rounded
	Division                    // an instruction that takes several times as long
	Root                        // as Division
	Transcendental              // a function of the C library, or dozens of instructions
)

// typeRule says which element types an operator accepts and what it gives.
type typeRule uint8

const (
	ruleNone      typeRule = iota
	ruleNumeric            // numeric arguments of one type, the same type out
	ruleReal               // integers or floats, not complex
	ruleFloat              // floats or complex
	ruleRealFloat          // floats, not complex
	ruleLogic              // booleans or integers
	ruleInt                // integers
	ruleOrder              // any but complex; boolean out
	ruleEqual              // any; boolean out
	ruleAbs                // numeric; the type of the parts out for complex numbers
	ruleComplex            // complex
	rulePart               // complex; the type of the parts out
	rulePair               // float32 and float64; the complex type of such parts out
)

var ops = [numOps]opInfo{
	NoOp:     {name: "noop"},
	Const:    {name: "const"},
	Load:     {name: "load"},
	Local:    {name: "local"},
	Loop:     {name: "loop"},
	Attr:     {name: "attr"},
	Neg:      {name: "neg", arity: 1, rule: ruleNumeric},
	Abs:      {name: "abs", arity: 1, rule: ruleAbs},
	Sign:     {name: "sign", arity: 1, rule: ruleReal},
	Exp:      {name: "exp", arity: 1, rule: ruleFloat, class: Transcendental},
	Exp2:     {name: "exp2", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Expm1:    {name: "expm1", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Log:      {name: "log", arity: 1, rule: ruleFloat, class: Transcendental},
	Log2:     {name: "log2", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Log10:    {name: "log10", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Log1p:    {name: "log1p", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Sqrt:     {name: "sqrt", arity: 1, rule: ruleFloat, class: Root},
	Rsqrt:    {name: "rsqrt", arity: 1, rule: ruleFloat, class: Root},
	Cbrt:     {name: "cbrt", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Sin:      {name: "sin", arity: 1, rule: ruleFloat, class: Transcendental},
	Cos:      {name: "cos", arity: 1, rule: ruleFloat, class: Transcendental},
	Tan:      {name: "tan", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Asin:     {name: "asin", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Acos:     {name: "acos", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Atan:     {name: "atan", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Sinh:     {name: "sinh", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Cosh:     {name: "cosh", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Tanh:     {name: "tanh", arity: 1, rule: ruleFloat, class: Transcendental},
	Asinh:    {name: "asinh", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Acosh:    {name: "acosh", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Atanh:    {name: "atanh", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Erf:      {name: "erf", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Erfc:     {name: "erfc", arity: 1, rule: ruleRealFloat, class: Transcendental},
	Floor:    {name: "floor", arity: 1, rule: ruleRealFloat},
	Ceil:     {name: "ceil", arity: 1, rule: ruleRealFloat},
	Round:    {name: "round", arity: 1, rule: ruleRealFloat},
	Trunc:    {name: "trunc", arity: 1, rule: ruleRealFloat},
	Not:      {name: "not", arity: 1, rule: ruleLogic},
	Popcount: {name: "popcount", arity: 1, rule: ruleInt},
	Clz:      {name: "clz", arity: 1, rule: ruleInt},
	IsNaN:    {name: "isnan", arity: 1, rule: ruleEqual},
	IsInf:    {name: "isinf", arity: 1, rule: ruleEqual},
	Conj:     {name: "conj", arity: 1, rule: ruleComplex},
	Real:     {name: "real", arity: 1, rule: rulePart},
	Imag:     {name: "imag", arity: 1, rule: rulePart},
	Add:      {name: "add", arity: 2, infix: "+", prec: 6, rule: ruleNumeric, class: Arithmetic},
	Sub:      {name: "sub", arity: 2, infix: "-", prec: 6, rule: ruleNumeric, class: Arithmetic},
	Mul:      {name: "mul", arity: 2, infix: "*", prec: 7, rule: ruleNumeric, class: Arithmetic},
	Div:      {name: "div", arity: 2, infix: "/", prec: 7, rule: ruleNumeric, class: Division},
	Rem:      {name: "rem", arity: 2, rule: ruleReal, class: Division},
	Mod:      {name: "mod", arity: 2, infix: "%", prec: 7, rule: ruleReal, class: Division},
	Pow:      {name: "pow", arity: 2, rule: ruleReal, class: Transcendental},
	Atan2:    {name: "atan2", arity: 2, rule: ruleRealFloat, class: Transcendental},
	Copysign: {name: "copysign", arity: 2, rule: ruleRealFloat},
	Complex:  {name: "complex", arity: 2, rule: rulePair},
	Min:      {name: "min", arity: 2, rule: ruleReal},
	Max:      {name: "max", arity: 2, rule: ruleReal},
	And:      {name: "and", arity: 2, infix: "&", prec: 3, rule: ruleLogic},
	Or:       {name: "or", arity: 2, infix: "|", prec: 1, rule: ruleLogic},
	Xor:      {name: "xor", arity: 2, infix: "^", prec: 2, rule: ruleLogic},
	Shl:      {name: "shl", arity: 2, infix: "<<", prec: 5, rule: ruleInt},
	Shr:      {name: "shr", arity: 2, infix: ">>", prec: 5, rule: ruleInt},
	Eq:       {name: "eq", arity: 2, infix: "==", prec: 4, rule: ruleEqual},
	Ne:       {name: "ne", arity: 2, infix: "!=", prec: 4, rule: ruleEqual},
	Lt:       {name: "lt", arity: 2, infix: "<", prec: 4, rule: ruleOrder},
	Le:       {name: "le", arity: 2, infix: "<=", prec: 4, rule: ruleOrder},
	Gt:       {name: "gt", arity: 2, infix: ">", prec: 4, rule: ruleOrder},
	Ge:       {name: "ge", arity: 2, infix: ">=", prec: 4, rule: ruleOrder},
	Where:    {name: "where", arity: 3},
	Cast:     {name: "cast", arity: 1},
	Bitcast:  {name: "bitcast", arity: 1},
	Reduce:   {name: "reduce", arity: 1},
	At:       {name: "at", arity: 2},
}

// String gives the operator's name in expression text.
func (o Op) String() string { return ops[o].name }

// Class says what carries the operator out.
func (o Op) Class() Class { return ops[o].class }

// Arity is the number of arguments an operator takes.
func (o Op) Arity() int { return ops[o].arity }

var opByName, opByInfix = func() (map[string]Op, map[string]Op) {
	names, infix := map[string]Op{}, map[string]Op{}
	for o := Neg; o < numOps; o++ {
		if o < Cast {
			names[ops[o].name] = o
		}
		if ops[o].infix != "" {
			infix[ops[o].infix] = o
		}
	}
	return names, infix
}()

// monoids are the operators that reduce, by the name of their reduction.
var monoids = map[string]Op{"sum": Add, "prod": Mul, "min": Min, "max": Max, "all": And, "any": Or}

// MonoidName gives the name of the reduction that folds with an operator, or "".
func MonoidName(o Op) string {
	if o == At {
		return "at"
	}
	for name, op := range monoids {
		if op == o {
			return name
		}
	}
	return ""
}

// result gives the type an operator gives on arguments of type d; ok is false where the operator is not defined.
func (r typeRule) result(d DType) (DType, bool) {
	switch r {
	case ruleNumeric:
		return d, d.IsNumeric()
	case ruleReal:
		return d, d.IsReal()
	case ruleFloat:
		return d, d.IsFraction() || d.IsComplex()
	case ruleRealFloat:
		return d, d.IsFraction()
	case ruleLogic:
		return d, d.IsBool() || d.IsInt()
	case ruleInt:
		return d, d.IsInt()
	case ruleOrder:
		return Bool, d != Invalid && !d.IsComplex()
	case ruleEqual:
		return Bool, d != Invalid
	case ruleAbs:
		return d.Part(), d.IsNumeric()
	case ruleComplex:
		return d, d.IsComplex()
	case rulePart:
		return d.Part(), d.IsComplex()
	case rulePair:
		return d.Pair()
	}
	return Invalid, false
}
