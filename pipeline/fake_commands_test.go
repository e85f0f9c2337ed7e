package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"muxlock/pipeline/internal/conn"
	"muxlock/scripts"
)

func (f *fake) getLocked(name string) (string, bool) {
	v, ok := f.data[name]
	if ok && !v.ends.IsZero() && !time.Now().Before(v.ends) {
		delete(f.data, name)
		return "", false
	}
	return v.text, ok
}

func (f *fake) answerLocked(args []string) string {
	switch strings.ToUpper(args[0]) {
	case "HELLO":
		return "%2\r\n+proto\r\n:3\r\n+version\r\n+7.0.15\r\n"
	case "CLIENT":
		return "+OK\r\n"
	case "PTTL":
		v := f.data[args[1]]
		if _, ok := f.getLocked(args[1]); !ok {
			return ":-2\r\n"
		}
		return fmt.Sprintf(":%d\r\n", time.Until(v.ends).Milliseconds())
	case "PING":
		return "+PONG\r\n"
	case "INFO":
		stats := "# Stats\r\n"
		if f.received != "" {
			stats += "total_net_repl_input_bytes:" + f.received + "\r\n"
		}
		switch args[len(args)-1] {
		case "replication":
			return bulk(f.replication)
		case "stats":
			return bulk(stats)
		}
		info := "# Server\r\nrun_id:" + f.runID + "\r\nloading:0\r\ncluster_enabled:0\r\n" + f.replication + stats
		if !f.started.IsZero() {
			info += fmt.Sprintf("uptime_in_seconds:%d\r\n", time.Since(f.started)/time.Second)
		}
		return bulk(info)
	case "SCRIPT":
		for _, s := range append(scripts.All(true), scripts.Inspect) {
			if s.Source == args[2] {
				f.loaded[s.SHA1] = true
				return bulk(s.SHA1)
			}
		}
	case "SET":
		if f.acquireLocked(args[1], args[2], args[5]) {
			return "+OK\r\n"
		}
		return "_\r\n"
	case "GET":
		if text, ok := f.getLocked(args[1]); ok {
			return bulk(text)
		}
		return "_\r\n"
	case "DEL":
		for _, name := range args[1:] {
			delete(f.data, name)
			f.touchLocked(name)
		}
		return ":1\r\n"
	case "MSETEX":
		if f.native&conn.Msetex != 0 {
			return fmt.Sprintf(":%d\r\n", f.acquireAllLocked(args))
		}
	case "DELEX":
		if f.native&conn.Delex != 0 {
			return fmt.Sprintf(":%d\r\n", max(f.releaseLocked(args[1], args[3]), 0))
		}
	case "DELIFEQ":
		if f.native&conn.Delifeq != 0 {
			return fmt.Sprintf(":%d\r\n", max(f.releaseLocked(args[1], args[2]), 0))
		}
	case "EVALSHA":
		count, err := strconv.Atoi(args[2])
		if err != nil {
			panic(err)
		}
		return f.evalLocked(args[1], count, args[3:])
	}
	return "-ERR unknown command\r\n"
}

func (f *fake) evalLocked(sha string, count int, args []string) string {
	if !f.loaded[sha] {
		return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
	}
	switch sha {
	case scripts.Release.SHA1:
		return fmt.Sprintf(":%d\r\n", f.releaseLocked(args[0], args[1]))
	case scripts.Inspect.SHA1:
		text, ok := f.getLocked(args[0])
		if !ok {
			return bulk("0\n\n-2\n0\n")
		}
		return bulk(fmt.Sprint("0\n\n", time.Until(f.data[args[0]].ends).Milliseconds(), "\n0\n", text))
	case scripts.Extend.SHA1:
		return fmt.Sprintf(":%d\r\n", f.extendLocked(args[0], args[1], args[2]))
	}
	votes, n := []byte{}, 0
	entries := batchEntries(append([]string{"EVALSHA", sha, strconv.Itoa(count)}, args...))
	for i, e := range entries {
		granted := false
		if len(votes) > i {
			continue // of a set
		}
		if e.op == Acquire {
			set := f.takeLocked(entries[i : i+e.set])
			votes, n = append(votes, set...), n+strings.Count(set, "1")
			continue
		}
		if e.op == Release {
			granted = f.releaseLocked(e.name, e.token) == 1
		} else {
			granted = f.extendLocked(e.name, e.token, e.ms) == 1
		}
		if votes = append(votes, '0'); granted {
			votes[len(votes)-1] = '1'
			n++
		}
	}
	if n == count {
		return bulk("")
	}
	return bulk(string(votes))
}

