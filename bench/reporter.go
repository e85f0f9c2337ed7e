package bench

// reporter starts the goroutine that calls Config.Progress. report never blocks: it drops
// the call if the previous one is not delivered yet. finish delivers the last call and
// waits for it.
func (r *runner) reporter() (report, finish func(Progress)) {
	if r.cfg.Progress == nil {
		return func(Progress) {}, func(Progress) {}
	}
	calls, done := make(chan Progress, 1), make(chan struct{})
	go func() {
		defer close(done)
		for p := range calls {
			p.Impl, p.Round = r.impl, 1
			r.cfg.Progress(p)
		}
	}()
	report = func(p Progress) {
		select {
		case calls <- p:
		default:
		}
	}
	finish = func(p Progress) {
		calls <- p
		close(calls)
		<-done
	}
	return report, finish
}
