// Package membership decides whether a master may vote: by what its server reports (Server) and,
// with fencing, by whether it is a member of the set (Set). It has the commands of an admission,
// and what operators do to masters: set them up, replace one, look at all. Package pipeline takes
// the steps of an admission, in order with its rounds.
package membership
