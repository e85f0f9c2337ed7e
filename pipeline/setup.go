package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
)

// Setting masters up as a set, which fencing needs once, and exchanging a member. Both may
// be cut anywhere and run again: they find what is there, and go on from it.
//
// A set is written in two steps. First every master gets a description of generation 0, in
// which no engine takes part. Only when all have it do they get generation 1. So masters of
// which some have a later generation and some none have lost data, and are not taken for a
// setting up that was cut.

// Setup is what Init and Replace need to know.
type Setup struct {
	Masters []Master
	Timeout time.Duration
	MaxTTL  time.Duration // the longest lease that any client may ask for
	Wait    time.Duration // for how long a master is watched before it is trusted, as Config.Wait
	// New asserts that the masters never granted a lock: there is nothing to wait for.
	New bool
	// Recover sets masters up again that have lost so much that they cannot restore each
	// other. Every fence will be larger than Above, which must be the largest that a resource
	// has seen, by recoveryMargin.
	Recover bool
	Above   uint64
}

// A Member is a master as Members finds it.
type Member struct {
	Address  string
	Err      error       // why it cannot be asked; nil: it was
	Set      fencing.Set // of the description that it has; no ID: it has none
	Admitted bool        // votes for engines that expect that set
}

// ErrRefused is matched when masters are not in the state that an operation needs. Nothing
// was changed then.
var ErrRefused = errors.New("muxlock: refused")

// ErrMembersLost is matched when masters were set up, and some have been restarted or have lost
// their data since.
var ErrMembersLost = errors.New("members were restarted or have lost their data")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// A visit is a connection to one master for setting it up.
type visit struct {
	*session
	address             string
	runID               string
	shown, mark, ticket string
	set                 fencing.Set // of shown
	err                 error       // of the connection, or what shows that the server is unfit
}

func (s *Setup) visit(ctx context.Context, masters []Master) (visits []*visit) {
	var dials errgroup.Group
	for _, m := range masters {
		v := &visit{address: m.Address}
		visits = append(visits, v)
		dials.Go(func() error {
			v.err = withoutNil(v.begin(ctx, m, s.Timeout))
			return nil
		})
	}
	_ = dials.Wait() // the errors are in the visits
	return visits
}

func withoutNil(err error) error {
	if err == nil {
		return nil
	}
	return withoutArguments(err)
}

func (v *visit) begin(ctx context.Context, m Master, timeout time.Duration) (err error) {
	if v.session, err = dial(ctx, limited(m.Option), timeout); err != nil {
		return err
	}
	var first batch
	first.begin(1)
	first.add("INFO")
	first.loadScripts(true)
	for _, key := range []string{setKey, markKey, ticketKey} {
		first.begin(2)
		first.add("GET", key)
	}
	replies, err := v.ask(&first, nil)
	if err != nil {
		return err
	}
	for _, r := range replies {
		if err := r.Err(); err != nil {
			return err
		}
	}
	info := serverinfo.Parse(replies[0].Text)
	v.runID = info.RunID()
	last := replies[len(replies)-3:]
	v.shown, v.mark, v.ticket = last[0].Text, last[1].Text, last[2].Text
	switch {
	case info.Loading():
		return errors.New("LOADING its dataset")
	case info.Replica():
		return fmt.Errorf("is a replica (role %s), not a master", info.Role())
	case v.runID == "":
		return errors.New("INFO has no run_id")
	case info.Cluster():
		return errors.New("runs in cluster mode, where names move between servers")
	}
	if v.shown != "" {
		v.set, err = fencing.ParseSet(v.shown)
	}
	return err
}

func (v *visit) admitted() bool { return v.shown != "" && v.mark == v.runID }

// call calls a script with one number as its answer.
func (v *visit) call(build func(*batch)) (bool, error) {
	var b batch
	build(&b)
	replies, err := v.ask(&b, nil)
	if err == nil {
		err = replies[0].Err()
	}
	if err != nil {
		return false, MasterError{v.address, err}
	}
	return replies[0].Number == 1, nil
}

