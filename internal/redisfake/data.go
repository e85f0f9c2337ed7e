package redisfake

import (
	"errors"
	"time"
)

// A dataSet is the keys of a master. The server's mutex guards it.
type dataSet struct {
	values  map[string]value
	changed func(key string) // called when a key is set, deleted, expires or gets another expiry
	publish func(channel, message string) (receivers int)
	now     func() time.Time // the server's clock
}

type value struct {
	text   string
	hash   map[string]string // nil: the value is no hash
	sorted map[string]int64  // the scores of a sorted set; nil: it is none
	ends   int64             // last Unix millisecond of its life; 0: it does not expire
}

var errWrongType = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")

// find returns the value of a key. As on a server, looking at an expired key deletes it.
func (d *dataSet) find(key string) (v value, there bool) {
	v, there = d.values[key]
	if there && v.ends != 0 && d.now().UnixMilli() > v.ends {
		d.delete(key)
		return value{}, false
	}
	return v, there
}

func (d *dataSet) get(key string) (text string, there bool, err error) {
	v, there := d.find(key)
	if v.hash != nil || v.sorted != nil {
		return "", true, errWrongType
	}
	return v.text, there, nil
}

// is reports whether the key is a string with a value, as a script finds by MGET and a comparison.
func (d *dataSet) is(key, text string) bool {
	is, there, err := d.get(key)
	return there && err == nil && is == text
}

// set is SET. ms is the time to live; 0 means for ever.
func (d *dataSet) set(key, text string, ms int64) {
	v := value{text: text}
	if ms > 0 {
		v.ends = d.now().UnixMilli() + ms
	}
	d.values[key] = v
	d.changed(key)
}

// delete deletes a key and returns how many there were, 0 or 1.
func (d *dataSet) delete(key string) int {
	if _, there := d.values[key]; !there {
		return 0
	}
	delete(d.values, key)
	d.changed(key)
	return 1
}

// pttl is PTTL: the milliseconds left, -1 for ever, -2 for no such key.
func (d *dataSet) pttl(key string) int64 {
	switch v, there := d.find(key); {
	case !there:
		return -2
	case v.ends == 0:
		return -1
	default:
		return v.ends - d.now().UnixMilli()
	}
}

// pexpire is PEXPIRE of an existing key.
func (d *dataSet) pexpire(key string, ms int64) {
	v := d.values[key]
	v.ends = d.now().UnixMilli() + ms
	d.values[key] = v
	d.changed(key)
}

// hash returns the fields of a hash, or none if there is no such key.
func (d *dataSet) hash(key string) (map[string]string, error) {
	v, there := d.find(key)
	if there && v.hash == nil {
		return nil, errWrongType
	}
	return v.hash, nil
}

// hset sets a field of a hash, and makes the hash if there is no such key. It returns the number of fields after that.
func (d *dataSet) hset(key, field, text string) int {
	v, there := d.find(key)
	if !there {
		v.hash = make(map[string]string)
		d.values[key] = v
	}
	v.hash[field] = text
	d.changed(key)
	return len(v.hash)
}
