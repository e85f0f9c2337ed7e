package engine

import (
	"muxlock/engine/internal/turn"
	"muxlock/internal/token"
)

// A kind is what a caller wants of a name, and what its lease is for the present holder.
type kind uint8

const (
	exclusive kind = iota
	ofSet          // one of the names of a Set
	reader
	permit // one of the slots of a name
	leader
	adopted
)

// kinds says how the kinds differ. No other file tests which kind something is: it asks for a column.
var kinds = [...]struct {
	name      string                        // in traces and metrics
	turn.Kind                               // how callers of this process share it and hand it over
	count     int                           // where Stats counts it
	newToken  func(holder string) string    // nil: it comes with a token
	inLine    bool                          // it stands in line at the masters where other processes want the name
	passedOn  bool                          // its release passes the lock to who stands there
	comesBack bool                          // a waiter that kept readers out leaves the name to them before it comes back
	known     bool                          // other processes have its token
	secret    bool                          // its token is never shown: nobody could adopt it
	queue     func(n *nameState) *nameState // the state whose waiters may get n's lease; nil: n itself
	released  func(n *nameState)            // after a release at the masters
}{
	exclusive: {name: "exclusive", newToken: token.For, inLine: true, passedOn: true, comesBack: true, Kind: turn.Kind{TakesOver: true, HandsOver: true}},
	ofSet:     {name: "set", newToken: token.For, passedOn: true, Kind: turn.Kind{HandsOver: true}},
	reader:    {name: "shared", newToken: token.ForReader, secret: true, count: sharedLocks, Kind: turn.Kind{Shared: true}},
	permit:    {name: "permit", newToken: token.For, secret: true, count: permitLocks, queue: permitQueue, released: slotReleased, Kind: turn.Kind{TakesOver: true, HandsOver: true}},
	leader:    {name: "leader", newToken: token.For, inLine: true, passedOn: true, comesBack: true, Kind: turn.Kind{TakesOver: true}},
	adopted:   {name: "adopted", known: true},
}

// queueOf returns the state whose waiters may get n's lease. The caller holds the shard's mutex.
func (k kind) queueOf(n *nameState) *nameState {
	if queue := kinds[k].queue; queue != nil {
		return queue(n)
	}
	return n
}

// mayAdopt reports whether a value may be the token of a lock that others adopt.
func mayAdopt(value string) bool { return !token.IsReader(value) }
