// Package enginetest gives unit tests real locks without servers: an engine on masters that
// are in the test's own process, execute the engine's commands, and fail on demand.
//
//	func TestReportStopsWhenItsLockIsLost(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { // or without: then in real time
//			locks := enginetest.New(t, engine.Config{})
//			service := NewService(locks) // takes an engine.Locker, or *engine.Engine: locks.Engine
//			...
//			locks.Lose("nightly report")
//			...
//		})
//	}
//
// It is no mock: acquires, renewals, hand-overs, wake-ups, losses and errors are those of the
// engine, which cannot tell the masters from servers. Engines that Open returns exclude each
// other as processes do. Only distance is missing: calls take microseconds. How
// long real servers take, and how locks fare under load, is for lockbench.
package enginetest
