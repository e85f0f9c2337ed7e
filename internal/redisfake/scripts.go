package redisfake

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"muxlock/scripts"
)

// known maps the SHA-1 of each script to a function that does the same. The head of the Lua file describes keys,
// arguments and reply.
var known = map[string]func(d *dataSet, keys, args []string) any{
	scripts.Release.SHA1:       release,
	scripts.Extend.SHA1:        extend,
	scripts.Batch.SHA1:         batch,
	scripts.Shared.SHA1:        shared,
	scripts.Inspect.SHA1:       inspect,
	scripts.Wait.SHA1:          wait,
	scripts.Pass.SHA1:          pass,
	scripts.FencedAcquire.SHA1: fencedAcquire,
	scripts.FencedExtend.SHA1:  fencedExtend,
	scripts.Raise.SHA1:         raise,
	scripts.Open.SHA1:          open,
	scripts.Seed.SHA1:          seed,
	scripts.ReadRegisters.SHA1: readRegisters,
	scripts.Switch.SHA1:        switchMember,
	scripts.Trial.SHA1:         func(*dataSet, []string, []string) any { return 1 },
}

func release(d *dataSet, keys, args []string) any {
	n, err := d.ours(keys[0], args[0])
	if n == 1 {
		d.delete(keys[0])
	}
	return either(n, err)
}

func extend(d *dataSet, keys, args []string) any {
	n, err := d.ours(keys[0], args[0])
	if n == 1 {
		d.extend(keys[0], args[1])
	}
	return either(n, err)
}

// ours returns 1 if the key has the token, 0 if it has another value, -1 if there is no such key.
func (d *dataSet) ours(key, token string) (int, error) {
	switch value, there, err := d.get(key); {
	case err != nil:
		return 0, err
	case !there:
		return -1, nil
	case value != token:
		return 0, nil
	}
	return 1, nil
}

// extend moves the expiry of a key later, never earlier.
func (d *dataSet) extend(key, ms string) {
	if lease := int64(atoi(ms)); lease > d.pttl(key) {
		d.pexpire(key, lease)
	}
}

// A run is consecutive entries of a call that are treated alike.
type run struct {
	what     string // ttl, "-" and so on: the head of the Lua file has them
	from, to int
}

// runsOf reads the runs of n entries, as pairs: what to do, how many entries.
func runsOf(n int, args []string) (runs []run) {
	for from := 0; from < n; args = args[2:] {
		to := from + atoi(args[1])
		runs = append(runs, run{args[0], from, to})
		from = to
	}
	return runs
}

func batch(d *dataSet, keys, args []string) any {
	n := len(keys)
	tokens := args[:n]
	granted := strings.Repeat("1", n)
	votes := []byte(granted)
	for _, r := range runsOf(n, args[n:]) {
		var ours []int
		ms, set := strings.CutPrefix(strings.Replace(r.what, "=", "&", 1), "&")
		if first, choice := strings.CutPrefix(r.what, "|"); choice {
			set = true
			d.takeFirst(keys[r.from:r.to], tokens[r.from:r.to], first, votes[r.from:r.to])
		} else if set {
			d.take(keys[r.from:r.to], tokens[r.from:r.to], ms, votes[r.from:r.to])
		}
		for i := r.from; i < r.to && !set; i++ {
			found, _ := d.ours(keys[i], tokens[i])
			switch {
			case found == 1 && strings.HasSuffix(r.what, "-"):
				ours = append(ours, i) // the script reads all keys before it deletes any
			case r.what == "s-" && d.leave(keys[i], tokens[i]):
			case found == 1:
				d.extend(keys[i], r.what)
			default:
				votes[i] = '0'
			}
		}
		for _, i := range ours {
			d.delete(keys[i])
		}
	}
	if string(votes) == granted {
		return ""
	}
	return string(votes)
}

// take takes all names of a set, or none. The votes say which names were not free.
func (d *dataSet) take(names, tokens []string, ms string, votes []byte) {
	free := true
	for i, name := range names {
		if _, there := d.find(name); there {
			votes[i], free = '0', false
		} else {
			votes[i] = 'n'
		}
	}
	for i := 0; i < len(names) && free; i++ {
		votes[i] = '1'
		d.set(names[i], tokens[i], int64(atoi(ms)))
	}
}

// takeFirst takes the first free name of a choice.
func (d *dataSet) takeFirst(names, tokens []string, ms string, votes []byte) {
	taken := false
	for i, name := range names {
		switch {
		case taken:
			votes[i] = 'n'
		case d.setNX(name, tokens[i], ms):
			taken = true
		default:
			votes[i] = '0'
		}
	}
}

// held reports which names have a value for MGET.
func (d *dataSet) held(names []string) (held []bool) {
	for _, name := range names {
		_, there, err := d.get(name)
		held = append(held, there && err == nil) // a key of another type is found only when it is set
	}
	return held
}

