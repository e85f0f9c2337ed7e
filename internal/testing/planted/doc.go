// Command planted breaks the product in one place at a time, and says which test sees the fault:
//
//	make planted              all faults
//	make planted PART=3/10    the third tenth of them
//	make mutants              mutants of the pure packages in their place
//	make mutants DRAW=20      twenty mutants drawn from all packages, by a number of the commit
//
// A fault is one replacement in one file of production code (faults of each floor: rules.go, pipeline.go,
// engine.go, scripts.go). The tree stays as it is: go build -overlay reads the replaced file in its place.
//
// The tests run that the fault names. A test counts only if it passes without the fault. With -schedules 50 the simulator
// (internal/testing/sim) looks for each fault first, for at most so many schedules, and stops at the first violation: that
// shows what it sees, and takes far longer. Lua runs on real servers alone, so it plays no faults of scripts.
//
// A fault that survives is a defect of the tests. The exit status is 1 then.
//
// A mutant is a small change made by a rule (mutant.go): an operator is another, a condition is negated, and so on. Only the
// tests of the package look for mutants. A mutant without any visible effect has a line in explained.txt. The exit status is 1
// if a mutant without a line survives, or if a line names a mutant that is killed.
//
// For a drawn mutant (draw.go) the quick tests of its package look first, then those of all packages that use it, then the
// simulator for 200 schedules, then the tests on servers. What only a time-out ended counts as a survivor.
package main
