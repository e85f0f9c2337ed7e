package conn

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"muxlock/internal/resp"
)

// ErrDenied is matched by the cause of a master whose ACL forbids the name. The master did not execute
// the command.
var ErrDenied = errors.New("muxlock: name is denied")

// ErrRegister is matched by the cause of a master whose register for a name holds no token: text, a
// negative number, or too large a number. The name was not locked there.
var ErrRegister = errors.New("muxlock: register holds no token")

// BadRegister is the class of the error with which a script of fencing reports such a register.
const BadRegister = "MUXLOCKREGISTER"

// As returns a server's error, with its text, that also matches class: ErrDenied or ErrRegister.
func As(class, err error) error { return classified{err, class} }

// IsAs reports whether err is a result of As. Unlike errors.Is it calls no code of others: err may be a dialler's.
func IsAs(class, err error) bool {
	c, ok := err.(classified)
	return ok && c.class == class
}

type classified struct {
	error
	class error
}

func (c classified) Unwrap() []error { return []error{c.class, c.error} }

// IsDenied reports whether a server's ACL keeps a key from us, whichever command it was.
func IsDenied(err error) bool {
	return IsACL(err) && strings.Contains(err.Error(), " access ")
}

// IsForbidden reports whether a server's ACL keeps a command from us, also inside a script.
func IsForbidden(err error) bool {
	return IsACL(err) && !IsDenied(err)
}

// IsACL reports whether an ACL keeps a key or a command from us.
func IsACL(err error) bool {
	if err == nil {
		return false
	}
	// Inside a script Redis leaves out the class: up to 7.0, and from 7.2 on.
	return FirstWord(err) == "NOPERM" || strings.Contains(err.Error(), "user executing the script can't") || strings.Contains(err.Error(), "ACL failure in script")
}

// IsOtherType reports whether a release found a key of another type, and so not its lock.
func IsOtherType(err error) bool {
	return FirstWord(err) == "WRONGTYPE" || strings.Contains(err.Error(), "should be of string type") // DELEX
}

// IsNoScript reports whether the server misses the script.
func IsNoScript(err error) bool { return FirstWord(err) == "NOSCRIPT" }

// ServerWideErrors are the first words of replies about the whole server, not about one name. The
// master is set aside, and a probe must admit it before it is asked again.
var ServerWideErrors = []string{
	"LOADING", "READONLY", "OOM", "BUSY", "MISCONF", "NOAUTH", "MASTERDOWN", "NOREPLICAS",
	"CLUSTERDOWN", "MOVED", "ASK", "TRYAGAIN", "UNKILLABLE", "NOSCRIPT", NotMember,
}

// NotMember is the class of the error with which the scripts of fencing refuse a caller of another
// set.
const NotMember = "MUXLOCKSET"

// IsServerWide reports whether a server's error is about the whole server. Other errors (a key of
// another type, a name that an ACL denies) are an unknown vote on one call.
func IsServerWide(err error) bool {
	return slices.Contains(ServerWideErrors, FirstWord(err))
}

// IsUnfit reports whether an error shows that a server cannot serve rounds. Either the error is
// about the whole server, or rounds need a command that the ACL forbids or the server does not
// know. A proxy may have switched to another server.
func IsUnfit(err error) bool {
	return IsServerWide(err) || IsForbidden(err) || IsUnknownCommand(err)
}

// IsUnknownCommand reports whether a server does not know a command, also inside a script. Administrators rename commands.
func IsUnknownCommand(err error) bool {
	text := textOf(err)
	return strings.HasPrefix(text, "unknown command") || strings.Contains(text, "command called from")
}

// FirstWord returns the class of a server's error; "": it is not a server's.
func FirstWord(err error) string {
	word, _, _ := strings.Cut(textOf(err), " ")
	return word
}

// textOf returns the text of a server's error; "": it is not a server's.
func textOf(err error) string {
	var greeting *rueidis.RedisError
	var reply resp.Error
	switch {
	case err == nil:
	case errors.As(err, &reply):
		return string(reply)
	case errors.As(err, &greeting):
		return greeting.Error()
	}
	return ""
}
