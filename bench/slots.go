package bench

import "slices"

// This file has the part of the audit for holders that share a name. Each name has slots for their stamps. A slot is free
// once its holder has left it, or once the validity of its holder has ended.
//
// A writer's enter looks at all slots after it has written its own stamp. A reader looks at the writer's stamp after it has
// taken a slot. So of a reader and a writer that hold a name at once, the later one sees the other. A reader that finds no
// free slot goes on without one, and no writer sees it.
//
// With permits a name has as many slots as it may have holders. A holder that finds all of them taken is one too many.
// The slots that a locker reports for its permits are other slots. The audit compares the fences of each of those.
//
// The promises of audit hold here, too. The slots of a killed process stay taken until the validity of its holds ends.

// readerSlots is the number of readers of a name that writers see.
const readerSlots = 64

// slots returns the number of slots of a name.
func (c Config) slots() int {
	switch {
	case c.Op.kind == opPermit:
		return c.Op.number
	case c.Op.kind != opReadWrite:
		return 0
	case c.keys() > spreadNames: // rarely has one of so many names many readers at once
		return lineWords
	}
	return readerSlots
}

// permits returns the number of permits of a name; 0: its holders have none.
func (c Config) permits() int {
	if c.Op.Permits() {
		return c.Op.number
	}
	return 0
}

// enterReader notes that worker holds key as a reader, from acquired to until. It returns the stamp for leave: 0 if the hold was over
// before it began, or without a slot.
func (a *audit) enterReader(key, worker int, acquired, until int64, now func() int64) int64 {
	if until <= acquired {
		return 0
	}
	stamp := stampOf(worker, until)
	if !a.takeSlot(key, stamp, acquired) {
		stamp = 0
	}
	if live(a.holder(key).Load(), acquired) && now() < until { // else the writer may have come after this hold, as in enter
		a.violated(a.overlaps(), key, acquired)
	}
	return stamp
}

// enterPermit notes that worker holds a permit of key, from acquired to until. It returns the stamp for leave: 0 if the hold was
// over before it began, or was one too many.
//
// While others come and go, one slot after another is free, and a look at each in turn may miss them all. So enterPermit
// looks at all slots twice. A holder whose stamp both looks found held a permit between them.
func (a *audit) enterPermit(key, worker int, acquired, until int64, now func() int64) int64 {
	stamp := stampOf(worker, until)
	for at := now(); at < until; at = now() {
		if a.takeSlot(key, stamp, at) {
			return stamp
		}
		first, second := a.stamps(key), a.stamps(key)
		if at = now(); at < until && takenThroughout(first, second, at) {
			a.violated(a.overlaps(), key, acquired)
			return 0
		}
	}
	return 0
}

// takenThroughout reports whether all slots were taken between two looks at them, and the holds are valid at now.
func takenThroughout(first, second []int64, now int64) bool {
	return slices.Equal(first, second) && !slices.ContainsFunc(second, func(stamp int64) bool { return !live(stamp, now) })
}

// stamps returns the stamps in the slots of key.
func (a *audit) stamps(key int) (stamps []int64) {
	slots := a.slots(key)
	for i := range slots {
		stamps = append(stamps, slots[i].Load())
	}
	return stamps
}

// hasReaders reports whether readers hold key after now.
func (a *audit) hasReaders(key int, now int64) bool {
	slots := a.slots(key)
	for i := range slots {
		if live(slots[i].Load(), now) {
			return true
		}
	}
	return false
}

// takeSlot takes a free slot. It reports false if it finds none.
func (a *audit) takeSlot(key int, stamp, now int64) bool {
	slots := a.slots(key)
	for i := range slots {
		slot := &slots[(workerOf(stamp)+i)%len(slots)]
		if old := slot.Load(); !live(old, now) && slot.CompareAndSwap(old, stamp) {
			return true
		}
	}
	return false
}

// freeSlot frees the slot with that stamp. It reports false if there is none.
func (a *audit) freeSlot(key int, stamp int64) bool {
	slots := a.slots(key)
	for i := range slots {
		if slots[(workerOf(stamp)+i)%len(slots)].CompareAndSwap(stamp, 0) {
			return true
		}
	}
	return false
}
