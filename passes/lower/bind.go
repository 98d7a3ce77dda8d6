package lower

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
)

// uniqueNames gives loops, operands and statements of a kernel names that differ from each other, and are not words of the
// expression language.
func uniqueNames(k *schedule.Kernel) {
	taken := map[string]bool{}
	pick := func(name string) string {
		try := name
		for i := 1; taken[try]; i++ {
			try = fmt.Sprintf("%s_%d", name, i)
		}
		taken[try] = true
		return try
	}
	for i := range k.Operands {
		k.Operands[i].Name = pick(k.Operands[i].Name)
	}
	for i := range k.Loops {
		k.Loops[i].Name = pick(k.Loops[i].Name)
	}
	for i := range k.Statements {
		name := k.Statements[i].Name
		if k.Statements[i].Store >= 0 {
			name += "_value"
		}
		k.Statements[i].Name = pick(name)
	}
}
