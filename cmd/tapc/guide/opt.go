package guide

// Opt is the text of --help of `tapc opt`.
const Opt = `Run passes over a graph and write what comes of it.

--passes names them in order, separated by commas, each with options in braces:
  simplify{fuel=10},shard{plan=p.json},verify
A group runs until it changes nothing, at most max times (10):
  fix(simplify,cse,dce){max=4}
--list-passes says which there are. Behind them --plan cuts operations as a plan file says,
with the permissions that --allow gives.

The graph is verified before the first pass and after each. A pass that panics,
leaves an invalid graph or, with --check-values, changes a value is at fault: the
exit status is 3, and a file tapc-reproducer-PASS.tap holds the graph before the
pass and the command that repeats it (see replay).

--bisect finds the rewrite that breaks something: the passes run again and again
with less fuel, and COMMAND (a shell command; the graph's file name goes in for {},
or at its end) tells by its exit status whether the result is good (0) or bad.

--expect-rules holds the run to the rules that lines of a file name, and to no others,
as tests do of the file that they are in:
  EXPECT-RULE: NAME      the rule is applied
  EXPECT-RULE: NAME 3    it is applied 3 times
  EXPECT-RULE: none      no rule is applied

`
