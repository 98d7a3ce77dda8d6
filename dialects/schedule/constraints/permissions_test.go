package constraints

import (
	"tensortapestry.org/tapc/dialects/schedule"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/permission"
)

func permissionCases() []Case {
	given := func(device, kernel permission.Set) func(*program) {
		return func(p *program) { p.cpu.Body.(*schedule.Device).Allow, p.first().Allow = device, kernel }
	}
	return []Case{
		Of("permissions: of nobody", edited(given(0, permission.BF16)), []string{"TAP0335"}, []string{`among ""`, `found:    "bf16"`}),
		Of("permissions: one more", edited(given(permission.FastMath, permission.FastMath|permission.TF32)), []string{"TAP0335"}, []string{`found:    "tf32"`}),
		Of("permissions near miss: all of them", edited(given(permission.FastMath, permission.FastMath)), nil, nil),
		Of("permissions near miss: none of them", edited(given(permission.FastMath, 0)), nil, nil),
	}
}
