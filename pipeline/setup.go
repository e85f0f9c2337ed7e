package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"muxlock/internal/fencing"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
)

// Setting masters up as a set, which fencing needs once, and exchanging a member. Both may
// be cut anywhere and run again: they find what is there, and go on from it.
//
// A set is written in steps (package fencing): every master gets a description of generation
// Preparing; when all have it they become Prepared, one by one, and when all are they Serve. So
// masters of which some are Prepared and some have nothing have lost data, and are not taken for
// a setting up that was cut.

// Setup is what Init and Replace need to know.
type Setup struct {
	Masters []Master
	Timeout time.Duration
	MaxTTL  time.Duration // the longest lease that any client may ask for
	Wait    time.Duration // for how long a master is watched before it is trusted, as Config.Wait
	// New asserts that the masters never granted a lock: there is nothing to wait for.
	New bool
	// Recover sets masters up anew, whatever they were. From the begin of the wait on they serve
	// no clients of before. Every fence will be larger than Above, which must be the largest
	// that a resource has seen, by recoveryMargin.
	Recover bool
	Above   uint64
}

// A Member is a master as Members finds it.
type Member struct {
	Address  string
	Err      error       // why it cannot be asked; nil: it was
	Set      fencing.Set // of the description that it has; no ID: it has none
	Admitted bool        // votes for engines that expect that set
	// LargestFence is above all fences that engines know of there, if none was lost. 0: it has none.
	LargestFence uint64
	// Waits is that the master waits to be admitted, and Left for how long yet by the clock of this
	// machine: all of it if nobody here has met it since it lost its data.
	Waits bool
	Left  time.Duration
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
	fencing.Found
	runID, replID string
	look
	ticket   string
	parseErr error // of the description
	err      error // of the connection, or what shows that the server is unfit
}

func (s *Setup) visit(ctx context.Context, masters []Master) (visits []*visit) {
	var dials errgroup.Group
	for _, m := range masters {
		v := &visit{Found: fencing.Found{Member: m.Address}}
		visits = append(visits, v)
		dials.Go(func() error {
			v.err = v.begin(ctx, m, s.Timeout)
			return nil
		})
	}
	_ = dials.Wait() // the errors are in the visits
	return visits
}

func (v *visit) begin(ctx context.Context, m Master, timeout time.Duration) (err error) {
	if v.session, err = dial(ctx, limited(m.Option), timeout); err != nil {
		return err
	}
	var first batch
	first.begin(1)
	first.add("INFO")
	first.loadScripts(true)
	first.look()
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
	v.runID, v.replID = info.RunID(), info.ReplID()
	if v.look, err = readLook(replies[len(replies)-3:]); err != nil {
		return err
	}
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
		v.Set, v.parseErr = fencing.ParseSet(v.shown)
	}
	v.Admitted = v.Set.ID != "" && fencing.ParseMark(v.mark).Admits(v.runID, v.Member)
	return nil
}

// call calls a script with one number as its answer.
func (v *visit) call(build func(*batch)) (bool, error) {
	var b batch
	build(&b)
	replies, err := v.ask(&b, nil)
	if err == nil {
		err = replies[0].Err()
	}
	if err != nil {
		return false, MasterError{v.Member, err}
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
			return refuse("every master must be up: %w", MasterError{v.Member, v.err})
		}
		if other, twice := seen[v.runID]; twice {
			return refuse("%s and %s are one server", other, v.Member)
		}
		seen[v.runID] = v.Member
	}
	return nil
}

// found returns what was found. An error says that a master has a description that this version
// cannot read.
func found(visits []*visit) (all []fencing.Found, err error) {
	for _, v := range visits {
		if all = append(all, v.Found); v.parseErr != nil {
			err = fmt.Errorf("%w: %w", ErrConfigMismatch, MasterError{v.Member, v.parseErr})
		}
	}
	return all, err
}

// Members asks all masters what they have.
func Members(ctx context.Context, s Setup) (members []Member) {
	visits := s.visit(ctx, s.Masters)
	defer closeAll(visits)
	var asked errgroup.Group
	members = make([]Member, len(visits))
	for i, v := range visits {
		members[i] = Member{Address: v.Member, Err: v.err, Set: v.Set}
		if v.err == nil {
			asked.Go(func() error {
				members[i].Err = v.describe(&members[i], s.Wait)
				return nil
			})
		}
	}
	_ = asked.Wait() // the errors are in the members
	return members
}

// describe asks for what a visit has not asked for.
func (v *visit) describe(m *Member, wait time.Duration) error {
	clock := newWaitClock(v.replID, v.swaps)
	var b batch
	b.begin(2)
	b.add("GET", ticketKey)
	b.readRegisters("", "")
	replies, err := v.ask(&b, nil)
	if err != nil {
		return err
	}
	var registers [fencing.Registers]uint64
	_ = parseRegisters(replies[1].Text, &registers) // what there is
	if largest := slices.Max(registers[:]); largest > 0 {
		m.LargestFence = fencing.Fence(largest, fencing.MaxHandOvers)
	}
	m.Admitted = v.Admitted && v.Set.Generation >= fencing.Serving && !v.Set.Older
	ticket := replies[0].Text
	if m.Admitted || ticket == "" {
		return nil
	}
	m.Waits, m.Left = true, wait
	b.reset()
	b.begin(3)
	b.add("HGET", sinceKey, ticket+" "+clock.id)
	if replies, err = v.ask(&b, nil); err != nil {
		return err
	}
	if passed, known := clock.passed(replies[0].Text); known && fencing.ParseMark(ticket).Admits(v.runID, v.Member) {
		m.Left = max(0, wait-passed)
	}
	return nil
}

