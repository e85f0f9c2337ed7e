package bench

// reporter starts the goroutine that calls Config.Progress. After that, report never blocks: it drops
// the call if the previous one is not delivered yet. finish delivers the last call and
// waits for it.
func (r *runner) reporter() (finish func(Progress)) {
	calls, done := make(chan Progress, 1), make(chan struct{})
	go func() {
		defer close(done)
		for p := range calls {
			if p.Impl, p.Round = r.impl, 1; r.cfg.Progress != nil {
				r.cfg.Progress(p)
			}
		}
	}()
	r.report = func(p Progress) {
		select {
		case calls <- p:
		default:
		}
	}
	return func(p Progress) {
		calls <- p
		close(calls)
		<-done
	}
}
