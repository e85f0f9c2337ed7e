package sim

import (
	"fmt"
	"testing"
	"testing/synctest"

	"muxlock/engine"
)

// A Result is what a schedule showed.
type Result struct {
	Violations []string
	*audit
}

// Run plays a schedule. It does not fail t. For negative controls, each function of wrong changes the configuration of an
// engine.
func Run(t *testing.T, s Schedule, wrong ...func(slot int, cfg *engine.Config)) (r Result) {
	defer func() {
		if left := recover(); left != nil {
			r.Violations = append(r.Violations, fmt.Sprint("goroutines are left: ", left))
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s)
		w.misconfigure = wrong
		r.audit = w.audit
		w.run()
		r.Violations = w.violations()
	})
	return r
}
