package redisfake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muxlock/internal/limits"
)

// A queue is the common keys and arguments of the scripts of a line, parsed.
type queue struct {
	d                      *dataSet
	name, line, entries    string
	set, mark, registers   string // keys; "": without fencing
	now                    int64
	register, proposed     string
	description, foundMark string
}

func readLine(d *dataSet, keys, fencing []string) queue {
	q := queue{d: d, name: keys[0], line: keys[1], entries: keys[2], now: d.now().UnixMilli()}
	if len(keys) > 3 {
		q.set, q.mark, q.registers = keys[3], keys[4], keys[5]
		q.description, q.register, q.proposed = fencing[0], fencing[1], fencing[2]
		q.foundMark, _, _ = d.get(q.mark)
	}
	return q
}

// member reports whether the master may grant: always without fencing.
func (q *queue) member() bool {
	_, there := q.d.find(q.mark)
	return q.set == "" || there && q.d.is(q.set, q.description)
}

// sorted returns the tokens of the line in order, or none if the key is of another type.
func (q *queue) sorted() (tokens []string, err error) {
	v, there := q.d.find(q.line)
	if there && v.sorted == nil {
		return nil, errWrongType
	}
	return inOrder(v.sorted), nil
}

// inOrder returns the members of a sorted set in order.
func inOrder(sorted map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(sorted), func(a, b string) int {
		return cmp.Or(cmp.Compare(sorted[a], sorted[b]), strings.Compare(a, b))
	})
}

func (q *queue) remove(token string) {
	if v, there := q.d.find(q.line); there && v.sorted != nil {
		delete(v.sorted, token)
		if q.d.changed(q.line); len(v.sorted) == 0 {
			q.d.delete(q.line)
		}
	}
	if hash, err := q.d.hash(q.entries); err == nil && hash != nil {
		delete(hash, token)
		if q.d.changed(q.entries); len(hash) == 0 {
			q.d.delete(q.entries)
		}
	}
}

// An entry is what the owner of a token in line asked for.
type entry struct{ version, lease, channel, tag string }

// entry returns a token's entry and its age, -1 if there is none; and whether its owner is there to take a free name.
func (q *queue) entry(token string) (e entry, age int64, fresh bool) {
	hash, err := q.d.hash(q.entries)
	words := strings.Fields(hash[token])
	if err != nil || len(words) != 6 {
		return entry{}, -1, false
	}
	var numbers [4]int64
	for i, word := range words[:4] {
		if numbers[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return entry{}, -1, false
		}
	}
	age = q.now - numbers[1]
	return entry{words[0], words[3], words[4], words[5]}, age, age >= 0 && age <= numbers[2]
}

// grant raises the register and returns the fencing token, "0" without fencing.
func (q *queue) grant() (fence string, err error) {
	if q.set == "" {
		return "0", nil
	}
	hash, err := q.d.hash(q.registers)
	if err != nil {
		return "", err
	}
	value, proposed := number(hash[q.register]), number(q.proposed)
	if !isToken(value) || value >= maxToken-1 || proposed >= maxToken {
		return "", errRegister(q.register)
	}
	fence = strconv.FormatInt(int64(max(value+1, proposed)), 10)
	q.d.hset(q.registers, q.register, fence)
	return fence, nil
}

// next returns the first two tokens of the line.
func (q *queue) next() string {
	tokens, _ := q.sorted()
	return strings.Join(append(tokens, "-", "-")[:2], "\n")
}

func wait(d *dataSet, keys, args []string) any {
	token, version, lease, stale, channel, tag, age, how, ttl := args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], args[8]
	q := readLine(d, keys, args[9:])
	if !q.member() {
		return errNotMember
	}
	mark := ""
	if q.set != "" {
		mark = q.foundMark + "\n"
	}
	value, there, err := d.get(q.name)
	if err != nil || d.loneReader(q.name) != "" {
		value = "readers"
	}
	if there && value == token {
		return fmt.Sprint(mark, "m\n", d.pttl(q.name))
	}
	tokens, err := q.sorted()
	if err != nil {
		return err
	}
	if !slices.Contains(tokens, token) {
		if age == "" {
			return mark + "x"
		}
		v, there := d.find(q.line)
		if !there {
			v.sorted = make(map[string]int64)
			d.values[q.line] = v
		}
		v.sorted[token] = q.now - int64(atoi(age))
		d.changed(q.line)
	}
	if _, err := d.hash(q.entries); err != nil {
		return err
	}
	text := strings.Join([]string{version, strconv.FormatInt(q.now, 10), stale, lease, channel, tag}, " ")
	d.hset(q.entries, token, fmt.Sprintf("%-65s", text))
	d.pexpire(q.line, 30_000)
	d.pexpire(q.entries, 30_000)
	free := !there && how != "-"
	for range 8 {
		tokens, _ := q.sorted()
		first := ""
		if len(tokens) > 0 {
			first = tokens[0]
		}
		if free && (first == token || how == "1") {
			fence, err := q.grant()
			if err != nil {
				if !errors.Is(err, errWrongType) {
					q.remove(token)
				}
				return err
			}
			d.set(q.name, token, int64(atoi(ttl)))
			q.remove(token)
			return mark + "g\n" + fence + "\n" + q.next()
		}
		if first == "" || first == token {
			break
		}
		if e, _, fresh := q.entry(first); fresh && (!free || d.publish(e.channel, "f\n"+first) > 0) {
			break
		}
		q.remove(first)
	}
	tokens, _ = q.sorted()
	return fmt.Sprint(mark, "q\n", slices.Index(tokens, token), "\n", value[:min(len(value), limits.ValueBytes+1)])
}

func pass(d *dataSet, keys, args []string) any {
	token, how, word, tag, named := args[0], args[1], args[2], args[3], args[4:6]
	q := readLine(d, keys, args[6:])
	q.remove(token)
	value, there, err := d.get(q.name)
	switch {
	case err != nil:
		return err
	case there && value != token:
		return 0
	}
	passed, opened := false, 0
	offer := func(c string) (done bool) {
		e, age, _ := q.entry(c)
		if age < 0 || 2*age > int64(atoi(e.lease)) || e.tag != tag {
			q.remove(c)
			return false
		}
		if how == "o" {
			if d.publish(e.channel, "o\n"+c) > 0 {
				opened++
				return opened == 2
			}
			q.remove(c)
			return false
		}
		fence, err := q.grant()
		if q.remove(c); err != nil {
			return false
		}
		d.set(q.name, c, int64(atoi(e.lease)))
		message := strings.Join([]string{"g", c, e.version, e.lease, fence, word, q.next()}, "\n")
		if q.set != "" {
			message += "\n" + q.foundMark
		}
		if passed = d.publish(e.channel, message) > 0; !passed {
			d.delete(q.name)
		}
		return passed
	}
	if how != "n" && q.member() {
		done := named[0] != "-" && offer(named[0]) || named[1] != "-" && offer(named[1])
		for range 8 {
			tokens, _ := q.sorted()
			if done || opened >= len(tokens) {
				break
			}
			done = offer(tokens[opened])
		}
	}
	switch {
	case passed && there:
		return 2
	case !there:
		return -1
	}
	d.delete(q.name)
	if opened > 0 {
		return 2
	}
	return 1
}
