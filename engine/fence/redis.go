package fence

import (
	"context"
	"fmt"
	"strconv"
)

// Script is the Lua that Value runs in Redis. KEYS[1] is a hash with the fields fence and value. ARGV is
// the fence, and for a write also 'value' and the value. If a larger fence is kept, Script returns that
// alone. Otherwise it returns the fence and the value that it read; the latter is empty after a write, or if
// there is none.
const Script = `local seen = redis.call('HGET', KEYS[1], 'fence') or '0'
if tonumber(seen) > tonumber(ARGV[1]) then return {seen} end
redis.call('HSET', KEYS[1], 'fence', unpack(ARGV))
return {ARGV[1], ARGV[3] and '' or redis.call('HGET', KEYS[1], 'value') or ''}`

// Value is a value in Redis that is kept with its fence, in one hash. One key lets a script change both at
// once, and both are deleted, evicted or lost at once. A lost key has forgotten its fence: no expiry, no
// eviction, and a replica that is promoted may lack the newest.
type Value struct {
	Key string
	// Run runs Script: with rueidis, NewLuaScript(fence.Script).Exec and AsStrSlice.
	Run func(ctx context.Context, keys, args []string) ([]string, error)
}

// Seal writes the fence, unless a larger one was seen, and returns the value, or "" if there is none yet. The
// seal and the read are one step. Seal blocks as Run does. Errors: ErrInvalid before anything is sent, a
// StaleError when nothing was written, those of Run.
func (v Value) Seal(ctx context.Context, fence uint64) (string, error) {
	return v.run(ctx, fence)
}

// Set writes the value and the fence, unless a larger one was seen. It blocks as Run does. Errors: ErrInvalid
// before anything is sent; a StaleError when nothing was written; those of Run. After an error of Run the
// write may have happened: it may be repeated until the holder's next write.
func (v Value) Set(ctx context.Context, fence uint64, value string) error {
	_, err := v.run(ctx, fence, "value", value)
	return err
}

func (v Value) run(ctx context.Context, fence uint64, more ...string) (string, error) {
	if err := Check(0, fence); err != nil {
		return "", err
	}
	args := append([]string{strconv.FormatUint(fence, 10)}, more...)
	reply, err := v.Run(ctx, []string{v.Key}, args)
	if err != nil {
		return "", err
	}
	if len(reply) == 2 && reply[0] == args[0] {
		return reply[1], nil
	}
	if len(reply) == 1 {
		if seen, err := strconv.ParseUint(reply[0], 10, 64); err == nil && seen > fence {
			return "", &StaleError{fence, seen}
		}
	}
	return "", fmt.Errorf("fence: reply %q to the script for %q is not the script's", reply, v.Key)
}
