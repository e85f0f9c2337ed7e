package admin

import (
	"context"
	"fmt"
	"time"

	"muxlock/engine"
	"muxlock/engine/internal/inside"
	"muxlock/internal/oneline"
	"muxlock/pipeline"
)

// SetUpOptions say what SetUp may assume about the masters.
type SetUpOptions struct {
	// MastersAreNew asserts that the masters never granted a lock, so that there is nothing to wait for. If
	// true and wrong, two may hold a lock.
	MastersAreNew bool
	// Recover sets the masters up anew, whatever they were before. It is for a majority that lost its data, a
	// set of another number of masters, or one of an earlier version. From its start on, running clients get
	// no locks until they call New again: restart them. Every fence will be larger than Above. So Above must be the largest
	// fence that any resource has seen, plus a margin: the newest may not have come there. MaxTTL must not be
	// shorter than before. These masters must include so many of each earlier set that the rest of it is no
	// quorum.
	Recover bool
	Above   uint64
}

// SetUp makes cfg.Masters members of a set, which engine.Config.Fencing needs, once. All masters must be up.
// SetUp blocks for MaxTTL*(1+Drift) + 1s + 2ms, unless opts says that the masters are new, and watches that
// no master is restarted. Clients hold and acquire locks meanwhile. SetUp may be cut anywhere and called again,
// and does nothing where all is set up. Of cfg it uses Masters, Client, MasterTimeout, Drift, and MaxTTL, whose
// default is the larger of 30 s and TTL.
//
// Errors: engine.ErrInvalid; ErrRefused with the reason; engine.ErrConfigMismatch when the masters are set up
// with other values; an engine.MasterError; ctx's error.
func SetUp(ctx context.Context, cfg engine.Config, opts SetUpOptions) error {
	s, err := inside.Setup(cfg)
	if err != nil {
		return err
	}
	s.New, s.Recover, s.Above = opts.MastersAreNew, opts.Recover, opts.Above
	return withCtx(ctx, pipeline.Init(ctx, s))
}

// ReplaceMaster makes the master at the address to a member in the place of from. from may be down; all
// others must be up. Afterwards clients must be configured with to: clients that still have from get no more
// locks, and lose theirs when validity ends. Engines configured with to serve at once, and admit it after
// MaxTTL*(1+Drift) + 1s + 2ms.
//
// ReplaceMaster may be cut anywhere and called again. If members were restarted in between, it may have to give
// them the former set again, which engines configured with from then admit: ErrRefused says so. ReplaceMaster is
// safe only if all clients of these masters use Fencing: no master would refuse the others.
//
// Errors: as SetUp; engine.ErrInvalid says whether to or from is wrong.
func ReplaceMaster(ctx context.Context, cfg engine.Config, from, to string) error {
	s, err := inside.Setup(cfg)
	if err != nil {
		return err
	}
	with, err := inside.Setup(engine.Config{Masters: []string{to}, Client: cfg.Client})
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	old, err := inside.Setup(engine.Config{Masters: []string{from}})
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	return withCtx(ctx, pipeline.Replace(ctx, s, old.Masters[0].Address, with.Masters[0]))
}

// withCtx joins the error of a ctx that cut the connections, and so is the cause of err.
func withCtx(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if end, has := ctx.Deadline(); has && !time.Now().Before(end) {
		<-ctx.Done() // the connections had the same deadline
	}
	return oneline.Join(err, ctx.Err())
}

// A Set is what a master has stored about its set.
type Set struct {
	ID         string        // for good
	Generation int           // below 2: setting up was cut; grows with every change of the members
	MaxTTL     time.Duration // that all clients must have
	Registers  int           // for fencing tokens, at each member
	Members    []string      // the addresses, sorted
	Older      bool          // set up by an earlier version
}

// A Member is a master as Members finds it.
type Member struct {
	Address      string
	Err          error  // why it cannot be asked; nil: it was
	Set          Set    // that it belongs to; no ID: to none
	Admitted     bool   // it votes for engines of that set
	LargestFence uint64 // SetUpOptions.Above must be at least this, as far as it knows; 0: it has no registers
	Waits        bool   // to be admitted
	// Left is how long it still waits, if engines ask for locks meanwhile. It goes by the clock of this machine. It
	// is all of the wait if no process of this machine has met the master since it lost its data.
	Left time.Duration
}

// Members asks each of cfg.Masters which set it belongs to, side by side, and changes nothing. It blocks until each
// has answered or failed, or ctx ends; Config.MasterTimeout bounds each step with a master. A master that did not
// answer has the reason as its Err. Errors: engine.ErrInvalid.
func Members(ctx context.Context, cfg engine.Config) ([]Member, error) {
	s, err := inside.Setup(cfg)
	if err != nil {
		return nil, err
	}
	var members []Member
	for _, m := range pipeline.Members(ctx, s) {
		members = append(members, Member{m.Address, m.Err, Set(m.Set), m.Admitted, m.LargestFence, m.Waits, m.Left})
	}
	return members, nil
}
