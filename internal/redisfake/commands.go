package redisfake

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// version is the version of the server that the fake imitates.
const version = "7.0.15"

// executeLocked executes a command and returns the reply.
func (c *conn) executeLocked(words []string) any {
	s, caching := c.s, c.caching
	c.caching = false
	if s.answer != nil {
		if reply := s.answer(words); reply != nil {
			return reply
		}
	}
	keys := keysOf(words)
	for _, key := range keys {
		if s.denied[key] {
			return errors.New("NOPERM this user has no permissions to access one of the keys used as arguments")
		}
	}
	if s.replica && slices.Contains([]string{"SET", "HSET", "DEL", "EVALSHA"}, words[0]) {
		return errors.New("READONLY You can't write against a read only replica")
	}
	switch d := &s.data; words[0] {
	case "HELLO":
		return table{"server", "redis", "version", version, "proto", 3, "role", "master"}
	case "CLIENT":
		switch {
		case slices.Equal(words[1:], []string{"TRACKING", "ON", "OPTIN"}):
			c.tracking = true
		case slices.Equal(words[1:], []string{"CACHING", "YES"}):
			c.caching = true
		}
		return status("OK")
	case "PING":
		return status("PONG")
	case "INFO":
		return s.infoLocked(words[1:])
	case "SCRIPT":
		return s.loadLocked(words[1:])
	case "EVALSHA":
		call := known[words[1]]
		switch {
		case !s.loaded[words[1]]:
			return errors.New("NOSCRIPT No matching script. Please use EVAL")
		case call == nil:
			return errors.New("ERR redisfake knows no script " + strconv.Quote(words[1]))
		}
		return call(d, keys, words[3+len(keys):])
	case "SET":
		nx := len(words) > 3 && words[3] == "NX"
		if _, there := d.find(words[1]); nx && there {
			return nil
		}
		switch {
		case nx && len(words) == 6 && words[4] == "PX":
			d.set(words[1], words[2], int64(atoi(words[5])))
		case len(words) == 3, nx && len(words) == 4:
			d.set(words[1], words[2], 0)
		default:
			return errors.New("ERR syntax error")
		}
		return status("OK")
	case "GET":
		text, there, err := d.get(words[1])
		if !there {
			return nil
		}
		return either(text, err)
	case "PTTL":
		if caching && c.tracking && !slices.Contains(s.tracked[words[1]], c) {
			s.tracked[words[1]] = append(s.tracked[words[1]], c)
		}
		return d.pttl(words[1])
	case "HGET":
		hash, err := d.hash(words[1])
		if text, there := hash[words[2]]; there {
			return text
		}
		return err
	case "HSET":
		hash, err := d.hash(words[1])
		if err != nil {
			return err
		}
		fields := len(hash)
		return d.hset(words[1], words[2], words[3]) - fields
	case "SUBSCRIBE":
		s.heard[words[1]] = append(s.heard[words[1]], c)
		return push{"subscribe", words[1], 1}
	case "DEL":
		n := 0
		for _, key := range keys {
			if _, there := d.find(key); there {
				n += d.delete(key)
			}
		}
		return n
	}
	return fmt.Errorf("ERR unknown command '%s', with args beginning with: '%s'", words[0], strings.Join(words[1:], "' '"))
}

// keysOf returns the keys of a command.
func keysOf(words []string) []string {
	switch words[0] {
	case "SET", "GET", "PTTL", "HGET", "HSET":
		return words[1:2]
	case "DEL":
		return words[1:]
	case "EVALSHA":
		return words[3 : 3+atoi(words[2])]
	}
	return nil
}

func (s *Server) infoLocked(sections []string) string {
	role := "master"
	if s.replica {
		role = "slave"
	}
	stats := "# Stats\r\ntotal_net_repl_input_bytes:" + strconv.Itoa(s.fed) + "\r\n"
	info := "# Replication\r\nrole:" + role + "\r\nmaster_replid:" + s.replID + "\r\nsecond_repl_offset:" + strconv.Itoa(s.offset) + "\r\n"
	switch {
	case len(sections) > 0 && sections[0] == "stats":
		return stats
	case len(sections) > 0:
		return info
	}
	return fmt.Sprintf("# Server\r\nredis_version:%s\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\nloading:0\r\ncluster_enabled:0\r\n%s%s",
		version, s.runID, int(s.clock.now().Sub(s.started).Seconds()), stats, info)
}

func (s *Server) loadLocked(words []string) any {
	if len(words) != 2 || words[0] != "LOAD" {
		return errors.New("ERR unknown subcommand or wrong number of arguments for 'SCRIPT'")
	}
	sha, known := sums.Load(words[1])
	if !known {
		sum := sha1.Sum([]byte(words[1]))
		sha, _ = sums.LoadOrStore(words[1], hex.EncodeToString(sum[:]))
	}
	s.loaded[sha.(string)] = true
	return sha
}

// sums has the SHA-1 of each script that a fake was given.
var sums sync.Map
