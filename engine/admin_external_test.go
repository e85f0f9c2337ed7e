package engine_test

import (
	"context"

	"muxlock/engine"
	"muxlock/engine/admin"
)

func init() {
	engine.Admin.ReplaceMaster = admin.ReplaceMaster
	engine.Admin.SetUp = func(ctx context.Context, cfg engine.Config, opts engine.SetUpOptions) error {
		return admin.SetUp(ctx, cfg, admin.SetUpOptions(opts))
	}
	engine.Admin.Members = func(ctx context.Context, cfg engine.Config) (members []engine.Member, err error) {
		found, err := admin.Members(ctx, cfg)
		for _, m := range found {
			members = append(members, engine.Member{Admitted: m.Admitted})
		}
		return members, err
	}
	engine.Admin.Check = func(ctx context.Context, e *engine.Engine) ([]any, error) {
		r, err := admin.Check(ctx, e)
		return []any{r, r.Err(), r.Findings}, err
	}
	engine.Admin.Inspect = func(ctx context.Context, e *engine.Engine, name string) (engine.Inspection, error) {
		i, err := admin.Inspect(ctx, e, name)
		return engine.Inspection{Holder: i.Holder, Next: i.Next, Waiting: i.Waiting, All: i}, err
	}
	engine.Admin.ForceRelease = func(ctx context.Context, e *engine.Engine, name string) (int, error) {
		i, err := admin.Inspect(ctx, e, name)
		if err != nil {
			return 0, err
		}
		return admin.ForceRelease(ctx, e, i)
	}
}
