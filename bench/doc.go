// Package bench is the load generator of lockbench as a library: workloads, arrivals,
// histograms, results and the audit of overlapping holders.
//
// Run makes a run in this process. For a run of several processes, each calls RunPart and
// one calls Merge on their Parts. All begin at one instant of the machine's monotonic
// clock. They find overlaps and hand-overs in a table in shared memory.
//
//	Config --> runner --> workers --> Locker           what is loaded
//	  |          |          |  ^
//	  |          |          |  +-- pacer <-- schedule  open loop: when an operation is due
//	  |          |          +----> audit, history      who else held the name
//	  |          |          +----> recorder            counts, histograms (the table of timings)
//	  |          +-- beside them: stallWatch, uncontended
//	  v          v
//	keys, ops, spans    Part --> Merge --> Result
//
// All draws (Dist, Op, Span, schedule) depend on the seed alone. Times are ns on the run's
// own clock. Everything but stallWatch and clock.Alarms also runs in virtual time, where
// the tests time it.
package bench
