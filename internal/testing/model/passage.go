package model

// A passage is where an acquire is.
type passage uint8

const (
	nowhere passage = iota // it was executed or lost, or never existed
	unsent
	sent
	looked // the first of its two steps was executed
	astray // sent, on a connection that broke
)

// isOvertaken reports whether a later message may be executed. With cuts it may overtake an acquire that is under way: the
// connection of the acquire has broken then.
func (p *passage) isOvertaken(cuts bool) bool {
	if *p == sent && cuts {
		*p = astray
	}
	return *p == nowhere || *p == astray
}

// isCut loses what was sent.
func (p *passage) isCut() {
	if *p != unsent {
		*p = nowhere
	}
}
