package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/internal/quorum"
)

// errOdd is a reply of a shape that the command cannot have.
var errOdd = errors.New("unexpected reply")

// plainVote reads the reply to one command. Only a parsed yes or no is a vote.
func plainVote(op Op, reply rueidis.RedisResult) (quorum.Vote, error) {
	if op == Acquire {
		text, err := reply.ToString()
		switch {
		case rueidis.IsRedisNil(err):
			return quorum.Refused, nil
		case err != nil:
			return quorum.Unknown, err
		case text == "OK":
			return quorum.Granted, nil
		}
		return quorum.Unknown, fmt.Errorf("%w to SET", errOdd)
	}
	switch n, err := reply.AsInt64(); {
	case err != nil:
		return quorum.Unknown, err
	case n == 1:
		return quorum.Granted, nil
	case n == 0 || n == -1:
		return quorum.Refused, nil
	}
	return quorum.Unknown, fmt.Errorf("%w to EVALSHA", errOdd)
}

// allYes is what the batch script's empty answer stands for.
var allYes = strings.Repeat("1", foldMax)

// batchVotes reads the reply of the batch script: n characters, one per entry, and
// the fault that the characters other than '0' and '1' stand for.
func batchVotes(reply rueidis.RedisResult, n int) (votes string, fault, err error) {
	text, err := reply.ToString()
	switch {
	case err != nil:
		return "", nil, err
	case text == "":
		return allYes[:n], errOdd, nil
	case len(text) == n:
		return text, errOdd, nil
	case len(text) > n && text[n] == '\n':
		return text[:n], serverError(strings.TrimPrefix(text[n+1:], "-")), nil
	}
	return "", nil, fmt.Errorf("%w to the batch script", errOdd)
}

// serverError is an error that a server gave for one entry of a batch.
type serverError string

func (e serverError) Error() string { return string(e) }

// withoutArguments cuts off what a server quotes of a command that it does not know: the
// password of an AUTH that was renamed, a token.
func withoutArguments(err error) error {
	if text, _, quoted := strings.Cut(err.Error(), ", with args beginning with:"); quoted {
		return serverError(text)
	}
	return err
}

func isNoScript(err error) bool { return firstWord(err) == "NOSCRIPT" }

// sickness lists the first words of replies that speak of the whole server, not
// of one name: it must not be asked again before a probe has found it well.
var sickness = []string{
	"LOADING", "READONLY", "OOM", "BUSY", "MISCONF", "NOAUTH", "MASTERDOWN", "NOREPLICAS",
	"CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "UNKILLABLE", "NOSCRIPT",
}

// isSick reports whether a server's error asks for the master to be set aside.
// Other server errors (a key of another type, a name that an ACL denies) are an
// unknown vote for the one call.
func isSick(err error) bool { return slices.Contains(sickness, firstWord(err)) }

// isMisconfigured reports whether a master turned us away for a reason that only a
// change of the configuration can mend.
func isMisconfigured(err error) bool {
	return errors.Is(err, ErrSameServer) || slices.Contains([]string{"WRONGPASS", "NOAUTH", "NOPERM"}, firstWord(err))
}

// firstWord returns the class of a server's error, or "".
func firstWord(err error) string {
	if err == nil {
		return ""
	}
	var text string
	var reply *rueidis.RedisError
	var entry serverError
	switch {
	case errors.As(err, &reply):
		text = reply.Error()
	case errors.As(err, &entry):
		text = string(entry)
	}
	word, _, _ := strings.Cut(text, " ")
	return word
}
