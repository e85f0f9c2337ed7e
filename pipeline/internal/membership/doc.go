// Package membership has what decides whether a master may vote: what its server reports
// (Admission) and, with fencing, whether it is a member of the set (Set). It has the commands of an
// admission, and what operators do to masters: setting them up, replacing one, looking at all.
// Package pipeline takes the steps of an admission, in order with its rounds.
package membership
