// Package enginetest gives unit tests real locks without servers. Its engine locks on masters in
// the test's own process, which execute the engine's commands and fail on demand. It is no mock:
// acquires, renewals, hand-overs, wake-ups, losses and errors are the engine's own. The engine
// cannot tell these masters from servers; the package's own tests run on both.
//
//	func TestReporterStopsWhenItsLockIsLost(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { // or without it: then in real time
//			locks := enginetest.New(t, engine.Config{})
//			service := &reporter{locks: locks.Engine} // an *engine.Engine
//			ended := make(chan error)
//			go func() { ended <- service.run(t.Context()) }()
//			time.Sleep(time.Second) // it is at work by now
//			locks.Lose("report")
//			require.ErrorIs(t, <-ended, engine.ErrLost)
//		})
//	}
//
// In a bubble only the engine's own delays take time, and measured times are exact. A released lock goes on
// to the next caller at that moment, with two exceptions. If the engine that releases it never waited for it,
// another engine's caller gets it 1 ms later. At times it is left open, and the caller gets it 10 to 15 ms
// later (engine/README.md, Waiting).
//
// An hour of the bubble's time costs 0.2 s of CPU for each engine, which checks its masters all the time, and
// 0.7 s for each lock that an engine waits for all the time: it asks for it once a second. In real time a
// test takes milliseconds, unless it waits for a lease to run out.
//
// Only distance is missing: calls take microseconds. lockbench measures real masters, and locks
// under load.
package enginetest
