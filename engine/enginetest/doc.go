// Package enginetest gives unit tests real locks without servers: an engine on masters that
// are in the test's own process, execute the engine's commands, and fail on demand. It is no
// mock: acquires, renewals, hand-overs, wake-ups, losses and errors are those of the engine,
// which cannot tell these masters from servers. The package's own tests run on both.
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
// In a bubble nothing takes time, and what is measured is exact; an hour of the bubble's time
// costs two seconds, for the engine looks at its masters all the time. In real time it is a
// matter of milliseconds, unless the test waits for a lease to run out.
//
// Only distance is missing: calls take microseconds. How long real masters take, and how locks
// fare under load, is for lockbench.
package enginetest
