package conn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"muxlock/internal/quorum"
	"muxlock/internal/resp"
)

// ErrUnexpected is matched if a reply has a shape that the command cannot return.
var ErrUnexpected = errors.New("unexpected reply")

// Votes is what a master's reply to a command says of the requests that the command carries.
type Votes struct {
	Of       []Vote // by request
	Again    Again
	Marked   bool   // the master answered under Mark: only under its own do the votes count
	Mark     string // of an admission
	Answer   Answer // to a Wait
	PassedOn bool   // a Pass gave the lock to another token, or woke one
}

// A Vote is what a reply says of one request.
type Vote struct {
	Says  quorum.Vote
	Held  bool   // it refused since this name is held, and not another one of a joint request
	Unfit bool   // Err shows that the server cannot serve rounds
	Fence uint64 // the fencing token that a fenced acquire granted
	Err   error  // why there is no vote
}

// Again says that a reply proves that its command was not executed, and how its requests may be sent again.
type Again uint8

const (
	No      Again = iota
	Loaded        // after its script was loaded
	OneEach       // in a command each: it was refused for the name of one of them
)

// Votes reads the reply to command c into v.
func (l *Load) Votes(c int, reply resp.Reply, v *Votes) {
	from, to := l.EntriesOf(c)
	entries, kind := l.Entries[from:to], &kinds[l.Commands[c].Kind]
	*v = Votes{Of: v.Of[:0]}
	if err := reply.Err(); err != nil {
		switch {
		case IsNoScript(err):
			v.Again = Loaded
		case UnitEnd(entries, 0) < len(entries) && IsDenied(err):
			v.Again = OneEach
		}
		v.none(entries, err)
		return
	}
	if v.Marked = kind.marked && l.Fenced; v.Marked && reply.Kind == resp.Text {
		v.Mark, reply.Text, _ = strings.Cut(reply.Text, "\n")
	}
	kind.read(v, entries, reply)
}

func (v *Votes) plain(entries []Request, reply resp.Reply) {
	says, err := PlainVote(entries[0].Op, reply)
	v.add(&entries[0], says, err)
}

func (v *Votes) pass(entries []Request, reply resp.Reply) {
	v.plain(entries, reply)
	v.PassedOn = reply.Number == passedOn
}

func (v *Votes) wait(entries []Request, reply resp.Reply) {
	a, says, err := waitAnswer(&entries[0], reply)
	if err == nil {
		v.Answer = a
	}
	v.add(&entries[0], says, err)
}

// batch reads the reply of a script with a character per entry.
func (v *Votes) batch(entries []Request, reply resp.Reply) {
	votes, fault, err := BatchVotes(reply, len(entries))
	if err != nil {
		v.none(entries, err)
		return
	}
	for i := range entries {
		switch votes[i] {
		case '1':
			v.Of = append(v.Of, Vote{Says: quorum.Granted})
		case '0':
			v.refused(&entries[i])
		case notTried:
			v.Of = append(v.Of, Vote{Says: quorum.Refused})
		default:
			v.add(&entries[i], quorum.Unknown, fault)
		}
	}
}

// msetex reads the reply of MSETEX: all names were taken, or none.
func (v *Votes) msetex(entries []Request, reply resp.Reply) {
	says := quorum.Granted
	switch {
	case reply.Kind != resp.Number || reply.Number < 0 || reply.Number > 1:
		v.none(entries, fmt.Errorf("%w to MSETEX", ErrUnexpected))
		return
	case reply.Number == 0:
		v.Again, says = OneEach, quorum.Refused
	}
	for range entries {
		v.Of = append(v.Of, Vote{Says: says})
	}
}

