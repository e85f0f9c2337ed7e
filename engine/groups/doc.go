// Package groups spreads locks over several sets of masters. One set cannot outgrow the CPU of its slowest master, since
// each of its masters takes every lock. With groups a master takes only its group's locks.
//
//	locks, err := groups.New(ctx, groups.Config{Groups: map[string][]string{
//		"red":  {"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
//		"blue": {"10.0.1.1:6379", "10.0.1.2:6379", "10.0.1.3:6379"},
//	}})
//
// The Engine has all methods and promises of an engine.Engine. A name's group follows from the name and the groups' ids. If
// the name has a {tag}, the tag alone decides, as in Redis Cluster. All names of a Set must be in one group. A group
// without a quorum stops only its own names; but New needs all groups.
//
// # Changing the map
//
// The map of groups is changed in two steps. In each step all processes are restarted, one by one:
//
//  0. Groups: old. This is the map so far; an engine.New with the masters of a single group counts, too.
//  1. Groups: old, Next: new. A name that moves is held in both of its groups. Its lock is valid while both have it.
//  2. Groups: new. Before step 2, make sure yourself that every process without this Next has ended, and wait MaxTTL.
//     Otherwise two may hold a lock.
//
// Until the change is over, a name that moves costs two round trips, processes do not stand in line for it, and only
// processes of the same step can Adopt its lock. Its lock does not regain masters that lost it: restart no master meanwhile.
//
// The masters keep a note of the map in use, under a reserved key for each Prefix: a hash of ids and addresses. New refuses
// other maps, except one step forward or back. So all processes must write the addresses alike. To go back after the last
// step, change from Groups: new to Next: old. engine.New does not see the note, nor does a map that shares no group with it.
// To start over with any map, end all processes, wait MaxTTL and delete the key __muxlock__:groups:PREFIX on all masters.
//
// A running process writes the note again to masters that lost it, and goes on whatever the note says. If that is another map,
// it logs so at level ERROR, since two may hold a lock then. Where a group's masters have just been restarted, and no other
// group has a note of this very map, New cannot tell. The process then takes no lock, and writes no note, before a quorum of
// each group votes. Until then its acquires wait, or return ErrNoQuorum; ErrConfigMismatch if its map is refused. So is each
// new process where the masters have two notes of one step that do not follow from each other.
//
// With Fencing each group has to be set up, and Next is refused: a name's fencing tokens would begin again. The note then
// hashes the ids of the masters' sets instead of their addresses. So delete the note when Fencing is turned on, and when a
// group is set up anew (admin.SetUpOptions.Recover).
//
// # Watching it
//
// Stats count all locks. Engine.Groups has an engine for each group, for the Stats, Ready, admin.Check and metrics of its
// masters. Register each group's metrics with the label group=ID, and the metrics of the whole with group="". Prometheus
// refuses a metric if only some of its series have a label.
package groups
