package redisfake

import (
	"maps"
	"slices"
	"strings"

	"muxlock/internal/token"
)

// shared is the script of readers, and of writers that wait for readers.
func shared(d *dataSet, keys, args []string) any {
	n, mark := len(keys)/2, ""
	if args[0] != "" {
		n--
		found, admitted, _ := d.get(keys[2*n+1])
		if mark = found + "\n"; !admitted || !d.is(keys[2*n], args[0]) {
			return errNotMember
		}
	}
	tokens, votes := args[1:1+n], strings.Repeat("1", n)
	answer, now := []byte(votes), d.now().UnixMilli()
	for _, r := range runsOf(n, args[1+n:]) {
		waits := d.held(keys[n+r.from : n+r.to])
		for i := r.from; i < r.to; i++ {
			switch what := r.what; what[0] {
			case '!':
				answer[i] = d.intend(keys[i], tokens[i], keys[n+i], what[1:])
			case '+':
				answer[i] = d.extendReader(keys[i], tokens[i], what[1:], now)
			case '*':
				if answer[i] = d.extendReader(keys[i], tokens[i], what[1:], now); answer[i] == '0' {
					answer[i] = d.letIn(keys[i], tokens[i], what[1:], now, false)
				}
			default:
				answer[i] = d.letIn(keys[i], tokens[i], what, now, waits[i-r.from])
			}
		}
	}
	if string(answer) == votes {
		return mark
	}
	return mark + string(answer)
}

// readers returns the readers of a name that has several, else nil.
func (d *dataSet) readers(name string) map[string]int64 {
	v, _ := d.find(name)
	return v.sorted
}

// loneReader returns the token of the only reader of a name, who came first, else "".
func (d *dataSet) loneReader(name string) string {
	if text, _, err := d.get(name); err == nil && token.IsReader(text) {
		return text
	}
	return ""
}

func (d *dataSet) letIn(name, token, ms string, now int64, waits bool) byte {
	if waits {
		return 'n'
	}
	if d.setNX(name, token, ms) {
		return '1'
	}
	readers, lone := d.readers(name), d.loneReader(name)
	if left := d.pttl(name); lone != "" && left > 0 {
		readers = map[string]int64{lone: now + left}
		d.values[name] = value{sorted: readers}
	}
	if readers == nil {
		return '0'
	}
	if lone == "" {
		maps.DeleteFunc(readers, func(_ string, ends int64) bool { return ends <= now })
	}
	readers[token] = now + int64(atoi(ms))
	d.expireWithLast(name)
	return '1'
}

func (d *dataSet) extendReader(name, token, ms string, now int64) byte {
	if n, err := d.ours(name, token); n == 1 && err == nil {
		d.extend(name, ms)
		return '1'
	}
	readers := d.readers(name)
	ends := readers[token]
	if ends <= now {
		return '0'
	}
	readers[token] = max(ends, now+int64(atoi(ms)))
	d.expireWithLast(name)
	return '1'
}

func (d *dataSet) intend(name, token, intent, ms string) byte {
	if ms == "0" {
		if !d.is(intent, token) {
			return '0'
		}
		return byte('0' + d.delete(intent))
	}
	if d.readers(name) == nil && d.loneReader(name) == "" {
		return '0'
	}
	if !d.setNX(intent, token, ms) {
		d.pexpire(intent, int64(atoi(ms)))
	}
	return '1'
}

// leave removes one of several readers, and reports whether the reader was there.
func (d *dataSet) leave(name, token string) bool {
	readers := d.readers(name)
	if _, there := readers[token]; !there {
		return false
	}
	delete(readers, token)
	d.expireWithLast(name)
	return true
}

// expireWithLast lets a name expire with the last of its readers.
func (d *dataSet) expireWithLast(name string) {
	v := d.values[name]
	if len(v.sorted) == 0 {
		d.delete(name)
		return
	}
	v.ends = slices.Max(slices.Collect(maps.Values(v.sorted)))
	d.values[name] = v
	d.changed(name)
	d.find(name) // deletes the key if it has expired
}