// grants reads the reply of a fenced acquire: a word per entry, or nothing if all were granted their proposed tokens.
func (v *Votes) grants(entries []Request, reply resp.Reply) {
	if reply.Kind != resp.Text {
		v.none(entries, fmt.Errorf("%w to the fenced acquire", ErrUnexpected))
		return
	}
	words, text, failed := strings.Cut(reply.Text, "\n")
	fault := ErrUnexpected // of a word that is none of these
	if failed {
		fault = faultOf(text)
	}
	all := words == ""
	for i := range entries {
		q := &entries[i]
		word, rest, _ := strings.Cut(words, " ")
		words = rest
		switch {
		case all || word == "=":
			v.Of = append(v.Of, Vote{Says: quorum.Granted, Fence: q.Fence})
		case word == "0":
			v.refused(q)
		case word == string(notTried):
			v.Of = append(v.Of, Vote{Says: quorum.Refused})
		default:
			if fence, err := strconv.ParseUint(word, 10, 64); err != nil {
				v.add(q, quorum.Unknown, fault)
			} else {
				v.Of = append(v.Of, Vote{Says: quorum.Granted, Fence: fence})
			}
		}
	}
}

// none notes that no entry has a vote.
func (v *Votes) none(entries []Request, err error) {
	for i := range entries {
		v.add(&entries[i], quorum.Unknown, err)
	}
}

func (v *Votes) refused(q *Request) {
	v.Of = append(v.Of, Vote{Says: quorum.Refused, Held: q.Joint != 0 && !q.OneOf || q.Shared})
}

// add notes a vote on q, or the reason why there is none.
func (v *Votes) add(q *Request, says quorum.Vote, err error) {
	vote := Vote{Says: says, Err: err}
	optional := q.Shared || q.Op == Intend // an ACL need not allow readers
	switch {
	case err == nil:
	case (q.Op.Ends() || q.Op == Extend) && IsOtherType(err):
		vote = Vote{Says: quorum.Refused}
	case FirstWord(err) == BadRegister:
		vote.Err = As(ErrRegister, err)
	case IsDenied(err), optional && IsForbidden(err):
		vote.Err = As(ErrDenied, err)
	default:
		vote.Unfit = IsUnfit(err)
	}
	v.Of = append(v.Of, vote)
}

// PlainVote reads the reply to one plain command. Only a parsed yes or no is a vote.
func PlainVote(op Op, reply resp.Reply) (quorum.Vote, error) {
	switch {
	case reply.Kind == resp.Failed:
		return quorum.Unknown, reply.Err()
	case op == Acquire && reply.Kind == resp.Null:
		return quorum.Refused, nil
	case op == Acquire && reply.Kind == resp.Text && reply.Text == "OK":
		return quorum.Granted, nil
	case op == Acquire:
		return quorum.Unknown, fmt.Errorf("%w to SET", ErrUnexpected)
	case reply.Kind == resp.Number && (reply.Number == 1 || op == Pass && reply.Number == passedOn):
		return quorum.Granted, nil
	case reply.Kind == resp.Number && (reply.Number == 0 || reply.Number == -1):
		return quorum.Refused, nil
	}
	return quorum.Unknown, fmt.Errorf("%w to EVALSHA", ErrUnexpected)
}

// notTried is a script's answer for a name of a joint request if another one is held.
const notTried = 'n'

// allGranted has the votes for which the batch script answers with an empty string.
var allGranted = strings.Repeat("1", FoldMax)

// BatchVotes reads the reply of the batch script: n characters, one per entry. fault is the error
// of the entries that failed.
func BatchVotes(reply resp.Reply, n int) (votes string, fault, err error) {
	text := reply.Text
	switch {
	case reply.Kind == resp.Failed:
		return "", nil, reply.Err()
	case reply.Kind != resp.Text:
	case text == "" && n > len(allGranted):
		return strings.Repeat("1", n), ErrUnexpected, nil
	case text == "":
		return allGranted[:n], ErrUnexpected, nil
	case len(text) == n:
		return text, ErrUnexpected, nil
	case len(text) > n && text[n] == '\n':
		return text[:n], faultOf(text[n+1:]), nil
	}
	return "", nil, fmt.Errorf("%w to the batch script", ErrUnexpected)
}

// faultOf returns the error of a command that a script called. Older servers begin it with -.
func faultOf(text string) error { return resp.ErrorOf(strings.TrimPrefix(text, "-")) }
