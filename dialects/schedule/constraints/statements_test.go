package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// stated is the program with the value of the first kernel's statement changed.
func stated(e *scalar.Expr, edit ...func(k *schedule.Kernel)) *ir.Graph {
	return edited(func(p *program) {
		p.first().Statements[0].Value = e
		for _, f := range edit {
			f(p.first())
		}
	})
}

// with is the program with the first kernel changed.
func with(edit func(k *schedule.Kernel)) *ir.Graph {
	return edited(func(p *program) { edit(p.first()) })
}

func statementCases() []Case {
	x := scalar.NewLoad(0, scalar.Float32)
	one := scalar.NewConst(scalar.FloatValue(scalar.Float32, 1))
	local := func(k *schedule.Kernel) { // y = t + t, with t = X + X before it
		k.Statements = nil
		say(k, "t", -1, "X + X", 0, 1)
		say(k, "y", 1, "t + t", 0, 1)
	}
	return []Case{
		Of("statements: names", with(func(k *schedule.Kernel) {
			k.Loops[0].Name, k.Operands[0].Name, k.Statements[0].Name = "a b", "Y", "j"
		}), []string{"TAP0351", "TAP0351", "TAP0351"}, []string{`"a b"`, `"Y", as operands/0`, `"j", as loops/1`}),
		Of("statements: loops that do not exist", with(func(k *schedule.Kernel) { k.Statements[0].Over = []int64{0, 2} }),
			[]string{"TAP0352"}, []string{"numbers of the 2 loops, ascending", "[0 2]"}),
		Of("statements: loops out of order", with(func(k *schedule.Kernel) { k.Statements[0].Over = []int64{1, 0} }), []string{"TAP0352"}, nil),
		Of("statements: a loop twice", with(func(k *schedule.Kernel) { k.Statements[0].Over = []int64{1, 1} }), []string{"TAP0352"}, nil),
		Of("statements: a reduction's loops", stated(scalar.NewReduce(scalar.Add, []int{5}, x)), []string{"TAP0352"}, nil),
		Of("statements: stored to a reader", with(func(k *schedule.Kernel) { k.Statements[0].Store = 0 }), []string{"TAP0353", "TAP0358"}, nil),
		Of("statements: stored nowhere", with(func(k *schedule.Kernel) { k.Statements[0].Store = 2 }), []string{"TAP0353", "TAP0358"}, nil),
		Of("statements: stored at -2", with(func(k *schedule.Kernel) { k.Statements[0].Store = -2 }), []string{"TAP0353", "TAP0358"}, nil),
		Of("statements: no value", with(func(k *schedule.Kernel) { k.Statements[0].Value = nil }), []string{"TAP0354"}, nil),
		Of("statements: loads what it writes", stated(scalar.NewLoad(1, scalar.Float32)), []string{"TAP0354"}, []string{`operand "Y"`}),
		Of("statements: loads what is not there", stated(scalar.NewLoad(-3, scalar.Float32)), []string{"TAP0354"}, []string{"an operand that is read"}),
		Of("statements: uses itself", stated(scalar.NewLocal(0, scalar.Float32)), []string{"TAP0354"}, []string{"an earlier statement"}),
		Of("statements: uses what is stored", with(func(k *schedule.Kernel) {
			say(k, "more", -1, "y", 0, 1)
		}), []string{"TAP0354"}, []string{`statement "y"`}),
		Of("statements accepted: uses an earlier value", with(local), nil, nil),
		Of("statements: a loop that does not exist", stated(scalar.Must(scalar.Add, scalar.NewLoop(2), scalar.NewLoop(0))), []string{"TAP0354"}, nil),
		Of("statements: an attribute", stated(&scalar.Expr{Op: scalar.Attr, Name: "alpha", Type: scalar.Float32}), []string{"TAP0354"}, nil),
		Of("statements: an argument is missing", stated(&scalar.Expr{Op: scalar.Add, Type: scalar.Float32, Args: []*scalar.Expr{x, nil}}),
			[]string{"TAP0116"}, []string{"its fields can not be read"}),
		Of("statements: too few arguments", stated(&scalar.Expr{Op: scalar.Max, Type: scalar.Float32, Args: []*scalar.Expr{x}}),
			[]string{"TAP0354"}, []string{"2 arguments"}),
		Of("statements: a reduction that does not fold", stated(&scalar.Expr{Op: scalar.Reduce, Monoid: scalar.Sub, Type: scalar.Float32, Args: []*scalar.Expr{x}}),
			[]string{"TAP0354"}, nil),
		Of("statements: types mixed", stated(&scalar.Expr{Op: scalar.Add, Type: scalar.Float32, Args: []*scalar.Expr{x, scalar.NewLoop(0)}}),
			[]string{"TAP0355"}, []string{"float32", "int64"}),
		Of("statements: a comparison is no number", stated(scalar.Must(scalar.Lt, x, one)), []string{"TAP0355"},
			[]string{"float32, as operand Y has", "boolean"}),
		Of("statements: a false type", stated(&scalar.Expr{Op: scalar.Lt, Type: scalar.Float32, Args: []*scalar.Expr{x, one}}),
			[]string{"TAP0355"}, nil),
		Of("statements: a load of another type", stated(scalar.NewCast(scalar.Float32, scalar.NewLoad(0, scalar.Int8))), []string{"TAP0355"}, nil),
		Of("statements: an untyped constant", stated(&scalar.Expr{Op: scalar.Const, Value: scalar.Value{F: 1}}), []string{"TAP0355"}, nil),
		Of("statements near miss: cast to the operand's type", stated(scalar.NewCast(scalar.Float32, scalar.Must(scalar.Lt, x, one))), nil, nil),
		Of("statements: a reduction over a running loop", stated(scalar.NewReduce(scalar.Add, []int{1}, x)), []string{"TAP0356"}, []string{"found:    j"}),
		Of("statements: nested reductions over one loop", edited(func(p *program) {
			p.second().Statements[0].Value = scalar.NewReduce(scalar.Add, []int{1}, scalar.NewReduce(scalar.Max, []int{1}, x))
		}), []string{"TAP0356"}, nil),
		Of("statements: a load along a loop that does not run", edited(func(p *program) { p.second().Statements[0].Value = x }),
			[]string{"TAP0357"}, []string{"operand Y depends on a loop", "[i]"}),
		Of("statements: a store along a loop that does not run", edited(func(p *program) {
			p.second().Operands[1].Access = affineMap("(d0, d1) -> (d1)")
		}), []string{"TAP0357"}, []string{"operand Z depends"}),
		Of("statements: a loop's value where it does not run", edited(func(p *program) {
			p.second().Statements[0].Value = scalar.NewCast(scalar.Float32, scalar.NewLoop(1))
		}), []string{"TAP0357"}, nil),
		Of("statements: a value along a loop that does not run", with(func(k *schedule.Kernel) {
			local(k)
			k.Statements[1].Over = []int64{0}
			k.Operands[1].Access = affineMap("(d0, d1) -> (d0, 0)")
		}), []string{"TAP0357"}, []string{"statement t depends"}),
		Of("statements near miss: a loop of one value", edited(func(p *program) {
			p.second().Statements[0].Value = x
			p.second().Loops[1].End = 1
		}), nil, nil),
		Of("statements: an operand stored twice", with(func(k *schedule.Kernel) {
			say(k, "again", 1, "X", 0, 1)
		}), []string{"TAP0358"}, []string{"2 [y again]"}),
		Of("statements: an operand never stored", with(func(k *schedule.Kernel) { k.Statements[0].Store = -1 }), []string{"TAP0358"}, []string{"0 []"}),
		Of("statements: two points, one cell", with(func(k *schedule.Kernel) {
			k.Operands[1].Access = affineMap("(d0, d1) -> (d0, 0)")
		}), []string{"TAP0359"}, []string{"cell [0, 0] from [0, 0] and from [0, 1] of loops [i j]"}),
		Of("statements near miss: every point to a cell of its own", with(func(k *schedule.Kernel) {
			k.Operands[1].Access = affineMap("(d0, d1) -> (-1*d0 + 3, -1*d1 + 2)")
		}), nil, nil),
		Of("statements: not decided", hardStore(), []string{"TAP0360"}, []string{"warning"}),
	}
}

