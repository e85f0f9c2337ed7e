package model

// faults takes the steps in which masters fail.
func (x *search) faults() {
	m, s := x.m, &x.state
	for i := range m.masters() {
		c, on := &s.columns[i], int8(i)
		happens := func(what string, so *uint8, most uint8, do func(t *state, c *column)) {
			x.happens(what, i, so, most, func(t *state) { do(t, &t.columns[i]) })
		}
		for name := range c.locks {
			if !m.timed() && c.locks[name].owner != 0 {
				t := *s
				t.columns[i].locks[name] = lock{}
				x.goes(&t, step{"lock vanishes", -1, on, 0})
			}
		}
		if m.Copies == 0 || c.copied {
			happens("restarts", &s.crashes, m.Crashes, func(t *state, c *column) {
				if !m.Durable {
					c.data = data{}
				}
				c.restart(t)
			})
		}
		happens("is saved", &s.saves, m.Rollbacks, func(_ *state, c *column) { c.saved = c.data })
		happens("restarts with what was saved", &s.rollbacks, m.Rollbacks, func(t *state, c *column) {
			c.data, c.saved = c.saved, data{}
			c.restart(t)
		})
		if m.Lost == 0 || c.kind == lost {
			happens("is flushed", &s.flushes, m.Flushes, func(_ *state, c *column) { c.flush() })
		}
		for j := range m.masters() {
			if j != i {
				happens("is copied from another", &s.copies, m.Copies, func(t *state, c *column) {
					c.data, c.copied = t.columns[j].data, true
					c.mark.copied, c.ticket.copied, c.since = c.mark.nonce != 0, c.ticket.nonce != 0, 0
					c.waitsFor = noSet
				})
			}
		}
		happens("databases are swapped", &s.swaps, m.Swaps, func(_ *state, c *column) {
			c.data, c.other = c.other, c.data
			c.since, c.other.since = 0, 0 // a time is noted with the count of swaps, which has changed
			c.waitsFor, c.other.waitsFor = noSet, noSet
		})
		happens("registers are deleted", &s.deletions, m.Deletions, func(_ *state, c *column) { c.registers, c.register = false, 0 })
		happens("clock jumps", &s.jumps, m.Jumps, func(_ *state, c *column) { c.locks = [maxNames]lock{} })
		if m.Fault == RegisterDecreases && c.register > 0 {
			t := *s
			t.columns[i].register = 0
			x.goes(&t, step{"register is evicted", -1, on, 0})
		}
	}
}

// restart puts a new process behind the address. Messages under way to the old process are lost.
func (c *column) restart(t *state) {
	c.run++
	for a := range c.asks {
		c.asks[a].sent = false
		c.asks[a].extend.isCut()
		c.asks[a].heal = false
	}
	for client := range c.views {
		v := &c.views[client]
		if v.session = 0; v.target {
			v.target, v.gathered = false, 0
			for j := range t.columns {
				t.columns[j].views[client].read = false
			}
		}
	}
}
