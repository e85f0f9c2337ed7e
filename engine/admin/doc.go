// Package admin is for operators of the masters of package engine, and for services that look after
// their masters. muxlock masters, doctor, status and release do the same from a shell, but release
// leaves permits alone.
//
// SetUp makes masters a set, once; engine.Config.Fencing needs one. ReplaceMaster puts another
// master in the place of a member. Members shows which set each master belongs to.
//
// Check looks at all masters for what makes locks on them unsafe or slow. A service can refuse to
// start on a bad set:
//
//	report, err := admin.Check(ctx, locks)
//	if err == nil {
//		err = report.Err() // errors.Is: admin.ErrUnfit, with each reason and what helps
//	}
//
// Inspect asks the masters who holds a name, and for how long. ForceRelease deletes the lock that Inspect
// found, and no later one. InspectPermit is for permits.
//
// Every function is safe for concurrent use. Every error's text is one line, and holds no token.
package admin
