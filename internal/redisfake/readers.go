package redisfake

import (
	"maps"
	"slices"
	"strings"
)

// shared is the script of readers, and of writers that wait for them.
func shared(d *dataSet, keys, args []string) any {
	n, mark := len(keys)/2, ""
	if args[0] != "" {
		n--
		found, admitted, _ := d.get(keys[2*n+1])
		if mark = found + "\n"; !admitted || !d.is(keys[2*n], args[0]) {
			return errNotMember
		}
	}
	tokens, runs, votes := args[1:1+n], args[1+n:], strings.Repeat("1", n)
	answer, now := []byte(votes), d.now().UnixMilli()
	for from := 0; from < n; runs = runs[2:] {
		to := from + atoi(runs[1])
		for i := from; i < to; i++ {
			switch what := runs[0]; what[0] {
			case '!':
				answer[i] = d.intend(keys[i], keys[n+i], what[1:])
			case '+':
				answer[i] = d.extendReader(keys[i], tokens[i], what[1:], now)
			default:
				answer[i] = d.letIn(keys[i], keys[n+i], tokens[i], what, now)
			}
		}
		from = to
	}
	if string(answer) == votes {
		return mark
	}
	return mark + string(answer)
}

// readers returns the readers of a name, nil for none. It reports false if a writer has the name.
func (d *dataSet) readers(name string) (ends map[string]int64, ok bool) {
	v, there := d.find(name)
	return v.sorted, !there || v.sorted != nil
}

func (d *dataSet) letIn(name, intent, token, ms string, now int64) byte {
	readers, ok := d.readers(name)
	_, waits, err := d.get(intent)
	switch {
	case err != nil, !waits && !ok:
		return '0'
	case waits:
		return 'n'
	case readers == nil:
		readers = make(map[string]int64)
		d.values[name] = value{sorted: readers}
	}
	for other, ends := range readers {
		if ends <= now {
			delete(readers, other)
		}
	}
	readers[token] = now + int64(atoi(ms))
	d.expireWithLast(name)
	return '1'
}

func (d *dataSet) extendReader(name, token, ms string, now int64) byte {
	readers, _ := d.readers(name)
	ends := readers[token]
	if ends <= now {
		return '0'
	}
	readers[token] = max(ends, now+int64(atoi(ms)))
	d.expireWithLast(name)
	return '1'
}

func (d *dataSet) intend(name, intent, ms string) byte {
	if ms == "0" {
		return byte('0' + d.delete(intent))
	}
	readers, _ := d.readers(name)
	if readers == nil {
		return '0'
	}
	d.set(intent, "1", int64(atoi(ms)))
	return '1'
}

// releaseReader takes a token out, and reports whether it was there.
func (d *dataSet) releaseReader(name, token string) bool {
	readers, _ := d.readers(name)
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
	d.find(name) // which deletes what has expired
}
