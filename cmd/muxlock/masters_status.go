package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"muxlock/engine"
	"muxlock/engine/admin"
	"muxlock/internal/fencing"
	"muxlock/internal/quorum"
	"muxlock/internal/usage"
)

func mastersStatusCommand(f *membersFlags) *cobra.Command {
	await := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which set each master is a member of, and whether it votes",
		Long: `Asks each master which set it is a member of, and whether it is admitted: an admitted
master votes. For a master that does not vote, status says what to do and how long the
master still waits. Status changes nothing.

With --wait, status shows the masters once all of them vote, or once waiting does not help.
It has no limit of its own: Ctrl-C, or timeout 5m muxlock masters status --wait. Somebody
must admit a master that was restarted: a running client with fencing, or muxlock masters
repair. If no master is set up for fencing, and there is no --fencing, the votes are those
that clients without fencing count, by --max-ttl, and --new-masters is ignored.

Status also shows the largest fence that the masters know, for init --recover --above after
a majority has lost its data. A resource may have seen a larger one: --above needs the
largest of all.`,
		Example: `  muxlock masters status --masters a:6379,b:6379,c:6379
  muxlock masters status --wait    # between the restarts of two masters`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !await {
				return f.show(cmd.Context(), cmd.OutOrStdout())
			}
			return untilSignal(cmd, func(ctx context.Context) error {
				s, err := f.awaitVotes(ctx, cmd.ErrOrStderr())
				return f.report(cmd.OutOrStdout(), s, err)
			})
		},
	}
	cmd.Flags().BoolVar(&await, "wait", false, "wait until all masters vote")
	f.output.declare(cmd)
	return cmd
}

// show writes the survey. It returns an error if not all masters are admitted.
func (f *membersFlags) show(ctx context.Context, w io.Writer) error {
	s, err := f.survey(ctx)
	return f.report(w, s, err)
}

// report writes a survey, unless err says that there is none.
func (f *membersFlags) report(w io.Writer, s survey, err error) error {
	if err == nil {
		err = f.write(w, s)
	}
	if err == nil && !s.OK {
		return usage.Exitf(exitRun, "%d of %d masters are not admitted members of one set", s.left, len(s.Masters))
	}
	return err
}

