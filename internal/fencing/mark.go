package fencing

import "strings"

// A Mark is on every master that votes. It names the member that was admitted, the server
// process, and the admission itself by a nonce. So it tells whose data a server has: a copy of
// another member's names that one, an old snapshot an earlier process, and data that came back
// after another admission has that one's nonce no more.
//
// A ticket is the mark that a master will have once it is admitted.
type Mark struct{ Nonce, RunID, Member string }

// String returns the mark as the member stores it. A nonce has 24 bytes, which scripts rely on.
func (m Mark) String() string { return m.Nonce + " " + m.RunID + " " + m.Member }

// ParseMark reads a mark. What is none names no member.
func ParseMark(text string) (m Mark) {
	words := strings.SplitN(text, " ", 3)
	if len(words) != 3 {
		return Mark{}
	}
	return Mark{words[0], words[1], words[2]}
}

// Admits reports whether the mark is that of a member's present process.
func (m Mark) Admits(runID, member string) bool {
	return m.Nonce != "" && m.RunID == runID && m.Member == member
}
