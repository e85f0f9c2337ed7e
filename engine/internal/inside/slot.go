package inside

import (
	"strconv"
	"strings"

	"muxlock/pipeline"
)

// SlotPrefix begins the key of a slot, which is a permit's. Each has the key of a lock of its own, to which no name leads,
// since the prefix is reserved. Without a number it is the key of the queue for all slots of a name in a process.
const SlotPrefix = pipeline.ReservedPrefix + "slot:"

// SlotKey returns the key of a slot, given that of the name; with -1, that of the name.
func SlotKey(slot int, of string) string {
	if slot < 0 {
		return of
	}
	return SlotPrefix + strconv.Itoa(slot) + ":" + of
}

// SlotOf returns the slot of a key, and the key of the name; -1: it is no slot.
func SlotOf(key string) (slot int, of string) {
	rest, isSlot := strings.CutPrefix(key, SlotPrefix)
	if !isSlot {
		return -1, key
	}
	number, of, _ := strings.Cut(rest, ":")
	slot, _ = strconv.Atoi(number)
	return slot, of
}
