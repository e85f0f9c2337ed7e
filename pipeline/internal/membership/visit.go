package membership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"muxlock/internal/fencing"
	"muxlock/internal/resp"
	"muxlock/internal/serverinfo"
	"muxlock/pipeline/internal/conn"
)

// A visit is a connection to one master, on behalf of an operator.
type visit struct {
	*conn.Session
	fencing.Found
	runID, replID string
	Look
	ticket   string
	parseErr error // of the description
	err      error // of the connection, or why the server is unfit
}

func (s *Setup) visit(ctx context.Context, masters []conn.Master) (visits []*visit) {
	var dials sync.WaitGroup
	for _, m := range masters {
		v := &visit{Found: fencing.Found{Member: m.Address}}
		visits = append(visits, v)
		dials.Go(func() { v.err = v.begin(ctx, m, s.Timeout) })
	}
	dials.Wait()
	return visits
}

func (v *visit) begin(ctx context.Context, m conn.Master, timeout time.Duration) (err error) {
	if v.Session, err = conn.Dial(ctx, conn.Limited(m.Option), timeout, 0); err != nil {
		return err
	}
	var first conn.Batch
	first.Command("INFO")
	first.LoadScripts(true)
	AddLook(&first)
	replies, err := v.Ask(&first, nil)
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
	if v.Look, err = ReadLook(replies[len(replies)-3:], true); err != nil {
		return err
	}
	switch {
	case info.Loading():
		return errors.New("LOADING its dataset")
	case info.Replica():
		return fmt.Errorf("is a replica (role %s), not a master", info.Role())
	case info.Unusable() != nil:
		return info.Unusable()
	}
	if v.Shown != "" {
		v.Set, v.parseErr = fencing.ParseSet(v.Shown)
	}
	v.Admitted = v.Set.ID != "" && fencing.ParseMark(v.Mark).Admits(v.runID, v.Member)
	return nil
}

// call sends commands, and returns the first reply. An error is the master's.
func (v *visit) call(build func(*conn.Batch)) (reply resp.Reply, err error) {
	var b conn.Batch
	build(&b)
	replies, err := conn.Checked(v.Ask(&b, nil))
	if err != nil {
		return reply, conn.MasterError{Master: v.Member, Err: err}
	}
	return replies[0], nil
}

// change calls a script that answers 1 if the master was as the script expects.
func (v *visit) change(build func(*conn.Batch)) error {
	reply, err := v.call(build)
	if err == nil && reply.Number != 1 {
		err = v.changed()
	}
	return err
}

func (v *visit) changed() error { return conn.MasterError{Master: v.Member, Err: ErrChanged} }

func closeAll(visits []*visit) {
	for _, v := range visits {
		if v.Session != nil {
			v.Release()
			v.Close()
		}
	}
}

// distinct returns an error unless all masters could be asked and are different servers.
func distinct(visits []*visit) error {
	seen := make(map[string]string)
	for _, v := range visits {
		if v.err != nil {
			return refuse("every master must be up: %w", conn.MasterError{Master: v.Member, Err: v.err})
		}
		if other, twice := seen[v.runID]; twice {
			return refuse("%s and %s are one server", other, v.Member)
		}
		seen[v.runID] = v.Member
	}
	return nil
}

// found returns what the visits found. An error says that this version cannot read a master's
// description.
func found(visits []*visit) (all []fencing.Found, err error) {
	for _, v := range visits {
		if all = append(all, v.Found); v.parseErr != nil {
			err = fmt.Errorf("%w: %w", ErrConfigMismatch, conn.MasterError{Master: v.Member, Err: v.parseErr})
		}
	}
	return all, err
}

// switchTo gives the next description to an admitted member.
func (v *visit) switchTo(next fencing.Set) error {
	err := v.change(func(b *conn.Batch) { AddSwitch(b, v.Shown, v.Mark, next.String(), v.Mark) })
	if err == nil {
		v.Set, v.Shown = next, next.String()
	}
	return err
}

// ErrChanged is matched if a master changed between two steps of an operation.
var ErrChanged = errors.New("was changed by somebody else meanwhile: run it again")
