package procs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/rivals"
)

// tableFD is the first of exec.Cmd's ExtraFiles.
const tableFD = 3

// Serve is the main function of a child. It answers in on out, and returns when in ends. The run
// ends early when in or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var j job
	if err := from.Decode(&j); err != nil {
		return fmt.Errorf("%s is for lockbench alone: %w", Process, err)
	}
	impl, _ := rivals.Find(j.Impl)
	locker, err := impl.Open(ctx, j.Options)
	if err := to.Encode(failure(err)); err != nil {
		return err
	}
	if err != nil {
		return nil // the parent reports it
	}
	defer func() { err = errors.Join(err, locker.Close()) }()

	var s start
	if err := from.Decode(&s); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	s.Config.Progress = func(p bench.Progress) {
		_ = to.Encode(answer{Progress: &p}) // after an error here, in has ended too
	}
	s.Place.Begin = func() (begin int64) {
		_ = to.Encode(answer{})
		if from.Decode(&begin) != nil {
			cancel()
		}
		go func() {
			_, _ = io.Copy(io.Discard, in) // the parent sends nothing more
			cancel()
		}()
		return begin
	}
	s.Place.Table = os.NewFile(tableFD, "table")
	part, err := bench.RunPart(ctx, impl.Name, locker, s.Config, s.Place)
	a := failure(err)
	a.Part = part
	return to.Encode(a)
}

func failure(err error) (a answer) {
	if err != nil {
		a.Error = err.Error()
		_ = errors.As(err, &a.Invalid)
	}
	return a
}