func closeAll(visits []*visit) {
	for _, v := range visits {
		if v.session != nil {
			v.release()
			v.close()
		}
	}
}

// distinct returns an error unless all masters could be asked and are different servers.
func distinct(visits []*visit) error {
	seen := make(map[string]string)
	for _, v := range visits {
		if v.err != nil {
			return refuse("every master must be up: %w", MasterError{v.address, v.err})
		}
		if other, twice := seen[v.runID]; twice {
			return refuse("%s and %s are one server", other, v.address)
		}
		seen[v.runID] = v.address
	}
	return nil
}

// Members asks all masters what they have.
func Members(ctx context.Context, masters []Master, timeout time.Duration) (members []Member) {
	s := Setup{Timeout: timeout}
	visits := s.visit(ctx, masters)
	defer closeAll(visits)
	for _, v := range visits {
		members = append(members, Member{v.address, v.err, v.set, v.err == nil && v.admitted() && v.set.Generation > 0})
	}
	return members
}

// Init sets the masters up as a set. It watches each for Wait, as it may have lost data just
// now, and returns nil when all are members. Masters that are set up already stay as they are.
// Errors: ErrRefused, ErrConfigMismatch, a MasterError, or ctx's error.
func Init(ctx context.Context, s Setup) error {
	visits := s.visit(ctx, s.Masters)
	defer closeAll(visits)
	if err := distinct(visits); err != nil {
		return err
	}
	set, err := s.find(visits)
	if err != nil {
		return err
	}
	if set.Generation > 0 {
		return complete(visits, set)
	}
	registers, err := s.floor(visits, set)
	if err == nil {
		err = s.prepare(ctx, visits, set, registers)
	}
	if err == nil {
		err = switchAll(visits, set, set.Next(set.Members))
	}
	return err
}

// find returns the set that the masters belong to, or the one of generation 0 that they are to
// get. No engine takes part in generation 0, so of several one is chosen, by everybody the same.
func (s *Setup) find(visits []*visit) (set fencing.Set, err error) {
	members := make([]string, len(visits))
	for i, v := range visits {
		members[i] = v.address
	}
	var preparing, later *fencing.Set
	for _, v := range visits {
		switch {
		case v.shown == "":
		case v.set.Generation == 0:
			if v.set.Matches(s.MaxTTL, members) == nil && (preparing == nil || v.set.ID < preparing.ID) {
				preparing = &v.set
			}
		default:
			if err := s.mayChange(v, members); err != nil {
				return set, fmt.Errorf("%w: %w", ErrConfigMismatch, MasterError{v.address, err})
			}
			if later != nil && later.ID != v.set.ID && !s.Recover {
				return set, fmt.Errorf("%w: the masters are members of different sets", ErrConfigMismatch)
			}
			if later == nil || v.set.Generation > later.Generation {
				later = &v.set
			}
		}
	}
	switch {
	case later != nil && !s.Recover:
		return *later, nil
	case preparing != nil && !s.Recover:
		return *preparing, nil
	}
	return fencing.NewSet(token.New(), s.MaxTTL, members), nil
}

// mayChange returns why the set of a member is not the configured one. To recover, MaxTTL may
// grow: all leases have run out after the wait.
func (s *Setup) mayChange(v *visit, members []string) error {
	maxTTL := s.MaxTTL
	if s.Recover && v.set.MaxTTL < maxTTL {
		maxTTL = v.set.MaxTTL
	}
	return v.set.Matches(maxTTL, members)
}

