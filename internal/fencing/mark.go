package fencing

import "strings"

// A Mark is on every master that votes. It names the member, the server process, and the admission by a nonce. So it
// shows whose data a server has: a copy of another member's data names that member, an old snapshot names an earlier
// process, and data restored after another admission has an older nonce.
//
// A ticket is the mark that a master will have once it is admitted.
type Mark struct{ Nonce, RunID, Member string }

// String returns the mark as the member stores it. A nonce must have 24 bytes: scripts rely on that.
func (m Mark) String() string { return m.Nonce + " " + m.RunID + " " + m.Member }

// ParseMark reads a mark. For any other text it returns the zero Mark, which names no member.
func ParseMark(text string) (m Mark) {
	words := strings.SplitN(text, " ", 3)
	if len(words) != 3 {
		return Mark{}
	}
	return Mark{words[0], words[1], words[2]}
}

// Admits reports whether the mark names the member and its present process.
func (m Mark) Admits(runID, member string) bool {
	return m.Nonce != "" && m.RunID == runID && m.Member == member
}