// Init sets the masters up as a set. It watches each for Wait, as it may have lost data just
// now, and returns nil when all are members. Masters that are set up already stay as they are.
// Errors: ErrRefused, ErrMembersLost, ErrConfigMismatch, a MasterError, or ctx's error.
func Init(ctx context.Context, s Setup) error {
	visits := s.visit(ctx, s.Masters)
	defer closeAll(visits)
	if err := distinct(visits); err != nil {
		return err
	}
	set, err := s.plan(visits)
	if err != nil {
		return err
	}
	if set.Generation == fencing.Preparing {
		registers, err := s.floor(visits, set)
		if err == nil {
			err = s.prepare(ctx, visits, set, registers)
		}
		if err != nil {
			return err
		}
	}
	for g := fencing.Preparing; g < fencing.Serving; g++ {
		for _, v := range visits {
			if v.Set.Generation == g {
				if err := v.switchTo(v.Set.Next(v.Set.Members)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// plan returns the set that the masters are to become, or are.
func (s *Setup) plan(visits []*visit) (set fencing.Set, err error) {
	members := make([]string, len(visits))
	for i, v := range visits {
		members[i] = v.Member
	}
	want := fencing.NewSet(token.New(), s.MaxTTL, members)
	all, err := found(visits)
	switch {
	case s.Recover:
		return want, ofOperator(fencing.Recover(all, want))
	case err != nil:
		return set, err
	}
	set, err = fencing.SetUp(all, want)
	return set, ofOperator(err)
}

// ofOperator gives an error of package fencing the kind that callers know.
func ofOperator(err error) error {
	lost := (*fencing.LostError)(nil)
	switch {
	case errors.Is(err, fencing.ErrOther):
		return fmt.Errorf("%w: %w", ErrConfigMismatch, err)
	case errors.As(err, &lost):
		return refuse("%w: %v. Engines admit them again by themselves, and lockbench masters repair does, as long as enough others are admitted; else recover them", ErrMembersLost, lost.Members)
	}
	return err
}

// switchTo gives the next description to an admitted member.
func (v *visit) switchTo(next fencing.Set) error {
	done, err := v.call(func(b *batch) { b.switchMember(v.shown, v.mark, next.String(), v.mark) })
	switch {
	case err != nil:
		return err
	case !done:
		return MasterError{v.Member, errChanged}
	}
	v.Set, v.shown = next, next.String()
	return nil
}

var errChanged = errors.New("was changed by somebody else meanwhile: run it again")

// recoveryMargin is how many tokens are left out after the largest that a resource has seen:
// the newest may not have come there.
const recoveryMargin = 1 << 24

// floor returns the least registers of the set: what those have that are prepared already,
// since they may be recovered ones, and to recover what any has.
func (s *Setup) floor(visits []*visit, set fencing.Set) ([]uint64, error) {
	least := fencing.FirstToken(time.Now().Unix())
	if s.Recover {
		above := fencing.TokenAbove(s.Above) + recoveryMargin
		if above > fencing.MaxToken {
			return nil, refuse("no fence can be so much larger than %d", s.Above)
		}
		least = max(least, above)
	}
	registers := slices.Repeat([]uint64{least}, fencing.Registers)
	for _, v := range visits {
		if !s.Recover && !v.In(set) {
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
			return nil, MasterError{v.Member, err}
		}
		fencing.Merge(registers, theirs[:]) // to recover: what there is, else Above has to do
	}
	return registers, nil
}

// prepare gives a description of generation 0 to all masters that do not have it, after a
// wait.
func (s *Setup) prepare(ctx context.Context, visits []*visit, set fencing.Set, registers []uint64) error {
	var open []*visit
	for _, v := range visits {
		if v.In(set) {
			continue
		}
		open = append(open, v)
		var b batch
		b.open(v.shown, v.mark, newMark(v.runID, v.Member), "")
		replies, err := v.ask(&b, nil)
		if err == nil {
			err = replies[0].Err()
		}
		if err != nil {
			return MasterError{v.Member, err}
		}
		if v.ticket, _, _ = strings.Cut(replies[0].Text, "\n"); v.ticket == "" {
			return MasterError{v.Member, errChanged}
		}
	}
	if len(open) > 0 && !s.New {
		if err := s.watch(ctx, open); err != nil {
			return err
		}
	}
	for _, v := range open {
		done, err := v.call(func(b *batch) { b.seed(set.String(), v.ticket, v.shown, registers) })
		if err != nil {
			return err
		}
		if !done {
			return MasterError{v.Member, errChanged}
		}
		v.Set, v.shown, v.mark = set, set.String(), v.ticket
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
				return MasterError{v.Member, err}
			}
		}
	}
	return nil
}