// requestsIn returns how many requests a command carries.
func requestsIn(args []string) int {
	count := map[string]int{"EVALSHA": 2, "MSETEX": 1}[args[0]]
	if count == 0 {
		return 1
	}
	n, _ := strconv.Atoi(args[count])
	return n
}

// A batchEntry is what one entry of the batch script asks for.
type batchEntry struct {
	op              Op
	name, token, ms string
	set             int  // how many are in the set of an Acquire
	oneOf           bool // the set is a choice
}

// batchEntries reads a call of the batch script, as the script does.
func batchEntries(args []string) (entries []batchEntry) {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		panic(err)
	}
	names, tokens, runs := args[3:3+n], args[3+n:3+2*n], args[3+2*n:]
	for ; len(runs) > 0; runs = runs[2:] {
		count, err := strconv.Atoi(runs[1])
		if err != nil {
			panic(err)
		}
		for range count {
			e := batchEntry{name: names[len(entries)], token: tokens[len(entries)]}
			if set := strings.TrimLeft(runs[0], "&|"); set != runs[0] {
				e.op, e.ms, e.set, e.oneOf = Acquire, set, count, runs[0][0] == '|'
			} else if e.op = Release; runs[0] != "-" {
				e.op, e.ms = Extend, runs[0]
			}
			entries = append(entries, e)
		}
	}
	return entries
}

func (f *fake) acquireLocked(name, token, ms string) bool {
	if _, held := f.getLocked(name); held {
		return false
	}
	f.data[name] = value{token, time.Now().Add(millisOf(ms))}
	f.touchLocked(name)
	return true
}

// takeLocked takes all names of a set, or none, and returns the votes. Of a choice it takes the first that is free.
func (f *fake) takeLocked(set []batchEntry) string {
	votes := ""
	for i, e := range set {
		switch {
		case !e.oneOf:
		case f.acquireLocked(e.name, e.token, e.ms):
			return votes + "1" + strings.Repeat("n", len(set)-1-i)
		default:
			votes += "0"
		}
	}
	if votes != "" {
		return votes
	}
	for _, e := range set {
		if _, held := f.getLocked(e.name); held {
			votes += "0"
		} else {
			votes += "n"
		}
	}
	if strings.Contains(votes, "0") {
		return votes
	}
	for _, e := range set {
		f.acquireLocked(e.name, e.token, e.ms)
	}
	return strings.Repeat("1", len(set))
}

// acquireAllLocked is MSETEX n name token ... NX PX ms. The last value of a name counts.
func (f *fake) acquireAllLocked(args []string) int {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		panic(err)
	}
	pairs, ms := args[2:2+2*n], args[len(args)-1]
	for i := 0; i < len(pairs); i += 2 {
		if _, held := f.getLocked(pairs[i]); held {
			return 0
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		f.data[pairs[i]] = value{pairs[i+1], time.Now().Add(millisOf(ms))}
		f.touchLocked(pairs[i])
	}
	return 1
}

func (f *fake) releaseLocked(name, token string) int {
	switch text, ok := f.getLocked(name); {
	case !ok:
		return -1
	case text != token:
		return 0
	}
	delete(f.data, name)
	f.touchLocked(name)
	return 1
}

func (f *fake) extendLocked(name, token, ms string) int {
	switch text, ok := f.getLocked(name); {
	case !ok:
		return -1
	case text != token:
		return 0
	}
	if ends := time.Now().Add(millisOf(ms)); ends.After(f.data[name].ends) {
		f.data[name] = value{token, ends}
		f.touchLocked(name)
	}
	return 1
}

func millisOf(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(n) * time.Millisecond
}

// dataSet is the section of INFO that identifies it.
func dataSet(role, id, offset string) string {
	return "# Replication\r\nrole:" + role + "\r\nmaster_replid:" + id + "\r\nsecond_repl_offset:" + offset + "\r\n"
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// answering makes a fake answer commands that begin with any of these words in its own way.
func answering(reply string, commands ...string) func([]string) string {
	return func(args []string) string {
		line := strings.Join(args, " ") + " "
		if slices.ContainsFunc(commands, func(command string) bool { return strings.HasPrefix(line, command+" ") }) {
			return reply
		}
		return ""
	}
}

// refusing makes a fake refuse a command.
func refusing(command string) func([]string) string {
	return answering("-NOPERM this user has no permissions to run the command\r\n", command)
}
