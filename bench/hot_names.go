package bench

import (
	"cmp"
	"slices"
	"strings"
)

// A HotNamer is a Locker that knows which names its callers acquired most often and waited for longest.
type HotNamer interface{ HotNames() []HotName }

// HotName is one of the names that were waited for longest, warm-up included.
type HotName struct {
	Name     string `json:"name"`      // without Config.KeyPrefix
	Acquired int64  `json:"acquired"`  // at most that
	WaitedNs int64  `json:"waited_ns"` // by all its callers together, at most that
}

// hotNamesMost is how many names a Result has.
const hotNamesMost = 10

// hottest sums the names of all processes.
func hottest(all []HotName, prefix string) (names []HotName) {
	at := map[string]int{}
	for _, n := range all {
		name, of := strings.CutPrefix(n.Name, prefix)
		if !of { // of another run on these masters
			continue
		}
		i, seen := at[name]
		if !seen {
			i, names = len(names), append(names, HotName{Name: name})
			at[name] = i
		}
		names[i].Acquired += n.Acquired
		names[i].WaitedNs += n.WaitedNs
	}
	slices.SortFunc(names, func(a, b HotName) int {
		return cmp.Or(cmp.Compare(b.WaitedNs, a.WaitedNs), cmp.Compare(b.Acquired, a.Acquired), cmp.Compare(a.Name, b.Name))
	})
	return names[:min(len(names), hotNamesMost)]
}
