package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/serverinfo"
	"muxlock/internal/token"
	"muxlock/pipeline/internal/conn"
)

// Fencing needs masters to be set up as a set, once. Set-up and the replacement of a member may both
// be interrupted anywhere and run again: they go on from the state that they find.
// Package fencing has the generations of a set, and what follows from one that is not Serving.

// Setup has the arguments of Init, Replace and Members.
type Setup struct {
	Masters []conn.Master
	Timeout time.Duration
	MaxTTL  time.Duration // the longest lease that any client may ask for
	Wait    time.Duration // how long a master is watched before it is trusted, as Config.Wait
	// New asserts that the masters never granted a lock: there is nothing to wait for.
	New bool
	// Recover sets masters up anew, whatever they were. From the start of the wait on they serve no
	// earlier clients. Above must be the largest fence that a resource has seen. Every new fence
	// will be larger than Above, by RecoveryMargin.
	Recover bool
	Above   uint64
}

// ErrRefused is matched if masters are not in the state that an operation needs. Nothing was
// changed, or the text names the change.
var ErrRefused = errors.New("muxlock: refused")

// ErrMembersLost is matched if masters were set up, and some were restarted or have lost their data
// since.
var ErrMembersLost = errors.New("members were restarted or have lost their data")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

// Init sets the masters up as a set. It watches each master for Wait, since the master may have just
// lost data. It returns nil when all are members. Masters already set up stay as they are. Errors:
// ErrRefused, ErrMembersLost, ErrConfigMismatch, a MasterError, or ctx's error.
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

// plan returns the set that the masters form, or will form.
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

// ofOperator turns an error of package fencing into one that callers know.
func ofOperator(err error) error {
	if lost := (*fencing.LostError)(nil); errors.As(err, &lost) {
		return refuse("%w: %v. Engines admit them again by themselves, and muxlock masters repair does, as long as enough others are admitted; else recover them", ErrMembersLost, lost.Members)
	}
	return err
}

// RecoveryMargin is how many tokens are skipped above Setup.Above: the resource may not have seen the
// newest tokens.
const RecoveryMargin = 1 << 24

// floor returns the least registers of the set. They are not below the registers of a master that
// is prepared already: it may have been recovered. With Recover, they are not below the registers
// of any master.
func (s *Setup) floor(visits []*visit, set fencing.Set) ([]uint64, error) {
	least := fencing.FirstToken(time.Now().Unix())
	if s.Recover {
		above := fencing.TokenAbove(s.Above) + RecoveryMargin
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
		var b conn.Batch
		AddReadRegisters(&b, "", "")
		replies, err := conn.Checked(v.Ask(&b, nil))
		var theirs [fencing.Registers]uint64
		if err == nil {
			err = ParseRegisters(replies[0].Text, &theirs)
		}
		if err != nil && !s.Recover {
			return nil, conn.MasterError{Master: v.Member, Err: err}
		}
		fencing.Merge(registers, theirs[:]) // with Recover: the registers that can be read; Above covers the rest
	}
	return registers, nil
}

// prepare gives a description of generation Preparing to all masters that do not have it, after a
// wait.
func (s *Setup) prepare(ctx context.Context, visits []*visit, set fencing.Set, registers []uint64) error {
	var open []*visit
	for _, v := range visits {
		if v.In(set) {
			continue
		}
		open = append(open, v)
		opened, err := v.call(func(b *conn.Batch) { AddOpen(b, v.Shown, v.Mark, NewMark(v.runID, v.Member), "") })
		if err != nil {
			return err
		}
		if v.ticket, _, _ = strings.Cut(opened.Text, "\n"); v.ticket == "" {
			return v.changed()
		}
	}
	if len(open) > 0 && !s.New {
		if err := s.watch(ctx, open); err != nil {
			return err
		}
	}
	for _, v := range open {
		if err := v.change(func(b *conn.Batch) { AddSeed(b, set.String(), v.ticket, v.Shown, registers) }); err != nil {
			return err
		}
		v.Set, v.Shown, v.Mark = set, set.String(), v.ticket
	}
	return nil
}

// watch waits, and keeps asking on the connections: each master is the same server all the time.
func (s *Setup) watch(ctx context.Context, visits []*visit) error {
	end := time.Now().Add(s.Wait)
	for left := s.Wait; left > 0; left = time.Until(end) {
		select {
		case <-time.After(min(left, time.Second)):
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, v := range visits {
			info, err := v.call(func(b *conn.Batch) { AddCheck(b, true) })
			if err == nil && serverinfo.Parse(info.Text).Replica() {
				err = v.changed()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
