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
// In a bubble nothing takes time, and measured times are exact. An hour of the bubble's time costs
// some tenths of a second, since the engine checks its masters all the time. In real time a test takes
// milliseconds, unless it waits for a lease to run out.
//
// Only distance is missing: calls take microseconds. lockbench measures real masters, and locks
// under load.
package enginetest
