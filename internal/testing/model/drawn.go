package model

import (
	"fmt"
	"hash/fnv"
	"os"
)

// Drawn is whether a large search of that name is to be done: MUXLOCK_MODEL is "all", or a part such as "2/4". Every name is in
// one of the four quarters.
func Drawn(name string) bool {
	part, of := uint32(1), uint32(1)
	switch given := os.Getenv("MUXLOCK_MODEL"); given {
	case "":
		return false
	case "all":
	default:
		if n, err := fmt.Sscanf(given, "%d/%d", &part, &of); n != 2 || err != nil || part < 1 || part > of {
			panic(fmt.Sprintf("MUXLOCK_MODEL=%q: want all, or a part such as 2/4", given))
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%of == part-1
}
