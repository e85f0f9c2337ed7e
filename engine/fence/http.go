package fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// Header is the request header that carries the fence, as a decimal number.
const Header = "Lock-Fence"

var (
	// ErrNoHeader is returned when a request has no Header.
	ErrNoHeader = errors.New("fence: the request has no " + Header + " header")
	// ErrFull is returned when a Store has no room for another name. Nothing was kept. Old names are not
	// dropped: their fences would be forgotten.
	ErrFull = errors.New("fence: too many names")
)

// SetHeader puts the fence of a lock into a request, for a server behind Middleware. A new holder's first
// request seals, even if it only reads. Errors: ErrInvalid, and the header stays as it was.
func SetHeader(r *http.Request, fence uint64) error {
	if err := Check(0, fence); err != nil {
		return err
	}
	if r.Header == nil { // a Request that is a literal
		r.Header = make(http.Header)
	}
	r.Header.Set(Header, strconv.FormatUint(fence, 10))
	return nil
}

// FromHeader returns the fence of a request, for handlers that pass it on, for instance to Table.Update.
// Errors: ErrNoHeader; ErrInvalid if it is not one number from 1 to Max.
func FromHeader(h http.Header) (uint64, error) {
	values := h.Values(Header)
	if len(values) == 0 {
		return 0, ErrNoHeader
	}
	fence, err := strconv.ParseUint(values[0], 10, 64)
	if len(values) > 1 || err != nil {
		return 0, fmt.Errorf("%w: %s is %q", ErrInvalid, Header, values)
	}
	return fence, Check(0, fence)
}

// WriteError answers a request that was refused with err:
//
//	428 Precondition Required  ErrNoHeader: made for lost updates (RFC 6585)
//	400 Bad Request            ErrInvalid
//	412 Precondition Failed    ErrStale: a condition in the request's header is false (RFC 9110). Not
//	                           409 Conflict, after which the client may correct the request and
//	                           repeat it: this holder never can.
//	503 Service Unavailable    everything else, without its text
func WriteError(w http.ResponseWriter, err error) {
	for _, known := range []struct {
		err  error
		code int
	}{{ErrNoHeader, http.StatusPreconditionRequired}, {ErrInvalid, http.StatusBadRequest}, {ErrStale, http.StatusPreconditionFailed}} {
		if errors.Is(err, known.err) {
			http.Error(w, err.Error(), known.code)
			return
		}
	}
	http.Error(w, "fence: not checked", http.StatusServiceUnavailable)
}

// Store keeps the largest fence of each name, for a bounded number of names.
type Store interface {
	// Seal keeps fence as that of name, and keeps the name for the caller alone until release is called,
	// once. It waits for whoever has the name; the end of ctx ends the wait, with ctx's error. Other errors:
	// ErrInvalid, a StaleError, ErrFull. With any error nothing is kept and release is nil.
	Seal(ctx context.Context, name string, fence uint64) (release func(), err error)
}

// Middleware lets a request pass if the fence in its Header is not older than any that store has seen for the
// resource. name returns the resource of a request. Other requests get WriteError's answer. Reads are
// requests too: a new holder's read seals. Mount Middleware where all requests come from holders, behind
// authentication. Where some have no fence yet, see the example of FromHeader.
//
// Requests for one name run one after the other, until the handler returns. Otherwise an older holder's
// request could pass, be paused, and write after a newer holder has read. A request waits for those before
// it; the end of its context ends that with 503. A client that stops in the middle of its body keeps the name
// until the server gives it up: set http.Server.ReadTimeout. A handler must not go on after it returns. One
// inside http.TimeoutHandler does: wrap TimeoutHandler around Middleware.
func Middleware(store Store, name func(*http.Request) string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fence, err := FromHeader(r.Header)
			if err != nil {
				WriteError(w, err)
				return
			}
			release, err := store.Seal(r.Context(), name(r), fence)
			if err != nil {
				WriteError(w, err)
				return
			}
			defer release()
			next.ServeHTTP(w, r)
		})
	}
}

// Memory is a Store for one process whose data, too, lives no longer than the process. It cannot promise
// more. After a restart an older holder may write until a newer one has sealed, and two replicas of a server
// do not know each other's fences. Where the data is in a database, keep the fence there: FromHeader and
// Table. Make a Memory with NewMemory. It is safe for concurrent use.
type Memory struct {
	max int

	mu    sync.Mutex // guards the following
	names map[string]*memory
}

// memory is one name. seen belongs to whoever has put a value into busy.
type memory struct {
	busy chan struct{}
	seen uint64
}

// NewMemory returns a Memory for so many names at most, about 200 bytes each beside the text of the name.
// With 0 or less, every name is ErrFull.
func NewMemory(names int) *Memory { return &Memory{max: names, names: make(map[string]*memory)} }

// Seal implements Store.
func (m *Memory) Seal(ctx context.Context, name string, fence uint64) (release func(), err error) {
	if err := Check(0, fence); err != nil {
		return nil, err
	}
	n, err := m.find(name)
	if err != nil {
		return nil, err
	}
	select {
	case n.busy <- struct{}{}: // whatever ctx says: a new name is kept with a fence, or not at all
	default:
		select {
		case n.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	release = func() { <-n.busy }
	if err := Check(n.seen, fence); err != nil {
		release()
		return nil, err
	}
	n.seen = fence
	return release, nil
}

func (m *Memory) find(name string) (*memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[name]
	if n == nil {
		if len(m.names) >= m.max {
			return nil, fmt.Errorf("%w: %d are kept", ErrFull, len(m.names))
		}
		n = &memory{busy: make(chan struct{}, 1)}
		m.names[name] = n
	}
	return n, nil
}
