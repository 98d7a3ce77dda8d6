package compare

import (
	"math"

	"tensortapestry.org/tapc/ir/diag"
)

// MostThreads is how many threads a program runs on at most.
const MostThreads = 1024

// Help is the text of the command.
const Help = `Compile a model and compare the program with something else that computes the same.

--against is onnxruntime, for an ONNX model; reference, the reference evaluator, whose
speed means nothing; or an executable that tapc made. Both sides get the same inputs, which
are random or, with --input, from files. The errors of each output are given in units in the
last place and relative to the tensor's greatest magnitude, which --tolerance bounds; without
it, types of 16 bits and less may differ by a step between two numbers of that magnitude.
Where an output is beyond that, or with --tensors=always, tensors inside the model become
outputs too, and the first that parts is named with the model's node that makes it; an
executable has none. Both sides are then timed in turns, each twice in a round, so that the
ratio of a side to itself says how exact the measurement is.

With several sizes of dimensions, --dim batch=1,8,32, the one program for all of them is
built, and compared at each.

The exit status is 1 if outputs part.`

// Check finds what is wrong with the values of flags.
func Check(against, python string, rounds, threads int, tolerance float64) error {
	switch {
	case against == "":
		return diag.Usage("compare needs --against=onnxruntime, --against=reference or --against=PROGRAM")
	case python != "" && against != Peer:
		return diag.Usage("--python goes with --against=%s, which needs Python", Peer)
	case rounds < 0 || rounds > MostRounds:
		return diag.Usage("--rounds=%d: expected 0 to %d", rounds, MostRounds)
	case threads < 0 || threads > MostThreads:
		return diag.Usage("--threads=%d: expected 1 to %d, or 0 for all cores", threads, MostThreads)
	case !(tolerance >= 0) || math.IsInf(tolerance, 1):
		return diag.Usage("--tolerance=%v: expected a number of at least 0", tolerance)
	case against != Peer && against != Reference:
		return CheckProgram(against)
	}
	return nil
}
