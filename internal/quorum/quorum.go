// Package quorum is the arithmetic of majorities: values in, values out, no clock, no I/O, no goroutine.
package quorum

// Size returns the smallest majority of n masters, n/2+1. Even with an even n, two halves cannot both win.
func Size(n int) int { return n/2 + 1 }

// Vote is what one master said about one call.
type Vote uint8

const (
	Unknown Vote = iota // no parsed answer: the master may have executed the call, or not
	Granted             // a parsed yes
	Refused             // a parsed no
)

// Tally counts the votes of one call. The zero value has no votes.
type Tally struct {
	Granted, Refused, Unknown uint8
}

// Add counts one vote.
func (t *Tally) Add(v Vote) {
	switch v {
	case Granted:
		t.Granted++
	case Refused:
		t.Refused++
	default:
		t.Unknown++
	}
}

// Votes returns the number of votes counted.
func (t Tally) Votes() int { return int(t.Granted) + int(t.Refused) + int(t.Unknown) }

// Verdict is what the votes so far decide.
type Verdict uint8

const (
	Pending  Verdict = iota // further votes can still change the verdict
	Won                     // a quorum granted
	Denied                  // refusals alone make a quorum of grants impossible
	NoQuorum                // a quorum of grants is impossible, but not because of refusals alone
)

// Verdict returns the first verdict that no further vote of n masters can change. A call that can no longer be won stays
// Pending while further refusals could still make it Denied rather than NoQuorum. Callers act differently on "somebody
// holds it" and "the masters are away".
func (t Tally) Verdict(n int) Verdict {
	q := Size(n)
	granted, refused := int(t.Granted), int(t.Refused)
	open := n - t.Votes()
	switch blocking := n - q + 1; {
	case granted >= q:
		return Won
	case refused >= blocking:
		return Denied
	case granted+open < q && refused+open < blocking:
		return NoQuorum
	}
	return Pending
}

func (v Verdict) String() string {
	return [...]string{"pending", "won", "denied", "no quorum"}[v]
}
