package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/internal/fencing"
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
	// has seen.
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
	preparing, err := s.preparing(visits)
	if err != nil {
		return err
	}
	ready := preparing.Next(preparing.Members)
	registers, err := s.floor(visits)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx, visits, preparing, ready, registers); err != nil {
		return err
	}
	for _, v := range visits {
		done, err := v.call(func(b *batch) { b.switchSet(preparing.String(), ready.String()) })
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

// preparing returns the description of generation 0 that the masters have or are to get.
func (s *Setup) preparing(visits []*visit) (fencing.Set, error) {
	members := make([]string, len(visits))
	for i, v := range visits {
		members[i] = v.address
	}
	fresh := fencing.NewSet(token.New(), s.MaxTTL, members)
	if s.Recover {
		return fresh, nil
	}
	var found *visit
	none, later := 0, 0
	for _, v := range visits {
		switch {
		case v.shown == "":
			none++
			continue
		case v.set.Generation > 0:
			later++
		}
		if err := v.set.Matches(s.MaxTTL, members); err != nil {
			return fresh, fmt.Errorf("%w: %w", ErrConfigMismatch, MasterError{v.address, err})
		}
		if found != nil && found.set.ID != v.set.ID {
			return fresh, fmt.Errorf("%w: %s and %s are members of different sets", ErrConfigMismatch, found.address, v.address)
		}
		if found == nil || v.set.Generation > found.set.Generation {
			found = v
		}
	}
	switch {
	case found == nil:
		return fresh, nil
	case later > 0 && none > 0:
		return fresh, refuse("%d of %d masters have lost their data since they were set up. Engines restore them by themselves as long as %d others are admitted; else set them up with Recover",
			none, len(visits), fencing.Peers(len(visits), len(visits)/2+1))
	}
	set := found.set
	set.Generation = max(0, set.Generation-1)
	return set, nil
}

// floor returns the least registers of the set.
func (s *Setup) floor(visits []*visit) ([]uint64, error) {
	registers := make([]uint64, fencing.Registers)
	if !s.Recover {
		return registers, nil
	}
	least := fencing.TokenAbove(s.Above)
	if least > fencing.MaxToken {
		return nil, refuse("no fence can be larger than %d", s.Above)
	}
	for i := range registers {
		registers[i] = least
	}
	for _, v := range visits {
		if v.shown == "" {
			continue
		}
		var b batch
		b.readRegisters(v.shown, v.mark)
		replies, err := v.ask(&b, nil)
		if err != nil {
			return nil, MasterError{v.address, err}
		}
		var theirs [fencing.Registers]uint64
		if replies[0].Err() == nil && parseRegisters(replies[0].Text, &theirs) == nil { // else Above has to do
			fencing.Merge(registers, theirs[:])
		}
	}
	return registers, nil
}

// prepare gives the description of generation 0 to all masters that have neither that nor the
// next, after a wait.
func (s *Setup) prepare(ctx context.Context, visits []*visit, preparing, ready fencing.Set, registers []uint64) error {
	var open []*visit
	for _, v := range visits {
		if v.admitted() && (v.shown == preparing.String() || v.shown == ready.String()) {
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
		done, err := v.call(func(b *batch) { b.seed(preparing.String(), v.runID, v.ticket, v.shown, registers) })
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