// complete ends a setting up that was cut. Members that were restarted since, or lost their
// data, are left to the engines, who have the registers of the others.
func complete(visits []*visit, set fencing.Set) error {
	before := set
	before.Generation = 0
	var out []string
	for _, v := range visits {
		switch {
		case v.admitted() && v.shown == set.String():
		case v.admitted() && v.shown == before.String() && set.Generation == 1:
			if err := switchAll([]*visit{v}, before, set); err != nil {
				return err
			}
		default:
			out = append(out, v.address)
		}
	}
	if len(out) > 0 {
		return refuse("%w: %v. Engines admit them again by themselves as long as %d others are admitted; else recover them",
			ErrMembersLost, out, fencing.Peers(len(visits), quorum.Size(len(visits))))
	}
	return nil
}

// switchAll gives the next description to all.
func switchAll(visits []*visit, now, next fencing.Set) error {
	for _, v := range visits {
		done, err := v.call(func(b *batch) { b.switchSet(now.String(), next.String()) })
		if err != nil {
			return err
		}
		if !done {
			return MasterError{v.address, errChanged}
		}
	}
	return nil
}

var errChanged = errors.New("was changed by somebody else meanwhile: run it again")

// recoveryMargin is how many tokens are left out after the largest that a resource has seen:
// the newest may not have come there.
const recoveryMargin = 1 << 24

// floor returns the least registers of the set: what those have that are prepared already,
// since they may be recovered ones, and to recover what any has.
func (s *Setup) floor(visits []*visit, set fencing.Set) ([]uint64, error) {
	registers := make([]uint64, fencing.Registers)
	if s.Recover {
		least := fencing.TokenAbove(s.Above) + recoveryMargin
		if least > fencing.MaxToken {
			return nil, refuse("no fence can be so much larger than %d", s.Above)
		}
		for i := range registers {
			registers[i] = least
		}
	}
	for _, v := range visits {
		if !s.Recover && !(v.admitted() && v.shown == set.String()) {
			continue
		}
		var b batch
		b.readRegisters("", "")
		replies, err := v.ask(&b, nil)
		if err == nil {
			err = replies[0].Err()
		}
		var theirs [fencing.Registers]uint64
		if err == nil {
			err = parseRegisters(replies[0].Text, &theirs)
		}
		if err != nil && !s.Recover {
			return nil, MasterError{v.address, err}
		}
		if err == nil { // else Above has to do
			fencing.Merge(registers, theirs[:])
		}
	}
	return registers, nil
}

// prepare gives a description of generation 0 to all masters that do not have it, after a
// wait.
func (s *Setup) prepare(ctx context.Context, visits []*visit, set fencing.Set, registers []uint64) error {
	var open []*visit
	for _, v := range visits {
		if v.admitted() && v.shown == set.String() {
			continue
		}
		open = append(open, v)
		var b batch
		b.open(v.shown, v.runID, true)
		replies, err := v.ask(&b, nil)
		if err == nil {
			err = replies[0].Err()
		}
		if err != nil {
			return MasterError{v.address, err}
		}
		v.ticket = replies[0].Text
	}
	if len(open) > 0 && !s.New {
		if err := s.watch(ctx, open); err != nil {
			return err
		}
	}
	for _, v := range open {
		done, err := v.call(func(b *batch) { b.seed(set.String(), v.runID, v.ticket, v.shown, registers) })
		if err != nil {
			return err
		}
		if !done {
			return MasterError{v.address, errChanged}
		}
	}
	return nil
}

// watch waits on the connections, so that each master is the same server all the time.
func (s *Setup) watch(ctx context.Context, visits []*visit) error {
	end := time.Now().Add(s.Wait)
	for left := s.Wait; left > 0; left = time.Until(end) {
		timer := time.NewTimer(min(left, time.Second))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		for _, v := range visits {
			replies, err := v.ask(&newCheck().batch, nil)
			if err == nil {
				err = replies[0].Err()
			}
			if err == nil && serverinfo.Parse(replies[0].Text).Replica() {
				err = errChanged
			}
			if err != nil {
				return MasterError{v.address, err}
			}
		}
	}
	return nil
}