// awaitVotes returns the survey in which all masters vote, or the first one in which waiting does not help.
func (f *membersFlags) awaitVotes(ctx context.Context, log io.Writer) (survey, error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for asked := 0; ; asked++ {
		s, err := f.survey(ctx)
		waits := s.left <= len(s.lost)+s.away && !s.beyondRepair()
		if err == nil && s.set.ID == "" && !f.cfg.Fencing {
			waits, err = true, f.noteVotes(ctx, &s)
		}
		if err != nil || s.OK || !waits {
			return s, err
		}
		if asked == 0 {
			for _, do := range s.toDo() {
				say(log, "%s", do)
			}
		}
		if asked%5 == 0 { // every five seconds
			var missing []string
			for _, m := range s.Masters {
				if m.State != stateVotes && m.State != stateAdmitted {
					missing = append(missing, m.Address+" "+m.State)
				}
			}
			say(log, "%s; Ctrl-C is safe, run it again then", strings.Join(missing, "; "))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// noteVotes has the survey of masters that are no set say which of them vote, for clients without fencing.
func (f *membersFlags) noteVotes(ctx context.Context, s *survey) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	for i := range s.Masters {
		s.Masters[i].Do = ""
	}
	cfg.TTL, cfg.MastersAreDurable, cfg.ReadOnly = cfg.MaxTTL, f.cfg.MastersAreDurable, true
	e, err := engine.New(ctx, cfg)
	switch {
	case errors.Is(err, engine.ErrNoQuorum) && !errors.Is(err, engine.ErrInvalid):
		return nil // they are still away
	case err != nil:
		return err
	}
	defer e.Close()
	s.left = 0
	for i, m := range e.Stats().Masters {
		state := &s.Masters[i].State
		switch {
		case m.Cause == nil:
			*state = stateVotes
			continue
		case m.VotesFrom.IsZero():
			*state = "does not vote: " + m.Cause.Error()
		default:
			*state = fmt.Sprintf("votes in %s", upToSeconds(time.Until(m.VotesFrom)))
		}
		s.left++
	}
	s.OK = s.left == 0
	return nil
}

// survey asks the masters. It asks again if the set's MaxTTL, on which their waits depend, is not the command line's.
func (f *membersFlags) survey(ctx context.Context) (s survey, err error) {
	cfg, err := f.config()
	if err != nil {
		return s, err
	}
	found, err := admin.Members(ctx, cfg)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return s, err
	}
	s = surveyOf(found, wait(cfg), f.cfg.MastersAreDurable)
	if s.set.ID != "" && s.set.MaxTTL != f.cfg.MaxTTL {
		f.cfg.MaxTTL = s.set.MaxTTL
		return f.survey(ctx)
	}
	return s, nil
}

// member is one master in the survey, and its JSON.
type member struct {
	Address    string        `json:"address"`
	Set        string        `json:"set"` // its ID; empty: none
	Generation int           `json:"generation"`
	MaxTTL     time.Duration `json:"max_ttl_ns"`
	Members    []string      `json:"members"`
	Admitted   bool          `json:"admitted"`
	State      string        `json:"state"` // stateAdmitted, stateVotes, or why not
	Do         string        `json:"do"`    // what an operator can do; empty: nothing, or more than a command
}

// A survey is the result of masters status, and its JSON: the set of each master, and what to do.
type survey struct {
	SchemaVersion int      `json:"schema_version"`
	Tool          tool     `json:"tool"`
	OK            bool     `json:"ok"`            // all are admitted members of one set, or, without a set and with --wait, all vote
	LargestFence  uint64   `json:"largest_fence"` // known to the masters; 0: none
	Masters       []member `json:"masters"`

	set   fencing.Set   // the newest set found; no ID: none
	wait  time.Duration // before a master that lost its data votes
	left  int           // number of masters whose state is not "admitted"
	votes int           // number of members that vote
	away  int           // number of masters that could not be asked
	lost  []string      // members that lost their data or were restarted
	kept  int           // number of lost members that are durable and have the data of the set
}

// peers returns how many voting members it takes to restore one that lost its data.
func (s *survey) peers() int {
	n := len(s.set.Members)
	return fencing.Peers(n, quorum.Size(n))
}

// beyondRepair reports whether too few members have kept their data, even if those that are down come back.
func (s *survey) beyondRepair() bool { return len(s.lost)-s.kept > len(s.set.Members)-s.peers() }

// surveyOf returns what the masters' answers say. With durable, a master that was restarted has its data and serves at once.
func surveyOf(found []admin.Member, wait time.Duration, durable bool) survey {
	s := survey{SchemaVersion: 1, Tool: thisTool(), wait: wait}
	var addrs []string
	for _, m := range found {
		addrs = append(addrs, m.Address)
		s.LargestFence = max(s.LargestFence, m.LargestFence)
		begun := s.set.Generation == fencing.Preparing // no set, or one that never served: another may have
		if m.Set.ID != "" && (begun || m.Set.ID == s.set.ID && m.Set.Generation > s.set.Generation) {
			s.set = fencing.Set(m.Set)
		}
	}
	for _, m := range found {
		switch {
		case m.Err != nil:
			s.away++
		case s.hasLost(m):
			s.lost = append(s.lost, m.Address)
			if durable && m.Set.Generation == s.set.Generation {
				s.kept++
			}
		case m.Admitted && fencing.Set(m.Set).Is(s.set):
			s.votes++
		}
	}
	for _, m := range found {
		state, do := s.stateOf(m)
		if state == "" && fencing.Set(m.Set).Matches(m.Set.MaxTTL, addrs) != nil {
			state = "admitted, but --masters names others"
		}
		if state != "" {
			s.left++
		}
		s.Masters = append(s.Masters, member{m.Address, m.Set.ID, m.Set.Generation, m.Set.MaxTTL, append([]string{}, m.Set.Members...), m.Admitted, cmp.Or(state, stateAdmitted), do})
	}
	s.OK = s.left == 0
	return s
}

// hasLost reports whether a master is a member of a serving set but has lost the data for it.
func (s *survey) hasLost(m admin.Member) bool {
	switch {
	case m.Err != nil || s.set.Older || s.set.Generation < fencing.Serving || !slices.Contains(s.set.Members, m.Address):
		return false
	case m.Set.ID == s.set.ID && m.Set.Generation >= fencing.Serving:
		return !m.Admitted
	}
	return m.Set.ID == "" || m.Set.ID == s.set.ID && m.Set.Generation == fencing.Preparing
}

// Values of member.State.
const (
	stateAdmitted = "admitted"
	stateVotes    = "votes; not set up for fencing"
)

// Values of member.Do.
const (
	recoverIt       = "muxlock masters init --recover --above FENCE, with the largest fence that any resource has seen"
	keepOrRecoverIt = "where no restart loses data: muxlock masters repair --durable-masters; else " + recoverIt
	endOrFlush      = "a recovery: muxlock masters init --recover again; else, if no other masters need it: redis-cli FLUSHALL there, then muxlock masters repair"
	bringBack       = "the members that do not vote must come back with their data (their process went on, or no restart loses data); if they cannot: start all, empty ones too, then " + recoverIt
	repairIt        = "running clients with fencing admit masters that were restarted or lost their data; so does muxlock masters repair, which waits until they vote"
)

// stateOf returns why a master does not vote, or "", and what to do about it.
func (s *survey) stateOf(m admin.Member) (state, do string) {
	switch {
	case m.Err != nil:
		return "cannot be asked: " + m.Err.Error(), ""
	case s.set.ID == "":
		return "not set up", "muxlock masters init; if they were set up before: " + recoverIt
	case s.set.Older:
		return "set up by an earlier version", "stop its engines, then " + recoverIt
	case !slices.Contains(s.set.Members, m.Address):
		return "is no master of the set", ""
	case s.hasLost(m):
		return s.stateOfLost(m)
	case m.Set.ID != s.set.ID && m.Set.Generation == fencing.Preparing:
		return "another set was begun there, or a recovery", endOrFlush
	case m.Set.Generation < fencing.Serving:
		return "setting up was cut", "run muxlock masters init again"
	case m.Set.ID != s.set.ID:
		return "member of another set", ""
	case m.Set.Generation < s.set.Generation:
		gone, came := without(m.Set.Members, s.set.Members), without(s.set.Members, m.Set.Members)
		return "a replacement was cut", fmt.Sprintf("run muxlock masters replace --for %s --with %s again", gone, came)
	}
	return "", ""
}

func (s *survey) stateOfLost(m admin.Member) (state, do string) {
	if state, do = "lost its data", recoverIt; m.Set.ID == s.set.ID {
		state, do = "was restarted", keepOrRecoverIt
	}
	switch {
	case s.beyondRepair():
		return state + ", like a majority", do
	case s.kept > 0 && m.Set.Generation == s.set.Generation:
		state += ": votes once a client meets it"
	case s.votes+s.kept < s.peers():
		return state + fmt.Sprintf(": needs %d members that vote, %d can be asked", s.peers(), s.votes), bringBack
	case s.votes < s.peers():
		state += fmt.Sprintf(": needs %d members that vote, %d can be asked", s.peers(), s.votes)
	case !m.Waits:
		state += fmt.Sprintf(": votes in %s from when a client meets it", upToSeconds(s.wait))
	case m.Left > 0:
		state += fmt.Sprintf(": votes in %s", upToSeconds(m.Left))
	default:
		state += ": its wait is over, votes once a client meets it"
	}
	return state, repairIt
}

// upToSeconds rounds up, so that no wait is announced too short.
func upToSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

func without(list, others []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) }), ",")
}