func (d *dataSet) setNX(name, token, ms string) bool {
	_, there := d.find(name)
	if !there {
		d.set(name, token, int64(atoi(ms)))
	}
	return !there
}

func inspect(d *dataSet, keys, args []string) any {
	value, there, err := d.get(keys[0])
	readers := d.readers(keys[0])
	tokens := slices.DeleteFunc(inOrder(readers), func(token string) bool { // the key has not expired, and so its last reader has not
		return readers[token] <= d.now().UnixMilli() && readers[token] < slices.Max(slices.Collect(maps.Values(readers)))
	})
	switch {
	case readers != nil:
		value = strings.Join(tokens, "\n")
	case err != nil:
		return err
	case there && (value == "" || len(value) > atoi(args[0])):
		return fmt.Errorf("MUXLOCKVALUE a string of %d bytes", len(value))
	}
	if d.loneReader(keys[0]) != "" {
		tokens = []string{value}
	}
	waiting, first := 0, ""
	for _, line := range keys[1:] {
		tokens, _ := (&queue{d: d, line: line}).sorted()
		if waiting += len(tokens); first == "" && len(tokens) > 0 {
			first, _, _ = strings.Cut(tokens[0], "\n")
		}
	}
	return strings.Join([]string{strconv.Itoa(waiting), first, fmt.Sprint(d.pttl(keys[0])), strconv.Itoa(len(tokens)), value}, "\n")
}

var errNotMember = errors.New("MUXLOCKSET the master is not, or not any more, an admitted member of the set that the caller expects")

func errRegister(register string) error {
	return errors.New("MUXLOCKREGISTER register " + register + " holds no token")
}

// maxToken is larger than any token.
const maxToken = 1 << 37

// A fenced is the parsed keys and arguments of the fencing scripts, with one element per entry.
type fenced struct {
	mark, registersKey               string // mark is the master's
	member                           bool   // the master is admitted to the expected set
	names, tokens, registers, fences []string
	runs                             []run
}

func readFenced(d *dataSet, keys, args []string) fenced {
	n := len(keys) - 3
	mark, admitted, _ := d.get(keys[1])
	return fenced{mark, keys[2], admitted && d.is(keys[0], args[0]), keys[3:], args[1 : 1+n], args[1+n : 1+2*n], args[1+2*n : 1+3*n], runsOf(n, args[1+3*n:])}
}

// units returns the entries that are taken together: a set, or each by itself.
func (f *fenced) units() (units []run) {
	for _, r := range f.runs {
		if strings.HasPrefix(r.what, "&") {
			units = append(units, r)
			continue
		}
		for i := r.from; i < r.to; i++ {
			units = append(units, run{r.what, i, i + 1})
		}
	}
	return units
}

// notTried returns which entries come after a free one of their choice.
func (f *fenced) notTried(held []bool) []bool {
	behind := make([]bool, len(held))
	for _, r := range f.runs {
		if free := slices.Index(held[r.from:r.to], false); free >= 0 && strings.HasPrefix(r.what, "|") {
			for i := r.from + free + 1; i < r.to; i++ {
				behind[i] = true
			}
		}
	}
	return behind
}

func fencedAcquire(d *dataSet, keys, args []string) any {
	f := readFenced(d, keys, args)
	if !f.member {
		return errNotMember
	}
	hash, err := d.hash(f.registersKey)
	if err != nil {
		return err
	}
	before := make(map[string]string, len(f.registers)) // the script reads all registers before it writes any
	for _, register := range f.registers {
		before[register] = hash[register]
	}
	words, fault := slices.Repeat([]string{"="}, len(f.names)), ""
	held, units := d.held(f.names), f.units()
	behind := f.notTried(held)
	sound := func(i int) bool {
		value := number(before[f.registers[i]])
		return isToken(value) && value < maxToken-1 && number(f.fences[i]) < maxToken
	}
	for _, u := range units {
		for i := u.from; i < u.to; i++ {
			switch {
			case held[i]:
				words[i] = "0"
			case behind[i], slices.Contains(held[u.from:u.to], true):
				words[i] = "n"
			case !sound(i):
				fault = "\n" + errRegister(f.registers[i]).Error()
				for j := u.from; j < u.to; j++ {
					words[j] = "e"
				}
				i = u.to
			}
		}
	}
	for i, register := range f.registers {
		value := number(before[register])
		switch {
		case words[i] != "=":
		case value >= number(f.fences[i]):
			words[i] = strconv.FormatInt(int64(value)+1, 10)
			d.hset(f.registersKey, register, words[i])
		default:
			d.hset(f.registersKey, register, f.fences[i])
		}
	}
	for _, u := range units {
		for i := u.from; i < u.to; i++ {
			if strings.Contains("0ne", words[i]) || d.setNX(f.names[i], f.tokens[i], strings.TrimLeft(u.what, "&|")) {
				continue
			}
			for _, name := range f.names[u.from:i] {
				d.delete(name)
			}
			for j := u.from; j < u.to; j++ {
				words[j] = "n"
			}
			words[i] = "0"
			break
		}
	}
	if strings.Trim(strings.Join(words, ""), "=") == "" {
		return f.mark + "\n"
	}
	return f.mark + "\n" + strings.Join(words, " ") + fault
}

