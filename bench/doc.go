// Package bench is the load generator behind lockbench, as a library: workloads,
// arrivals, histograms, results and the audit of overlapping holders.
//
// Run is a run in this process. A run of several processes is a RunPart in each of
// them and a Merge of the Parts: they begin at a common instant of the machine's
// monotonic clock, and find overlaps and hand-overs in a table that all have mapped.
//
//	Config --> runner --> workers --> Locker           what is loaded
//	  |          |          |  ^
//	  |          |          |  +-- pacer <-- schedule  an open loop: when, and who is late
//	  |          |          +----> audit, history      who else held the name
//	  |          |          +----> recorder            counts, histograms
//	  |          +-- beside them: StallWatch, reference
//	  v          v
//	keys, ops, spans    Part --> Merge --> Result
//
// What is drawn (Dist, Op, Span, schedule) depends on the seed alone. Times are ns on
// the run's own clock. Everything but the real-time parts (StallWatch, clock.Alarms)
// also runs in virtual time, which is how the tests time it.
package bench