// toDo returns each member.Do once.
func (s *survey) toDo() (all []string) {
	for _, m := range s.Masters {
		if m.Do != "" && !slices.Contains(all, m.Do) {
			all = append(all, m.Do)
		}
	}
	return all
}

func (s survey) text(w io.Writer) {
	rows := [][]string{{"MASTER", "SET", "GENERATION", "MAX-TTL", "STATE"}}
	for _, m := range s.Masters {
		row := []string{m.Address, "-", "-", "-", m.State}
		if m.Set != "" {
			row[1], row[2], row[3] = m.Set[:min(len(m.Set), 8)], strconv.Itoa(m.Generation), m.MaxTTL.String()
		}
		rows = append(rows, row)
	}
	table(w, rows)
	for _, do := range s.toDo() {
		fmt.Fprintln(w, "what to do:", do)
	}
	if s.LargestFence > 0 {
		fmt.Fprintf(w, "largest fence that the masters know: %d (init --recover --above takes the largest that any resource has seen)\n", s.LargestFence)
	}
	switch {
	case s.OK && s.set.ID == "":
		fmt.Fprintf(w, "all %d masters vote; they are not set up for fencing\n", len(s.Masters))
	case s.OK:
		fmt.Fprintf(w, "all %d masters are admitted members of one set\n", len(s.Masters))
	case len(s.set.Members) > 0:
		fmt.Fprintln(w, "masters of the set:", strings.Join(s.set.Members, ","))
	}
}
