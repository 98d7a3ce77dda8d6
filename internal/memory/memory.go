// Package memory tells how much memory this process may still take, so that work which can not fit is refused before it begins instead
// of ending the process. It must not import anything of tapc.
package memory

import "math"

// Available gives the bytes that the process can still get: the least of what the system has free (swap space included), what its
// control groups leave and what its limit of addresses leaves. It is math.MaxInt64 where nothing of that is known.
func Available() int64 { return min(system(), groups(), addresses()) }

const unknown = math.MaxInt64
