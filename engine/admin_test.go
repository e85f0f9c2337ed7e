package engine

import "context"

// Admin is package admin, for tests of this one, which cannot import it: fills_admin_test.go
// fills it in.
var Admin struct {
	SetUp         func(context.Context, Config, SetUpOptions) error
	ReplaceMaster func(ctx context.Context, cfg Config, from, to string) error
	Members       func(context.Context, Config) ([]Member, error)
	Check         func(context.Context, *Engine) ([]any, error) // the report, its error and its findings
	Inspect       func(ctx context.Context, e *Engine, name string) (Inspection, error)
	ForceRelease  func(ctx context.Context, e *Engine, name string) (int, error) // of what Inspect finds
}

// SetUpOptions is that of package admin.
type SetUpOptions struct {
	MastersAreNew, Recover bool
	Above                  uint64
}

// Inspection is what the tests ask of that of package admin.
type Inspection struct {
	Holder, Next string
	Waiting      int
	All          any
}

// Member is what the tests ask of that of package admin.
type Member struct{ Admitted bool }