// hardStore is the program with a statement that stores the sums of forty more loops, none of which is small against the
// others.
func hardStore() *ir.Graph {
	return edited(func(p *program) {
		b := p.buffer(p.z, p.cpu, schedule.Arena, 64)
		buf(b).Tensor, buf(b).Range, buf(b).DType = ir.NoNode, Range("[0:4611686018427387904]"), "int8"
		buf(b).Bytes, buf(b).Strides = 1<<62, []int64{1}
		k, x := p.first(), int64(1)
		sums := schedule.Operand{Name: "S", Mode: schedule.Write, DType: "int8", Buffer: b.ID}
		sums.Access = zspace.AffineMap{Projection: zspace.Matrix{{0, 0}}, Offset: zspace.Point{0}}
		k.Operands = append(k.Operands, sums)
		var over []int64
		for i := range 40 {
			k.Loops = append(k.Loops, loop(fmt.Sprint("l", i), 2))
			over = append(over, int64(2+i))
			x = x * 48271 % (1<<31 - 1)
			for o := range k.Operands {
				m := k.Operands[o].Access.Projection
				for r := range m {
					m[r] = append(m[r], 0)
				}
			}
			k.Operands[2].Access.Projection[0][2+i] = x<<16 | 1
		}
		say(k, "s", 2, "int8(1)", over...)
	})
}