func fencedExtend(d *dataSet, keys, args []string) any {
	f := readFenced(d, keys, args)
	votes, fault := make([]byte, len(f.names)), ""
	for _, r := range f.runs {
		for i := r.from; i < r.to; i++ {
			found, _ := d.ours(f.names[i], f.tokens[i])
			var err error
			if found == 1 && !f.member { // a key of another type belongs to somebody else
				err = errNotMember
			} else if found == 1 && number(f.fences[i]) > 0 {
				err = d.raise(f.registersKey, f.registers[i], f.fences[i])
			}
			switch {
			case err != nil:
				votes[i], fault = 'e', "\n"+err.Error()
			case found == 1:
				d.extend(f.names[i], r.what)
				votes[i] = '1'
			default:
				votes[i] = '0'
			}
		}
	}
	return f.mark + "\n" + string(votes) + fault
}

// raise makes a register at least as large as the token.
func (d *dataSet) raise(key, register, token string) error {
	hash, err := d.hash(key)
	value := number(hash[register])
	switch {
	case err != nil:
		return err
	case !isToken(value):
		return errRegister(register)
	case value < number(token):
		d.hset(key, register, token)
	}
	return nil
}

func raise(d *dataSet, keys, args []string) any {
	if !d.is(keys[0], args[0]) {
		return 0
	}
	for i := 1; i < len(args); i += 2 {
		hash, err := d.hash(keys[1])
		if err != nil {
			return err
		}
		if number(hash[args[i]]) < number(args[i+1]) { // false for a missing register, which is NaN
			d.hset(keys[1], args[i], args[i+1])
		}
	}
	return 1
}

func open(d *dataSet, keys, args []string) any {
	shown, mark, ticket, clock := args[0], args[1], args[2], args[3]
	if set, _, _ := d.get(keys[0]); set != shown {
		return ""
	}
	if found, _, _ := d.get(keys[1]); found != mark {
		return ""
	}
	d.delete(keys[1])
	now, there, err := d.get(keys[2])
	if err != nil {
		return err
	}
	if !there || afterNonce(now) != afterNonce(ticket) {
		now = ticket
		d.set(keys[2], ticket, 0)
		d.delete(keys[3])
	}
	since, err := d.hash(keys[3])
	return either(now+"\n"+since[now+" "+clock], err)
}

func afterNonce(ticket string) string { return ticket[min(24, len(ticket)):] }

func seed(d *dataSet, keys, args []string) any {
	next, ticket, shown, registers := args[0], args[1], args[2], args[3:]
	if now, _, _ := d.get(keys[0]); now != shown || !d.is(keys[2], ticket) {
		return 0
	}
	hash, err := d.hash(keys[4])
	if err != nil {
		return err
	}
	if hash == nil {
		hash = make(map[string]string, len(registers))
		d.values[keys[4]] = value{hash: hash}
	}
	for i, least := range registers {
		register := strconv.Itoa(i)
		if text, there := hash[register]; !there || !isToken(number(text)) || number(text) < number(least) {
			hash[register] = least
			d.changed(keys[4])
		}
	}
	d.set(keys[0], next, 0)
	d.set(keys[1], ticket, 0)
	d.delete(keys[2])
	d.delete(keys[3])
	return 1
}

func readRegisters(d *dataSet, keys, args []string) any {
	if args[0] != "" && !(d.is(keys[0], args[0]) && d.is(keys[1], args[1])) {
		return errors.New("MUXLOCKSET the master is not admitted")
	}
	hash, err := d.hash(keys[2])
	if err != nil {
		return err
	}
	words := make([]string, 0, 2*len(hash))
	for field, value := range hash {
		words = append(words, field, value)
	}
	return strings.Join(words, " ")
}

func switchMember(d *dataSet, keys, args []string) any {
	if d.is(keys[0], args[0]) && d.is(keys[1], args[1]) {
		d.set(keys[0], args[2], 0)
		d.set(keys[1], args[3], 0)
	}
	if d.is(keys[0], args[2]) && d.is(keys[1], args[3]) {
		return 1
	}
	return 0
}

// number reads a register as Lua's tonumber does. It returns NaN for a missing register, or one that is no number.
func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// isToken reports whether a register holds a token or 0.
func isToken(n float64) bool { return n >= 0 && n < maxToken && n == math.Trunc(n) }

// atoi reads a number sent by the engine.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("redisfake: %q is no number", text))
	}
	return n
}

func either(reply any, err error) any {
	if err != nil {
		return err
	}
	return reply
}
